//! Reading numbers and pieces off a content, in the byte order of git.

/// What is left of a content.
#[derive(Clone, Debug)]
pub(super) struct Bytes<'a> {
    whole: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(whole: &'a [u8]) -> Self {
        Self { whole, at: 0 }
    }

    /// How much was read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// All of it, what was read included.
    pub(super) fn whole(&self) -> &'a [u8] {
        self.whole
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.whole.len()
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.whole.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn array<const LEN: usize>(&mut self) -> Option<[u8; LEN]> {
        self.take(LEN)?.try_into().ok()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// The bytes up to a NUL, which is read too.
    pub(super) fn until_nul(&mut self) -> Option<&'a [u8]> {
        let rest = self.whole.get(self.at..)?;
        let len = rest.iter().position(|byte| *byte == 0)?;
        let taken = self.take(len)?;
        self.take(1)?;
        Some(taken)
    }

    /// A number of any length, seven bits a byte, as in the headers of packs.
    pub(super) fn varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        let mut next = self.array::<1>()?[0];
        value |= usize::from(next & 0x7f);
        while next & 0x80 != 0 {
            next = self.array::<1>()?[0];
            value = value.checked_add(1)?.checked_mul(0x80)? | usize::from(next & 0x7f);
        }
        Some(value)
    }
}

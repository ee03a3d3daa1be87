//! A split index: most entries are in a file that is shared and does not change, some take their place, and some are added.

use super::Hash;
use super::bytes::Bytes;
use super::entry::Entry;

/// What an index says of the one that it shares entries with.
#[derive(Debug)]
pub(super) struct Link {
    base: Vec<u8>,
    deleted: Bitmap,
    replaced: Bitmap,
}

impl Link {
    pub(super) fn read(content: &[u8], hash: Hash) -> Option<Self> {
        let mut bytes = Bytes::new(content);
        let base = bytes.take(hash.len())?.to_owned();
        if bytes.is_empty() {
            return Some(Self { base, deleted: Bitmap::default(), replaced: Bitmap::default() });
        }
        let deleted = Bitmap::read(&mut bytes)?;
        let replaced = Bitmap::read(&mut bytes)?;
        bytes.is_empty().then_some(Self { base, deleted, replaced })
    }

    /// The name of the file that is shared; zeroes say that there is none.
    pub(super) fn base(&self) -> Option<String> {
        let is_there = self.base.iter().any(|byte| *byte != 0);
        let hex = || self.base.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        is_there.then(|| format!("sharedindex.{}", hex()))
    }
}

/// The entries that git has in the end. `own`: those of the file that is not shared, those without a name first.
pub(super) fn merged(mut base: Vec<Entry>, own: Vec<Entry>, link: &Link) -> Option<Vec<Entry>> {
    let replaced = link.replaced.positions(base.len())?;
    let deleted = link.deleted.positions(base.len())?;
    let mut own = own.into_iter();
    for at in replaced {
        let (old, new) = (base.get_mut(at)?, own.next()?);
        if !new.path.is_empty() {
            return None;
        }
        (old.kind, old.stage) = (new.kind, new.stage);
    }
    let mut deleted = deleted.into_iter().peekable();
    let mut at = 0;
    base.retain(|_| {
        let goes = deleted.next_if_eq(&at).is_some();
        at += 1;
        !goes
    });
    base.extend(own);
    Some(base)
}

/// A bitmap as git compresses it: a word says how many words of equal bits come, and how many after them stand as they are.
#[derive(Debug, Default)]
struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let _bits = bytes.u32()?;
        let count = usize::try_from(bytes.u32()?).ok()?;
        let mut content = Bytes::new(bytes.take(count.checked_mul(8)?)?);
        let words = std::iter::from_fn(|| content.u64()).collect();
        // Where the last word of that kind is: for who adds to it.
        bytes.u32()?;
        Some(Self { words })
    }

    /// The bits that are set, in order. `None`: one is not below `limit`, or the last words are missing.
    fn positions(&self, limit: usize) -> Option<Vec<usize>> {
        let mut set = Vec::new();
        let mut at = 0_usize;
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let run = usize::try_from((word >> 1) & 0xffff_ffff).ok()?.checked_mul(64)?;
            let end = at.checked_add(run)?;
            if word & 1 == 1 {
                if end > limit {
                    return None;
                }
                set.extend(at..end);
            }
            at = end;
            for _ in 0..(word >> 33) {
                let literal = *words.next()?;
                let after = at.checked_add(64)?;
                let bits = (at..after).enumerate().filter(|(bit, _)| literal & (1 << bit) != 0);
                for (_, position) in bits {
                    if position >= limit {
                        return None;
                    }
                    set.push(position);
                }
                at = after;
            }
        }
        Some(set)
    }
}

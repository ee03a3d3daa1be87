//! The entries of an index.

use super::Hash;
use super::reader::ByteReader;

/// Bytes of all paths of one index. Version 4 stores what differs from the path before: a small file could unfold to more
/// than there is memory.
const MAX_NAMES: usize = 1 << 28;

/// Kind of file that an entry is checked out as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    File,
    Link,
    Submodule,
    /// A directory as a whole, in a sparse index.
    Directory,
}

impl Mode {
    fn from_bits(mode: u32) -> Option<Self> {
        match mode & 0o170_000 {
            0o100_000 => Some(Self::File),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Submodule),
            0o040_000 => Some(Self::Directory),
            _ => None,
        }
    }
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexEntry<'a> {
    /// Empty in a split index, where the entry replaces one of the base.
    pub(super) path: &'a [u8],
    pub(super) mode: Mode,
    pub(super) stage: u8,
}

/// Position of the parts of one entry.
struct Stored {
    name: std::ops::Range<usize>,
    mode: Mode,
    stage: u8,
    /// Its offset in the file.
    offset: usize,
    /// True if its path goes on from the one before.
    shares: bool,
}

/// All entries.
pub(super) struct Entries {
    names: Vec<u8>,
    stored: Vec<Stored>,
    end: usize,
}

const EXTENDED: u16 = 0x4000;
const LEN: u16 = 0x0fff;
/// Flags `intent-to-add` and `skip-worktree`. Git does not understand others.
const KNOWN_EXTENDED: u16 = 0x2000 | 0x4000;

impl Entries {
    /// Reads the header and the entries behind it.
    pub(super) fn parse(content: &[u8], hash: Hash) -> Option<Self> {
        let mut reader = ByteReader::new(content);
        if reader.take(4)? != b"DIRC" {
            return None;
        }
        let version = reader.u32().filter(|version| (2..=4).contains(version))?;
        let count = reader.u32()?;
        let mut entries = Self { names: Vec::new(), stored: Vec::new(), end: 0 };
        for _ in 0..count {
            entries.read(&mut reader, version, hash)?;
        }
        entries.end = reader.position();
        Some(entries)
    }

    fn read(&mut self, reader: &mut ByteReader<'_>, version: u32, hash: Hash) -> Option<()> {
        const TIMES_AND_PLACE: usize = 8 + 8 + 4 + 4;
        const OWNER_AND_SIZE: usize = 4 + 4 + 4;
        let offset = reader.position();
        reader.take(TIMES_AND_PLACE)?;
        let mode = Mode::from_bits(reader.u32()?)?;
        reader.take(OWNER_AND_SIZE + hash.len())?;
        let flags = reader.u16()?;
        if flags & EXTENDED != 0 && (version < 3 || reader.u16()? & !KNOWN_EXTENDED != 0) {
            return None;
        }
        let (name, shares) = if version == 4 {
            self.compressed_name(reader)?
        } else {
            (self.padded_name(reader, offset)?, false)
        };
        // git takes its length from here, unless it does not fit.
        let stored_len = usize::from(flags & LEN);
        if stored_len != name.len().min(usize::from(LEN)) {
            return None;
        }
        let stage = u8::try_from(flags >> 12 & 3).ok()?;
        self.stored.push(Stored { name, mode, stage, offset, shares });
        Some(())
    }

    /// A name that is stored whole. Zero bytes fill up to a multiple of eight, at least one.
    fn padded_name(&mut self, reader: &mut ByteReader<'_>, offset: usize) -> Option<std::ops::Range<usize>> {
        let text = reader.text()?;
        let read = reader.position().checked_sub(offset)?;
        reader.take(read.next_multiple_of(8) - read)?;
        self.add(&[], text)
    }

    /// A name of which the beginning of the one before is left out; with whether there is any.
    fn compressed_name(&mut self, reader: &mut ByteReader<'_>) -> Option<(std::ops::Range<usize>, bool)> {
        let before = self.stored.last().map_or(0..0, |last| last.name.clone());
        let kept = before.len().checked_sub(reader.varint()?)?;
        let same = before.start..before.start.checked_add(kept)?;
        let text = reader.text()?;
        let same = self.names.get(same)?.to_vec();
        Some((self.add(&same, text)?, kept > 0))
    }

    fn add(&mut self, same: &[u8], text: &[u8]) -> Option<std::ops::Range<usize>> {
        let start = self.names.len();
        self.names.extend_from_slice(same);
        self.names.extend_from_slice(text);
        (self.names.len() <= MAX_NAMES).then_some(start..self.names.len())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = IndexEntry<'_>> {
        self.stored.iter().map(|stored| IndexEntry {
            path: self.names.get(stored.name.clone()).unwrap_or_default(),
            mode: stored.mode,
            stage: stored.stage,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    /// Returns the offset at which the entries end in the file.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Returns whether the entry with this number begins there, and can be read without those before it.
    pub(super) fn begins_at(&self, number: usize, offset: usize) -> bool {
        self.stored.get(number).is_some_and(|stored| stored.offset == offset && !stored.shares)
    }
}

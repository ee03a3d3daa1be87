//! The entries of an index, in the three versions of the format that git writes.

use super::Hash;
use super::bytes::Bytes;

/// What an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    /// A commit of a submodule.
    Submodule,
    /// A directory that is not checked out, in a sparse index.
    Directory,
}

impl Kind {
    fn of(mode: u32) -> Option<Self> {
        const PERMISSIONS: u32 = 0o777;
        match (mode & !PERMISSIONS, mode & PERMISSIONS) {
            (0o100_000, _) => Some(Self::File),
            (0o120_000, 0) => Some(Self::Link),
            (0o160_000, 0) => Some(Self::Submodule),
            (0o040_000, 0) => Some(Self::Directory),
            _ => None,
        }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it begins in the file.
    pub(super) at: usize,
    /// Whether its name is written in full, whatever stands before it.
    pub(super) whole_name: bool,
    pub(super) path: Vec<u8>,
    pub(super) kind: Kind,
    /// The side of a conflict; 0 without one.
    pub(super) stage: u8,
}

/// Times, device, number, mode, owner and size.
const STAT: usize = 40;
const MODE_AT: usize = 24;

const NAME_LEN: u16 = 0x0fff;
const EXTENDED: u16 = 0x4000;
/// "skip the working tree" and "will be added later": no others are known.
const KNOWN_EXTENDED: u16 = 0x6000;

/// Reads `count` entries.
pub(super) fn read_all(bytes: &mut Bytes<'_>, version: u32, count: u32, hash: Hash) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..count {
        let before = entries.last().map_or(&[][..], |entry| &entry.path);
        let entry = read(bytes, version, hash, before)?;
        entries.push(entry);
    }
    Some(entries)
}

fn read(bytes: &mut Bytes<'_>, version: u32, hash: Hash, before: &[u8]) -> Option<Entry> {
    let at = bytes.at();
    let mut mode = Bytes::new(bytes.take(STAT)?.get(MODE_AT..)?);
    let kind = Kind::of(mode.u32()?)?;
    bytes.take(hash.len())?;
    let flags = bytes.u16()?;
    if flags & EXTENDED != 0 && (version < 3 || bytes.u16()? & !KNOWN_EXTENDED != 0) {
        return None;
    }
    let kept = if version == 4 { before.get(..before.len().checked_sub(bytes.varint()?)?)? } else { &[] };
    let path = [kept, bytes.until_nul()?].concat();
    // git believes the length where it is said, and looks for the end where it is not.
    let said = usize::from(flags & NAME_LEN);
    let fits = if flags & NAME_LEN == NAME_LEN { path.len() >= said } else { path.len() == said };
    if !fits {
        return None;
    }
    if version < 4 {
        // One to eight zeroes; the first is read.
        let len = (bytes.at() - at).next_multiple_of(8);
        let padding = bytes.take(len - (bytes.at() - at))?;
        if padding.iter().any(|byte| *byte != 0) {
            return None;
        }
    }
    let stage = u8::try_from((flags >> 12) & 3).ok()?;
    Some(Entry { at, whole_name: kept.is_empty(), path, kind, stage })
}

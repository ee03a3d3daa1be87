//! Extensions, which follow the entries of an index.

use super::Hash;
use super::bitmap;
use super::entries::Entries;
use super::reader::ByteReader;

/// More entries than any index has.
const MAX_ENTRIES: usize = 1 << 26;

/// The other part of a split index.
pub(super) struct Link {
    /// The name of the file with the base.
    pub(super) base: String,
    /// Entries of the base that are gone.
    pub(super) deleted: Vec<bool>,
    /// Entries of the base that have another content.
    pub(super) replaced: Vec<bool>,
}

/// Extensions that are about paths.
#[derive(Default)]
pub(super) struct Extensions {
    pub(super) link: Option<Link>,
    pub(super) has_sparse_directories: bool,
}

impl Extensions {
    /// Reads all of them. `content` is the whole file, which ends with its hash.
    pub(super) fn parse(content: &[u8], hash: Hash, entries: &Entries) -> Option<Self> {
        let end = content.len().checked_sub(hash.len())?;
        let mut reader = ByteReader::new(content.get(..end)?);
        reader.take(entries.end())?;
        let mut all = Self::default();
        while !reader.is_at_end() {
            let signature = reader.take(4)?;
            let len = usize::try_from(reader.u32()?).ok()?;
            all.add(signature, reader.take(len)?, hash, entries)?;
        }
        is_end_told_truly(content.get(..end)?, hash, entries).then_some(all)
    }

    fn add(&mut self, signature: &[u8], data: &[u8], hash: Hash, entries: &Entries) -> Option<()> {
        match signature {
            b"link" if self.link.is_some() => return None,
            b"link" => self.link = link(data, hash)?,
            b"sdir" => self.has_sparse_directories = true,
            b"IEOT" => return are_offsets_true(data, entries)?.then_some(()),
            // git passes over those that it does not know, and acts by no path of those that it does.
            [b'A'..=b'Z', ..] => {}
            _ => return None,
        }
        Some(())
    }
}

/// Reads which entries of which base hold. Without a base there is nothing to be merged.
#[expect(clippy::option_option, reason = "what cannot be read, and what names no base")]
fn link(data: &[u8], hash: Hash) -> Option<Option<Link>> {
    use std::fmt::Write as _;
    let mut reader = ByteReader::new(data);
    let name = reader.take(hash.len())?;
    if name.iter().all(|byte| *byte == 0) {
        return Some(None);
    }
    let mut base = String::from("sharedindex.");
    name.iter().try_for_each(|byte| write!(base, "{byte:02x}")).ok()?;
    if reader.is_at_end() {
        return Some(Some(Link { base, deleted: Vec::new(), replaced: Vec::new() }));
    }
    let deleted = bitmap::read(&mut reader, MAX_ENTRIES)?;
    let replaced = bitmap::read(&mut reader, MAX_ENTRIES)?;
    reader.is_at_end().then_some(Some(Link { base, deleted, replaced }))
}

/// Returns whether the offsets from which several threads read are those of the entries.
fn are_offsets_true(data: &[u8], entries: &Entries) -> Option<bool> {
    const VERSION: u32 = 1;
    let mut reader = ByteReader::new(data);
    if reader.u32()? != VERSION {
        return None;
    }
    let mut number = 0_usize;
    while !reader.is_at_end() {
        let offset = usize::try_from(reader.u32()?).ok()?;
        let count = usize::try_from(reader.u32()?).ok()?;
        if count == 0 || !entries.begins_at(number, offset) {
            return None;
        }
        number = number.checked_add(count)?;
    }
    Some(number == entries.len())
}

/// Returns whether the end of the entries is where the last extension says, which git looks for at a fixed distance from
/// the end of the file, whatever it is a part of.
fn is_end_told_truly(content: &[u8], hash: Hash, entries: &Entries) -> bool {
    let len = 4 + 4 + 4 + hash.len();
    let Some(at) = content.len().checked_sub(len).filter(|at| *at >= entries.end()) else { return true };
    let mut last = ByteReader::new(content.get(at..).unwrap_or_default());
    let (signature, _, offset) = (last.take(4), last.u32(), last.u32());
    signature != Some(b"EOIE") || offset.is_some_and(|offset| usize::try_from(offset) == Ok(entries.end()))
}

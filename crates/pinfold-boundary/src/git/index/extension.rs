//! What stands behind the entries of an index.
//!
//! Some of it tells git where entries begin, so that several threads read them: that has to be where they do begin, or git
//! would read others than were looked at.

use super::Hash;
use super::bytes::Bytes;
use super::entry::Entry;
use super::split::Link;

/// The extensions that say what the entries are.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    /// Entries may stand for whole directories.
    pub(super) sparse: bool,
    /// More entries are in a file that is shared.
    pub(super) link: Option<Link>,
}

/// Reads everything that is left.
pub(super) fn read_all(bytes: &mut Bytes<'_>, entries: &[Entry], hash: Hash) -> Option<Extensions> {
    let end_of_entries = bytes.at();
    let mut found = Extensions::default();
    if !says_end(bytes.whole(), hash).is_none_or(|offset| offset == end_of_entries) {
        return None;
    }
    while !bytes.is_empty() {
        let name = bytes.take(4)?;
        let len = usize::try_from(bytes.u32()?).ok()?;
        let content = bytes.take(len)?;
        match name {
            b"sdir" => found.sparse = true,
            b"link" if found.link.is_none() => found.link = Some(Link::read(content, hash)?),
            b"IEOT" if !is_table_of(content, entries, end_of_entries) => return None,
            // git passes over what it does not know and need not know: the first letter says which.
            [first, ..] if first.is_ascii_uppercase() => {}
            _ => return None,
        }
    }
    Some(found)
}

/// Where the entries end by what git finds at the end of a file: it looks at this place alone, whatever that is a part of.
fn says_end(body: &[u8], hash: Hash) -> Option<usize> {
    let len = 4 + hash.len();
    let mut last = Bytes::new(body.get(body.len().checked_sub(8 + len)?..)?);
    let is_one = last.take(4)? == b"EOIE" && usize::try_from(last.u32()?) == Ok(len);
    is_one.then(|| last.u32()).flatten().and_then(|offset| usize::try_from(offset).ok())
}

/// Whether a table of blocks names all entries in their order and where they are, and each block can be read without the one
/// before it.
fn is_table_of(content: &[u8], entries: &[Entry], end_of_entries: usize) -> bool {
    let mut table = Bytes::new(content);
    if table.u32() != Some(1) {
        return false;
    }
    let mut rest = entries;
    while !table.is_empty() {
        let (Some(offset), Some(count)) = (table.u32(), table.u32()) else { return false };
        let first = rest.first().map_or(end_of_entries, |entry| entry.at);
        let whole = rest.first().is_none_or(|entry| entry.whole_name);
        let Some(after) = usize::try_from(count).ok().and_then(|count| rest.get(count..)) else {
            return false;
        };
        if usize::try_from(offset) != Ok(first) || !whole {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

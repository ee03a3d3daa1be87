//! git's index, judged: does every path in it lie in the working tree?
//!
//! git checks paths when it puts them into the index, and not when it reads them back: `git checkout .`, `git stash` and
//! `git reset --hard` write and remove what an index names, `../../.bashrc` too. So an index is read here as git reads it
//! ([gitformat-index(5)](https://git-scm.com/docs/gitformat-index)), more strictly: versions 2 to 4, and nothing may be left
//! unsaid by the format. What git reads from more than one place (offsets for several threads, a shared index) has to say
//! the same everywhere.

mod bitmap;
mod entries;
mod extensions;
mod paths;
mod reader;

use entries::{Entries, IndexEntry, Mode};
use extensions::{Extensions, Link};

/// The length of an object's name, by which entries are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// Returns whether git may act on an index. `shared` reads its shared part by name (`sharedindex.HASH`).
pub(crate) fn is_safe(content: &[u8], hash: Hash, shared: impl FnOnce(&str) -> Option<Vec<u8>>) -> bool {
    let Some(index) = IndexFile::parse(content, hash) else { return false };
    let Some(Link { base, deleted, replaced }) = &index.extensions.link else {
        return holds_paths_apart(index.entries.iter(), index.extensions.has_sparse_directories);
    };
    let Some(base_content) = shared(base) else { return false };
    let Some(base) = IndexFile::parse(&base_content, hash).filter(|base| base.extensions.link.is_none())
    else {
        return false;
    };
    let sparse = index.extensions.has_sparse_directories || base.extensions.has_sparse_directories;
    merged(&base.entries, &index.entries, deleted, replaced)
        .is_some_and(|entries| holds_paths_apart(entries.into_iter(), sparse))
}

/// The name of the file with the shared part of a split index.
pub(crate) fn shared_part(content: &[u8], hash: Hash) -> Option<String> {
    IndexFile::parse(content, hash)?.extensions.link.map(|link| link.base)
}

/// Returns whether a path of a file leads to a place in the working tree, and to no git directory.
pub(crate) fn is_safe_path(path: &[u8]) -> bool {
    paths::is_safe(path, Mode::File)
}

/// One file.
struct IndexFile {
    entries: Entries,
    extensions: Extensions,
}

impl IndexFile {
    fn parse(content: &[u8], hash: Hash) -> Option<Self> {
        let entries = Entries::parse(content, hash)?;
        let extensions = Extensions::parse(content, hash, &entries)?;
        Some(Self { entries, extensions })
    }
}

/// The entries of a split index: those of the base but for the deleted ones, some with another content, and further ones.
fn merged<'e>(
    base: &'e Entries,
    own: &'e Entries,
    deleted: &[bool],
    replaced: &[bool],
) -> Option<Vec<IndexEntry<'e>>> {
    let is_set = |bits: &[bool], at: usize| bits.get(at).copied().unwrap_or_default();
    if deleted.len().max(replaced.len()) > base.len() {
        return None;
    }
    let mut own = own.iter();
    let mut all = Vec::with_capacity(base.len());
    for (at, entry) in base.iter().enumerate() {
        // Its name is left out: it is that of the base.
        let replacement = if is_set(replaced, at) { Some(own.next()?) } else { None };
        if replacement.is_some_and(|own| !own.path.is_empty()) {
            return None;
        }
        if !is_set(deleted, at) {
            let newer = replacement.unwrap_or(entry);
            all.push(IndexEntry { path: entry.path, ..newer });
        }
    }
    all.extend(own);
    all.sort_by_key(|entry| (entry.path, entry.stage));
    Some(all)
}

/// Returns whether each path is safe by itself, they are sorted, and none leads through another one that is a link.
fn holds_paths_apart<'e>(entries: impl Iterator<Item = IndexEntry<'e>>, sparse: bool) -> bool {
    let mut previous: Option<IndexEntry<'_>> = None;
    // Links with which the path begins: how long each is, and its stage.
    let mut links: Vec<(usize, u8)> = Vec::new();
    for entry in entries {
        let is_kind_known = entry.mode != Mode::Directory || sparse;
        if !is_kind_known || !paths::is_safe(entry.path, entry.mode) {
            return false;
        }
        if let Some(previous) = previous {
            if (previous.path, previous.stage) >= (entry.path, entry.stage) {
                return false;
            }
            let same = previous.path.iter().zip(entry.path).take_while(|(a, b)| a == b).count();
            links.retain(|(len, _)| *len <= same);
        }
        // Of a conflict the sides are in different stages.
        let meets = |stage: u8| stage == entry.stage || stage == 0 || entry.stage == 0;
        if links.iter().any(|(len, stage)| entry.path.get(*len) == Some(&b'/') && meets(*stage)) {
            return false;
        }
        if entry.mode == Mode::Link {
            links.push((entry.path.len(), entry.stage));
        }
        previous = Some(entry);
    }
    true
}

#[cfg(test)]
mod tests;

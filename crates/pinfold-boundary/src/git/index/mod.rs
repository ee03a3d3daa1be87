//! The index of a repository: whether git outside, when it acts on one, writes only what belongs to the working tree.
//!
//! git checks the names in an index when it puts them there, not when it reads them back: whoever writes the file by himself
//! can have `git checkout -- .` write to `../x` or `.git/hooks/x`. What is taken here is what git's own commands write; all
//! else is refused, a file that different readers would understand in different ways too.
//! [gitformat-index(5)](https://git-scm.com/docs/gitformat-index).

mod bytes;
mod entry;
mod extension;
mod names;
mod split;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use entry::Entry;
use extension::Extensions;

/// The hash by which a repository names its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    /// What the configuration of a repository calls it; `None`: another one.
    pub(crate) fn named(name: Option<&str>) -> Option<Self> {
        match name {
            None | Some("sha1") => Some(Self::Sha1),
            Some("sha256") => Some(Self::Sha256),
            Some(_) => None,
        }
    }

    const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// Why an index is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// git's commands do not write it like that.
    Malformed,
    /// An entry leads out of the working tree, or into a git directory.
    LeadsOut(Vec<u8>),
    /// An entry lies behind another one that is a symbolic link.
    BehindLink(Vec<u8>),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("it is no index as git's commands write it"),
            Self::LeadsOut(path) => {
                write!(f, "by the entry `{}` git would write out of the working tree", path.escape_ascii())
            }
            Self::BehindLink(path) => {
                write!(f, "the entry `{}` lies behind a symbolic link of the same index", path.escape_ascii())
            }
        }
    }
}

/// An index that was read, not judged.
#[derive(Debug)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    extensions: Extensions,
}

impl Index {
    /// Reads the content of a file.
    pub(crate) fn parse(content: &[u8], hash: Hash) -> Result<Self, Unfit> {
        Self::read(content, hash).ok_or(Unfit::Malformed)
    }

    fn read(content: &[u8], hash: Hash) -> Option<Self> {
        // A checksum, or zeroes, at the end: git looks at it in `git fsck` alone.
        let body = content.get(..content.len().checked_sub(hash.len())?)?;
        let mut bytes = Bytes::new(body);
        if bytes.take(4)? != b"DIRC" {
            return None;
        }
        let version = bytes.u32()?;
        let count = bytes.u32()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let entries = entry::read_all(&mut bytes, version, count, hash)?;
        let extensions = extension::read_all(&mut bytes, &entries, hash)?;
        Some(Self { entries, extensions })
    }

    /// The name of the file that holds the entries that this one shares, beside it.
    pub(crate) fn shared(&self) -> Option<String> {
        self.extensions.link.as_ref()?.base()
    }

    /// Judges it, with the one that it [shares](Self::shared) entries with.
    pub(crate) fn judge(self, shared: Option<Self>) -> Result<(), Unfit> {
        let sparse = self.extensions.sparse;
        let entries = match (self.extensions.link, shared) {
            (None, None) => self.entries,
            (Some(link), None) if link.base().is_none() => self.entries,
            (Some(link), Some(base)) if base.extensions.link.is_none() => {
                base.judge_names(sparse || base.extensions.sparse)?;
                split::merged(base.entries, self.entries, &link).ok_or(Unfit::Malformed)?
            }
            _ => return Err(Unfit::Malformed),
        };
        judge_names(&entries, sparse)?;
        match behind_link(&entries) {
            Some(entry) => Err(Unfit::BehindLink(entry.path.clone())),
            None => Ok(()),
        }
    }

    fn judge_names(&self, sparse: bool) -> Result<(), Unfit> {
        judge_names(&self.entries, sparse)
    }
}

fn judge_names(entries: &[Entry], sparse: bool) -> Result<(), Unfit> {
    let out = entries.iter().find(|entry| !names::stays_in(&entry.path, entry.kind, sparse));
    out.map_or(Ok(()), |entry| Err(Unfit::LeadsOut(entry.path.clone())))
}

/// An entry that git would write through a link that it has just made. Two sides of a conflict are never written together.
fn behind_link(entries: &[Entry]) -> Option<&Entry> {
    let mut links: BTreeMap<&[u8], [bool; 4]> = BTreeMap::new();
    for link in entries.iter().filter(|entry| entry.kind == entry::Kind::Link) {
        if let Some(there) = links.entry(&link.path).or_default().get_mut(usize::from(link.stage)) {
            *there = true;
        }
    }
    if links.is_empty() {
        return None;
    }
    let together = |stages: &[bool; 4], entry: &Entry| {
        (0..)
            .zip(stages)
            .any(|(stage, there)| *there && (stage == 0 || entry.stage == 0 || stage == entry.stage))
    };
    entries.iter().find(|entry| {
        let slashes = entry.path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut above = slashes.filter_map(|(at, _)| entry.path.get(..at));
        above.any(|above| links.get(above).is_some_and(|stages| together(stages, entry)))
    })
}

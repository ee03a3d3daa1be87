//! Everything below a directory as it is seen from outside: content, type, mode, owner, links, attributes.
//!
//! A look after another one reads only what has changed since: a program may set any time of a file but that of its last change
//! of status, which is the kernel's.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{lgetxattr, llistxattr};
use sha2::{Digest, Sha256};

/// What one entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A file, with its content, or a digest of it when it is long.
    File(Arc<[u8]>),
    /// A directory.
    Directory,
    /// A symbolic link.
    Link(PathBuf),
    /// A pipe, a socket, a device.
    Special(&'static str),
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) content: Content,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    /// Extended attributes of the class `user`, and those that give rights.
    pub(super) attributes: Vec<(String, Vec<u8>)>,
    /// Device and number.
    pub(super) place: (u64, u64),
    pub(super) links: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl Entry {
    /// Whether it is what it was to whoever reads it: not when it was touched, and not under which number it is kept.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.content == other.content
            && self.mode == other.mode
            && self.owner == other.owner
            && self.attributes == other.attributes
    }

    pub(super) fn is_dir(&self) -> bool {
        self.content == Content::Directory
    }

    /// Whether nothing has happened to it between two looks: neither to what it holds nor to what is known of it.
    pub(super) fn is_untouched(&self, other: &Self) -> bool {
        self.place == other.place && self.changed == other.changed
    }

    /// The text of a file.
    pub(super) fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.content {
            Content::File(bytes) => Some(String::from_utf8_lossy(bytes)),
            Content::Directory | Content::Link(_) | Content::Special(_) => None,
        }
    }
}

/// Files up to this size are kept as they are.
const KEPT: u64 = 8 * 1024;

/// How long before a look something has to have changed last for its time to tell of each later change: file systems count
/// in ticks, of which the longest takes 10 ms.
const TICKS: Duration = Duration::from_millis(50);

/// Entries by their paths.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
    began: SystemTime,
}

impl Snapshot {
    /// Looks at a tree. What its modes close to an ordinary user is opened for the moment of the look.
    pub(super) fn of(top: &Path) -> Self {
        Self::after(top, None)
    }

    /// Looks at a tree again.
    pub(super) fn again(&self, top: &Path) -> Self {
        Self::after(top, Some(self))
    }

    fn after(top: &Path, earlier: Option<&Self>) -> Self {
        let mut snapshot = Self { entries: BTreeMap::new(), began: SystemTime::now() };
        snapshot.take(top, earlier);
        snapshot
    }

    fn take(&mut self, path: &Path, earlier: Option<&Self>) {
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        if meta.is_dir() {
            self.directory(path, &meta, earlier);
        }
        let mut entry = Entry {
            content: Content::Directory,
            mode: meta.mode() & 0o7777,
            owner: (meta.uid(), meta.gid()),
            attributes: Vec::new(),
            place: (meta.dev(), meta.ino()),
            links: meta.nlink(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        };
        if let Some(known) = earlier.and_then(|earlier| earlier.known(path, &entry)) {
            (entry.content, entry.attributes) = (known.content.clone(), known.attributes.clone());
        } else {
            (entry.content, entry.attributes) = (content(path, &meta), attributes(path));
        }
        self.entries.insert(path.to_owned(), entry);
    }

    fn directory(&mut self, path: &Path, meta: &fs::Metadata, earlier: Option<&Self>) {
        readable(path, meta, 0o700, || {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.take(&entry.path(), earlier);
            }
        });
    }

    /// What was seen at a path, if nothing can have happened to it since.
    fn known(&self, path: &Path, now: &Entry) -> Option<&Entry> {
        let known = self.get(path).filter(|known| known.is_untouched(now))?;
        let (seconds, nanoseconds) =
            (u64::try_from(known.changed.0).ok()?, u32::try_from(known.changed.1).ok()?);
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        (changed + TICKS < self.began).then_some(known)
    }

    /// The entry at a path.
    pub(super) fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Whether something stands at a path.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Whether a directory stands at a path.
    pub(super) fn has_dir(&self, path: &Path) -> bool {
        self.get(path).is_some_and(Entry::is_dir)
    }

    /// All entries, in the order of their paths.
    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = (&Path, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// Entries below a path, itself included.
    pub(super) fn below<'a>(&'a self, top: &'a Path) -> impl Iterator<Item = (&'a Path, &'a Entry)> {
        let from = self.entries.range(top.to_owned()..);
        from.take_while(move |(path, _)| path.starts_with(top)).map(|(path, entry)| (path.as_path(), entry))
    }

    /// What is not in both the same: path, before, after. Times and numbers do not count.
    pub(super) fn changes<'a>(&'a self, after: &'a Self) -> Vec<Change<'a>> {
        let gone_or_other = self.entries.iter().filter_map(|(path, entry)| {
            let now = after.get(path);
            let differs = now.is_none_or(|now| !entry.is_like(now) || entry.place != now.place);
            differs.then_some(Change { path, before: Some(entry), after: now })
        });
        let new = after.entries.iter().filter(|(path, _)| !self.has(path));
        let new = new.map(|(path, entry)| Change { path, before: None, after: Some(entry) });
        let mut all: Vec<Change<'_>> = gone_or_other.chain(new).collect();
        all.sort_by_key(|change| change.path);
        all
    }

    /// Whether another look sees the same: the same names for the same files, of the same times.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let mut numbers = HashMap::new();
        let mut is_same = |(one, other): (&Entry, &Entry)| {
            let number = *numbers.entry(one.place).or_insert(other.place);
            one.is_like(other)
                && one.modified == other.modified
                && one.links == other.links
                && number == other.place
        };
        self.entries.len() == other.entries.len()
            && self
                .entries
                .iter()
                .all(|(path, entry)| other.get(path).is_some_and(|now| is_same((entry, now))))
    }
}

/// One difference of two looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    pub(super) path: &'a Path,
    pub(super) before: Option<&'a Entry>,
    pub(super) after: Option<&'a Entry>,
}

impl Change<'_> {
    /// Whether only the number under which it is kept is another: a copy stands in its place.
    pub(super) fn is_only_replaced(&self) -> bool {
        self.before.zip(self.after).is_some_and(|(before, after)| before.is_like(after))
    }
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |entry: Option<&Entry>| entry.map_or_else(|| "missing".to_owned(), Entry::to_string);
        write!(f, "was {}, is {}", part(self.before), part(self.after))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            Content::File(bytes) => {
                let text: String = String::from_utf8_lossy(bytes).chars().take(60).collect();
                write!(f, "a file {text:?}")?;
            }
            Content::Directory => f.write_str("a directory")?,
            Content::Link(to) => write!(f, "a link to {}", to.display())?,
            Content::Special(kind) => write!(f, "a {kind}")?,
        }
        write!(f, " ({:o}, owner {})", self.mode, self.owner.0)
    }
}

fn content(path: &Path, meta: &fs::Metadata) -> Content {
    let kind = meta.file_type();
    if kind.is_dir() {
        Content::Directory
    } else if kind.is_symlink() {
        Content::Link(fs::read_link(path).unwrap_or_default())
    } else if kind.is_file() {
        Content::File(readable(path, meta, 0o400, || file(path, meta)).into())
    } else {
        Content::Special(if kind.is_fifo() {
            "pipe"
        } else if kind.is_socket() {
            "socket"
        } else {
            "device"
        })
    }
}

fn file(path: &Path, meta: &fs::Metadata) -> Vec<u8> {
    let content = fs::read(path).unwrap_or_default();
    if meta.len() <= KEPT { content } else { Sha256::digest(&content).to_vec() }
}

/// Looks at something that its own mode may close.
fn readable<T>(path: &Path, meta: &fs::Metadata, needed: u32, look: impl FnOnce() -> T) -> T {
    let mode = meta.mode() & 0o7777;
    let closed = mode & needed != needed && !crate::processes::is_superuser();
    if closed {
        drop(fs::set_permissions(path, fs::Permissions::from_mode(mode | needed)));
    }
    let seen = look();
    if closed {
        drop(fs::set_permissions(path, fs::Permissions::from_mode(mode)));
    }
    seen
}

fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = Vec::with_capacity(256);
    if llistxattr(path, rustix::buffer::spare_capacity(&mut names)).is_err() || names.is_empty() {
        return Vec::new();
    }
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = Vec::with_capacity(1024);
        let _ = lgetxattr(path, name, rustix::buffer::spare_capacity(&mut value));
        (String::from_utf8_lossy(name).into_owned(), value)
    };
    names.map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        let make = |name: &str| fs::write(at(name), "x").unwrap();
        for name in ["same", "content", "mode", "gone", "replaced"] {
            make(name);
        }
        fs::create_dir(at("d")).unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let before = Snapshot::of(top.path());
        fs::write(at("content"), "y").unwrap();
        fs::set_permissions(at("mode"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::remove_file(at("gone")).unwrap();
        fs::write(at("copy"), "x").unwrap();
        fs::rename(at("copy"), at("replaced")).unwrap();
        fs::write(at("d/new"), "").unwrap();
        fs::remove_file(at("link")).unwrap();
        std::os::unix::fs::symlink("b", at("link")).unwrap();
        let after = Snapshot::of(top.path());
        let changes = before.changes(&after);
        let names: Vec<_> = changes.iter().map(|c| c.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["content", "new", "gone", "link", "mode", "replaced"]);
        assert!(changes.iter().any(|c| c.path == at("replaced") && c.is_only_replaced()));
    }
}

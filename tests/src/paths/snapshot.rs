//! What a tree looks like, for comparing before and after.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What stands at one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    mode: u32,
    owner: (u32, u32),
    /// Seconds and nanoseconds; left out where others write meanwhile.
    modified: Option<(i64, i64)>,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    File(Vec<u8>),
    /// Too large to be kept; its length.
    LargeFile(u64),
    Link(OsString),
    Folder,
    Special,
}

/// The largest file whose content is kept.
const LARGEST: u64 = 1024 * 1024;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Content, modes, owners and times.
    All,
    /// All but times: somebody else rewrites files with the same content meanwhile.
    NoTimes,
}

/// A tree without the parts below `except`.
///
/// # Errors
/// When something cannot be read.
pub fn take(top: &Path, except: &[PathBuf], detail: Detail) -> io::Result<BTreeMap<PathBuf, Entry>> {
    let mut found = BTreeMap::new();
    let mut left = vec![top.to_owned()];
    while let Some(path) = left.pop() {
        if except.contains(&path) {
            continue;
        }
        let entry = look(&path, detail)?;
        if entry.content == Content::Folder {
            for below in fs::read_dir(&path)? {
                left.push(below?.path());
            }
        }
        found.insert(path, entry);
    }
    // The folder that holds everything changes with its members.
    found.remove(top);
    Ok(found)
}

fn look(path: &Path, detail: Detail) -> io::Result<Entry> {
    let meta = fs::symlink_metadata(path)?;
    let kind = meta.file_type();
    let content = if kind.is_symlink() {
        Content::Link(fs::read_link(path)?.into())
    } else if kind.is_dir() {
        Content::Folder
    } else if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
        Content::Special
    } else if meta.len() > LARGEST {
        Content::LargeFile(meta.len())
    } else {
        Content::File(fs::read(path)?)
    };
    let modified = (detail == Detail::All).then(|| (meta.mtime(), meta.mtime_nsec()));
    Ok(Entry { mode: meta.mode(), owner: (meta.uid(), meta.gid()), modified, content })
}

/// The names at which two looks differ.
pub fn differences(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    let mut names: Vec<_> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| name.display().to_string())
        .collect()
}

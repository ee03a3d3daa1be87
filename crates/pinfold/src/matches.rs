//! The matches of wildcards in a command line: links among them, and guarded names.
//!
//! Names that match and are no links lie where the pattern says, and are judged by it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use pinfold_commands::wild;
use pinfold_paths::{self as paths, Directory, EntryKind, Kind, LastLink, Place, Resolution};
use pinfold_policy::{GuardHit, Operation};

use crate::guarded::{self, CallChanges};
use crate::session::Shared;

/// The most names that are looked at before it is not known what matches.
const MAX_NAMES: usize = 20_000;

/// The most matching links that are followed before it is not known where they lead.
const MAX_LINKS: usize = 256;

/// The deepest folder that a pattern is followed into.
const MAX_LEVELS: usize = 64;

/// The matches of a pattern.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// The targets of links among the matches, as they are named and for real.
    pub(crate) real: Vec<PathBuf>,
    /// The first guard that a match meets.
    pub(crate) guarded: Option<GuardHit>,
    /// Something on the way could not be looked at, or was too much.
    pub(crate) unknown: bool,
}

/// Splits a path at the first name with wildcards: the folder in front of it, and the names from there on.
pub(crate) fn split(path: &Path) -> (PathBuf, Vec<String>) {
    let text = path.as_os_str().to_string_lossy();
    let mut names: Vec<&str> = text.split('/').collect();
    let first = names.iter().position(|name| name.contains(['*', '?', '['])).unwrap_or(names.len());
    let behind = names.split_off(first.min(names.len()));
    let folder = match names.as_slice() {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        names => names.join("/"),
    };
    (folder.into(), behind.into_iter().filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect())
}

/// Looks for what matches `names` below a folder.
pub(crate) fn find(shared: &Shared, folder: &Place, names: &[String], operation: Operation) -> Matches {
    let mut search = Search { shared, operation, found: Matches::default(), looked: 0, links: 0 };
    if names.len() > MAX_LEVELS {
        search.found.unknown = true;
    } else if folder.kind() == Kind::Directory {
        match folder.open_dir() {
            Ok(directory) => search.folder(&directory, folder.real(), names),
            Err(_) => search.found.unknown = true,
        }
    }
    search.found
}

struct Search<'a> {
    shared: &'a Shared,
    operation: Operation,
    found: Matches,
    looked: usize,
    links: usize,
}

impl Search<'_> {
    fn folder(&mut self, directory: &Directory, real: &Path, names: &[String]) {
        let Some((name, rest)) = names.split_first() else { return };
        if !name.contains(['*', '?', '[']) {
            let kind = directory.kind(OsStr::new(name));
            if let Ok(kind) = kind {
                self.entry(directory, real, OsStr::new(name), kind == Kind::Link, rest);
            }
            return;
        }
        let Ok(entries) = directory.entries() else {
            self.found.unknown = true;
            return;
        };
        for entry in entries {
            self.looked += 1;
            if self.looked > MAX_NAMES {
                self.found.unknown = true;
            }
            let Ok(entry) = entry else { continue };
            if self.found.unknown || self.found.guarded.is_some() {
                return;
            }
            if !wild::may_be(name, entry.name.as_bytes()) {
                continue;
            }
            let is_link = match entry.kind {
                Some(kind) => kind == EntryKind::Link,
                None => directory.kind(&entry.name).is_ok_and(|kind| kind == Kind::Link),
            };
            self.entry(directory, real, &entry.name, is_link, rest);
        }
    }

    /// A name that matches; `rest` is looked for below it.
    fn entry(&mut self, directory: &Directory, real: &Path, name: &OsStr, is_link: bool, rest: &[String]) {
        let path = real.join(name);
        if is_link && (self.operation.follows_last_link() || !rest.is_empty()) {
            return self.link(&path, rest);
        }
        if rest.is_empty() {
            let open = || directory.open_file(name).ok().map(|(file, _)| file);
            self.found.guarded = guarded::find_for_listed(self.shared, &path, self.operation, open);
        } else if let Ok(next) = directory.open_dir(name) {
            self.folder(&next, &path, rest);
        }
    }

    fn link(&mut self, path: &Path, rest: &[String]) {
        self.links += 1;
        if self.links > MAX_LINKS {
            self.found.unknown = true;
            return;
        }
        let claim = paths::PathClaim::new(path.as_os_str());
        let resolution = self.shared.bounds.line.resolve(Path::new("/"), &claim, LastLink::Follow);
        let place: &Place = match &resolution {
            Resolution::Contained(place) => place,
            Resolution::Outside(place) => place,
            Resolution::Unresolved(lost) => {
                // A link that leads nowhere is no file to read.
                self.found.unknown |= lost.why != paths::Why::Dangling;
                return;
            }
        };
        if rest.is_empty() {
            self.found.guarded =
                guarded::find_at(self.shared, place, self.operation, &CallChanges::default());
            self.found.real.extend([path.to_owned(), place.real().to_owned()]);
        } else if place.kind() == Kind::Directory
            && let Ok(directory) = place.open_dir()
        {
            // What lies behind a link has another name than the pattern says.
            let real = place.real().to_owned();
            self.found.real.push(rest.iter().fold(real.clone(), |path, name| path.join(name)));
            self.folder(&directory, &real, rest);
        }
    }
}

//! Prediction of the paths that a process is going to remove, made at the first removal.
//!
//! A guess from the arguments and the open directories of the process: it decides what a question shows, and a yes covers
//! what was shown and nothing else.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold::paths::show;
use pinfold_sandbox::{Caller, Syscall};

use super::process_call;

/// Programs whose arguments are the paths that they remove. Another program by such a name gets the same question.
const REMOVERS: [&str; 6] = ["rm", "rmdir", "unlink", "find", "shred", "rimraf"];

/// A tree of more files and folders is not asked about: no person could look at it.
const MAX_ENTRIES: usize = 100_000;

/// Names that a question lists. A tree with more is not moved out by one.
pub(super) const MAX_LISTED_NAMES: usize = 200;

/// Paths that are going to be removed.
#[derive(Debug)]
pub(super) struct Removal {
    pub(super) roots: Vec<Root>,
}

/// A place that goes, with all that is below it.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) place: PathBuf,
    pub(super) is_folder: bool,
    /// The names below it.
    pub(super) below: Vec<String>,
    things: Vec<(PathBuf, Identity)>,
}

/// Identity of a file: its device and inode.
pub(super) type Identity = (u64, u64);

/// Why nothing is asked.
#[derive(Debug)]
pub(super) struct TooMany;

impl Removal {
    /// Returns the further paths that the process is going to remove; `None` when there seem to be none.
    ///
    /// # Errors
    /// [`TooMany`] when there are more than can be shown. `is_inside`: whether the process may remove a path by itself.
    pub(super) fn predict(
        call: &Syscall,
        is_inside: &dyn Fn(&Path) -> bool,
    ) -> Result<Option<Self>, TooMany> {
        let Some(first) = call.places.first() else { return Ok(None) };
        let mut places = expected(first, &call.caller);
        // What lies inside is the process's own.
        places.retain(|place| !is_inside(place));
        if places.iter().all(|place| place == first) {
            return Ok(None);
        }
        let mut left = MAX_ENTRIES;
        let roots = places.into_iter().filter_map(|place| Root::look(place, &mut left)).collect();
        let removal = Self { roots };
        if left == 0 {
            return Err(TooMany);
        }
        let count: usize = removal.roots.iter().map(|root| root.things.len()).sum();
        Ok(Some(removal).filter(|_| count > 1))
    }

    /// Everything that goes: where it lies, and which file it is.
    pub(super) fn things(&self) -> HashMap<PathBuf, Identity> {
        self.roots.iter().flat_map(|root| root.things.iter().cloned()).collect()
    }

    /// The places, in words.
    pub(super) fn describe(&self) -> String {
        self.roots.iter().map(|root| root.place.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

impl Root {
    fn look(place: PathBuf, left: &mut usize) -> Option<Self> {
        let found = place.symlink_metadata().ok()?;
        let mut root = Self {
            is_folder: found.is_dir(),
            below: Vec::new(),
            things: vec![(place.clone(), (found.dev(), found.ino()))],
            place,
        };
        *left = left.saturating_sub(1);
        if root.is_folder {
            let top = root.place.clone();
            root.look_below(&top, found.dev(), left);
        }
        Some(root)
    }

    /// Links are not followed, and what is mounted below stays what it is.
    fn look_below(&mut self, top: &Path, device: u64, left: &mut usize) {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            let mut entries: Vec<_> = fs::read_dir(&folder).into_iter().flatten().flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let Ok(found) = entry.metadata() else { continue };
                if *left == 0 {
                    return;
                }
                *left -= 1;
                let path = entry.path();
                if found.dev() == device {
                    self.things.push((path.clone(), (found.dev(), found.ino())));
                }
                self.below.push(show(path.strip_prefix(top).unwrap_or(&path).as_os_str()));
                if found.is_dir() && found.dev() == device {
                    folders.push(path);
                }
            }
        }
    }

    /// The names that are shown.
    pub(super) fn names(&self) -> Vec<String> {
        self.below.iter().take(MAX_LISTED_NAMES).cloned().collect()
    }
}

/// The places that go with the first one, which is among them or below one of them.
fn expected(first: &Path, caller: &Caller) -> Vec<PathBuf> {
    let operands = process_call::operands(caller);
    let covers = |place: &PathBuf| first.starts_with(place);
    let is_remover = REMOVERS.iter().any(|name| caller.program.as_encoded_bytes() == name.as_bytes());
    if is_remover && operands.iter().any(covers) {
        return operands;
    }
    let walked = walked(first, caller);
    let named = operands.into_iter().filter(covers).max_by_key(|place| place.components().count());
    // The folder that its words name, where it walks through that; else the topmost that it walks through.
    let named = named.filter(|named| walked.iter().any(|folder| folder.starts_with(named)));
    let topmost = || walked.iter().min_by_key(|folder| folder.components().count()).cloned();
    named.or_else(topmost).into_iter().collect()
}

/// Folders above a place that the process reads, other than whole homes and what lies at the top of the system.
fn walked(first: &Path, caller: &Caller) -> Vec<PathBuf> {
    /// A descriptor that stands for a place and reads nothing.
    const PATH_ONLY: u32 = 0o10_000_000;
    let is_home = |folder: &Path| std::env::home_dir().is_some_and(|home| home.starts_with(folder));
    let reads = |fd: &str| {
        let info = fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", caller.pid)).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        Some(u32::from_str_radix(flags.trim(), 8).ok()? & PATH_ONLY == 0)
    };
    let entries = fs::read_dir(format!("/proc/{}/fd", caller.pid)).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let folder = fs::read_link(entry.path()).ok()?;
            let is_above = first != folder && first.starts_with(&folder) && folder.components().count() > 2;
            let is_walked = is_above && !is_home(&folder) && folder.is_dir();
            is_walked.then(|| reads(entry.file_name().to_str()?)).flatten()?.then_some(folder)
        })
        .collect()
}

//! The configuration of a repository that existed before the run: git replaces it by renaming `config.lock` over it.
//!
//! One that differs in harmless keys alone takes its place: which branch follows which. The supervisor puts there what it
//! read and looked at, in a file of its own; a descriptor of the lock that is still open writes to nothing.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::Why;
use super::nested::is_plain;
use crate::git::config::{Config, MAX_SIZE};
use crate::git::settle::differs_harmlessly;

const NAMES_PROGRAMS: &str = "git runs programs that are named there";

/// A replacement that was looked at and is about to be carried out.
#[derive(Debug, Default)]
pub(crate) struct ConfigSwap {
    looked_at: Option<(PathBuf, PathBuf, Vec<u8>)>,
}

impl ConfigSwap {
    /// Says why a change of `config` is refused.
    pub(super) fn judge(&mut self, attempt: &Attempt, git_dir: &Path) -> Option<Why> {
        self.looked_at = None;
        let (Intent::MoveTo, Detail::From(from)) = (attempt.intent, &attempt.detail) else {
            return Some(NAMES_PROGRAMS.to_owned());
        };
        let looked_at = read(from).filter(|content| is_harmless(&attempt.place, content));
        match looked_at.filter(|_| *from == git_dir.join("config.lock")) {
            None => Some(NAMES_PROGRAMS.to_owned()),
            Some(content) => {
                self.looked_at = Some((from.clone(), attempt.place.clone(), content));
                None
            }
        }
    }

    /// Says why a first or further configuration of a new repository is refused.
    pub(super) fn judge_new(&mut self, attempt: &Attempt) -> Option<Why> {
        self.looked_at = None;
        let from = match &attempt.detail {
            Detail::From(from) if *from == attempt.place.with_file_name("config.lock") => from,
            _ => return Some(NAMES_PROGRAMS.to_owned()),
        };
        let plain = |content: &Vec<u8>| Config::read_from(content.as_slice()).is_ok_and(|new| is_plain(&new));
        let Some(content) = read(from).filter(plain) else { return Some(NAMES_PROGRAMS.to_owned()) };
        self.looked_at = Some((from.clone(), attempt.place.clone(), content));
        None
    }

    /// The content that was looked at, for the rename that it was looked at for.
    pub(super) fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
        let (from, to, content) = self.looked_at.take()?;
        match attempts {
            [Attempt { place: first, intent: Intent::MoveFrom, .. }, Attempt { place: second, .. }]
                if *first == from && *second == to =>
            {
                Some(content)
            }
            _ => None,
        }
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file: File = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= MAX_SIZE).then_some(content)
}

fn is_harmless(config: &Path, content: &[u8]) -> bool {
    let before = Config::read(config).ok();
    let after = Config::read_from(content).ok();
    before.zip(after).is_some_and(|(before, after)| differs_harmlessly(&before, &after))
}

//! The configuration of a repository that existed before the run: git replaces it by renaming `config.lock` over it.
//!
//! One that differs in harmless keys alone takes its place: which branch follows which.

use std::path::Path;

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::Why;
use super::index_swap;
use super::nested::is_plain;
use super::swap::{Kind, Swap};
use crate::git::config::{Config, MAX_SIZE};
use crate::git::settle::differs_harmlessly;

const NAMES_PROGRAMS: &str = "git runs programs that are named there";
const KIND: Kind = Kind { most: MAX_SIZE, synced: true, unread: NAMES_PROGRAMS };

/// Says why a change of `config` is refused.
pub(super) fn judge(swap: &mut Swap, attempt: &Attempt, git_dir: &Path) -> Option<Why> {
    match (attempt.intent, &attempt.detail) {
        (Intent::MoveTo, Detail::From(from)) if *from == git_dir.join("config.lock") => {
            swap.judge(attempt, from, KIND, |content| {
                (!is_harmless(&attempt.place, content)).then(|| NAMES_PROGRAMS.to_owned())
            })
        }
        _ => Some(NAMES_PROGRAMS.to_owned()),
    }
}

/// Says why a first or further configuration of a new repository is refused.
pub(super) fn judge_new(swap: &mut Swap, attempt: &Attempt) -> Option<Why> {
    match &attempt.detail {
        Detail::From(from) if *from == attempt.place.with_file_name("config.lock") => {
            swap.judge(attempt, from, KIND, |content| {
                let fits = |new: &Config| is_plain(new) && index_swap::can_be_read_by(&attempt.place, new);
                let taken = Config::read_from(content).is_ok_and(|new| fits(&new));
                (!taken).then(|| NAMES_PROGRAMS.to_owned())
            })
        }
        _ => Some(NAMES_PROGRAMS.to_owned()),
    }
}

fn is_harmless(config: &Path, content: &[u8]) -> bool {
    let before = Config::read(config).ok();
    let after = Config::read_from(content).ok();
    before.zip(after).is_some_and(|(before, after)| differs_harmlessly(&before, &after))
}

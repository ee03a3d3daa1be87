//! The configuration of a repository that existed before the run: git replaces it by renaming `config.lock` over it.
//!
//! One that differs in harmless keys alone takes its place: which branch follows which.

use std::path::Path;

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::Why;
use super::nested::is_plain;
use super::swap::PendingReplacement;
use crate::git::config::{Config, MAX_SIZE};
use crate::git::settle::differs_harmlessly;
use crate::lookup::Lookup;

const NAMES_PROGRAMS: &str = "git runs programs that are named there";

/// Says why a change of `config` is refused.
pub(super) fn judge(swap: &mut PendingReplacement, attempt: &Attempt, git_dir: &Path) -> Option<Why> {
    let lock = git_dir.join("config.lock");
    let accepted = lock_of(attempt).filter(|from| *from == lock).is_some_and(|from| {
        swap.look(attempt, from, MAX_SIZE, |content| is_harmless(&attempt.place, content))
    });
    (!accepted).then(|| NAMES_PROGRAMS.to_owned())
}

/// Says why a first or further configuration of a new repository is refused.
pub(super) fn judge_new(swap: &mut PendingReplacement, attempt: &Attempt) -> Option<Why> {
    let lock = attempt.place.with_file_name("config.lock");
    let plain = |content: &[u8]| {
        Config::read_from(content).is_ok_and(|new| is_plain(&new) && keeps_format(&attempt.place, &new))
    };
    let accepted = lock_of(attempt)
        .filter(|from| *from == lock)
        .is_some_and(|from| swap.look(attempt, from, MAX_SIZE, plain));
    (!accepted).then(|| NAMES_PROGRAMS.to_owned())
}

/// The file that a plain rename puts there.
fn lock_of(attempt: &Attempt) -> Option<&Path> {
    match (attempt.intent, &attempt.detail) {
        (Intent::MoveTo, Detail::From(from)) => Some(from),
        _ => None,
    }
}

/// Returns whether git goes on to read an index that is there as it was read when it was judged.
fn keeps_format(config: &Path, after: &Config) -> bool {
    let read_by_it = ["index", "worktrees"];
    let is_free = read_by_it.iter().all(|name| Lookup::find(&config.with_file_name(name)).is_missing());
    let format = |config: &Config| config.last("extensions", None, "objectformat").map(str::to_owned);
    is_free || Config::read(config).is_ok_and(|before| format(&before) == format(after))
}

fn is_harmless(config: &Path, content: &[u8]) -> bool {
    let before = Config::read(config).ok();
    let after = Config::read_from(content).ok();
    before.zip(after).is_some_and(|(before, after)| differs_harmlessly(&before, &after))
}

//! Places outside, and places that are held: each is what it was, and what must not appear is not there.

use std::collections::HashSet;
use std::path::Path;

use super::config::only_tracking_came;
use super::{Found, Look, Violation, is_placeholder};
use crate::hostile::gits::is_repository;
use crate::hostile::roles::Role;
use crate::hostile::snapshot::{Change, Entry};

pub(super) fn check(look: &Look<'_>, all: &mut Vec<Violation>) {
    for change in look.changes() {
        let Some(kind) = violated(look, change) else { continue };
        all.push(look.violation(Found { kind, path: change.path, what: change.to_string() }));
    }
    modules(look, all);
    touched(look, all);
}

/// What a change violates, if anything.
fn violated(look: &Look<'_>, change: Change<'_>) -> Option<&'static str> {
    let own = |seen, entry: Option<&Entry>| entry.is_some_and(|e| is_placeholder(seen, change.path, e));
    let (was_ours, is_ours) = (own(look.before, change.before), own(look.after, change.after));
    // A killed run leaves them, and the next one takes them away: see `left`.
    if (was_ours || change.before.is_none()) && (is_ours || change.after.is_none()) {
        return None;
    }
    let race = look.is_race_with_the_watch();
    match look.role(change.path) {
        Role::Outside if change.is_only_replaced() => Some("what is outside was replaced"),
        Role::Outside if race && only_metadata(change) => None,
        Role::Outside => Some("what is outside was changed"),
        Role::Held(_) | Role::Config | Role::Pinned if race => None,
        Role::Held(_) if change.is_only_replaced() => None,
        Role::Held(_) if change.before.is_none() || was_ours => Some("what must not appear is there"),
        Role::Held(_) => Some("what is held was changed"),
        Role::Config => match (change.before, change.after) {
            (Some(before), Some(after)) if only_tracking_came(before, after) => None,
            _ => Some("what is held was changed"),
        },
        Role::Pinned => {
            let stays = |before: &Entry| {
                change.after.is_some_and(|after| after.is_dir() && after.place == before.place)
            };
            let moved = change.before.is_some_and(|before| before.is_dir() && !stays(before));
            moved.then_some("a git directory was moved or replaced")
        }
        Role::Content | Role::Reported | Role::GitData | Role::Own => None,
    }
}

fn only_metadata(change: Change<'_>) -> bool {
    change
        .before
        .zip(change.after)
        .is_some_and(|(before, after)| before.content == after.content && before.place == after.place)
}

/// A new repository in `modules`, where the next `git submodule update` looks for one.
fn modules(look: &Look<'_>, all: &mut Vec<Violation>) {
    for git in look.roles.gits.granted() {
        let modules = git.at.join("modules");
        let new = look.after.below(&modules).filter(|(path, entry)| {
            entry.is_dir() && !look.roles.gits.has(path) && is_repository(look.after, path)
        });
        for (path, _) in new.filter(|(path, _)| !is_repository(look.before, path)) {
            let what = "a repository that `git submodule update` would take".to_owned();
            all.push(look.violation(Found { kind: "a repository in modules", path, what }));
        }
    }
}

/// Times outside: nothing of a run has touched anything there. Only the present time reaches a file there that has a name in
/// the folder too: a clone on one machine shares the files of its objects with the repository it was made from, and git gives
/// that time to an object that it would write again.
fn touched(look: &Look<'_>, all: &mut Vec<Violation>) {
    if look.is_race_with_the_watch() {
        return;
    }
    // What pinfold keeps lies in the home, so that directories above it have other times.
    let files = || look.before.entries().filter(|(_, entry)| !entry.is_dir());
    let is_free = |path: &Path| matches!(look.role(path), Role::GitData | Role::Content | Role::Reported);
    let granted: HashSet<_> = files()
        .filter(|(path, entry)| entry.links > 1 && is_free(path))
        .map(|(_, entry)| entry.place)
        .collect();
    let is_touched = |(path, before): &(&Path, &Entry)| {
        let is_present = |after: &Entry| {
            (before.changed..=after.changed).contains(&after.modified) && granted.contains(&before.place)
        };
        look.after.get(path).is_some_and(|after| {
            after.modified != before.modified && after.is_like(before) && !is_present(after)
        })
    };
    for (path, _) in files().filter(is_touched).filter(|(path, _)| look.role(path) == Role::Outside) {
        let what = "its time of modification is another".to_owned();
        all.push(look.violation(Found { kind: "what is outside was touched", path, what }));
    }
}

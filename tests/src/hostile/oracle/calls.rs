//! Calls that the kernel carried out although they are about a place outside, or one that is held.

use std::path::Path;

use super::{Found, Look, Violation};
use crate::hostile::log::Logged;
use crate::hostile::program::is_concurrent;
use crate::hostile::roles::Role;

/// Calls that change nothing.
const HARMLESS: [&str; 2] = ["sh", "read"];

/// Calls that only make a new name: the place that the first one names stays as it is.
const FIRST_STAYS: [&str; 2] = ["link", "flink"];

pub(super) fn check(look: &Look<'_>, all: &mut Vec<Violation>) {
    // Where others move things meanwhile, a call may be about another place than it was a moment before.
    if is_concurrent(look.stage) {
        return;
    }
    for call in look.ran.iter().flat_map(|ran| &ran.calls).filter(|call| call.is_done()) {
        if HARMLESS.contains(&call.call.as_str()) {
            continue;
        }
        for (at, place) in call.places.iter().enumerate() {
            if let Some(kind) = violated(look, call, at, place) {
                all.push(look.violation(Found {
                    kind,
                    path: place,
                    what: format!("`{}` was carried out", call.call),
                }));
            }
        }
    }
}

fn violated(look: &Look<'_>, call: &Logged, at: usize, place: &Path) -> Option<&'static str> {
    // What is held stays writable in a git directory as a whole; only names below it are looked at.
    let moves = matches!(call.call.as_str(), "rename" | "rmdir" | "unlink");
    match look.role(place) {
        // A new name for something outside is one for what the run must not write.
        Role::Outside => Some("a call outside was carried out"),
        Role::Held(_) if at == 0 && FIRST_STAYS.contains(&call.call.as_str()) => {
            Some("what is held got another name")
        }
        Role::Held(_) => Some("a call on what is held was carried out"),
        Role::Own if place.starts_with(&look.world.roots.home) => {
            Some("a call on pinfold's own was carried out")
        }
        Role::Pinned if moves && look.before.has(place) => Some("a git directory was moved or replaced"),
        Role::Config | Role::Own | Role::Pinned | Role::Content | Role::Reported | Role::GitData => None,
    }
}

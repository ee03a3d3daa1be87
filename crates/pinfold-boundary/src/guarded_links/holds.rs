//! Holds on the targets of guarded names: by mounts, by judgement, and for the file tools.

use std::fs;
use std::path::{Path, PathBuf};

use pinfold_policy::{Guard, Guards};

use super::{Linked, Reason, follow};
use crate::access_list::{AccessList, Hold, PathAccess};
use crate::git::protect::pin_between;

/// Holds the targets where system calls are not mediated: a missing one by the first missing directory on the way to it.
pub(crate) fn protect(linked: &[Linked], granted: &[PathBuf], places: &mut AccessList) {
    for Linked { place, why, .. } in linked {
        if places.access(place) != PathAccess::Writable {
            continue;
        }
        let missing = place.ancestors().take_while(|at| fs::symlink_metadata(at).is_err()).last();
        let at = missing.unwrap_or(place);
        granted.iter().filter(|folder| at.starts_with(folder)).for_each(|folder| {
            pin_between(folder, at, places);
        });
        places.add(at.to_owned(), wall_at(at), why.clone());
    }
}

fn wall_at(place: &Path) -> Hold {
    match (fs::read_link(place), fs::symlink_metadata(place)) {
        (Ok(text), _) => Hold::CoveringLink(text),
        (_, Ok(found)) if found.is_dir() && pinfold_sandbox::is_placeholder(place) => Hold::Absent,
        (_, Ok(_)) => Hold::ReadOnly,
        (_, Err(_)) => Hold::Absent,
    }
}

/// Holds it where every call is judged by what it names. `own` is the run's.
pub(crate) fn judge(linked: &[Linked], own: &[PathBuf], places: &mut AccessList) {
    for Linked { place, why, .. } in linked {
        let is_own = own.iter().any(|own| place.starts_with(own));
        if !is_own && places.access(place) == PathAccess::Writable {
            places.add(place.clone(), Hold::ReadOnly, why.clone());
        }
    }
}

/// Adds guards for the file tools: a target needs an approver as its guarded name does.
pub(crate) fn add_guards(linked: &[Linked], guards: Guards) -> Guards {
    let sensitive = linked.iter().filter(|linked| linked.kind.is_sensitive());
    sensitive.fold(guards, |guards, linked| guards.with_run(&linked.place, &linked.why))
}

/// The links that a guarded name leads through.
pub(crate) fn on_the_way(name: &Path, guard: &Guard) -> impl Iterator<Item = Linked> {
    let reason = Reason { kind: guard.kind(), why: guard.why() };
    follow(name).links.into_iter().map(move |link| Linked::new(&link, name, reason))
}

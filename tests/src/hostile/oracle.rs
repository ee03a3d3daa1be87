//! The oracle: what must not have happened in one stage, found from outside.
//!
//! | check | what it asks |
//! | --- | --- |
//! | `places` | is everything outside, and everything held, what it was? |
//! | `calls` | did a call succeed that was not to? |
//! | `links` | does a link lead later git commands out of a git directory? |
//! | `reports` | is what was changed reported, and what is reported true? |
//! | `left` | is something left behind? |
//! | `person` | what happens when the person goes on? |

mod calls;
mod config;
mod left;
mod links;
mod older_links;
mod person;
mod places;
mod reports;

use std::cell::OnceCell;
use std::fmt;
use std::path::Path;

use super::program::{Run, is_concurrent};
use super::roles::{Role, Roles};
use super::runs::{Held, Ran};
use super::snapshot::{Change, Content, Entry, Snapshot};
use super::world::World;
use crate::Tier;

pub(super) use left::{after_the_last as left_behind, grow_old, has_run_directories};
use older_links::OlderLink;
pub(super) use person::goes_on as person_goes_on;

/// Something that must not have happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// What was violated.
    pub kind: &'static str,
    /// What kind of place it was about.
    pub class: String,
    /// What exactly.
    pub what: String,
}

impl Violation {
    /// What violations of one cause share.
    pub fn signature(&self) -> (&'static str, &str) {
        (self.kind, &self.class)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: {}", self.kind, self.class, self.what)
    }
}

/// One stage, as it is seen from outside.
pub(super) struct Look<'a> {
    pub(super) world: &'a World,
    pub(super) roles: &'a Roles,
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) stage: &'a [Run],
    pub(super) ran: &'a [Ran],
    pub(super) held: Held,
    changes: OnceCell<Vec<Change<'a>>>,
    older_links: OnceCell<Vec<OlderLink<'a>>>,
}

/// A violation, before it is written down.
struct Found<'a> {
    kind: &'static str,
    path: &'a Path,
    what: String,
}

impl<'a> Look<'a> {
    /// A look at a world before and after something has run in it.
    pub(super) fn new(
        (world, roles, held): (&'a World, &'a Roles, Held),
        (before, after): (&'a Snapshot, &'a Snapshot),
        (stage, ran): (&'a [Run], &'a [Ran]),
    ) -> Self {
        let (changes, older_links) = (OnceCell::new(), OnceCell::new());
        Self { world, roles, before, after, stage, ran, held, changes, older_links }
    }

    /// What is not as it was before.
    fn changes(&self) -> impl Iterator<Item = Change<'a>> {
        self.changes.get_or_init(|| self.before.changes(self.after)).iter().copied()
    }

    /// Returns whether a file runs later by the name that a link gives it which was there before.
    fn runs_by_older_link(&self, path: &Path) -> bool {
        let links = self.older_links.get_or_init(|| OlderLink::all(self));
        links.iter().any(|link| link.runs_later(self, path))
    }

    /// Everything that was violated in this stage.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut all = Vec::new();
        places::check(self, &mut all);
        calls::check(self, &mut all);
        links::check(self, &mut all);
        if self.held != Held::ByNothing {
            reports::check(self, &mut all);
            left::check(self, &mut all);
            self.orderly(&mut all);
        }
        all
    }

    /// A run ends by itself, and never by a panic.
    fn orderly(&self, all: &mut Vec<Violation>) {
        for ran in self.ran {
            // Without its supervisor a program cannot go on.
            let panicked = !ran.killed && (ran.printed.contains("panicked") || ran.code == Some(101));
            for (kind, is) in [("a run hung", ran.hung), ("a run panicked", panicked)] {
                if is {
                    all.push(Violation { kind, class: "pinfold".into(), what: ran.printed.clone() });
                }
            }
        }
    }

    /// Several actors at a time race the watch, which is all that the Landlock tier has inside the folder, and for
    /// metadata outside: `docs/threat-model.md`, "The Landlock tier".
    fn is_race_with_the_watch(&self) -> bool {
        self.held == Held::By(Tier::LandlockOnly) && is_concurrent(self.stage)
    }

    /// The role of a place in this stage: a project that the runs of it make they furnish as they like, and report what they
    /// put there.
    fn role(&self, path: &Path) -> Role {
        match self.roles.role(path) {
            Role::Held(_) if self.is_of_a_new_project(path) => Role::Reported,
            role => role,
        }
    }

    fn is_of_a_new_project(&self, path: &Path) -> bool {
        let Some((is_autorun, directory)) = self.roles.guarded_in(path) else { return false };
        let is_new = |directory: &Path| {
            let was_empty = directory == self.world.roots.folder && self.before.below(directory).count() == 1;
            was_empty || !self.before.has_dir(directory)
        };
        let with_repository = |top: &Path| {
            is_new(top) && !self.before.has(&top.join(".git")) && self.after.has_dir(&top.join(".git"))
        };
        is_autorun && is_new(directory) || directory.ancestors().any(with_repository)
    }

    fn was_killed(&self) -> bool {
        self.ran.iter().any(|ran| ran.killed)
    }

    fn violation(&self, Found { kind, path, what }: Found<'_>) -> Violation {
        let shown =
            self.world.roots.place(path).map_or_else(|| path.display().to_string(), |p| p.to_string());
        Violation { kind, class: self.class(path), what: format!("{shown}: {what}") }
    }

    /// What kind of place a path is, for telling causes apart.
    fn class(&self, path: &Path) -> String {
        match self.role(path) {
            Role::Outside if path.starts_with(&self.world.roots.home) => "home".into(),
            Role::Outside => "outside".into(),
            Role::Held(what) => what.into(),
            Role::Config => "git config".into(),
            Role::Pinned => "git directory".into(),
            Role::GitData => "git data".into(),
            Role::Reported => "runs later".into(),
            Role::Content => "content".into(),
            Role::Own => "pinfold's own".into(),
        }
    }
}

/// Whether an entry is what pinfold holds a missing name with: an empty directory or a small file, marked by its mode.
fn is_placeholder(seen: &Snapshot, path: &Path, entry: &Entry) -> bool {
    const DIRECTORY: u32 = 0o1755;
    const FILE: u32 = 0o1444;
    match &entry.content {
        Content::Directory => entry.mode == DIRECTORY && seen.below(path).count() == 1,
        Content::File(content) => entry.mode == FILE && content.len() <= 2,
        Content::Link(_) | Content::Special(_) => false,
    }
}

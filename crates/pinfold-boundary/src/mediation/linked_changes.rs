//! Changes of files that run later by a name that is not in the call: that of an older link, or one below a directory that is moved.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::{Mediator, is_among_dependencies};
use crate::boundary::Boundary;
use crate::guarded_links::{LinkedBuildFiles, runs_later};

/// Names in a directory that is about to be moved.
#[derive(Debug, Default)]
pub(super) struct NamesInMoved {
    /// Names that run later, lost or new.
    later: Vec<PathBuf>,
    /// New names of links.
    links: Vec<PathBuf>,
}

impl Mediator {
    /// Returns the older links by which files run later. They are resolved when the first change is about to be made.
    pub(super) fn linked_build_files(&mut self, boundary: &Boundary) -> &LinkedBuildFiles {
        self.linked_build_files.get_or_insert_with(|| boundary.linked_build_files())
    }

    /// Notes a change of what an older link leads to or through.
    pub(super) fn note_linked(&mut self, boundary: &Boundary, attempt: &Attempt) {
        let place = attempt.place.as_path();
        let linked = self.linked_build_files(boundary);
        let is_linked = attempt.intent != Intent::MakeDir && linked.find(boundary, place).is_some();
        let replaces =
            matches!(attempt.intent, Intent::Remove | Intent::MoveFrom | Intent::MoveTo | Intent::Symlink);
        let beneath: Vec<PathBuf> = if replaces {
            linked.beneath(place).filter(|at| *at != place).map(Path::to_owned).collect()
        } else {
            Vec::new()
        };
        if is_linked {
            self.note_file(place, attempt.intent);
        }
        for place in beneath {
            self.changes.file(&place);
        }
    }

    /// Notes a file that runs later. A directory that this run made was not there before: removed again, it is no change.
    pub(super) fn note_file(&mut self, place: &Path, intent: Intent) {
        match (self.created.contains(place), intent) {
            (true, Intent::Remove) => {}
            (true, _) => self.changes.new_file(place),
            (false, _) => self.changes.file(place),
        }
    }

    /// Adds the names of an entry of a directory that is about to be moved, the one that it loses and the one that it gets.
    pub(super) fn add_names(
        &self,
        boundary: &Boundary,
        (from, to): (&Path, &Path),
        (entry, kind): (&Path, FileType),
        names: &mut NamesInMoved,
    ) {
        let there = entry.strip_prefix(from).map_or_else(|_| entry.to_owned(), |below| to.join(below));
        if kind.is_symlink() && !is_among_dependencies(boundary, &there) {
            names.links.push(there.clone());
        }
        let by_link = |name: &Path| {
            self.linked_build_files.as_ref().is_some_and(|linked| linked.find(boundary, name).is_some())
        };
        let both = [entry.to_owned(), there].into_iter();
        names.later.extend(both.filter(|name| runs_later(boundary, name) || by_link(name)));
    }

    /// Notes the names in a directory that is about to be moved, which were found when the move was judged.
    pub(super) fn note_moved(&mut self, attempt: &Attempt) {
        let is_moved = attempt.intent == Intent::MoveFrom
            || attempt.intent == Intent::MoveTo && matches!(attempt.detail, Detail::Exchange(_));
        let names = std::mem::take(&mut self.names_in_moved);
        if !is_moved {
            return;
        }
        for name in &names.later {
            self.changes.file(name);
        }
        for link in &names.links {
            self.changes.link(link, false);
        }
    }
}

//! Guarded names that are links, found when something beside or below them is first changed: what the look at the start did not
//! reach, and what the person made since.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::created::CreatedByRun;
use super::{UNSEEN, Why, is_among_dependencies};
use crate::boundary::Boundary;
use crate::guarded_links::{LinkSearch, Linked};
use crate::scan::Bounds;
use crate::within::{is_same_text, is_within};

/// Directories that are remembered before all are looked at anew.
const MAX_DIRECTORIES: usize = 100_000;

/// Directories that were looked at, and what guarded names in them lead to.
#[derive(Debug, Default)]
pub(super) struct Links {
    known: HashSet<PathBuf>,
    /// The last of them that was asked about: it and all above it are known.
    last: PathBuf,
    protected: BTreeMap<PathBuf, Linked>,
    /// The links beyond the look at the start are among them.
    has_all: bool,
}

impl Links {
    /// Looks at a directory and those above it, each once. Directories that this run made, and those of dependencies, are skipped: no tool
    /// acts on guarded names there.
    ///
    /// # Errors
    /// The reason, when not all could be looked at that the user could open again.
    pub(super) fn look_above(
        &mut self,
        boundary: &Boundary,
        created: &CreatedByRun,
        nearest: Option<&Path>,
    ) -> Result<(), Why> {
        self.take_all(boundary)?;
        let Some(nearest) = nearest.filter(|nearest| !is_same_text(nearest, &self.last)) else {
            return Ok(());
        };
        for directory in nearest.ancestors().take_while(|at| boundary.is_within_granted(at)) {
            if self.known.contains(directory) {
                continue;
            }
            if self.known.len() >= MAX_DIRECTORIES {
                self.known.clear();
                self.last = PathBuf::new();
            }
            let is_others = is_among_dependencies(boundary, &directory.join("name"));
            if is_others || created.is_new_project(directory) {
                self.known.insert(directory.to_owned());
                continue;
            }
            let mut look = LinkSearch::new(boundary.guards_by_name(), boundary.home(), Bounds::WHOLE);
            look.directly_in(directory);
            if look.met_closed() {
                self.last = PathBuf::new();
                return Err(UNSEEN.to_owned());
            }
            self.known.insert(directory.to_owned());
            let (found, _) = look.finish();
            self.hold(boundary, &found);
        }
        nearest.clone_into(&mut self.last);
        Ok(())
    }

    /// Takes over the links that the look at the start did not reach.
    fn take_all(&mut self, boundary: &Boundary) -> Result<(), Why> {
        if self.has_all {
            return Ok(());
        }
        if let Some(all) = boundary.links_beyond_start() {
            if let Some(gap) = &all.gap {
                return Err(gap.why());
            }
            self.hold(boundary, &all.found);
        }
        self.has_all = true;
        Ok(())
    }

    fn hold(&mut self, boundary: &Boundary, found: &[Linked]) {
        let protected = found.iter().filter(|linked| boundary.minds_link_to(&linked.place));
        self.protected.extend(protected.map(|linked| (linked.place.clone(), linked.clone())));
    }

    /// Returns the link that leads to a path, or to a directory above it.
    pub(super) fn find(&self, place: &Path) -> Option<&Linked> {
        if self.protected.is_empty() { None } else { place.ancestors().find_map(|at| self.protected.get(at)) }
    }

    /// Returns whether something leads to a place below.
    pub(super) fn lies_beneath(&self, place: &Path) -> bool {
        let from = (Bound::Included(place), Bound::Unbounded);
        self.protected.range::<Path, _>(from).next().is_some_and(|(protected, _)| is_within(protected, place))
    }
}

//! Working trees that existed before the run, found when something in them is first changed: what their configuration makes
//! git run or read is held too, wherever it lies.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::created::CreatedByRun;
use crate::git::layout::{ActingRepository, acting_repository};
use crate::git::named::{MAX_LOOKUPS, NamedPlaces};
use crate::git::person::Person;
use crate::lookup::Lookup;
use crate::within::{is_same_text, is_within};

/// One working tree.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Places that are held, with the reason.
    pub(crate) protected: Vec<(PathBuf, &'static str)>,
    /// Why nothing in it may change.
    pub(crate) closed: Option<&'static str>,
    /// Stays what it is until a call names a part of what ties it to its repository. Otherwise it is looked at each time: a file that
    /// names another one may still be written, and what could not be looked up may be opened again.
    is_settled: bool,
}

/// Directories that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    known: HashMap<PathBuf, Option<Rc<Tree>>>,
    /// The directory that was asked about last, with the trees that it lies in.
    last: Option<(PathBuf, Rc<[Rc<Tree>]>)>,
    person: Option<Person>,
}

/// Most directories that are remembered before all are read anew.
const MAX_DIRECTORIES: usize = 100_000;

const UNREADABLE: &str =
    "the configuration of its repository cannot be read, so it is unknown what git runs there";

impl Trees {
    /// Returns the working trees that a directory lies in, the innermost first, unless this run made them. `is_granted`: the search goes
    /// no further out; always the same for one run.
    pub(super) fn find_around(
        &mut self,
        directory: &Path,
        created: &CreatedByRun,
        home: Option<&Path>,
        is_granted: impl Fn(&Path) -> bool,
    ) -> Rc<[Rc<Tree>]> {
        if let Some((last, trees)) = &self.last
            && is_same_text(last, directory)
        {
            return Rc::clone(trees);
        }
        let tops = directory.ancestors().take_while(|at| is_granted(at));
        let trees: Rc<[Rc<Tree>]> = tops.filter_map(|top| self.working_tree(top, created, home)).collect();
        self.last =
            trees.iter().all(|tree| tree.is_settled).then(|| (directory.to_owned(), Rc::clone(&trees)));
        trees
    }

    /// Returns the working tree with this top directory, unless this run made it.
    fn working_tree(&mut self, top: &Path, created: &CreatedByRun, home: Option<&Path>) -> Option<Rc<Tree>> {
        if let Some(known) = self.known.get(top) {
            return known.clone();
        }
        let is_new = || created.contains(&top.join(".git"));
        let there = !Lookup::find(&top.join(".git")).is_missing();
        let found = (there && !is_new()).then(|| Rc::new(self.look(top, home)));
        if found.as_ref().is_some_and(|tree| !tree.is_settled) {
            return found;
        }
        if self.known.len() >= MAX_DIRECTORIES {
            self.known.clear();
            self.last = None;
        }
        self.known.insert(top.to_owned(), found.clone());
        found
    }

    fn look(&mut self, top: &Path, home: Option<&Path>) -> Tree {
        let closed = || Tree { closed: Some(UNREADABLE), ..Tree::default() };
        let repository = match acting_repository(top) {
            ActingRepository::Found(repository) => repository,
            ActingRepository::None => return Tree::default(),
            ActingRepository::Unknown => return closed(),
        };
        let person = self.person.get_or_insert_with(|| Person::read(home));
        match NamedPlaces::read(&repository, person, home, MAX_LOOKUPS) {
            NamedPlaces { protected, gap: None, .. } => Tree { protected, closed: None, is_settled: true },
            NamedPlaces { gap: Some(_), .. } => closed(),
        }
    }

    /// A call has named a file: by some a working tree becomes one, or gets another configuration.
    pub(crate) fn named(&mut self, name: &OsStr) {
        if [".git", "commondir", "gitdir", "config", "config.worktree"].iter().any(|tie| name == *tie) {
            self.known.clear();
            self.last = None;
        }
    }

    /// Forgets what was found at or below a place that moved.
    pub(crate) fn forget(&mut self, place: &Path) {
        let before = self.known.len();
        self.known.retain(|top, _| !is_within(top, place));
        if self.known.len() != before {
            self.last = None;
        }
    }
}

//! Working trees that existed before the run, found when something in them is first changed: what their configuration makes
//! git run or read is held too, wherever it lies.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::made::Made;
use crate::git::config::Config;
use crate::git::layout::{self, GitLayout, Repository, Tie};
use crate::git::person::Person;
use crate::git::protect::{NAMED, NAMED_BY_PERSON, config_names, person_names};
use crate::lookup::{Lookup, is_missing};
use crate::within::{is_same_text, is_within};

/// One working tree.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Places that are held, with the reason.
    pub(crate) held: Vec<(PathBuf, &'static str)>,
    /// Why nothing in it may change.
    pub(crate) closed: Option<&'static str>,
    /// It stays what it is until a call names a part of what ties it to its repository. Otherwise it is looked at each time: a file that
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
        made: &Made,
        home: Option<&Path>,
        is_granted: impl Fn(&Path) -> bool,
    ) -> Rc<[Rc<Tree>]> {
        if let Some((last, trees)) = &self.last
            && is_same_text(last, directory)
        {
            return Rc::clone(trees);
        }
        let tops = directory.ancestors().take_while(|at| is_granted(at));
        let trees: Rc<[Rc<Tree>]> = tops.filter_map(|top| self.working_tree(top, made, home)).collect();
        self.last =
            trees.iter().all(|tree| tree.is_settled).then(|| (directory.to_owned(), Rc::clone(&trees)));
        trees
    }

    /// Returns the working tree with this top directory, unless this run made it.
    fn working_tree(&mut self, top: &Path, made: &Made, home: Option<&Path>) -> Option<Rc<Tree>> {
        if let Some(known) = self.known.get(top) {
            return known.clone();
        }
        let is_new = || made.contains(&top.join(".git"));
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
        let repository = match layout::detect(top) {
            GitLayout::Repository(repository) => repository,
            // Nothing is granted for it, but git acts by what is written there.
            GitLayout::Unproven { named, .. } if layout::may_serve_as_git_dir(&named) => {
                let Some(common) = layout::common_dir(&named) else { return closed() };
                Repository { tie: Tie::Separate, top: top.to_owned(), git_dir: named, common }
            }
            GitLayout::Unknown(_) => return closed(),
            // What `.git` leads to is not read by git either.
            GitLayout::Nothing | GitLayout::Unproven { .. } | GitLayout::Odd(_) => return Tree::default(),
        };
        let mut held = Vec::new();
        for git_dir in git_dirs(&repository) {
            match Config::read(&git_dir.join("config"))
                .or_else(|_| Config::read_roughly(&git_dir.join("config")))
            {
                Ok(config) => {
                    held.extend(
                        config_names((git_dir, &repository.top), &config, home)
                            .into_iter()
                            .map(|at| (at, NAMED)),
                    );
                }
                Err(error) if is_unreadable(&git_dir.join("config"), &error) => return closed(),
                Err(_) => {}
            }
        }
        let person = self.person.get_or_insert_with(|| Person::read(home));
        held.extend(person_names(&repository, person, home).map(|at| (at, NAMED_BY_PERSON)));
        Tree { held, closed: None, is_settled: true }
    }

    /// A call has named a file: by some a working tree becomes one, or gets another configuration.
    pub(crate) fn named(&mut self, name: &OsStr) {
        if [".git", "commondir", "gitdir", "config"].iter().any(|tie| name == *tie) {
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

fn git_dirs(repository: &Repository) -> impl Iterator<Item = &Path> {
    let own = (repository.git_dir != repository.common).then_some(repository.git_dir.as_path());
    std::iter::once(repository.common.as_path()).chain(own)
}

/// Returns whether a configuration may be there that git could read later: a missing one, and one that does not parse, git does not
/// act by.
fn is_unreadable(config: &Path, error: &io::Error) -> bool {
    !is_missing(error) && fs::File::open(config).is_err_and(|error| !is_missing(&error))
}

//! Targets of guarded names: a process that may write the target of such a link writes what the name is guarded for.
//!
//! The person made these links; one that a run makes at a guarded name is refused. Each link on the way is held, and what the
//! last one leads to, a directory with all below it, whether it is there yet or not.

mod chain;
mod holds;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold_policy::{Guard, GuardKind, Guards, KernelHold};

use crate::git::layout;
use crate::lookup::{is_closed_by_user, is_missing};
use crate::mediation::{GitPart, is_user_git_config, part};
use crate::scan::{Bounds, Coverage, Descend, ScannedEntry, each_entry, scan};
pub(crate) use chain::follow;
pub(crate) use holds::{add_guards, judge, on_the_way, protect};

const GIT_RUNS: &str = "git runs what stands there, or is told there what to run";

/// Reason of a refusal: links with guarded names may be missing.
pub(crate) const TOO_MANY: &str = "the folder holds more than can be searched for links with guarded names, which may lead there; \
     give a smaller folder, or open the place with --allow-write";

/// A place that a guarded name leads through or to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linked {
    pub(crate) place: PathBuf,
    /// Guard of the name.
    pub(crate) kind: GuardKind,
    /// One clause.
    pub(crate) why: String,
}

impl Linked {
    fn new(place: &Path, name: &Path, Reason { kind, why }: Reason<'_>) -> Self {
        let is_name = place == name;
        let why = if is_name { why.to_owned() } else { format!("`{}` leads there: {why}", name.display()) };
        Self { place: place.to_owned(), kind, why }
    }
}

/// A look for guarded names that are links.
pub(crate) struct LinkSearch<'a> {
    guards: &'a Guards,
    home: Option<&'a Path>,
    bounds: Bounds,
    found: Vec<Linked>,
    followed: HashSet<PathBuf>,
    entered: HashSet<PathBuf>,
    reach: Coverage,
    /// Something on the way is closed, and the user could open it again.
    met_closed: bool,
}

/// Why what a name leads to is held.
#[derive(Clone, Copy)]
struct Reason<'r> {
    kind: GuardKind,
    why: &'r str,
}

impl<'a> LinkSearch<'a> {
    pub(crate) fn new(guards: &'a Guards, home: Option<&'a Path>, bounds: Bounds) -> Self {
        let (followed, entered) = (HashSet::new(), HashSet::new());
        Self {
            guards,
            home,
            bounds,
            found: Vec::new(),
            followed,
            entered,
            reach: Coverage::Everything,
            met_closed: false,
        }
    }

    /// Searches a folder.
    pub(crate) fn search_folder(&mut self, folder: &Path) {
        if layout::is_git_dir(folder) {
            self.git_directory(folder);
        }
        let reach = scan(folder, self.bounds, |entry| self.see(entry));
        self.note(reach);
    }

    /// Searches folders, and git directories that may lie elsewhere. Below a folder that is itself guarded the grant speaks.
    pub(crate) fn search_granted(&mut self, folders: &[PathBuf], git_dirs: &[PathBuf]) {
        for folder in folders {
            if self.guards.write(folder, self.home, true).is_none() {
                self.search_folder(folder);
            }
        }
        for git_dir in git_dirs {
            self.git_directory(git_dir);
        }
    }

    /// Looks at the names in one directory, and into those that are guarded.
    pub(crate) fn directly_in(&mut self, directory: &Path) {
        let guards = self.guards;
        self.met_closed |= is_closed(directory);
        let mut within = Vec::new();
        let reach = each_entry(directory, self.bounds, |entry| {
            let enters = self.see(entry) == Descend::Yes && entry.kind.is_dir();
            if enters && guarded(guards, entry.path, self.home).is_some() {
                within.push(entry.path.to_owned());
            }
        });
        self.note(reach);
        for directory in within {
            let reach = scan(&directory, self.bounds, |entry| self.see(entry));
            self.note(reach);
        }
    }

    /// Returns whether links may be missing, since a directory or link could not be read that the user could open again.
    pub(crate) fn met_closed(&self) -> bool {
        self.met_closed
    }

    /// Returns the links found, and the completeness of the search.
    pub(crate) fn finish(self) -> (Vec<Linked>, Coverage) {
        (self.found, self.reach)
    }

    fn note(&mut self, reach: Coverage) {
        if reach == Coverage::Bounded {
            self.reach = reach;
        }
    }

    fn see(&mut self, entry: &ScannedEntry<'_>) -> Descend {
        if entry.kind.is_symlink() {
            self.link(entry.path);
        } else if entry.kind.is_dir() {
            let is_data = ["objects", "refs"].iter().any(|name| entry.name == *name);
            let bare = entry.path.parent().filter(|parent| is_data && layout::is_git_dir(parent));
            let git_dir = if entry.name == ".git" { Some(entry.path) } else { bare };
            let Some(git_dir) = git_dir else { return Descend::Yes };
            self.git_directory(git_dir);
        }
        Descend::No
    }

    /// A link is at a guarded name, or on the way to one.
    fn link(&mut self, link: &Path) {
        let guards = self.guards;
        if link.file_name().is_some_and(|name| name == ".git") {
            // What it leads to is told by what is in it, as any git directory.
            let chain = follow(link);
            self.met_closed |= chain.is_closed;
            self.hold(&chain.links, link, Reason { kind: GuardKind::Git, why: GIT_RUNS });
            return self.git_directory(&chain.end);
        }
        let through = names_through(guards, link);
        for name in std::iter::once(link.to_owned()).chain(through) {
            if let Some(guard) = guarded(guards, &name, self.home) {
                self.lead(&name, Reason { kind: guard.kind(), why: guard.why() });
            }
        }
    }

    /// Holds what a name leads through and to.
    fn lead(&mut self, name: &Path, reason: Reason<'_>) {
        if !self.followed.insert(name.to_owned()) {
            return;
        }
        if self.followed.len() > self.bounds.links {
            return self.note(Coverage::Bounded);
        }
        let chain = follow(name);
        self.met_closed |= chain.is_closed;
        if chain.links.is_empty() {
            return;
        }
        self.hold(&chain.links, name, reason);
        self.hold(std::slice::from_ref(&chain.end), name, reason);
        if !self.entered.insert(chain.end.clone()) || !chain.end.is_dir() {
            return;
        }
        // What lies in there is acted on as well, and may be links in turn.
        let mut links = Vec::new();
        let reach = scan(&chain.end, self.bounds, |entry| {
            if entry.kind.is_symlink() {
                links.push(entry.path.to_owned());
            }
            Descend::Yes
        });
        self.note(reach);
        for link in links {
            self.lead(&link, reason);
        }
    }

    fn hold(&mut self, places: &[PathBuf], name: &Path, reason: Reason<'_>) {
        self.found.extend(places.iter().map(|place| Linked::new(place, name, reason)));
    }

    /// Follows the links in a git directory, those of submodules and worktrees included, by which git would come to run something.
    pub(crate) fn git_directory(&mut self, git_dir: &Path) {
        if !self.entered.insert(git_dir.to_owned()) {
            return;
        }
        let mut ahead = vec![git_dir.to_owned()];
        while let Some(directory) = ahead.pop() {
            let mut links = Vec::new();
            let reach = each_entry(&directory, self.bounds, |entry| {
                let below = entry.path.strip_prefix(git_dir).unwrap_or(entry.path);
                let minds = matches!(part(below), GitPart::Held(_) | GitPart::Pinned(_) | GitPart::Config);
                let is_data = ["objects", "refs", "logs"].iter().any(|name| below.starts_with(name));
                if entry.kind.is_symlink() && minds && !is_data {
                    links.push(entry.path.to_owned());
                } else if entry.kind.is_dir() && minds && !is_data {
                    ahead.push(entry.path.to_owned());
                }
            });
            self.note(reach);
            let alternates = directory.join("objects/info/alternates");
            links.extend(alternates.is_symlink().then_some(alternates));
            for link in links {
                self.lead(&link, Reason { kind: GuardKind::Git, why: GIT_RUNS });
            }
        }
        let below = layout::modules(git_dir).into_iter().chain(layout::worktrees(git_dir));
        below.for_each(|below| self.git_directory(&below));
    }
}

/// Links of everything that was granted.
#[derive(Debug)]
pub(crate) struct AllLinks {
    pub(crate) found: Vec<Linked>,
    /// There may be more.
    pub(crate) is_bounded: bool,
}

impl AllLinks {
    /// Searches folders and git directories as far as they go.
    pub(crate) fn search(
        folders: &[PathBuf],
        git_dirs: &[PathBuf],
        guards: &Guards,
        home: Option<&Path>,
    ) -> Self {
        let mut look = LinkSearch::new(guards, home, Bounds::WHOLE);
        look.search_granted(folders, git_dirs);
        let (found, reach) = look.finish();
        Self { found, is_bounded: reach == Coverage::Bounded }
    }
}

/// Returns whether a directory cannot be read though the user could open it.
fn is_closed(directory: &Path) -> bool {
    fs::read_dir(directory).is_err_and(|error| !is_missing(&error)) && is_closed_by_user(directory)
}

/// The guard of a name that a kernel holds; what belongs to a git directory is held as a part of that.
fn guarded<'g>(guards: &'g Guards, name: &Path, home: Option<&Path>) -> Option<&'g Guard> {
    let guard = guards.write(name, home, true)?;
    let counts =
        guard.held() != KernelHold::Asked && (guard.kind() != GuardKind::Git || is_user_git_config(guard));
    counts.then_some(guard)
}

/// Guarded names that begin with a place: of `.config` those of `.config/fish` and its like. A link at the place leads all of
/// them elsewhere.
pub(crate) fn names_through(guards: &Guards, place: &Path) -> impl Iterator<Item = PathBuf> {
    let patterns = guards.write_list().iter().filter_map(|guard| guard.pattern().strip_prefix("**/"));
    patterns.filter_map(|pattern| {
        let pattern = Path::new(pattern);
        let mut above = pattern.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let above = above.find(|above| place.ends_with(above))?;
        Some(place.join(pattern.strip_prefix(above).ok()?))
    })
}

#[cfg(test)]
mod tests;

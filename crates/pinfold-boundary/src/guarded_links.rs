//! Targets of guarded names: a process that may write the target of such a link writes what the name is guarded for. What the
//! configuration of a repository names is held alike, wherever in the folder the repository lies.
//!
//! The person made these links; one that a run makes at a guarded name is refused. Each link on the way is held, and what the
//! last one leads to, a directory with all below it, whether it is there yet or not.

mod chain;
mod holds;
mod linked_build_files;
mod repositories;

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use pinfold_policy::{Guard, GuardKind, Guards, KernelProtection};

use crate::git::layout;
use crate::git::person::Person;
use crate::lookup::{is_closed_by_user, is_missing};
use crate::mediation::{GitPart, is_user_git_config, part};
use crate::scan::{Bounds, Coverage, Descend, ScannedEntry, each_entry, scan};
pub(crate) use chain::{Chain, follow};
pub(crate) use holds::{add_guards, judge, on_the_way, protect};
pub(crate) use linked_build_files::{BuildLink, LinkedBuildFiles, runs_later};

const GIT_RUNS: &str = "git runs what stands there, or is told there what to run";

/// Why places may be missing from what a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchGap {
    /// There is more than is searched.
    TooMuch,
    /// A configuration of git that its owner keeps from being read.
    ClosedConfig { git_dir: PathBuf },
    /// A configuration of git names a path that only git can expand.
    UnknownPath { named_in: PathBuf },
}

impl SearchGap {
    /// Returns the reason of a refusal.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::TooMuch => "the folder holds more than can be searched for what links with guarded names and configurations of git \
                 lead to, which may be there; give a smaller folder, or open the place with --allow-write"
                .to_owned(),
            Self::ClosedConfig { git_dir } => format!(
                "the configuration of git in `{}` cannot be read, and may name what is there; make it readable, or open the place \
                 with --allow-write",
                git_dir.display()
            ),
            Self::UnknownPath { named_in } => format!(
                "the configuration of git in `{}` names a path that only git can expand (`%(prefix)/`, or `~NAME/` of a user that this \
                 machine does not list), and it may be there; write that path in full, or open the place with --allow-write",
                named_in.display()
            ),
        }
    }
}

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

/// Limits of the look into one guarded directory of the home, which each start waits for.
const HOME_BOUNDS: Bounds = Bounds { directories: 4, depth: 2, entries: 512, ..Bounds::START };

/// A look for guarded names that are links.
pub(crate) struct LinkSearch<'a> {
    guards: &'a Guards,
    home: Option<&'a Path>,
    bounds: Bounds,
    found: Vec<Linked>,
    /// Every link that was met, wherever it leads.
    links: Vec<MetLink>,
    followed: HashSet<PathBuf>,
    entered: HashSet<PathBuf>,
    /// The person's configuration of git, where what repositories name is searched for.
    person: Option<&'a Person>,
    /// Git directories whose configuration was read, each with the working tree.
    searched: HashSet<(PathBuf, PathBuf)>,
    lookups: usize,
    gap: Option<SearchGap>,
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
        Self {
            guards,
            home,
            bounds,
            found: Vec::new(),
            links: Vec::new(),
            followed: HashSet::new(),
            entered: HashSet::new(),
            person: None,
            searched: HashSet::new(),
            lookups: 0,
            gap: None,
            met_closed: false,
        }
    }

    /// The same look, which also finds what repositories name outside of their own git directory.
    pub(crate) fn with_repositories(self, person: &'a Person) -> Self {
        Self { person: Some(person), ..self }
    }

    /// Searches a folder.
    pub(crate) fn search_folder(&mut self, folder: &Path) {
        if let Some(bare) = layout::bare(folder) {
            self.git_directory(folder);
            self.search_repository(&bare);
        }
        let reach = scan(folder, self.bounds, |entry| self.see(entry));
        self.note(reach);
    }

    /// Searches folders, and git directories that may lie elsewhere. Below a folder that is itself guarded the grant speaks.
    pub(crate) fn search_granted(&mut self, folders: &[PathBuf], git_dirs: &[PathBuf]) {
        self.search_person();
        self.search_home(folders);
        for folder in folders {
            folder.ancestors().skip(1).for_each(|above| self.search_working_tree(above));
            if self.guards.write(folder, self.home, true).is_none() {
                self.search_folder(folder);
            } else {
                self.search_working_tree(folder);
            }
        }
        for git_dir in git_dirs {
            self.git_directory(git_dir);
        }
    }

    /// Follows guarded names of the home that are links into a folder, and links in such directories, as people have them who keep
    /// their settings in a repository: what is changed there is changed in the home.
    fn search_home(&mut self, folders: &[PathBuf]) {
        let (guards, Some(home)) = (self.guards, self.home) else { return };
        for guard in guards.write_list().iter().filter(|guard| is_held_by_name(guard)) {
            let Some(name) = name_in_home(guard, home) else { continue };
            let Some(kind) = first_link_or_end(home, &name) else { continue };
            let mut links = Vec::new();
            if kind.is_symlink() {
                links.push(name);
            } else if kind.is_dir() {
                scan(&name, HOME_BOUNDS, |entry| {
                    links.extend(entry.kind.is_symlink().then(|| entry.path.to_owned()));
                    Descend::Yes
                });
            }
            let leads_in = |link: &PathBuf| {
                let chain = follow(link);
                let mut places = chain.links.iter().chain([&chain.end]);
                places.any(|place| folders.iter().any(|folder| place.starts_with(folder)))
            };
            links.retain(leads_in);
            for link in links {
                self.lead(&link, Reason { kind: guard.kind(), why: guard.why() });
            }
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

    /// Returns the links found, and why there may be more.
    pub(crate) fn finish(self) -> (Vec<Linked>, Option<SearchGap>) {
        (self.found, self.gap)
    }

    /// Returns the same, with every link that was met in the folders.
    pub(crate) fn finish_with_links(self) -> AllLinks {
        AllLinks { found: self.found, links: self.links, gap: self.gap }
    }

    fn note(&mut self, reach: Coverage) {
        if reach == Coverage::Bounded {
            self.gap.get_or_insert(SearchGap::TooMuch);
        }
    }

    fn see(&mut self, entry: &ScannedEntry<'_>) -> Descend {
        if entry.kind.is_symlink() {
            let is_named = self.link(entry.path);
            self.links.push(MetLink { path: entry.path.to_owned(), is_named });
        } else if entry.kind.is_dir() {
            let is_data = ["objects", "refs"].iter().any(|name| entry.name == *name);
            let bare = || entry.path.parent().filter(|_| is_data).and_then(layout::bare);
            if entry.name == ".git" {
                self.git_directory(entry.path);
            } else if let Some(bare) = bare() {
                self.git_directory(&bare.git_dir);
                self.search_repository(&bare);
            } else {
                return Descend::Yes;
            }
        }
        if entry.name == ".git" {
            entry.path.parent().into_iter().for_each(|top| self.search_working_tree(top));
        }
        Descend::No
    }

    /// A link is at a guarded name, or on the way to one. Returns whether it is at one of any kind, but for a git directory.
    fn link(&mut self, link: &Path) -> bool {
        let guards = self.guards;
        if link.file_name().is_some_and(|name| name == ".git") {
            // What it leads to is told by what is in it, as any git directory.
            let chain = follow(link);
            self.met_closed |= chain.is_closed;
            self.hold(&chain.links, link, Reason { kind: GuardKind::Git, why: GIT_RUNS });
            self.git_directory(&chain.end);
            return false;
        }
        let guard = guards.write(link, self.home, true);
        if let Some(guard) = guard.filter(|guard| is_held_by_name(guard)) {
            self.lead(link, Reason { kind: guard.kind(), why: guard.why() });
        }
        let mut is_named = guard.is_some();
        for name in names_through(guards, link) {
            is_named = true;
            if let Some(guard) = guarded(guards, &name, self.home) {
                self.lead(&name, Reason { kind: guard.kind(), why: guard.why() });
            }
        }
        is_named
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
        for module in layout::modules(git_dir) {
            self.git_directory(&module);
            if let Some(module) = layout::module(&module) {
                self.search_repository(&module);
            }
        }
        for worktree in layout::worktrees(git_dir) {
            self.git_directory(&worktree);
            if let Some(top) = layout::worktree_top(&worktree) {
                self.search_working_tree(&top);
            }
        }
    }
}

/// A link that was met on a walk.
#[derive(Debug)]
pub(crate) struct MetLink {
    pub(crate) path: PathBuf,
    /// It is at a guarded name, or on the way to one.
    pub(crate) is_named: bool,
}

/// Links of everything that was granted.
#[derive(Debug)]
pub(crate) struct AllLinks {
    /// Places that guarded names lead to.
    pub(crate) found: Vec<Linked>,
    /// Every link, whatever it is called.
    pub(crate) links: Vec<MetLink>,
    /// Why there may be more.
    pub(crate) gap: Option<SearchGap>,
}

impl AllLinks {
    /// Searches folders and git directories as far as they go.
    pub(crate) fn search(
        folders: &[PathBuf],
        git_dirs: &[PathBuf],
        guards: &Guards,
        home: Option<&Path>,
    ) -> Self {
        let person = Person::read(home);
        let mut look = LinkSearch::new(guards, home, Bounds::WHOLE).with_repositories(&person);
        look.search_granted(folders, git_dirs);
        look.finish_with_links()
    }
}

/// Returns whether a directory cannot be read though the user could open it.
fn is_closed(directory: &Path) -> bool {
    fs::read_dir(directory).is_err_and(|error| !is_missing(&error)) && is_closed_by_user(directory)
}

/// The guard of a name that a kernel holds; what belongs to a git directory is held as a part of that.
fn guarded<'g>(guards: &'g Guards, name: &Path, home: Option<&Path>) -> Option<&'g Guard> {
    guards.write(name, home, true).filter(|guard| is_held_by_name(guard))
}

fn is_held_by_name(guard: &Guard) -> bool {
    guard.kernel_protection() != KernelProtection::Asked
        && (guard.kind() != GuardKind::Git || is_user_git_config(guard))
}

/// The name of a guarded place in a home directory; `None` of a pattern with wildcards, and of a place elsewhere.
fn name_in_home(guard: &Guard, home: &Path) -> Option<PathBuf> {
    let pattern = guard.pattern();
    let below = pattern.strip_prefix("**/").or_else(|| pattern.strip_prefix("~/"))?;
    (!below.contains(['*', '!'])).then(|| home.join(below))
}

/// Returns what a name below a home directory is, or the first link on the way to it. `None` where nothing is there.
fn first_link_or_end(home: &Path, name: &Path) -> Option<FileType> {
    let mut at = home.to_owned();
    let mut kind = None;
    for component in name.strip_prefix(home).ok()? {
        at.push(component);
        let found = fs::symlink_metadata(&at).ok()?.file_type();
        if found.is_symlink() {
            return Some(found);
        }
        kind = Some(found);
    }
    kind
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

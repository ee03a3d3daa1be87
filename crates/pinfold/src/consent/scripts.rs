//! Files that a command line names, in the state they are in: a yes to the line is for these as well.
//!
//! Which names those are says the analysis of the line ([`pinfold_commands::possible_files`]): with values of variables in their places,
//! patterns, and what stands in lines within words. Here they are looked up. What is known only at run time is not among them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use pinfold_commands::pieces::PossibleText;
use pinfold_commands::{Moves, NamedFrom, Patterns, PossibleFiles, possible_files, wild};
use pinfold_paths::{Kind, Version};
use pinfold_policy::{Operation, PathClaim, ShellClaim};

use crate::foreign_cwd;
use crate::judgement::Judgement;
use crate::session::Shared;
use crate::survey::{self, place};

/// The most names that are looked up as files for one call: some hundredths of a second.
const MAX_LOOKUPS: usize = 10_000;

/// The most entries of folders that are compared with patterns for one call: about as much.
const MAX_ENTRIES: usize = 100_000;

/// The longest time for all of that, whatever the disk takes for each folder that was not read before. A person waits for it.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);

/// The most patterns of one command that lead on, each in the folders that the one before leads to.
const MAX_PATTERNS_OF_COMMAND: usize = 3;

/// Files that a line names, by name: where each really is, and in which state.
pub(super) type NamedFiles = BTreeMap<PathBuf, (PathBuf, Option<Version>)>;

/// The files that a command line names anywhere, in the state they are in: programs by path and scripts among them. Each name counts
/// from every folder that its command may stand in. `None`: there are too many, or they take too long.
pub(super) fn find(shared: &Shared, judged: &Judgement<'_>) -> Option<NamedFiles> {
    let claims = &judged.claims;
    let Some(script) = &claims.script else { return Some(NamedFiles::new()) };
    let text = claims.shell.as_ref().and_then(ShellClaim::text).unwrap_or_default();
    let possible = possible_files(text, script, &claims.commands);
    if !possible.is_complete {
        return None;
    }
    let start = survey::start_of_commands(shared, judged.submission.cwd.as_ref());
    let mut search = Search {
        shared,
        start: &start,
        possible: &possible,
        files: NamedFiles::new(),
        folders: VecDeque::new(),
        seen: BTreeMap::new(),
        left: MAX_LOOKUPS,
        entries_left: MAX_ENTRIES,
        deadline: Instant::now() + LOOKUP_TIMEOUT,
    };
    search.look_up_known()?;
    let renaming = renaming(&claims.paths);
    if possible.moves_unseen || !renaming.is_empty() {
        search.look_up_everywhere(&renaming)?;
    } else {
        possible
            .named
            .iter()
            .filter(|group| group.moves == Moves::Own)
            .try_for_each(|group| search.look_up_own(group))?;
    }
    Some(search.files)
}

/// The commands that give files and folders other names.
fn renaming(paths: &[PathClaim]) -> BTreeSet<usize> {
    let renames = |claim: &&PathClaim| {
        matches!(claim.operation, Operation::Link | Operation::MoveTo | Operation::CopyTo)
    };
    paths.iter().filter(renames).filter_map(|claim| claim.origin.command()).collect()
}

/// Names that may lead a command to another folder.
struct Destinations {
    names: BTreeSet<PossibleText>,
    /// Number of them that may be patterns, one behind the other.
    patterns: usize,
}

/// `cd $D` without a value leads home.
fn home() -> PossibleText {
    PossibleText::plain("~")
}

/// Returns how many patterns of a command may lead on, one behind the other.
fn count_patterns(group: &NamedFrom) -> usize {
    group.names.iter().filter(|name| name.open.is_some()).count().min(MAX_PATTERNS_OF_COMMAND)
}

/// The destination of a name.
enum NameTarget {
    Nothing,
    File,
    /// A folder, or what is neither, where it really is.
    Folder(PathBuf),
}

/// A look at the files that names mean.
struct Search<'s> {
    shared: &'s Shared,
    /// The folder that the line starts in.
    start: &'s Path,
    possible: &'s PossibleFiles,
    files: NamedFiles,
    /// Folders that were found, from which nothing was looked up so far, and how many patterns led there.
    folders: VecDeque<(PathBuf, usize)>,
    /// Folders that were found, where they really are, and how few patterns lead there.
    seen: BTreeMap<PathBuf, usize>,
    /// Number of names that may still be looked up.
    left: usize,
    /// Number of entries that may still be compared with patterns.
    entries_left: usize,
    /// The end of the time for it.
    deadline: Instant,
}

impl Search<'_> {
    /// Looks each name up from the folders that it counts from.
    fn look_up_known(&mut self) -> Option<()> {
        let mut done: BTreeSet<(&Path, &PossibleText)> = BTreeSet::new();
        let mut searched = BTreeSet::new();
        for group in &self.possible.named {
            let folders = group.folders.iter().map(|folder| Path::new(folder.as_os_str()));
            for folder in std::iter::once(Path::new("")).chain(folders) {
                if searched.insert(folder) {
                    self.searched(folder)?;
                }
                for name in &group.names {
                    // What lies at one place from wherever it is named is looked up once.
                    let from = if name.text.starts_with(['/', '~']) { Path::new("") } else { folder };
                    if done.insert((from, name)) {
                        self.name(from, name)?;
                    }
                }
            }
        }
        Some(())
    }

    /// Looks each name, and what is left of it behind each folder in it, up from every folder that the line may lead to.
    fn look_up_everywhere(&mut self, renaming: &BTreeSet<usize>) -> Option<()> {
        let groups = || self.possible.named.iter().enumerate();
        let leads =
            |(at, group): &(usize, &NamedFrom)| group.moves != Moves::Nowhere || renaming.contains(at);
        // Repeated, each leads on.
        let again = if self.possible.climbs.is_none() { 2 } else { 0 };
        let moves = Destinations {
            names: groups()
                .filter(leads)
                .flat_map(|(_, group)| &group.names)
                .cloned()
                .chain([home()])
                .collect(),
            patterns: groups().filter(leads).map(|(_, group)| count_patterns(group)).sum::<usize>() + again,
        };
        let names = groups().flat_map(|(_, group)| &group.names).flat_map(tails).collect();
        let folders = groups().flat_map(|(_, group)| &group.folders);
        let folders: Vec<PathBuf> = folders.map(|folder| PathBuf::from(folder.as_os_str())).collect();
        self.look_up_from(&names, &moves, folders)
    }

    /// Looks the names of a command up from every folder that they lead what it starts to.
    fn look_up_own(&mut self, group: &NamedFrom) -> Option<()> {
        let moves = Destinations { names: group.names.clone(), patterns: count_patterns(group) };
        // What runs in a container has names of its own.
        let own =
            |name: &PossibleText| if name.text.starts_with('/') { tails(name) } else { vec![name.clone()] };
        let names = group.names.iter().flat_map(own).collect();
        let folders = group.folders.iter().map(|folder| PathBuf::from(folder.as_os_str())).collect();
        self.look_up_from(&names, &moves, folders)
    }

    fn look_up_from(
        &mut self,
        names: &BTreeSet<PossibleText>,
        moves: &Destinations,
        from: Vec<PathBuf>,
    ) -> Option<()> {
        let from = std::iter::once(PathBuf::new()).chain(from);
        self.folders.extend(from.map(|folder| (folder, 0)));
        self.seen.clear();
        let mut fixed = BTreeSet::new();
        while let Some((folder, depth)) = self.folders.pop_front() {
            self.searched(&folder)?;
            for name in names.union(&moves.names) {
                if name.text.starts_with(['/', '~']) && !fixed.insert(name) {
                    continue;
                }
                let leads_on = moves.names.contains(name) && (name.open.is_none() || depth < moves.patterns);
                let found = self.name(&folder, name)?;
                let reached = found.into_iter().filter(|found| leads_on && self.is_reached(found));
                let depth = depth + usize::from(name.open.is_some());
                for found in reached.collect::<Vec<_>>() {
                    // One that a pattern led to before leads further by a name.
                    if self.seen.get(&found).is_none_or(|before| depth < *before) {
                        self.seen.insert(found.clone(), depth);
                        self.folders.push_back((found, depth));
                    }
                }
            }
        }
        Some(())
    }

    /// Looks one name up from a folder. Returns the folders that it means. `None`: that is more than is looked up.
    fn name(&mut self, folder: &Path, name: &PossibleText) -> Option<Vec<PathBuf>> {
        let folder =
            behind_process(&folder.to_string_lossy(), self.start).map_or(Cow::Borrowed(folder), Cow::Owned);
        let Some(open) = name.open else {
            let own = behind_process(&name.text, self.start);
            return self.look_up_each(own.into_iter().chain([folder.join(&name.text)]));
        };
        let (front, pattern) = name.text.split_at_checked(open)?;
        let (from, pattern) = match front.rsplit_once('/') {
            Some((front, step)) => (format!("{front}/"), format!("{step}{pattern}")),
            None => (String::new(), format!("{front}{pattern}")),
        };
        let places = match pattern.split_once("/cwd/").filter(|_| from.starts_with(PROCESSES)) {
            Some((_, rest)) => self.matches(self.start.to_owned(), rest)?,
            None => self
                .matches(behind_process(&from, self.start).unwrap_or_else(|| folder.join(&from)), &pattern)?,
        };
        self.look_up_each(places)
    }

    /// Looks up each file in the folders in which programs are looked for from a folder.
    fn searched(&mut self, folder: &Path) -> Option<()> {
        for searched in &self.possible.searched {
            let mut found = Vec::new();
            self.list(&folder.join(searched), "*", &mut found)?;
            for name in found {
                self.spend()?;
                self.file(&name);
            }
        }
        Some(())
    }

    /// Counts one more look. `None`: it is one too many, or too late.
    fn spend(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        (Instant::now() < self.deadline).then_some(())
    }

    fn look_up_each(&mut self, names: impl IntoIterator<Item = PathBuf>) -> Option<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for name in names {
            self.spend()?;
            match self.file(&name) {
                NameTarget::Folder(real) => folders.push(real),
                // A folder that the line makes first is not there yet: `mkdir a; cd a; ../x`.
                NameTarget::Nothing if name.components().any(|part| part == Component::ParentDir) => {
                    self.file(&survey::strip_dots(&self.start.join(name)));
                }
                NameTarget::File | NameTarget::Nothing => {}
            }
        }
        Some(folders)
    }

    /// Takes in the file of a name, if it is one.
    fn file(&mut self, name: &Path) -> NameTarget {
        let found = foreign_cwd::resolve(self.shared, self.start, name);
        let Some(place) = place(&found) else { return NameTarget::Nothing };
        match place.kind() {
            Kind::File { .. } => {
                self.files.insert(name.to_owned(), (place.real().to_owned(), place.version()));
                NameTarget::File
            }
            Kind::Missing { .. } => NameTarget::Nothing,
            _ => NameTarget::Folder(place.real().to_owned()),
        }
    }

    /// Returns whether the line can go up to a folder.
    fn is_reached(&self, folder: &Path) -> bool {
        let up = self.start.ancestors().position(|above| above == folder);
        self.possible.climbs.is_none_or(|climbs| up.is_none_or(|up| up <= climbs))
    }

    /// The places that match a pattern from a folder.
    fn matches(&mut self, folder: PathBuf, pattern: &str) -> Option<Vec<PathBuf>> {
        let mut places = vec![folder];
        for step in pattern.split('/').filter(|step| !step.is_empty()) {
            let mut next = Vec::new();
            for place in places {
                if step == "**" && self.possible.patterns.deep {
                    self.list_below(place, &mut next)?;
                } else if step.contains(['*', '?', '[', '(']) {
                    self.list(&place, step, &mut next)?;
                } else {
                    next.push(place.join(step.replace('\\', "")));
                }
            }
            places = next;
        }
        Some(places)
    }

    /// Adds a folder, and all folders and files below it.
    fn list_below(&mut self, folder: PathBuf, matching: &mut Vec<PathBuf>) -> Option<()> {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            self.each_entry(&folder, "*", |path, entry| {
                if entry.file_type().is_ok_and(|found| found.is_dir()) {
                    folders.push(path.clone());
                }
                matching.push(path);
            })?;
            matching.push(folder);
        }
        Some(())
    }

    /// Adds the entries of a folder that match a pattern of one name.
    fn list(&mut self, folder: &Path, pattern: &str, matching: &mut Vec<PathBuf>) -> Option<()> {
        self.each_entry(folder, pattern, |path, _| matching.push(path))
    }

    /// Hands over each entry of a folder that matches a pattern of one name.
    fn each_entry(
        &mut self,
        folder: &Path,
        pattern: &str,
        mut found: impl FnMut(PathBuf, &DirEntry),
    ) -> Option<()> {
        self.spend()?;
        let resolved = foreign_cwd::resolve(self.shared, self.start, &folder.join("."));
        let Some(place) = place(&resolved) else { return Some(()) };
        // Those are processes, which come and go.
        if place.real() == Path::new("/proc") {
            return Some(());
        }
        let Ok(entries) = std::fs::read_dir(place.real()) else { return Some(()) };
        let glob = wild::loose(wild::tokens(pattern));
        for entry in entries.flatten() {
            self.entries_left = self.entries_left.checked_sub(1)?;
            let name = entry.file_name();
            let matches = match self.possible.patterns {
                Patterns { any_case: true, .. } => wild::matches(
                    &wild::loose(wild::tokens(&pattern.to_lowercase())),
                    &name.as_bytes().to_ascii_lowercase(),
                ),
                Patterns { hidden: true, .. } => wild::matches(&glob, name.as_bytes()),
                Patterns { .. } => wild::may_be(pattern, name.as_bytes()),
            };
            if matches {
                found(folder.join(OsStr::new(&name)), &entry);
            }
        }
        Some(())
    }
}

/// The directory of processes.
const PROCESSES: &str = "/proc/";

/// The path that one of `/proc` leads to, `/proc/self/cwd/x`, for a process of the line. Here it would be one of this process.
fn behind_process(path: &str, start: &Path) -> Option<PathBuf> {
    let (_, path) = path.split_once(PROCESSES)?;
    let behind =
        |link: &str| path.split_once(link).filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'));
    let below = |rest: &str| rest.trim_start_matches('/').to_owned();
    match (behind("/cwd"), behind("/root")) {
        (Some((_, rest)), _) => Some(start.join(below(rest))),
        (None, Some((_, rest))) => Some(Path::new("/").join(below(rest))),
        (None, None) => None,
    }
}

/// A name, and what is left of it behind each folder in it.
fn tails(name: &PossibleText) -> Vec<PossibleText> {
    let cuts = name.text.match_indices('/').map(|(at, _)| at + 1);
    let tail = |at: usize| {
        let text = name.text.get(at..).filter(|text| !text.is_empty())?;
        Some(PossibleText { text: text.to_owned(), open: name.open.map(|open| open.saturating_sub(at)) })
    };
    std::iter::once(name.clone()).chain(cuts.filter_map(tail)).collect()
}

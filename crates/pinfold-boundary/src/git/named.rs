//! Places that git's configuration names in a working tree: `core.hooksPath`, `core.attributesFile`, includes, and programs given by path.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::config::ConfigEntry;
use super::config_files::{ConfigFiles, ConfigGap, expanded};
use super::layout::Repository;
use super::person::Person;
use crate::guarded_links::{Chain, follow};

/// Look-ups for what one repository names.
pub(crate) const MAX_LOOKUPS: usize = 1 << 16;

const NAMED: &str = "git's configuration names it";
const NAMED_BY_PERSON: &str = "your configuration of git names it";

/// Names of hooks ([githooks(5)](https://git-scm.com/docs/githooks)).
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Places to hold, each with the reason.
#[derive(Debug, Default)]
pub(crate) struct NamedPlaces {
    pub(crate) held: Vec<(PathBuf, &'static str)>,
    /// Why there may be more.
    pub(crate) gap: Option<ConfigGap>,
    /// Look-ups that were made.
    pub(crate) lookups: usize,
}

impl NamedPlaces {
    /// Reads what the configuration of a repository names, and the person's own one, with `most` look-ups. Of hooks in
    /// a directory that the repository lies in, each is a place of its own.
    pub(crate) fn read(repository: &Repository, person: &Person, home: Option<&Path>, most: usize) -> Self {
        let Repository { git_dir, common, .. } = repository;
        let files = ConfigFiles::read(config_files(repository), home);
        let mut named = Self { gap: files.gap, ..Self::default() };
        let top = working_tree(repository, &files);
        let is_around =
            |real: &Path| top.starts_with(real) || git_dir.starts_with(real) || common.starts_with(real);
        named.add(files.entries(), NAMED, &top, home, most, is_around);
        named.add(person.entries(), NAMED_BY_PERSON, &top, home, most, is_around);
        named
    }

    fn add<'e>(
        &mut self,
        entries: impl Iterator<Item = (&'e Path, &'e ConfigEntry)>,
        why: &'static str,
        top: &Path,
        home: Option<&Path>,
        most: usize,
        is_around: impl Fn(&Path) -> bool + Copy,
    ) {
        for (at, entry) in entries {
            for candidate in candidates(entry, at, top, home) {
                if self.lookups == most {
                    self.gap = Some(ConfigGap::Bounded);
                    return;
                }
                self.lookups += 1;
                let held =
                    candidate.held().into_iter().flat_map(|real| match (is_around(&real), candidate.kind) {
                        (false, _) => vec![real],
                        (true, CandidateKind::Hooks) => HOOKS.iter().map(|hook| real.join(hook)).collect(),
                        (true, CandidateKind::Place | CandidateKind::Program) => Vec::new(),
                    });
                self.held.extend(held.map(|real| (real, why)));
            }
        }
    }
}

/// The configuration files that git reads in a repository. Whether that of one worktree counts is not asked.
fn config_files(repository: &Repository) -> impl Iterator<Item = PathBuf> {
    let Repository { git_dir, common, .. } = repository;
    let own = (git_dir != common).then_some(git_dir);
    [common].into_iter().chain(own).flat_map(|dir| [dir.join("config"), dir.join("config.worktree")])
}

/// The top of the working tree. In a linked one git does not look at what the shared configuration says of it.
fn working_tree(repository: &Repository, files: &ConfigFiles) -> PathBuf {
    let is_named = |entry: &&ConfigEntry| {
        entry.section == "core" && entry.subsection.is_none() && entry.key == "worktree"
    };
    let named = files.entries().map(|(_, entry)| entry).filter(is_named).last();
    let named =
        named.and_then(|entry| entry.value.as_deref()).filter(|_| repository.git_dir == repository.common);
    named.map_or_else(|| repository.top.clone(), |named| follow(&repository.git_dir.join(named)).end)
}

/// A path that an entry may name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    path: PathBuf,
    kind: CandidateKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CandidateKind {
    /// It is named, whether it is there or not.
    Place,
    /// The same, for a directory of hooks.
    Hooks,
    /// A word that is the path of a file, if it is there.
    Program,
}

impl Candidate {
    /// Returns the real paths to hold: the place, and each link on the way to it. One that is missing cannot be made, and neither can a
    /// directory above it that is missing.
    fn held(&self) -> Vec<PathBuf> {
        if self.kind == CandidateKind::Program && !self.path.is_file() {
            return Vec::new();
        }
        let Chain { mut links, end, .. } = follow(&self.path);
        let missing = end.ancestors().take_while(|at| fs::symlink_metadata(at).is_err()).last();
        links.push(missing.map_or_else(|| end.clone(), Path::to_owned));
        links
    }
}

/// The paths that an entry may name. `at`: relative to what it names configurations.
fn candidates(entry: &ConfigEntry, at: &Path, top: &Path, home: Option<&Path>) -> Vec<Candidate> {
    let Some(value) = entry.value.as_deref().filter(|value| !value.is_empty()) else { return Vec::new() };
    let named = |base, kind| vec![Candidate { path: expanded(base, value, home), kind }];
    match (entry.section.as_str(), entry.key.as_str()) {
        ("core", "hookspath") => named(top, CandidateKind::Hooks),
        ("core", "attributesfile") => named(top, CandidateKind::Place),
        ("include" | "includeif", "path") => named(at, CandidateKind::Place),
        // Addresses and names, in which no program stands.
        ("remote" | "submodule", "url" | "pushurl" | "fetch" | "push" | "path" | "branch")
        | ("branch" | "url" | "user", _) => Vec::new(),
        _ => {
            let programs = programs(value, top, home).into_iter();
            programs.map(|path| Candidate { path, kind: CandidateKind::Program }).collect()
        }
    }
}

/// More words than a command line in a configuration has.
const MAX_WORDS: usize = 64;

/// The paths that a value names if it is a command line: any of its words may be the program that runs (`!sh ./x`), in any directory
/// that it goes to (`!cd tools && ./x`) or that a command in it prints (`$(git rev-parse --show-toplevel)/x`).
fn programs<'a>(value: &'a str, top: &Path, home: Option<&Path>) -> BTreeSet<PathBuf> {
    const BETWEEN: &str = "!;|&()<>{}\"'`$=,";
    let between = |c: char| c.is_whitespace() || BETWEEN.contains(c);
    let words = value.split(between).filter(|word| !word.is_empty()).take(MAX_WORDS);
    // `$DIRECTORY/x`: any directory.
    let behind = |word: &'a str| word.split_once('/').filter(|_| value.contains('$')).map(|(_, rest)| rest);
    let words: Vec<&str> = words.flat_map(|word| [Some(word), behind(word)]).flatten().collect();
    let places = words.iter().map(|word| expanded(top, word, home));
    let directories = places.filter(|place| place.starts_with(top) && is_dir(place));
    let bases: BTreeSet<PathBuf> = directories.chain([top.to_owned()]).collect();
    let named = words.iter().flat_map(|word| {
        let below = bases.iter().map(|base| base.join(word.trim_start_matches('/')));
        below.chain([expanded(top, word, home)]).collect::<Vec<_>>()
    });
    named.collect()
}

fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use pinfold_testkit::TempTree;

    use super::*;
    use crate::git::layout::{ActingRepository, acting_repository};

    #[test]
    fn every_program_that_a_configuration_names_in_the_folder_is_found() {
        let tree = TempTree::new().with_files(["p", "tools/inner"], "");
        tree.make_git_dir(".git");
        let found = |text: &str| {
            tree.write(".git/config", text);
            let ActingRepository::Found(repository) = acting_repository(tree.top()) else { panic!("{text}") };
            let named = NamedPlaces::read(&repository, &Person::default(), None, MAX_LOOKUPS);
            assert_eq!(named.gap, None, "{text}");
            named.held.into_iter().map(|(place, _)| place).collect::<BTreeSet<_>>()
        };
        for text in [
            "[core]\n\tfsmonitor = ./p",
            "[core]\n\tsshCommand = ssh -F p",
            "[alias]\n\tx = !sh ./p",
            "[alias]\n\tx = \"!f() { sh ./p; }; f\"",
            "[alias]\n\tx = !p",
            "[submodule \"s\"]\n\tupdate = !./p",
            "[remote \"o\"]\n\tuploadpack = ./p",
            "[remote \"o\"]\n\treceivepack = sh ./p",
            "[remote \"o\"]\n\tvcs = ./p",
            "[credential]\n\thelper = !sh ./p get",
            "[diff \"x\"]\n\ttextconv = sh -c './p'",
            "[filter \"x\"]\n\tclean = VALUE=1 ./p",
            "[core]\n\teditor = $(git rev-parse --show-toplevel)/p",
            "[core]\n\teditor = \"$PWD\"/p",
            "[alias]\n\tx = \"!cd .. && ./p\"",
            "[alias]\n\tx = \"!cd tools/.. && ./p\"",
        ] {
            assert_eq!(found(text), [tree.path("p")].into(), "{text}");
        }
        let inner = "[alias]\n\tx = \"!cd tools && ./inner\"";
        assert_eq!(found(inner), [tree.path("tools/inner")].into(), "{inner}");
        for text in [
            "[remote \"o\"]\n\turl = ./p",
            "[branch \"p\"]\n\tmerge = p",
            "[user]\n\tname = p",
            "[alias]\n\tx = !sh ./q",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_configuration_that_names_too_much_is_said_to_be_read_in_part() {
        let tree = TempTree::new();
        tree.make_git_dir(".git");
        tree.write(".git/config", "[core]\n\thooksPath = a\n\tattributesFile = b\n");
        let ActingRepository::Found(repository) = acting_repository(tree.top()) else { panic!() };
        let read = |most| NamedPlaces::read(&repository, &Person::default(), None, most);
        assert_eq!((read(2).held.len(), read(2).gap), (2, None));
        assert_eq!((read(1).held.len(), read(1).gap), (1, Some(ConfigGap::Bounded)));
    }
}

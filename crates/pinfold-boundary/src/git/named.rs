//! Places that git's configuration names in a working tree: `core.hooksPath`, `core.attributesFile`, includes, and programs given by path.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::config::ConfigEntry;
use super::config_files::{ConfigFiles, ConfigGap, expanded};
use super::layout::Repository;
use super::person::Person;
use crate::guarded_links::{Chain, follow};
use crate::scan::{Bounds, Coverage, Descend, scan};

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
    pub(crate) protected: Vec<(PathBuf, &'static str)>,
    /// Why there may be more.
    pub(crate) gap: Option<ConfigGap>,
    /// Look-ups that were made.
    pub(crate) lookups: usize,
}

/// Directories to which paths of a configuration are relative.
struct Bases<'a> {
    /// The top of the working tree.
    top: PathBuf,
    /// Working directories of git when it looks for hooks: tops, and git directories, for pushes into them.
    hooks: Vec<&'a Path>,
    home: Option<&'a Path>,
}

impl NamedPlaces {
    /// Reads what the configuration of a repository names, and the person's own one, with `most` look-ups. Of hooks in
    /// a directory that the repository lies in, each is a place of its own.
    pub(crate) fn read(repository: &Repository, person: &Person, home: Option<&Path>, most: usize) -> Self {
        let Repository { git_dir, common, top, .. } = repository;
        let files = ConfigFiles::read(config_files(repository), home);
        let mut named = Self { gap: files.gap, ..Self::default() };
        let bases = Bases { top: working_tree(repository, &files), hooks: vec![top, git_dir, common], home };
        named.add(files.entries(), NAMED, &bases, most);
        named.add(person.entries(), NAMED_BY_PERSON, &bases, most);
        named
    }

    /// Reads what the person's own configuration names, wherever a repository lies: git makes new ones by it.
    pub(crate) fn read_person(person: &Person, home: Option<&Path>, most: usize) -> Self {
        let mut named = Self { gap: person.gap(), ..Self::default() };
        named.add(
            person.entries(),
            NAMED_BY_PERSON,
            &Bases { top: "/".into(), hooks: Vec::new(), home },
            most,
        );
        named
    }

    fn add<'e>(
        &mut self,
        entries: impl Iterator<Item = (&'e Path, &'e ConfigEntry)>,
        why: &'static str,
        bases: &Bases<'_>,
        most: usize,
    ) {
        for (at, entry) in entries {
            let Some(candidates) = candidates(entry, at, bases) else {
                self.gap = self.gap.or(Some(ConfigGap::Unexpanded));
                continue;
            };
            for candidate in candidates {
                let protected = candidate.protected(bases, &mut || {
                    let has_more = self.lookups < most;
                    self.lookups += usize::from(has_more);
                    has_more
                });
                let Some(protected) = protected else {
                    self.gap = Some(ConfigGap::Bounded);
                    return;
                };
                self.protected.extend(protected.into_iter().map(|real| (real, why)));
            }
        }
    }
}

impl Bases<'_> {
    /// Returns whether the repository lies in a directory, so that it cannot be held as a whole.
    fn lie_in(&self, real: &Path) -> bool {
        self.top.starts_with(real) || self.hooks.iter().any(|base| base.starts_with(real))
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
    // Nor at what included files say of it.
    let own = files.entries().filter(|(at, _)| *at == repository.common);
    let named = own.map(|(_, entry)| entry).filter(is_named).last();
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
    /// A named path, whether it is there or not.
    Place,
    /// The same, for a directory of hooks.
    Hooks,
    /// The same, for a directory that git copies into a new repository.
    Template,
    /// A word that is the path of a file, if it is there.
    Program,
}

/// Names in a template that make a new repository run something.
const IN_TEMPLATE: [&str; 3] = ["hooks", "config", "info"];

impl Candidate {
    /// Returns the real paths to hold: the place, each link on the way to it, and what links in a directory of hooks lead through and
    /// to. One that is missing cannot be made, and neither can a directory above it that is missing. `None`: `looks` gave out.
    fn protected(&self, bases: &Bases<'_>, looks: &mut impl FnMut() -> bool) -> Option<Vec<PathBuf>> {
        if !looks() {
            return None;
        }
        let names: &[&str] = match self.kind {
            CandidateKind::Program if !self.path.is_file() => return Some(Vec::new()),
            CandidateKind::Program | CandidateKind::Place => return Some(way(&self.path, bases).0),
            CandidateKind::Hooks => &HOOKS,
            CandidateKind::Template => &IN_TEMPLATE,
        };
        let (mut protected, end) = way(&self.path, bases);
        let mut ahead = vec![end.clone()];
        if bases.lie_in(&end) {
            ahead.clear();
            for name in names {
                let (places, end) = way(&end.join(name), bases);
                protected.extend(places);
                ahead.push(end);
            }
        }
        protected.extend(linked_in(ahead, bases, looks)?);
        Some(protected)
    }
}

/// The places to hold of a path, and where it ends.
fn way(path: &Path, bases: &Bases<'_>) -> (Vec<PathBuf>, PathBuf) {
    let Chain { links: mut protected, end, .. } = follow(path);
    let missing = end.ancestors().take_while(|at| fs::symlink_metadata(at).is_err()).last();
    protected.push(missing.map_or_else(|| end.clone(), Path::to_owned));
    protected.retain(|place| !bases.lie_in(place));
    (protected, end)
}

/// Returns the places that links in directories lead through and to, and links in directories that they lead to. `None`: `looks`
/// gave out.
fn linked_in(
    mut ahead: Vec<PathBuf>,
    bases: &Bases<'_>,
    looks: &mut impl FnMut() -> bool,
) -> Option<Vec<PathBuf>> {
    let (mut protected, mut seen) = (Vec::new(), HashSet::new());
    while let Some(directory) = ahead.pop() {
        if bases.lie_in(&directory) || !seen.insert(directory.clone()) {
            continue;
        }
        let mut links = Vec::new();
        let reach = scan(&directory, Bounds::WHOLE, |entry| {
            links.extend(entry.kind.is_symlink().then(|| entry.path.to_owned()));
            Descend::Yes
        });
        if reach == Coverage::Bounded {
            return None;
        }
        for link in links {
            if !looks() {
                return None;
            }
            let (places, end) = way(&link, bases);
            protected.extend(places);
            ahead.push(end);
        }
    }
    Some(protected)
}

/// The paths that an entry may name. `at`: relative to what it names configurations. `None`: only git can expand it.
fn candidates(entry: &ConfigEntry, at: &Path, bases: &Bases<'_>) -> Option<Vec<Candidate>> {
    let Some(value) = entry.value.as_deref().filter(|value| !value.is_empty()) else {
        return Some(Vec::new());
    };
    let Bases { top, hooks, home } = bases;
    let named = |base: &Path, kind| {
        expanded(base, &entry.written(value), *home).map(|path| vec![Candidate { path, kind }])
    };
    match (entry.section.as_str(), entry.key.as_str()) {
        ("core", "hookspath") => {
            let bases: BTreeSet<&Path> = hooks.iter().copied().chain([top.as_path()]).collect();
            let all = bases.into_iter().map(|base| named(base, CandidateKind::Hooks));
            all.collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect())
        }
        ("init", "templatedir") => named(top, CandidateKind::Template),
        ("core", "attributesfile") => named(top, CandidateKind::Place),
        ("include" | "includeif", "path") => named(at, CandidateKind::Place),
        // Addresses and names, in which no program stands.
        ("remote" | "submodule", "url" | "pushurl" | "fetch" | "push" | "path" | "branch")
        | ("branch" | "url" | "user", _) => Some(Vec::new()),
        _ => {
            let programs = programs(entry, value, bases).into_iter();
            Some(programs.map(|path| Candidate { path, kind: CandidateKind::Program }).collect())
        }
    }
}

/// More words than a command line in a configuration has.
const MAX_WORDS: usize = 64;

/// The paths that a value names if it is a command line: any of its words may be the program that runs (`!sh ./x`), in any directory
/// that it goes to (`!cd tools && ./x`), that a command in it prints (`$(git rev-parse --show-toplevel)/x`) or that a variable holds
/// (`$HOME/work/x`).
fn programs(entry: &ConfigEntry, value: &str, Bases { top, home, .. }: &Bases<'_>) -> BTreeSet<PathBuf> {
    const BETWEEN: &str = "!;|&()<>{}\"'`$=,";
    let between = |c: char| c.is_whitespace() || BETWEEN.contains(c);
    let words = value.split(between).filter(|word| !word.is_empty()).take(MAX_WORDS);
    let has_variables = value.contains('$');
    let behind = |word| behind_directory(word).filter(|_| has_variables);
    let words: Vec<&str> =
        words.flat_map(|word| [Some(word), behind(word), behind_option(word)]).flatten().collect();
    let is_below = |place: &PathBuf| place.starts_with(top) && is_dir(place);
    let directories =
        words.iter().filter_map(|word| expanded(top, &entry.written(word), *home)).filter(is_below);
    let around = top.ancestors().chain(*home).filter(|_| has_variables).map(Path::to_owned);
    let places: BTreeSet<PathBuf> = directories.chain(around).chain([top.clone()]).collect();
    let named = words.iter().flat_map(|word| {
        let below = places.iter().map(|base| base.join(entry.written(word.trim_start_matches('/'))));
        below.chain(expanded(top, &entry.written(word), *home)).collect::<Vec<_>>()
    });
    named.collect()
}

/// Returns the path below a directory, which may be any: `$DIRECTORY/x`.
fn behind_directory(word: &str) -> Option<&str> {
    word.split_once('/').map(|(_, below)| below)
}

/// Returns the value of an option of one letter: `-F./x`.
fn behind_option(word: &str) -> Option<&str> {
    let mut behind = word.strip_prefix('-')?.chars();
    behind.next().filter(char::is_ascii_alphabetic)?;
    Some(behind.as_str()).filter(|path| !path.is_empty())
}

fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

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
            named.protected.into_iter().map(|(place, _)| place).collect::<BTreeSet<_>>()
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
            "[core]\n\tsshCommand = ssh -Fp",
            &format!("[core]\n\teditor = $OF_IT/{}/p", tree.top().file_name().unwrap().display()),
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

    /// Returns the places that the configuration of a repository in a tree names, relative to the tree.
    fn named_in(tree: &TempTree, config: &[u8]) -> (BTreeSet<PathBuf>, Option<ConfigGap>) {
        tree.make_git_dir(".git");
        fs::write(tree.path(".git/config"), config).unwrap();
        let ActingRepository::Found(repository) = acting_repository(tree.top()) else { panic!() };
        let named = NamedPlaces::read(&repository, &Person::default(), Some(tree.top()), MAX_LOOKUPS);
        let below = |place: PathBuf| place.strip_prefix(tree.top()).unwrap_or(&place).to_owned();
        (named.protected.into_iter().map(|(place, _)| below(place)).collect(), named.gap)
    }

    fn paths<const N: usize>(texts: [&str; N]) -> BTreeSet<PathBuf> {
        texts.into_iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_links_among_hooks_lead_to_is_named() {
        let tree = TempTree::new().with_files(["hooks/plain", "scripts/check", "more/x", "x"], "");
        for (link, to) in
            [("hooks/pre-commit", "../scripts/check"), ("hooks/d", "../more"), ("more/y", "../x")]
        {
            symlink(to, tree.path(link)).unwrap();
        }
        let within =
            ["hooks", "hooks/pre-commit", "scripts/check", "hooks/d", "more", "more/y", "x", ".git/hooks"];
        assert_eq!(named_in(&tree, b"[core]\n\thooksPath = hooks\n"), (paths(within), None));
        symlink("scripts/check", tree.path("pre-commit")).unwrap();
        let (found, gap) = named_in(&tree, b"[core]\n\thooksPath = .\n");
        assert!(found.is_superset(&paths(["pre-commit", "scripts/check", "post-merge", ".git/post-update"])));
        assert!(
            !found.contains(Path::new("")) && !found.contains(Path::new(".git")) && gap.is_none(),
            "{found:?}"
        );
        let (found, _) = named_in(&tree, b"[init]\n\ttemplateDir = ~/template\n");
        assert_eq!(found, paths(["template"]));
    }

    #[test]
    fn a_path_of_hooks_counts_from_wherever_git_looks_for_them() {
        let tree = TempTree::new().with_files(["included"], "[core]\n\tworktree = /elsewhere\n");
        let config = b"[core]\n\thooksPath = own\n[include]\n\tpath = ../included\n";
        assert_eq!(named_in(&tree, config), (paths(["own", ".git/own", "included"]), None));
    }

    #[test]
    fn a_path_is_named_however_it_is_written() {
        let tree = TempTree::new();
        let (found, gap) =
            named_in(&tree, b"[core]\n\tattributesFile = h\xf6ks ; \xc3\xb6\n[user]\n\tname = \xf6\n");
        assert_eq!((found, gap), ([PathBuf::from(OsStr::from_bytes(b"h\xf6ks"))].into(), None));
        for (written, expected, unexpanded) in [
            ("~/h", vec!["h"], false),
            (":(optional)~/h", vec!["h"], false),
            ("~root/h", vec!["/root/h"], false),
            ("~nobody-of-this-name/h", vec![], true),
            ("%(prefix)/../h", vec![], true),
        ] {
            let (found, gap) = named_in(&tree, format!("[core]\n\tattributesFile = {written}\n").as_bytes());
            let expected = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!((found, gap), (expected, unexpanded.then_some(ConfigGap::Unexpanded)), "{written}");
        }
    }

    #[test]
    fn what_a_person_names_is_found_where_there_is_no_repository() {
        let tree = TempTree::new().with_files(["w/hooks/pre-commit", "w/check"], "");
        tree.write(".gitconfig", "[core]\n\thooksPath = ~/w/hooks\n[init]\n\ttemplateDir = ~/w/template\n[alias]\n\tx = !~/w/check\n");
        let home = Some(tree.top());
        let named = NamedPlaces::read_person(&Person::read(home), home, MAX_LOOKUPS);
        let protected: BTreeSet<PathBuf> = named.protected.into_iter().map(|(place, _)| place).collect();
        assert_eq!(protected, ["w/hooks", "w/template", "w/check"].map(|at| tree.path(at)).into());
        assert_eq!(named.gap, None);
    }

    #[test]
    fn a_configuration_that_names_too_much_is_said_to_be_read_in_part() {
        let tree = TempTree::new();
        tree.make_git_dir(".git");
        tree.write(".git/config", "[core]\n\thooksPath = a\n\tattributesFile = b\n");
        let ActingRepository::Found(repository) = acting_repository(tree.top()) else { panic!() };
        let read = |most| NamedPlaces::read(&repository, &Person::default(), None, most);
        // Hooks are looked for from the top and from the git directory.
        assert_eq!((read(3).protected.len(), read(3).gap), (3, None));
        assert_eq!((read(1).protected.len(), read(1).gap), (1, Some(ConfigGap::Bounded)));
    }
}

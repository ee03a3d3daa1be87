//! Entries that `.gitignore`, `.ignore` and `.rgignore` pass over, from the folder at hand up to the repository's.
//!
//! As in ripgrep: `.rgignore` anywhere outweighs `.ignore` anywhere, and that `.gitignore`, which counts in a
//! repository only; a nested repository starts afresh. The person's global excludes are not read.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use pinfold::ReadTarget;
use pinfold::paths::{Directory, DirectoryEntry};

/// The longest ignore file that is read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The ignore files, the strongest first.
const NAMES: [&str; 3] = [".rgignore", ".ignore", GIT];
/// The one that counts in a repository only.
const GIT: &str = ".gitignore";

/// The rules of one folder, and those above.
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// Rules in the order of [`NAMES`].
    rules: [Option<Gitignore>; NAMES.len()],
    /// A repository starts here.
    repository: bool,
    /// A repository starts here or above.
    in_repository: bool,
}

/// The rules of the folders above what is walked.
pub(super) fn ancestor_rules(target: &ReadTarget) -> Ignores {
    let folders: Vec<&Path> = target.real().ancestors().skip(1).collect();
    let mut ignores =
        Ignores { above: None, rules: [None, None, None], repository: false, in_repository: false };
    for folder in folders.into_iter().rev() {
        let repository = target.stands(&folder.join(".git"));
        let in_repository = repository || ignores.in_repository;
        let rules = rules(folder, in_repository, |name| target.walking_rules(&folder.join(name)));
        if repository || rules.iter().any(Option::is_some) {
            ignores = Ignores { above: Some(Arc::new(ignores)), rules, repository, in_repository };
        }
    }
    ignores
}

impl Ignores {
    /// The rules in a folder: its own, if it has any, before those above.
    pub(super) fn descend(
        above: Arc<Self>,
        folder: &Directory,
        path: &Path,
        entries: &[DirectoryEntry],
    ) -> Arc<Self> {
        let has = |name: &str| entries.iter().any(|entry| entry.name == OsStr::new(name));
        let repository = has(".git");
        let in_repository = repository || above.in_repository;
        let rules = rules(path, in_repository, |name| if has(name) { read(folder, name) } else { None });
        if !repository && rules.iter().all(Option::is_none) {
            return above;
        }
        Arc::new(Self { above: Some(above), rules, repository, in_repository })
    }

    /// Returns whether the path is passed over. Of each kind of file the nearest rule with an opinion decides.
    pub(super) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        (0..NAMES.len()).find_map(|kind| self.opinion(kind, path, is_folder)).unwrap_or(false)
    }

    fn opinion(&self, kind: usize, path: &Path, is_folder: bool) -> Option<bool> {
        let git = NAMES.get(kind) == Some(&GIT);
        let mut left_repository = false;
        std::iter::successors(Some(self), |ignores| ignores.above.as_deref())
            .take_while(|ignores| !(std::mem::replace(&mut left_repository, ignores.repository) && git))
            .find_map(|ignores| opinion(ignores.rules.get(kind)?.as_ref()?, path, is_folder))
    }
}

/// The rules that stand in a folder.
fn rules(
    folder: &Path,
    in_repository: bool,
    text: impl Fn(&str) -> Option<String>,
) -> [Option<Gitignore>; NAMES.len()] {
    NAMES.map(|name| if name == GIT && !in_repository { None } else { build(folder, name, &text(name)?) })
}

fn opinion(rules: &Gitignore, path: &Path, is_folder: bool) -> Option<bool> {
    match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

fn read(folder: &Directory, name: &str) -> Option<String> {
    let (file, _) = folder.open_file(OsStr::new(name)).ok()?;
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Lines that are no globs are passed over, as git does.
fn build(folder: &Path, name: &str, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        let _ = builder.add_line(Some(folder.join(name)), line);
    }
    builder.build().ok()
}

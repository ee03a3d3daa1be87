//! Which entries `.gitignore`, `.ignore` and `.rgignore` pass over, from the folder at hand up to the repository's.
//!
//! As in ripgrep: `.gitignore` counts in a repository only, and a nested repository starts afresh; the other two
//! count everywhere and outweigh it. The person's global excludes are not read.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use pinfold::ReadTarget;
use pinfold::paths::{Directory, Entry};

/// The longest ignore file that is read.
const LONGEST: u64 = 1024 * 1024;
/// Ignore files of programs that search, the stronger last.
const OWN: [&str; 2] = [".ignore", ".rgignore"];

/// The rules of one folder, and those above.
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    git: Option<Gitignore>,
    own: Option<Gitignore>,
    /// A repository starts here.
    repository: bool,
    /// A repository starts here or above.
    in_repository: bool,
}

/// The rules of the folders above what is walked.
pub(super) fn above(target: &ReadTarget) -> Ignores {
    let folders: Vec<&Path> = target.real().ancestors().skip(1).collect();
    let mut ignores = Ignores { above: None, git: None, own: None, repository: false, in_repository: false };
    for folder in folders.into_iter().rev() {
        let repository = target.stands(&folder.join(".git"));
        let rules = |name: &str| Some((name.to_owned(), target.walking_rules(&folder.join(name))?));
        let in_repository = repository || ignores.in_repository;
        let git = if in_repository { rules(".gitignore") } else { None };
        let own: Vec<_> = OWN.iter().filter_map(|name| rules(name)).collect();
        if repository || git.is_some() || !own.is_empty() {
            ignores = Ignores {
                git: build(folder, git.as_slice()),
                own: build(folder, &own),
                above: Some(Arc::new(ignores)),
                repository,
                in_repository,
            };
        }
    }
    ignores
}

impl Ignores {
    /// The rules in a folder: its own, if it has any, before those above.
    pub(super) fn below(above: Arc<Self>, folder: &Directory, path: &Path, entries: &[Entry]) -> Arc<Self> {
        let has = |name: &str| entries.iter().any(|entry| entry.name == OsStr::new(name));
        let repository = has(".git");
        let in_repository = repository || above.in_repository;
        let rules = |name: &str| if has(name) { read(folder, name) } else { None };
        let git = if in_repository { rules(".gitignore") } else { None };
        let own: Vec<_> = OWN.iter().filter_map(|name| rules(name)).collect();
        if !repository && git.is_none() && own.is_empty() {
            return above;
        }
        let (git, own) = (build(path, git.as_slice()), build(path, &own));
        Arc::new(Self { above: Some(above), git, own, repository, in_repository })
    }

    /// Whether the path is passed over. The nearest rule with an opinion decides.
    pub(super) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        let chain = || std::iter::successors(Some(self), |ignores| ignores.above.as_deref());
        let own = chain().find_map(|ignores| opinion(ignores.own.as_ref()?, path, is_folder));
        own.or_else(|| {
            let mut outside = false;
            chain()
                .take_while(|ignores| !std::mem::replace(&mut outside, ignores.repository))
                .find_map(|ignores| opinion(ignores.git.as_ref()?, path, is_folder))
        })
        .unwrap_or(false)
    }
}

fn opinion(rules: &Gitignore, path: &Path, is_folder: bool) -> Option<bool> {
    match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

fn read(folder: &Directory, name: &str) -> Option<(String, String)> {
    let (file, _) = folder.open_file(OsStr::new(name)).ok()?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some((name.to_owned(), text))
}

/// Lines that are no globs are passed over, as git does.
fn build(folder: &Path, files: &[(String, String)]) -> Option<Gitignore> {
    if files.is_empty() {
        return None;
    }
    let mut builder = GitignoreBuilder::new(folder);
    for (name, text) in files {
        for line in text.lines() {
            let _ = builder.add_line(Some(folder.join(name)), line);
        }
    }
    builder.build().ok()
}

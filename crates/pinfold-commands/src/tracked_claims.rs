//! Claims of what words of git read.

use pinfold_shell::Word;

use super::analyze::CommandAnalyzer;
use super::named::NamedPlace;
use super::program::Purpose;
use super::state::EnteredFolders;
use super::tracked::{self, Tracked};
use super::words::{self, literal};
use super::working_directory::{BaseDirectory, FileWord, WorkingDirectory};
use crate::{Operation, PathText};

/// The deepest folder in which a pattern is compared with rules. Git's go through any number of them.
const DEEPEST_MATCH: usize = 8;

/// More patterns than an honest command has: with more it may read any file.
const MAX_PATTERNS: usize = 128;

/// More files than an honest line names. Each is looked up from every folder that may be the root of the repository.
const MAX_CLAIMS: usize = 1_024;

/// The most folders above one that may be the root of its repository.
const MAX_ROOTS: usize = 32;

impl CommandAnalyzer<'_, '_> {
    /// Claims what a word of git may read. One that is known only at run time may name any file.
    pub(super) fn tracked(&mut self, word: &Word, purpose: Purpose, found: &EnteredFolders) {
        let Some(words) = self.values.fill(word, self.at) else {
            self.may_name_any_file = true;
            return;
        };
        for word in words.iter() {
            match words::unmatched(word) {
                Some(text) => tracked::read(&text)
                    .into_iter()
                    .for_each(|tracked| self.tracked_file(tracked, word, purpose, found)),
                None if found.folders.iter().any(|stand| stand.name(word) == FileWord::Unknown) => {
                    self.may_name_any_file = true;
                }
                None => drop(self.path(word, Operation::Search, purpose, found)),
            }
        }
    }

    fn tracked_file(&mut self, tracked: Tracked<'_>, like: &Word, purpose: Purpose, found: &EnteredFolders) {
        if self.out.paths.len() > MAX_CLAIMS {
            return self.unknown_file(Operation::Search);
        }
        let (path, from_root) = match tracked {
            Tracked::Any => {
                self.may_name_any_file = true;
                return;
            }
            Tracked::FromFolder(path) => (path, false),
            Tracked::FromRoot(path) => (path, true),
            Tracked::Matching { folder: "", ends: "", from_root } => (".", from_root),
            Tracked::Matching { folder, ends: "", from_root } => (folder, from_root),
            Tracked::Matching { folder, ends, from_root } => {
                return self.matching_names(folder, ends, from_root, found);
            }
        };
        let (word, before) = (literal(path, like), self.out.paths.len());
        let is_whole = from_root && path == ".";
        // All that lies below each folder up to `/` is no answer to which of them is the root.
        let is_left_out = |stand: &WorkingDirectory| is_whole && is_absolute(stand);
        self.may_name_any_file |= found.folders.iter().any(is_left_out);
        for stand in starts(from_root, found).iter().filter(|stand| !is_left_out(stand)) {
            self.path_from(stand, &word, Operation::Search, purpose);
        }
        self.out.paths.iter_mut().skip(before).for_each(|claim| claim.from_repository = from_root);
    }

    /// Names files below a folder whose names end so, for rules that may mean one of them.
    fn matching_names(&mut self, folder: &str, ends: &str, from_root: bool, found: &EnteredFolders) {
        let front =
            if folder.is_empty() || folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") };
        for stand in starts(from_root, found) {
            for depth in 0..DEEPEST_MATCH {
                let path = format!("{front}{}*{ends}", "*/".repeat(depth));
                let FileWord::Matching(path) = stand.name_text(&path, true) else { continue };
                let (path, word) = (PathText::new(path), ends.to_owned());
                self.patterns.push(NamedPlace { path, word, is_path: false, wild: true, reads: true });
            }
        }
        if self.patterns.len() > MAX_PATTERNS {
            self.patterns.truncate(MAX_PATTERNS);
            self.may_name_any_file = true;
        }
    }
}

/// The folders that a path may start from: those that git works in, and with `from_root` those above that are known, each of which
/// may be the root of the repository.
fn starts(from_root: bool, found: &EnteredFolders) -> Vec<WorkingDirectory> {
    let above = |stand: &WorkingDirectory| if from_root { folders_above(&stand.now) } else { Vec::new() };
    let with_above = |stand: &WorkingDirectory| {
        std::iter::once(stand.clone()).chain(above(stand).into_iter().map(WorkingDirectory::new))
    };
    found.folders.iter().flat_map(with_above).collect()
}

fn is_absolute(stand: &WorkingDirectory) -> bool {
    matches!(&stand.now, BaseDirectory::At(folder) if folder.starts_with(['/', '~']))
}

fn folders_above(base: &BaseDirectory) -> Vec<BaseDirectory> {
    let BaseDirectory::At(folder) = base else { return Vec::new() };
    let mut above = Vec::new();
    let mut rest = folder.trim_end_matches('/');
    while above.len() < MAX_ROOTS {
        let (front, name) = rest.rsplit_once('/').unwrap_or(("", rest));
        if name.is_empty() || name == ".." || front.is_empty() && name.starts_with('~') {
            break;
        }
        above.push(match front {
            "" if folder.starts_with('/') => BaseDirectory::At("/".to_owned()),
            "" => BaseDirectory::Call,
            front => BaseDirectory::At(front.to_owned()),
        });
        rest = front;
    }
    above
}

//! Claims of a command: its redirects, the files that its words name, the folders that it works in.

use pinfold_shell::{Redirect, RedirectKind, Word};

use super::analyze::CommandAnalyzer;
use super::invocation::Invocation;
use super::program::{InvocationEffects, NamedFileWord, Purpose};
use super::state::EnteredFolders;
use super::working_directory::{FileWord, WorkingDirectory};
use super::{HostClaim, NotAllowlistable, WorkDirUse, WorkFolder, builtin, host, words};
use crate::PathText;
use crate::{Operation, Origin, PathClaim};

/// So many of the last paths are looked at for the same one.
const MAX_COMPARED: usize = 16;

impl CommandAnalyzer<'_, '_> {
    /// Claims the file of a redirect. True when it is, or may be, one.
    pub(super) fn redirect(&mut self, redirect: &Redirect, found: &EnteredFolders) -> bool {
        let operation = match redirect.kind {
            RedirectKind::Read => Operation::Read,
            RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => Operation::Write,
            RedirectKind::Duplicate | RedirectKind::HereDocument | RedirectKind::HereString => return false,
        };
        if let Some(address) = redirect.target.literal_prefix().strip_prefix("/dev/tcp/") {
            self.socket(address);
        } else if let Some(address) = redirect.target.literal_prefix().strip_prefix("/dev/udp/") {
            self.socket(address);
        } else {
            return self.path(&redirect.target, operation, Purpose::Aside, found);
        }
        false
    }

    /// bash itself connects.
    fn socket(&mut self, address: &str) {
        let name = address.split('/').next().unwrap_or_default();
        self.out.hosts.push(HostClaim::from_command(host::of_address(name)));
        self.not_allowlistable.push(NotAllowlistable::new(
            "socket",
            "the redirect opens a connection, which no pattern can judge",
        ));
    }

    /// Claims what a word of a program names.
    pub(super) fn touched(&mut self, touched: &NamedFileWord<'_>, found: &EnteredFolders) {
        if touched.tracked {
            return self.tracked(&touched.word, touched.purpose, found);
        }
        if !touched.unless_there.is_empty() {
            return self.unless_there(touched, found);
        }
        let before = self.out.paths.len();
        self.path(&touched.word, touched.operation, touched.purpose, found);
        self.out.paths.iter_mut().skip(before).for_each(|claim| claim.visible = touched.skips_hidden);
    }

    /// Claims what is touched from each folder where other words name nothing there.
    fn unless_there(&mut self, touched: &NamedFileWord<'_>, found: &EnteredFolders) {
        for stand in &found.folders {
            let named = touched.unless_there.iter().filter_map(|text| match stand.name_text(text, false) {
                FileWord::Path(path) => Some(PathText::new(path)),
                FileWord::NoFile | FileWord::Matching(_) | FileWord::Unknown => None,
            });
            let (named, before) = (named.collect::<Vec<_>>(), self.out.paths.len());
            self.path_from(stand, &touched.word, touched.operation, touched.purpose);
            for claim in self.out.paths.iter_mut().skip(before) {
                claim.visible = touched.skips_hidden;
                claim.unless_there.clone_from(&named);
            }
        }
    }

    /// Claims what a word names, in each folder that it may be looked for in. True when it is, or may be, a file.
    pub(super) fn path(
        &mut self,
        word: &Word,
        operation: Operation,
        purpose: Purpose,
        found: &EnteredFolders,
    ) -> bool {
        let Some(words) = self.values.fill(word, self.at) else {
            if operation == Operation::Read && self.values.lists_folder(word) {
                self.may_name_any_file = true;
                return self.path(&words::literal(".", word), Operation::Search, purpose, found);
            }
            self.unknown_file(operation);
            return true;
        };
        let mut file = false;
        for word in words.iter() {
            // From a folder that is not there a name that climbs leads nowhere, and nothing is written by it.
            let climbs = word.literal_prefix().starts_with("..");
            let many = if operation.writes() && climbs { found.meant } else { found.folders.len() };
            for stand in found.folders.iter().take(many) {
                file |= self.path_from(stand, word, operation, purpose);
            }
        }
        file
    }

    pub(super) fn path_from(
        &mut self,
        stand: &WorkingDirectory,
        word: &Word,
        operation: Operation,
        purpose: Purpose,
    ) -> bool {
        let (path, wild) = match stand.name(word) {
            FileWord::NoFile => return false,
            FileWord::Path(path) => (path, false),
            FileWord::Matching(path) => (path, true),
            FileWord::Unknown => {
                self.unknown_file(operation);
                return true;
            }
        };
        // What matches in other folders than the last may be links, which is looked at for reading alone.
        if wild && operation.writes() && crosses_folders(&path) {
            self.unknown_file(operation);
            return true;
        }
        let origin = match purpose {
            Purpose::Command => Origin::Command(self.at),
            Purpose::Aside => Origin::Aside(self.at),
        };
        let claim = PathClaim { wild, ..PathClaim::new(Some(PathText::new(path)), operation, origin) };
        if !self.out.paths.iter().rev().take(MAX_COMPARED).any(|there| *there == claim) {
            self.out.paths.push(claim);
        }
        true
    }

    /// A file that is known only at run time.
    pub(super) fn unknown_file(&mut self, operation: Operation) {
        self.may_name_any_file = true;
        // Names in a folder tell nothing of what the files hold.
        if operation == Operation::List {
            return;
        }
        let why = if operation.writes() {
            "what it writes is known only at run time"
        } else {
            "what it reads is known only at run time"
        };
        self.exclude_once("unknown-file", why);
    }

    /// Claims the folders that it takes code or configuration from, other than that of the call.
    pub(super) fn work_dirs(
        &mut self,
        invocation: &Invocation,
        effects: &InvocationEffects<'_>,
        found: &EnteredFolders,
    ) {
        let relative =
            invocation.program().is_some_and(|program| program.contains('/') && !program.starts_with('/'));
        let takes = if relative { WorkDirUse::ExecutedFiles } else { effects.folder };
        if takes == WorkDirUse::Nothing || invocation.words.is_empty() || builtin::is_inert(invocation) {
            return;
        }
        let sources = || {
            let each =
                effects.sources.iter().map(|source| self.values.fill_one(source.as_ref().clone(), self.at));
            let each: Vec<_> = each.collect();
            let bases = found.folders.iter().flat_map(|stand| {
                each.iter().flat_map(|source| match source {
                    Some(source) => stand.change_to(source),
                    None => vec![WorkingDirectory::unknown()],
                })
            });
            bases.collect::<Vec<_>>()
        };
        let stands: Vec<WorkingDirectory> = found.folders.iter().cloned().chain(sources()).collect();
        for stand in stands {
            if let Some(folder) = stand.now.folder() {
                let folder = WorkFolder { path: PathText::new(folder), takes };
                if !self.work_dirs.contains(&folder) {
                    self.work_dirs.push(folder);
                }
            } else if stand.now.is_unknown() {
                self.exclude_once("unknown-folder", "the folder that it works in is known only at run time");
            } else {
                self.start_dir_use = self.start_dir_use.max(takes);
            }
        }
    }
}

/// Returns whether a wildcard stands in front of a slash.
fn crosses_folders(path: &str) -> bool {
    path.find(['*', '?', '[']).is_some_and(|at| path.get(at..).is_some_and(|rest| rest.contains('/')))
}

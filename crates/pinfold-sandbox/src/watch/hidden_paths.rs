//! Calls that fail on their way, since what they lead to is hidden from the caller: where they lead outside.
//!
//! For the report alone. Nothing is opened, and no answer depends on what is found.

use std::fs;
use std::path::{Path, PathBuf};

use super::absolute;
use super::attempt::{Attempt, Intent};
use super::file_call::{BaseDirectory, FileCall, PathArg, Subject};
use crate::sys::Pid;

/// Returns the attempts of a call, on the paths as they resolve outside.
pub(super) fn attempts(pid: Pid, call: &FileCall) -> Vec<Attempt> {
    let attempt = |(arg, intent)| Some(Attempt::new(pid, intent, outside(pid, arg)?));
    named_paths(call).into_iter().filter_map(attempt).collect()
}

/// The paths of a call, and what it would do to each. Calls that only ask are none.
pub(super) fn named_paths(call: &FileCall) -> Vec<(&PathArg, Intent)> {
    fn path_arg(subject: &Subject) -> Option<&PathArg> {
        match subject {
            Subject::Path { arg, .. } => Some(arg),
            Subject::Descriptor(_) => None,
        }
    }
    match call {
        FileCall::Open(open) if !open.changes() => vec![(&open.at, Intent::Read)],
        FileCall::Open(open) if open.creates() => vec![(&open.at, Intent::Create)],
        FileCall::Open(open) => vec![(&open.at, Intent::Write)],
        FileCall::Truncate { at, .. } => vec![(at, Intent::Write)],
        FileCall::MakeDir { at, .. } => vec![(at, Intent::MakeDir)],
        FileCall::MakeNode { at, .. } => vec![(at, Intent::Create)],
        FileCall::Symlink { at, .. } => vec![(at, Intent::Symlink)],
        FileCall::Remove { at, .. } => vec![(at, Intent::Remove)],
        FileCall::Rename { from, to, .. } => vec![(from, Intent::MoveFrom), (to, Intent::MoveTo)],
        FileCall::Link { from, to } => path_arg(from)
            .map(|from| (from, Intent::HardLinkSource))
            .into_iter()
            .chain([(to, Intent::MoveTo)])
            .collect(),
        FileCall::Change { of: subject, .. } => {
            path_arg(subject).map(|at| (at, Intent::Metadata)).into_iter().collect()
        }
        FileCall::Access { .. } | FileCall::Lock { .. } => Vec::new(),
    }
}

/// Resolves a path of the caller for this process, which sees what is covered inside. Goes by way of the caller's root
/// where only that has the links on the way.
fn outside(pid: Pid, arg: &PathArg) -> Option<PathBuf> {
    let directory = match arg.base {
        BaseDirectory::Cwd => libc::AT_FDCWD,
        BaseDirectory::Descriptor(fd) => fd,
    };
    let named = absolute(pid, directory, &arg.path)?;
    let inside = || Some(PathBuf::from(format!("/proc/{pid}/root")).join(named.strip_prefix("/").ok()?));
    resolve(&named).or_else(|| resolve(&inside()?))
}

/// A path free of links; what it names need not be there.
fn resolve(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().or_else(|| {
        let (parent, name) = (path.parent()?, path.file_name()?);
        Some(fs::canonicalize(parent).ok()?.join(name))
    })
}

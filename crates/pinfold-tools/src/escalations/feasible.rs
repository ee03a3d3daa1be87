//! Prediction whether a system call would succeed without the sandbox: one that fails anyway is not worth a question.
//!
//! The look is by path and decides nothing: the operation goes through the handles of the permit.

use std::fs::{self, FileType};
use std::path::Path;

use pinfold_sandbox::{FileOperation, Opening, Syscall};
use rustix::fs::{Access, AtFlags, CWD};

/// Returns whether a call could come to its end.
pub(super) fn is_feasible(call: &Syscall) -> bool {
    let at = |number: usize| call.places.get(number).map_or(Path::new(""), |place| place.as_path());
    match &call.operation {
        FileOperation::Open(opening) => can_open(opening, at(0)),
        FileOperation::MakeDir { .. } | FileOperation::Symlink { .. } => {
            kind(at(0)).is_none() && can_change_names(at(0))
        }
        FileOperation::Remove { .. } => {
            kind(at(0)).is_some_and(|kind| !kind.is_dir()) && can_change_names(at(0))
        }
        FileOperation::RemoveDir { .. } => {
            kind(at(0)).is_some_and(|kind| kind.is_dir()) && can_change_names(at(0))
        }
        FileOperation::Rename { replace, .. } => {
            kind(at(0)).is_some()
                && (*replace || kind(at(1)).is_none())
                && can_change_names(at(0))
                && can_change_names(at(1))
        }
        FileOperation::Link { .. } => {
            kind(at(0)).is_some_and(|kind| kind.is_file()) && kind(at(1)).is_none() && can_change_names(at(1))
        }
        FileOperation::Truncate { .. } => {
            kind(at(0)).is_some_and(|kind| kind.is_file()) && can(at(0), Access::WRITE_OK)
        }
        FileOperation::SetMode { .. } | FileOperation::SetOwner { .. } | FileOperation::SetTimes { .. } => {
            kind(at(0)).is_some()
        }
    }
}

fn can_open(opening: &Opening, at: &Path) -> bool {
    let mut wanted = Access::EXISTS;
    wanted.set(Access::READ_OK, opening.read);
    wanted.set(Access::WRITE_OK, opening.write);
    match kind(at) {
        Some(kind) => kind.is_file() && !opening.exclusive && can(at, wanted),
        None => opening.create.is_some() && can_change_names(at),
    }
}

fn kind(at: &Path) -> Option<FileType> {
    Some(fs::symlink_metadata(at).ok()?.file_type())
}

/// Returns whether names can be made and removed in the folder of a place.
fn can_change_names(at: &Path) -> bool {
    at.parent().is_some_and(|folder| folder.is_dir() && can(folder, Access::WRITE_OK | Access::EXEC_OK))
}

fn can(at: &Path, what: Access) -> bool {
    rustix::fs::accessat(CWD, at, what, AtFlags::EACCESS).is_ok()
}

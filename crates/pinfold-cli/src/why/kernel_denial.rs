//! A past denial by the kernel, tried against a run in the same folder now. The boundary of such a run
//! says so, as it would to the kernel.

use std::path::Path;

use pinfold::{Denial, DeniedBy};
use pinfold_boundary::PathAccess;

use crate::exit::Failure;
use crate::run;

/// Outcome of the same attempt now, in a run without options.
pub(super) enum AttemptNow {
    /// Allowed.
    Passes,
    /// Refused, for this reason.
    Refused(String),
    /// Unknown, for this reason.
    Unknown(String),
}

impl AttemptNow {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Passes => "a run in that folder can do it now, without any option".to_owned(),
            Self::Refused(why) => {
                format!("a run in that folder is refused it now too, without options: {why}")
            }
            Self::Unknown(why) => format!("not known: {why}"),
        }
    }

    /// Returns whether it could be done now, where that can be told.
    pub(super) fn passes(&self) -> Option<bool> {
        match self {
            Self::Passes => Some(true),
            Self::Refused(_) => Some(false),
            Self::Unknown(_) => None,
        }
    }
}

/// Returns the current outcome of a denied system call, in a run in this folder.
pub(super) fn reevaluate(denial: &Denial, folder: &str) -> AttemptNow {
    let folder = Path::new(folder);
    let place = denial.place.as_deref().map(Path::new).filter(|place| place.is_absolute());
    let (true, Some(place)) = (denial.layer == DeniedBy::Kernel && denial.what != "connect", place) else {
        return AttemptNow::Unknown("only changes and reads of files can be tried again".to_owned());
    };
    if !folder.is_dir() {
        return AttemptNow::Unknown("the folder is gone".to_owned());
    }
    let boundary = match run::boundary(folder) {
        Ok(boundary) => boundary,
        Err(Failure { message, .. }) => return AttemptNow::Unknown(message),
    };
    match boundary.access(place) {
        PathAccess::Writable => AttemptNow::Passes,
        PathAccess::Outside => AttemptNow::Refused("it lies outside the folder".to_owned()),
        PathAccess::ReadOnly(protected) | PathAccess::Hidden(protected) => {
            AttemptNow::Refused(protected.why().to_owned())
        }
    }
}

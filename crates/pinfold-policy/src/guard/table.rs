//! The guarded places, compiled from `write.txt` and `read.txt`. One place: the gate, the boundary and the report read these
//! lists.

use pinfold_commands::startup_files;

use super::{GuardKind, KernelProtection};

/// Patterns that share a reason.
pub(super) struct Group {
    pub(super) kind: GuardKind,
    pub(super) kernel_protection: KernelProtection,
    pub(super) why: &'static str,
    pub(super) patterns: Patterns,
    /// See [`super::Guard::markers`].
    pub(super) markers: &'static [&'static str],
}

/// The patterns of a group.
pub(super) enum Patterns {
    Listed(&'static [&'static str]),
    /// The names in [`startup_files`]: the safeguards of command lines read them too.
    StartupFiles,
}

impl Patterns {
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        let (listed, table) = match self {
            Self::Listed(listed) => (*listed, None),
            Self::StartupFiles => (&[][..], Some(startup_files())),
        };
        listed.iter().copied().chain(table.into_iter().flatten())
    }
}

// `WRITE` and `READ`, by `build.rs`.
include!(concat!(env!("OUT_DIR"), "/guards.rs"));

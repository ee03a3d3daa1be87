//! Denials of an approver within a run: paths, for every process, and processes, for every path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{FileOperation, Syscall};

use super::lineage::ProcessId;

/// Effect of an operation at its place, however it is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeniedEffect {
    /// Something stands there, or other content does.
    Content,
    /// The path is removed.
    Removal,
    /// The mode, the times or the owner change.
    Attributes,
}

/// Place of an attempt, and its effect there.
pub(super) type Aim = (PathBuf, DeniedEffect);

/// Returns the effects of a system call. Of two paths the destination comes last.
pub(super) fn aims(call: &Syscall) -> impl Iterator<Item = Aim> + '_ {
    let (first, last) = match &call.operation {
        FileOperation::Rename { .. } => (Some(DeniedEffect::Removal), DeniedEffect::Content),
        FileOperation::Open(_)
        | FileOperation::MakeDir { .. }
        | FileOperation::Link { .. }
        | FileOperation::Symlink { .. }
        | FileOperation::Truncate { .. } => (None, DeniedEffect::Content),
        FileOperation::Remove { .. } | FileOperation::RemoveDir { .. } => (None, DeniedEffect::Removal),
        FileOperation::SetMode { .. } | FileOperation::SetOwner { .. } | FileOperation::SetTimes { .. } => {
            (None, DeniedEffect::Attributes)
        }
    };
    let first = first.and_then(|effect| Some((call.places.first()?.clone(), effect)));
    first.into_iter().chain(call.places.last().map(|place| (place.clone(), last)))
}

/// Returns the effect of a system call at its destination.
pub(super) fn aim(call: &Syscall) -> Aim {
    aims(call).last().unwrap_or((PathBuf::new(), DeniedEffect::Content))
}

/// Most answers that are remembered. No person gives so many; when it is reached nothing more is asked.
const MAX_ANSWERS: usize = 10_000;

/// Every no of a person in one run.
#[derive(Debug, Default)]
pub(super) struct Denied {
    aims: BTreeSet<Aim>,
    /// Folders of which nothing is removed.
    trees: BTreeSet<PathBuf>,
    processes: BTreeSet<ProcessId>,
}

impl Denied {
    /// Why a call is refused without a question, if it is.
    pub(super) fn refuses(&self, aim: &Aim) -> Option<&'static str> {
        if self.aims.len() + self.trees.len() >= MAX_ANSWERS {
            return Some("too much was denied in this run to ask again");
        }
        let (place, effect) = aim;
        let is_in_a_tree = || *effect == DeniedEffect::Removal && self.is_below(place);
        (self.aims.contains(aim) || is_in_a_tree()).then_some("it was denied before in this run")
    }

    fn is_below(&self, place: &Path) -> bool {
        place.ancestors().any(|above| self.trees.contains(above))
    }

    /// Returns whether a process is refused all that it tries; those that it has started are remembered too, for when it ends
    /// before them.
    pub(super) fn refuses_all_of(&mut self, pid: i32) -> bool {
        if self.processes.is_empty() {
            return false;
        }
        let lineage = ProcessId::lineage(pid);
        let refused = lineage.iter().any(|process| self.processes.contains(process));
        if let (true, Some(process)) = (refused, lineage.first()) {
            self.processes.insert(*process);
        }
        refused
    }

    pub(super) fn deny(&mut self, aims: impl IntoIterator<Item = Aim>) {
        self.aims.extend(aims);
    }

    pub(super) fn deny_removals_below(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        self.trees.extend(folders);
    }

    pub(super) fn deny_all_of(&mut self, pid: i32) {
        self.processes.extend(ProcessId::lineage(pid).first());
    }
}

/// Reason of a refusal to a process that was refused as a whole.
pub(super) const ALL_OF_PROCESS: &str = "all that this process tries was denied";

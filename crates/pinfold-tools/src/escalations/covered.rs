//! System calls that an answer covers beyond the one that it was given to, because the question said so: the removal of a
//! tree, the copy of one that is moved out, and a file that is written by way of a temporary one.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold::consent::{Answer, AnsweredBy, ApprovalChannel, Approver, ApproverResponse, Choice, Request};
use pinfold_sandbox::{FileOperation, Opening, Syscall};

use super::lineage::ProcessId;
use super::moved_tree::MovedTree;
use super::removal::{Identity, Removal};
use super::temporary;

/// Most answers that are kept; the oldest is forgotten first, and asked for again.
const MAX_ANSWERS: usize = 1000;

/// The answers of a run that cover more than one call.
#[derive(Debug, Default)]
pub(super) struct RunAnswers {
    removals: Vec<ApprovedRemovals>,
    moves: Vec<ApprovedMove>,
    writes: Vec<ApprovedWrite>,
}

/// Things that a process, and those that it starts, may remove.
#[derive(Debug)]
struct ApprovedRemovals {
    process: ProcessId,
    /// Each is removed once.
    things: HashMap<PathBuf, Identity>,
    words: String,
}

/// A tree that a process, and those that it starts, may copy.
#[derive(Debug)]
struct ApprovedMove {
    process: ProcessId,
    tree: MovedTree,
    /// The parts of the copy that were made.
    made: HashSet<PathBuf>,
    words: String,
}

/// A file that a process may write by way of others beside it.
#[derive(Debug)]
struct ApprovedWrite {
    process: ProcessId,
    file: PathBuf,
    /// The files beside it that were made on the way.
    made: HashSet<PathBuf>,
    words: String,
}

impl RunAnswers {
    /// The answer that covers a call of a process with these parents.
    pub(super) fn answer(&self, call: &Syscall, lineage: &[ProcessId]) -> Option<EarlierAnswer> {
        let removing = self.removals.iter().find(|removing| removing.covers(call, lineage));
        let moving = || self.moves.iter().find(|moving| moving.covers(call, lineage));
        let writing = || self.writes.iter().find(|writing| writing.covers(call, lineage));
        removing
            .map(|removing| &removing.words)
            .or_else(|| moving().map(|moving| &moving.words))
            .or_else(|| writing().map(|writing| &writing.words))
            .map(|words| EarlierAnswer {
                by: AnsweredBy { via: ApprovalChannel::Earlier, who: Some(words.clone()) },
            })
    }

    /// Returns whether a call renames a part of a tree that is copied, to where its copy belongs.
    pub(super) fn is_part_of_move(&self, call: &Syscall, lineage: &[ProcessId]) -> bool {
        let mut moves = self.moves.iter().filter(|moving| lineage.contains(&moving.process));
        moves.any(|moving| moving.tree.is_renamed_in_part_by(call))
    }

    /// A call that an answer here covers has been carried out.
    pub(super) fn carried_out(&mut self, call: &Syscall, lineage: &[ProcessId]) {
        for removing in &mut self.removals {
            removing.carried_out(call);
        }
        for moving in self.moves.iter_mut().filter(|moving| lineage.contains(&moving.process)) {
            moving.tree.carried_out(call, &mut moving.made);
        }
        for writing in self.writes.iter_mut().filter(|writing| lineage.first() == Some(&writing.process)) {
            writing.carried_out(call);
        }
    }

    pub(super) fn add_removal(&mut self, process: ProcessId, removal: &Removal, by: &AnsweredBy) {
        make_room(&mut self.removals);
        let words = describe_approval(by, &format!("remove {}", removal.describe()));
        self.removals.push(ApprovedRemovals { process, things: removal.things(), words });
    }

    pub(super) fn add_move(&mut self, process: ProcessId, tree: MovedTree, by: &AnsweredBy) {
        make_room(&mut self.moves);
        let words = describe_approval(by, &tree.describe());
        self.moves.push(ApprovedMove { process, tree, made: HashSet::new(), words });
    }

    pub(super) fn add_write(&mut self, process: ProcessId, file: &Path, by: &AnsweredBy) {
        make_room(&mut self.writes);
        let words = describe_approval(by, &format!("write {}", file.display()));
        self.writes.push(ApprovedWrite { process, file: file.to_owned(), made: HashSet::new(), words });
    }
}

fn make_room<T>(list: &mut Vec<T>) {
    if list.len() >= MAX_ANSWERS {
        list.remove(0);
    }
}

/// Describes an earlier answer: its approver and its subject.
fn describe_approval(by: &AnsweredBy, what: &str) -> String {
    let who = by.who.as_deref().unwrap_or("the person asked");
    format!("{who}, to: {what}")
}

impl ApprovedRemovals {
    /// The very file that was shown, where it was shown.
    fn covers(&self, call: &Syscall, lineage: &[ProcessId]) -> bool {
        let shown = removed(call).and_then(|place| Some((place, self.things.get(place)?)));
        let is_shown = shown.is_some_and(|(place, shown)| {
            place.symlink_metadata().is_ok_and(|found| (found.dev(), found.ino()) == *shown)
        });
        is_shown && lineage.contains(&self.process)
    }

    fn carried_out(&mut self, call: &Syscall) {
        if let Some(place) = removed(call) {
            self.things.remove(place);
        }
    }
}

impl ApprovedMove {
    fn covers(&self, call: &Syscall, lineage: &[ProcessId]) -> bool {
        lineage.contains(&self.process) && self.tree.covers(call, &self.made)
    }
}

/// The place of a removal.
fn removed(call: &Syscall) -> Option<&PathBuf> {
    let is_removal = matches!(call.operation, FileOperation::Remove { .. } | FileOperation::RemoveDir { .. });
    call.places.first().filter(|_| is_removal)
}

impl ApprovedWrite {
    /// Only what a program does that writes a file by way of another: the file itself is neither taken away nor given
    /// another name than that of a copy beside it, and what was beside it before stays as it is.
    fn covers(&self, call: &Syscall, lineage: &[ProcessId]) -> bool {
        let is_file = |place: &PathBuf| *place == self.file;
        let is_new = |place: &PathBuf| place.symlink_metadata().is_err();
        let is_made = |place: &PathBuf| self.made.contains(place);
        let is_free = |place: &PathBuf| {
            temporary::is_of(place, &self.file) && (self.made.contains(place) || is_new(place))
        };
        let is_covered = match (&call.operation, call.places.as_slice()) {
            (
                FileOperation::Remove { .. } | FileOperation::Symlink { .. } | FileOperation::SetOwner { .. },
                [at],
            ) => is_free(at),
            (
                FileOperation::Open(_)
                | FileOperation::Truncate { .. }
                | FileOperation::SetMode { .. }
                | FileOperation::SetTimes { .. },
                [at],
            ) => is_free(at) || is_file(at),
            (FileOperation::Rename { .. } | FileOperation::Link { .. }, [from, to]) => {
                is_made(from) && (is_file(to) || is_free(to)) || is_file(from) && is_free(to)
            }
            _ => false,
        };
        is_covered && lineage.first() == Some(&self.process)
    }

    fn carried_out(&mut self, call: &Syscall) {
        match (&call.operation, call.places.as_slice()) {
            (FileOperation::Remove { .. }, [at]) => drop(self.made.remove(at)),
            (
                FileOperation::Open(_) | FileOperation::Symlink { .. } | FileOperation::Link { .. },
                [.., at],
            ) => self.makes(at),
            (FileOperation::Rename { .. }, [from, to]) => {
                self.made.remove(from);
                self.makes(to);
            }
            _ => {}
        }
    }

    fn makes(&mut self, place: &Path) {
        if self.made.len() < MAX_ANSWERS && temporary::is_of(place, &self.file) {
            self.made.insert(place.to_owned());
        }
    }
}

/// The file that is written by way of the one that a call makes; `None` for any other call.
pub(super) fn file_behind(call: &Syscall) -> Option<PathBuf> {
    let makes = match &call.operation {
        FileOperation::Open(Opening { create: Some(_), .. })
        | FileOperation::Symlink { .. }
        | FileOperation::Rename { .. }
        | FileOperation::Link { .. } => true,
        FileOperation::Open(_)
        | FileOperation::MakeDir { .. }
        | FileOperation::Remove { .. }
        | FileOperation::RemoveDir { .. }
        | FileOperation::Truncate { .. }
        | FileOperation::SetMode { .. }
        | FileOperation::SetOwner { .. }
        | FileOperation::SetTimes { .. } => false,
    };
    let made = call.places.last().filter(|_| makes)?;
    if made.symlink_metadata().is_ok() {
        return None;
    }
    let file = temporary::file_of(made, &super::process_call::operands(&call.caller))?;
    // Something else than the file itself would get the name.
    let is_copy = call.places.len() == 1 || call.places.first() == Some(&file);
    let is_plain = file.symlink_metadata().map_or(true, |found| found.is_file());
    (is_copy && is_plain).then_some(file)
}

/// Answers as was answered before. What needs a person each time is not answered.
#[derive(Clone, Debug)]
pub(super) struct EarlierAnswer {
    by: AnsweredBy,
}

impl Approver for EarlierAnswer {
    fn ask(&self, request: &Request, _still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        match self.judged(request) {
            Some(answer) => ApproverResponse::Answer(answer),
            None => ApproverResponse::NoApprover("this is asked about each time".to_owned()),
        }
    }

    fn judged(&self, request: &Request) -> Option<Answer> {
        let (id, digest) = (request.id.clone(), request.digest.clone());
        let answer = Answer { id, digest, choice: Choice::Yes, by: self.by.clone() };
        (!request.always_ask).then_some(answer)
    }
}

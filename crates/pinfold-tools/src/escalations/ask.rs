//! One call that waits: what a person is asked about it, and what comes of the answer.

use std::path::Path;
use std::sync::PoisonError;

use pinfold::consent::{Answer, AnsweredBy, ApprovalChannel, Caller, Choice};
use pinfold::paths::{Copied, OperationError};
use pinfold::policy::ProcessCall;
use pinfold::{CallRequest, GateResult, Outcome, Permit, Session, ToolCall};
use pinfold_sandbox::{FileOperation, PendingSyscall, Syscall};

use super::answer::answer;
use super::attempt_queue::{AttemptQueue, Verdict};
use super::covered::{EarlierAnswer, file_behind};
use super::denied::{DeniedEffect, aim, aims};
use super::history;
use super::lineage::ProcessId;
use super::moved_tree::MovedTree;
use super::process_call;
use super::removal::{Removal, TooMany};

/// A larger file is not given a name: the program copies it, as across file systems.
const LARGEST: u64 = 64 << 20;

/// `EXDEV`: what programs take for another file system, and copy.
const ELSEWHERE: i32 = 18;

impl AttemptQueue {
    /// Asks about a call, and does what comes of it.
    pub(super) fn ask(&self, session: &Session, pending: PendingSyscall) -> Verdict {
        let lineage = ProcessId::lineage(pending.call().caller.process);
        if self.state().covered.is_part_of_move(pending.call(), &lineage) {
            pending.refuse(ELSEWHERE);
            return Verdict::None;
        }
        let earlier = |pending: &PendingSyscall| self.state().covered.answer(pending.call(), &lineage);
        if let Some(earlier) = earlier(&pending) {
            return self.decide_by(session, pending, Some(&earlier));
        }
        let is_move = |pending: &PendingSyscall| {
            let from = pending.call().places.first();
            from.is_some_and(|from| is_inside(session, from)) && MovedTree::is_moved_by(pending.call())
        };
        if pending.as_caller(|| is_move(&pending)).is_ok_and(|is_move| is_move) {
            return self.ask_about_move(session, pending, &lineage);
        }
        let is_removal = matches!(
            pending.call().operation,
            FileOperation::Remove { .. } | FileOperation::RemoveDir { .. }
        );
        let asked = if is_removal {
            self.ask_about_tree(session, &pending, &lineage)
        } else {
            self.ask_about_file(session, &pending, &lineage)
        };
        match asked {
            Some(Err(why)) => {
                self.refuse(pending, &why);
                Verdict::No(why)
            }
            Some(Ok(())) => {
                let earlier = earlier(&pending);
                self.decide_by(session, pending, earlier.as_ref())
            }
            None => self.decide_by(session, pending, None),
        }
    }

    /// Asks about all that is going to be removed, where that is more than the first of it. `None`: it is not, or that
    /// is not to be asked about.
    fn ask_about_tree(
        &self,
        session: &Session,
        pending: &PendingSyscall,
        lineage: &[ProcessId],
    ) -> Option<Result<(), String>> {
        // Who waits here finds the answer that was given to another.
        let _turn = self.removals.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state().covered.answer(pending.call(), lineage).is_some() {
            return Some(Ok(()));
        }
        if let Some(why) = self.state().denied.refuses(&aim(pending.call())) {
            return Some(Err(why.to_owned()));
        }
        let process = *lineage.first()?;
        let removal =
            pending.as_caller(|| Removal::predict(pending.call(), &|place| is_inside(session, place)));
        let removal = match removal.ok()? {
            Ok(removal) => removal?,
            Err(TooMany) => {
                return Some(Err("it removes more files than can be shown: remove it outside".to_owned()));
            }
        };
        let call = process_call::removal_call(&pending.call().caller, &removal);
        let by = match self.question(session, pending, call) {
            QuestionOutcome::Yes(by) => by,
            QuestionOutcome::No(why) => {
                let folders = removal.roots.into_iter().map(|root| root.place);
                self.state().denied.deny_removals_below(folders);
                return Some(Err(why));
            }
            QuestionOutcome::Unanswered(why) => return Some(Err(why)),
            QuestionOutcome::Refused => return None,
        };
        self.state().covered.add_removal(process, &removal, &by);
        Some(Ok(()))
    }

    /// Asks about a tree that is moved out of the folder. It is not moved: on a yes the program copies it, as between two file
    /// systems, and that is covered.
    fn ask_about_move(&self, session: &Session, pending: PendingSyscall, lineage: &[ProcessId]) -> Verdict {
        let tree = match pending.as_caller(|| MovedTree::scan(pending.call())) {
            Ok(Ok(tree)) => tree,
            Ok(Err(TooMany)) => {
                self.refuse(pending, "it holds more files than can be shown: move it outside");
                return Verdict::None;
            }
            Err(error) => {
                self.refuse(pending, &error.to_string());
                return Verdict::None;
            }
        };
        match (
            self.question(session, &pending, process_call::move_call(pending.call(), &tree)),
            lineage.first(),
        ) {
            (QuestionOutcome::Yes(by), Some(process)) => {
                // What a rule allows it allows name by name.
                if by.via != ApprovalChannel::Earlier {
                    self.state().covered.add_move(*process, tree, &by);
                }
                pending.refuse(ELSEWHERE);
                Verdict::None
            }
            (QuestionOutcome::No(why), _) => {
                self.state().denied.deny([aim(pending.call())]);
                self.refuse(pending, &why);
                Verdict::No(why)
            }
            (QuestionOutcome::Unanswered(why), _) => {
                self.refuse(pending, &why);
                Verdict::No(why)
            }
            (QuestionOutcome::Refused | QuestionOutcome::Yes(_), _) => {
                self.refuse_as(pending, "it is not moved as a whole, so it has to be copied", ELSEWHERE);
                Verdict::None
            }
        }
    }

    /// Asks about the file that is written by way of the one that a call makes. `None`: it is no such call.
    fn ask_about_file(
        &self,
        session: &Session,
        pending: &PendingSyscall,
        lineage: &[ProcessId],
    ) -> Option<Result<(), String>> {
        let process = *lineage.first()?;
        let file =
            pending.as_caller(|| file_behind(pending.call())).ok()?.filter(|file| pending.sees(file))?;
        let file_aim = (file.clone(), DeniedEffect::Content);
        if let Some(why) = self.state().denied.refuses(&file_aim) {
            return Some(Err(why.to_owned()));
        }
        match self.question(session, pending, process_call::write_call(pending.call(), &file)) {
            QuestionOutcome::Yes(by) => {
                self.state().covered.add_write(process, &file, &by);
                Some(Ok(()))
            }
            QuestionOutcome::No(why) => {
                self.state().denied.deny([file_aim]);
                Some(Err(why))
            }
            QuestionOutcome::Unanswered(why) => Some(Err(why)),
            QuestionOutcome::Refused => None,
        }
    }

    /// `HostApprover` about more than the call that waits: nothing is done for it yet.
    fn question(&self, session: &Session, pending: &PendingSyscall, call: ProcessCall) -> QuestionOutcome {
        let GateResult { outcome, answered, .. } = self.decided(session, pending, call, None);
        match (outcome, answered) {
            (Ok(permit), answered) => {
                let by = answered.map_or_else(rule_as_approver, |answer| answer.by);
                nothing_yet(*permit);
                QuestionOutcome::Yes(by)
            }
            (Err(refusal), Some(answer)) if denial_choice(Some(&answer)).is_some() => {
                QuestionOutcome::No(refusal.reason)
            }
            (Err(refusal), Some(_)) => QuestionOutcome::Unanswered(refusal.reason),
            (Err(_), None) => QuestionOutcome::Refused,
        }
    }

    fn decided(
        &self,
        session: &Session,
        pending: &PendingSyscall,
        call: ProcessCall,
        earlier: Option<&EarlierAnswer>,
    ) -> GateResult {
        let waits = || pending.is_waiting();
        let asks = earlier.map(|earlier| earlier as &dyn pinfold::consent::Approver);
        let caller = Caller { waits: Some(&waits), asks, ..Caller::default() };
        let shown = process_call::process(&pending.call().caller);
        let decided = session
            .decide(CallRequest::typed(ToolCall::Process(call)).with_process(shown).with_caller(caller));
        if let Some(Choice::No { process: true, .. }) = denial_choice(decided.answered.as_ref()) {
            self.refuse_all_of(pending.call().caller.process);
        }
        decided
    }

    /// `HostApprover` about a call, and does it or refuses it.
    fn decide_by(
        &self,
        session: &Session,
        pending: PendingSyscall,
        earlier: Option<&EarlierAnswer>,
    ) -> Verdict {
        let copied = match pending.as_caller(|| copied(pending.call(), session)) {
            Ok(Ok(copied)) => copied,
            // It is not shown, and need not be: the file itself may be written.
            Ok(Err(_)) if earlier.is_some() => None,
            Ok(Err(OperationError::Mount)) => {
                self.refuse_as(pending, "it cannot be shown whole, so it has to be copied", ELSEWHERE);
                return Verdict::None;
            }
            Ok(Err(error)) => {
                self.refuse(pending, &format!("the file cannot be shown: {error}"));
                return Verdict::None;
            }
            Err(error) => {
                self.refuse(pending, &error.to_string());
                return Verdict::None;
            }
        };
        let shown = copied.as_ref().filter(|_| earlier.is_none());
        let call = process_call::process_call(pending.call(), shown);
        let GateResult { outcome, answered, .. } = self.decided(session, &pending, call, earlier);
        match outcome {
            Err(refusal) => {
                let answer = denial_choice(answered.as_ref());
                match &answer {
                    Some(_) => {
                        // What lies inside is the run's own: it may still go elsewhere.
                        let outside = aims(pending.call()).filter(|(place, _)| !is_inside(session, place));
                        self.state().denied.deny(outside);
                    }
                    None => self.state().remember_refused(pending.call()),
                }
                self.refuse(pending, &refusal.reason);
                // What a rule says it says of each; who is gone has said nothing.
                if answer.is_some() { Verdict::No(refusal.reason) } else { Verdict::None }
            }
            Ok(permit) => {
                let lineage = ProcessId::lineage(pending.call().caller.process);
                answer(*permit, pending, copied.as_ref(), |call, ended| {
                    let mut state = self.state();
                    match ended {
                        Ok(()) => {
                            if earlier.is_some() {
                                state.covered.carried_out(call, &lineage);
                            }
                            state.told.approved(history::key(call));
                        }
                        Err(why) => state.told.refused(call, &why),
                    }
                });
                Verdict::None
            }
        }
    }
}

/// Outcome of a question about more than one call.
enum QuestionOutcome {
    Yes(AnsweredBy),
    /// A person said no, for this reason.
    No(String),
    /// There was no answer in time, or what was asked about has changed.
    Unanswered(String),
    /// The group is not approved, and no approver was asked: the call is decided by itself.
    Refused,
}

/// A no that a person gave. Silence is none that lasts.
fn denial_choice(answered: Option<&Answer>) -> Option<Choice> {
    let answer = answered.filter(|answer| !answer.is_yes() && answer.by.via != ApprovalChannel::Silence)?;
    Some(answer.choice.clone())
}

/// The approver of what was let through without a question.
fn rule_as_approver() -> AnsweredBy {
    AnsweredBy { via: ApprovalChannel::Earlier, who: Some("a rule or a grant".to_owned()) }
}

/// A permit for what comes call by call, each with a permit of its own.
fn nothing_yet(permit: Permit) {
    let (_, _, receipt) = permit.spend();
    // That the record did not take it changes nothing any more.
    let _ = receipt.close(&Outcome::Done);
}

/// Returns whether a place is the run's own to change.
fn is_inside(session: &Session, place: &Path) -> bool {
    session.writable_roots().roots().any(|root| place.starts_with(root))
}

/// The file that gets a name outside the line by a call: what is shown of it, and what gets the name.
///
/// What comes from inside may be changed for as long as it is there, by whatever has it open. So a file is copied, and all
/// else has to be made at its place, by calls of its own.
fn copied(call: &Syscall, session: &Session) -> Result<Option<Copied>, OperationError> {
    let (FileOperation::Rename { .. }, [from, to]) = (&call.operation, call.places.as_slice()) else {
        return Ok(None);
    };
    if is_inside(session, to) {
        return Ok(None);
    }
    match from.symlink_metadata() {
        Ok(found) if found.is_file() => Copied::read(from, LARGEST).map(Some),
        Ok(_) if is_inside(session, from) => Err(OperationError::Mount),
        Ok(_) | Err(_) => Ok(None),
    }
}

//! Calls that wait: which of them are about the same place, and a thread for each place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use pinfold::{Session, WeakSession};
use pinfold_sandbox::{FileOperation, PendingSyscall, Syscall, Tier};

use super::covered::RunAnswers;
use super::denied::{ALL_OF_PROCESS, Aim, Denied, aim, aims};
use super::feasible::is_feasible;
use super::history::EscalationHistory;

/// `EACCES`: permission denied.
const DENIED: i32 = 13;

/// Queue of held calls that wait for a decision.
#[derive(Debug)]
pub(super) struct AttemptQueue {
    /// Not kept: a shell that runs must not keep the session that ends it.
    session: WeakSession,
    tier: Tier,
    state: Mutex<EscalationState>,
    /// Held by the thread that asks about a removal: another one of the same tree waits for its answer.
    pub(super) removals: Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct EscalationState {
    /// The calls that wait behind the one about the same place that is being decided.
    waiting: BTreeMap<Aim, Vec<PendingSyscall>>,
    /// Refusals by process. One that tries again and again has its answer.
    refused: BTreeSet<(i32, String)>,
    pub(super) denied: Denied,
    pub(super) covered: RunAnswers,
    pub(super) told: EscalationHistory,
}

/// Most refusals that are remembered before all are forgotten. Those of a person are kept elsewhere.
const MAX_REFUSED: usize = 1000;

impl EscalationState {
    /// Why a call is refused at once, if it is.
    fn refuses(&mut self, call: &Syscall) -> Option<&'static str> {
        let process = call.caller.process;
        if self.denied.refuses_all_of(process) {
            return Some(ALL_OF_PROCESS);
        }
        let before = self.refused.contains(&(process, spelled(call)));
        let before = before.then_some("it was refused to this process before");
        aims(call).find_map(|aim| self.denied.refuses(&aim)).or(before)
    }

    pub(super) fn remember_refused(&mut self, call: &Syscall) {
        if self.refused.len() >= MAX_REFUSED {
            self.refused.clear();
        }
        self.refused.insert((call.caller.process, spelled(call)));
    }
}

/// Meaning of one decision for others that wait with it.
pub(super) enum Verdict {
    /// No verdict: each call is decided.
    None,
    /// No, for this reason.
    No(String),
}

impl AttemptQueue {
    pub(super) fn new(session: WeakSession, tier: Tier) -> Self {
        Self { session, tier, state: Mutex::default(), removals: Mutex::default() }
    }

    /// Takes a call over. Comes back at once.
    pub(super) fn take(queue: &Arc<Self>, pending: PendingSyscall) {
        let aim = aim(pending.call());
        {
            let mut state = queue.state();
            if let Some(why) = state.refuses(pending.call()) {
                state.told.refused(pending.call(), why);
                pending.refuse(DENIED);
                return;
            }
            if let Some(waiting) = state.waiting.get_mut(&aim) {
                waiting.push(pending);
                return;
            }
            state.waiting.insert(aim.clone(), vec![pending]);
        }
        let here = Arc::clone(queue);
        let asking = thread::Builder::new().name("pinfold-asks".into());
        let key = aim.clone();
        if asking.spawn(move || here.decide_all(&key)).is_err() {
            // Dropped, they are refused.
            let refused = queue.state().waiting.remove(&aim);
            refused
                .iter()
                .flatten()
                .for_each(|pending| queue.refused(pending.call(), "no approver could be asked"));
        }
    }

    /// Takes the decisions so far.
    pub(super) fn take_history(&self) -> EscalationHistory {
        std::mem::take(&mut self.state().told)
    }

    /// Returns the session that decides, while it is open.
    pub(super) fn session(&self) -> Option<Session> {
        self.session.upgrade()
    }

    /// Returns whether all that a process tries is refused.
    pub(super) fn refuses_all_of(&self, process: i32) -> bool {
        self.state().denied.refuses_all_of(process)
    }

    /// Refuses all that a process tries from now on.
    pub(super) fn refuse_all_of(&self, process: i32) {
        self.state().denied.deny_all_of(process);
    }

    /// Decides the pending system calls on one path until none waits.
    fn decide_all(&self, aim: &Aim) {
        let _leaving = RefuseAttemptsOnPanic { queue: self, aim };
        let mut verdict = Verdict::None;
        while let Some(pending) = self.next(aim) {
            verdict = match verdict {
                // The answer to one is the answer to those that wait with it.
                Verdict::No(why) => {
                    self.refuse(pending, &why);
                    Verdict::No(why)
                }
                Verdict::None => self.decide(pending),
            };
        }
    }

    /// Takes the next pending system call on a path; when there is none, the path is released.
    fn next(&self, aim: &Aim) -> Option<PendingSyscall> {
        let mut state = self.state();
        let waiting = state.waiting.get_mut(aim)?;
        if waiting.is_empty() {
            state.waiting.remove(aim);
            return None;
        }
        // In the order in which they came.
        Some(waiting.remove(0))
    }

    fn decide(&self, pending: PendingSyscall) -> Verdict {
        let Some(session) = self.session.upgrade() else {
            self.refuse(pending, "the session is over");
            return Verdict::None;
        };
        let could_be_done = pending.as_caller(|| is_feasible(pending.call()));
        if !could_be_done.is_ok_and(|feasible| feasible) {
            self.leave_to_the_walls(pending);
            return Verdict::None;
        }
        if !pending.call().places.iter().all(|place| pending.sees(place)) {
            // The run has something of its own there.
            if pending.is_waiting() {
                self.state().told.refused(pending.call(), "it lies outside the folder");
            }
            self.leave_to_the_walls(pending);
            return Verdict::None;
        }
        self.ask(&session, pending)
    }

    pub(super) fn refuse(&self, pending: PendingSyscall, why: &str) {
        self.refuse_as(pending, why, DENIED);
    }

    /// Refuses with an error number of its own.
    pub(super) fn refuse_as(&self, pending: PendingSyscall, why: &str, errno: i32) {
        self.refused(pending.call(), why);
        pending.refuse(errno);
    }

    fn refused(&self, call: &Syscall, why: &str) {
        self.state().told.refused(call, why);
    }

    /// Continues a system call that the sandbox denies by itself. Landlock does not restrict changes of mode, owner and
    /// times: on its tier those are refused here.
    fn leave_to_the_walls(&self, pending: PendingSyscall) {
        let metadata = match pending.call().operation {
            FileOperation::SetMode { .. }
            | FileOperation::SetOwner { .. }
            | FileOperation::SetTimes { .. } => true,
            FileOperation::Open(_)
            | FileOperation::MakeDir { .. }
            | FileOperation::Remove { .. }
            | FileOperation::RemoveDir { .. }
            | FileOperation::Rename { .. }
            | FileOperation::Link { .. }
            | FileOperation::Symlink { .. }
            | FileOperation::Truncate { .. } => false,
        };
        if metadata && self.tier == Tier::Landlock { pending.refuse(DENIED) } else { pending.go_on() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, EscalationState> {
        // Whatever the lock holds is whole between any two of its users' steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refusal of the pending system calls of a thread that panics.
struct RefuseAttemptsOnPanic<'a> {
    queue: &'a AttemptQueue,
    aim: &'a Aim,
}

impl Drop for RefuseAttemptsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            drop(self.queue.state().waiting.remove(self.aim));
        }
    }
}

/// A call as it was said: the same operation at the same places, by the same program with the same words.
fn spelled(call: &Syscall) -> String {
    let Syscall { operation, places, caller } = call;
    format!("{:?}", (operation, places, &caller.program, &caller.command_line))
}

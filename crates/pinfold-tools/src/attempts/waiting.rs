//! Calls that wait: which of them are the same, and a thread for each that is different.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use pinfold::{Decided, Session, ToolCall, WeakSession};
use pinfold_sandbox::{Call, Deed, Held, Tier};

use super::answer::answer;
use super::feasible::is_feasible;
use super::told::{self, Told};
use super::words;

/// `EACCES`: permission denied.
const DENIED: i32 = 13;

/// Where held calls wait until they are decided.
#[derive(Debug)]
pub(super) struct Desk {
    /// Not kept: a shell that runs must not keep the session that ends it.
    session: WeakSession,
    tier: Tier,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The calls that wait behind the one of their kind that is being decided.
    waiting: BTreeMap<String, Vec<Held>>,
    /// What was denied to which process. One that tries again and again has its answer.
    denied: BTreeSet<(i32, String)>,
    told: Told,
}

/// How many denials are remembered before all are forgotten.
const MOST_DENIED: usize = 1000;

impl State {
    fn deny(&mut self, call: &Call) {
        if self.denied.len() >= MOST_DENIED {
            self.denied.clear();
        }
        self.denied.insert((call.caller.process, kind(call)));
    }
}

/// What one decision says about others like it.
enum Verdict {
    /// Nothing: each is looked at.
    None,
    /// No, for this reason.
    No(String),
}

impl Desk {
    pub(super) fn new(session: WeakSession, tier: Tier) -> Self {
        Self { session, tier, state: Mutex::default() }
    }

    /// Takes a call over. Comes back at once.
    pub(super) fn take(desk: &Arc<Self>, held: Held) {
        let kind = kind(held.call());
        {
            let mut state = desk.state();
            let again = (held.call().caller.process, kind.clone());
            if state.denied.contains(&again) {
                state.told.refused(held.call(), "it was denied to this process before");
                held.refuse(DENIED);
                return;
            }
            if let Some(waiting) = state.waiting.get_mut(&kind) {
                waiting.push(held);
                return;
            }
            state.waiting.insert(kind.clone(), vec![held]);
        }
        let here = Arc::clone(desk);
        let asking = thread::Builder::new().name("pinfold-asks".into());
        let key = kind.clone();
        if asking.spawn(move || here.decide_all(&key)).is_err() {
            // Dropped, they are refused.
            let refused = desk.state().waiting.remove(&kind);
            refused.iter().flatten().for_each(|held| desk.refused(held.call(), "nobody could be asked"));
        }
    }

    /// What has been decided so far.
    pub(super) fn told(&self) -> Told {
        std::mem::take(&mut self.state().told)
    }

    /// What decides, while it lives.
    pub(super) fn session(&self) -> Option<Session> {
        self.session.upgrade()
    }

    /// Remembers what was let through.
    pub(super) fn let_through(&self, did: told::Key) {
        self.state().told.let_through(did);
    }

    /// Decides calls of one kind until none waits.
    fn decide_all(&self, kind: &str) {
        let _leaving = Leaving { desk: self, kind };
        let mut verdict = Verdict::None;
        while let Some(held) = self.next(kind) {
            verdict = match verdict {
                // The answer to one is the answer to those that wait with it.
                Verdict::No(why) => {
                    self.refuse(held, &why);
                    Verdict::No(why)
                }
                Verdict::None => self.decide(held),
            };
        }
    }

    /// The next call of a kind; when there is none, nobody decides about the kind any more.
    fn next(&self, kind: &str) -> Option<Held> {
        let mut state = self.state();
        let waiting = state.waiting.get_mut(kind)?;
        if waiting.is_empty() {
            state.waiting.remove(kind);
            return None;
        }
        // In the order in which they came.
        Some(waiting.remove(0))
    }

    fn decide(&self, held: Held) -> Verdict {
        let Some(session) = self.session.upgrade() else {
            self.refuse(held, "the session is over");
            return Verdict::None;
        };
        let could_be_done = held.as_caller(|| is_feasible(held.call()));
        if !could_be_done.is_ok_and(|feasible| feasible) {
            self.leave_to_the_walls(held);
            return Verdict::None;
        }
        if !held.call().places.iter().all(|place| held.sees(place)) {
            // The run has something of its own there.
            if held.is_waiting() {
                self.state().told.refused(held.call(), "it lies outside the folder");
            }
            self.leave_to_the_walls(held);
            return Verdict::None;
        }
        self.ask(&session, held)
    }

    fn ask(&self, session: &Session, held: Held) -> Verdict {
        let said = ToolCall::Process(words::process_call(held.call()));
        let shown = words::process(&held.call().caller);
        let Decided { outcome, .. } = session.decide_attempt(said, shown, &|| held.is_waiting());
        match outcome {
            Err(refusal) => {
                self.state().deny(held.call());
                self.refuse(held, &refusal.reason);
                Verdict::No(refusal.reason)
            }
            Ok(permit) => {
                answer(*permit, held, |call, ended| {
                    let mut state = self.state();
                    match ended {
                        Ok(()) => state.told.let_through(told::key(call)),
                        Err(why) => state.told.refused(call, &why),
                    }
                });
                Verdict::None
            }
        }
    }

    fn refuse(&self, held: Held, why: &str) {
        self.refused(held.call(), why);
        held.refuse(DENIED);
    }

    fn refused(&self, call: &Call, why: &str) {
        self.state().told.refused(call, why);
    }

    /// It goes on and fails by itself. Without mounts nothing stands in the way of what only changes mode, owner and
    /// times: that is refused.
    fn leave_to_the_walls(&self, held: Held) {
        let metadata = match held.call().deed {
            Deed::SetMode { .. } | Deed::SetOwner { .. } | Deed::SetTimes { .. } => true,
            Deed::Open(_)
            | Deed::MakeDir { .. }
            | Deed::Remove { .. }
            | Deed::RemoveDir { .. }
            | Deed::Rename { .. }
            | Deed::Link { .. }
            | Deed::Symlink { .. }
            | Deed::Truncate { .. } => false,
        };
        if metadata && self.tier == Tier::Landlock { held.refuse(DENIED) } else { held.go_on() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whatever the lock holds is whole between any two of its users' steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody waits for a decision that nobody makes: what is left when a thread is lost is refused.
struct Leaving<'a> {
    desk: &'a Desk,
    kind: &'a str,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            drop(self.desk.state().waiting.remove(self.kind));
        }
    }
}

/// Calls that are asked about as one: the same deed at the same places, by the same program with the same words.
fn kind(call: &Call) -> String {
    let Call { deed, places, caller } = call;
    format!("{:?}", (deed, places, &caller.program, &caller.command_line))
}

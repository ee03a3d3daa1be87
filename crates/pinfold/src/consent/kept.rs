//! What was granted in a session, how long it holds, and how often it was used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use pinfold_policy::{Bases, Grant, Grants, Reason, Verdict};
use serde::Serialize;

use super::answer::By;

/// How long a grant holds, at most until its session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lasts {
    /// As long as the session.
    Session,
    /// Until this moment.
    Until(Timestamp),
    /// For this many calls more.
    Calls(u32),
}

/// A grant of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its number in the session, for taking it back.
    pub number: u64,
    /// What it covers.
    pub grant: Grant,
    /// Who gave it.
    pub by: By,
    /// When.
    pub given_at: Timestamp,
    /// How long it holds.
    pub lasts: Lasts,
    /// How many calls it let through.
    pub used: u64,
}

/// Keeps the grants of one session.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    bases: Bases,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    kept: Vec<Kept>,
    compiled: Arc<Grants>,
}

impl State {
    fn compile(&mut self, bases: &Bases) {
        self.compiled = Arc::new(Grants::compile(self.kept.iter().map(|kept| kept.grant.clone()), bases));
    }

    /// Drops what is over. `true` when something was.
    fn prune(&mut self, bases: &Bases, now: impl Fn() -> Timestamp) -> bool {
        let timed = self.kept.iter().any(|kept| matches!(kept.lasts, Lasts::Until(_)));
        let now = timed.then(now);
        let over = |kept: &Kept| match kept.lasts {
            Lasts::Session => false,
            Lasts::Until(end) => now.is_some_and(|now| end <= now),
            Lasts::Calls(left) => left == 0,
        };
        let before = self.kept.len();
        self.kept.retain(|kept| !over(kept));
        let pruned = self.kept.len() != before;
        if pruned {
            self.compile(bases);
        }
        pruned
    }
}

impl Keeper {
    /// Keeps grants whose patterns are measured from `bases`.
    pub(crate) fn new(bases: Bases) -> Self {
        Self { bases, state: Mutex::default() }
    }

    pub(crate) fn bases(&self) -> &Bases {
        &self.bases
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What the lock holds is whole between any two of its users' steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds now.
    pub(crate) fn grants(&self) -> Arc<Grants> {
        let mut state = self.state();
        state.prune(&self.bases, Timestamp::now);
        Arc::clone(&state.compiled)
    }

    /// From now on this holds too. One that holds already is not kept twice.
    pub(crate) fn give(&self, grants: impl IntoIterator<Item = Grant>, by: &By, lasts: Lasts) {
        let mut state = self.state();
        for grant in grants {
            if state.kept.iter().any(|kept| kept.grant == grant && kept.lasts == lasts) {
                continue;
            }
            state.next += 1;
            let number = state.next;
            state.kept.push(Kept {
                number,
                grant,
                by: by.clone(),
                given_at: Timestamp::now(),
                lasts,
                used: 0,
            });
        }
        state.compile(&self.bases);
    }

    /// From now on these hold, and nothing else.
    pub(crate) fn replace(&self, grants: impl IntoIterator<Item = Grant>, by: &By) {
        self.state().kept.clear();
        self.give(grants, by, Lasts::Session);
    }

    /// Takes a grant back. `false` when there is none of that number.
    pub(crate) fn revoke(&self, number: u64) -> bool {
        let mut state = self.state();
        let before = state.kept.len();
        state.kept.retain(|kept| kept.number != number);
        let revoked = state.kept.len() != before;
        if revoked {
            state.compile(&self.bases);
        }
        revoked
    }

    pub(crate) fn list(&self) -> Vec<Kept> {
        let mut state = self.state();
        state.prune(&self.bases, Timestamp::now);
        state.kept.clone()
    }

    /// Counts a call against every grant that let a part of it through. `false` when one of them was used up
    /// meanwhile: the call has to be judged again.
    pub(crate) fn spend(&self, verdict: &Verdict) -> bool {
        let mut grants = verdict.trail.iter().filter_map(|entry| match &entry.opinion.reason {
            Reason::Grant(grant) => Some(grant.as_ref()),
            _ => None,
        });
        let Some(first) = grants.next() else { return true };
        let mut spent: Vec<&Grant> = vec![first];
        for grant in grants {
            if !spent.contains(&grant) {
                spent.push(grant);
            }
        }
        let mut state = self.state();
        state.prune(&self.bases, Timestamp::now);
        let held = |grant: &&Grant| state.kept.iter().any(|kept| kept.grant == **grant);
        if !spent.iter().all(held) {
            return false;
        }
        for grant in spent {
            if let Some(kept) = state.kept.iter_mut().find(|kept| kept.grant == *grant) {
                kept.used += 1;
                if let Lasts::Calls(left) = &mut kept.lasts {
                    *left = left.saturating_sub(1);
                }
            }
        }
        state.prune(&self.bases, Timestamp::now);
        true
    }
}

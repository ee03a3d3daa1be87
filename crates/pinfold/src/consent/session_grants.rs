//! The grants of a session: how long each holds, and how often it was used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use pinfold_policy::{Bases, Grant, Grants, Reason, Verdict};

use super::answer::AnsweredBy;
use super::grant_lifetime::GrantLifetime;

/// A grant of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionGrant {
    /// Its number in the session, for taking it back.
    pub number: u64,
    /// The calls that it covers.
    pub grant: Grant,
    /// The approver that gave it.
    pub by: AnsweredBy,
    /// The time at which it was given.
    pub given_at: Timestamp,
    /// Its lifetime.
    pub lasts: GrantLifetime,
    /// The number of calls that it let through.
    pub used: u64,
}

/// Keeps the grants of one session.
#[derive(Debug)]
pub(crate) struct SessionGrants {
    bases: Bases,
    clock: Clock,
    state: Mutex<GrantsState>,
}

/// The source of the time.
struct Clock(Box<dyn Fn() -> Timestamp + Send + Sync>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

#[derive(Debug, Default)]
struct GrantsState {
    next: u64,
    kept: Vec<SessionGrant>,
    /// The ends of those with an end, by a clock that cannot be set.
    ends: HashMap<u64, Instant>,
    compiled: Arc<Grants>,
}

impl GrantsState {
    fn compile(&mut self, bases: &Bases) {
        self.compiled = Arc::new(Grants::compile(self.kept.iter().map(|kept| kept.grant.clone()), bases));
    }

    /// Drops what is over.
    fn prune(&mut self, bases: &Bases, clock: &Clock) {
        let timed = self.kept.iter().any(|kept| matches!(kept.lasts, GrantLifetime::Until(_)));
        let now = timed.then(|| (clock.0(), Instant::now()));
        // By either clock: one is set back, and the other stands still while the machine sleeps.
        let over = |kept: &SessionGrant| match kept.lasts {
            GrantLifetime::Session => false,
            GrantLifetime::Until(end) => now.is_some_and(|(wall, now)| {
                end <= wall || self.ends.get(&kept.number).is_some_and(|end| *end <= now)
            }),
            GrantLifetime::Calls(left) => left == 0,
        };
        let before = self.kept.len();
        self.kept.retain(|kept| !over(kept));
        if self.kept.len() != before {
            self.ends.retain(|number, _| self.kept.iter().any(|kept| kept.number == *number));
            self.compile(bases);
        }
    }

    fn add(
        &mut self,
        grants: impl IntoIterator<Item = Grant>,
        by: &AnsweredBy,
        given_at: Timestamp,
        lasts: GrantLifetime,
    ) {
        for grant in grants {
            if self.kept.iter().any(|kept| kept.grant == grant && kept.lasts == lasts) {
                continue;
            }
            self.next += 1;
            let number = self.next;
            if let GrantLifetime::Until(end) = lasts {
                let left = end.duration_since(given_at).try_into().unwrap_or_default();
                self.ends.extend(Instant::now().checked_add(left).map(|end| (number, end)));
            }
            self.kept.push(SessionGrant { number, grant, by: by.clone(), given_at, lasts, used: 0 });
        }
    }
}

impl SessionGrants {
    /// Keeps grants whose patterns are measured from `bases`.
    pub(crate) fn new(bases: Bases) -> Self {
        Self::with_clock(bases, Timestamp::now)
    }

    fn with_clock(bases: Bases, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { bases, clock: Clock(Box::new(clock)), state: Mutex::default() }
    }

    pub(crate) fn bases(&self) -> &Bases {
        &self.bases
    }

    fn state(&self) -> MutexGuard<'_, GrantsState> {
        // What the lock holds is whole between any two of its users' steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grants that hold now.
    pub(crate) fn grants(&self) -> Arc<Grants> {
        let mut state = self.state();
        state.prune(&self.bases, &self.clock);
        Arc::clone(&state.compiled)
    }

    /// From now on this holds too. One that holds already is not kept twice.
    pub(crate) fn give(
        &self,
        grants: impl IntoIterator<Item = Grant>,
        by: &AnsweredBy,
        lasts: GrantLifetime,
    ) {
        let mut state = self.state();
        state.add(grants, by, self.clock.0(), lasts);
        state.compile(&self.bases);
    }

    /// From now on these hold, and nothing else.
    pub(crate) fn replace(&self, grants: impl IntoIterator<Item = Grant>, by: &AnsweredBy) {
        let mut state = self.state();
        state.kept.clear();
        state.add(grants, by, self.clock.0(), GrantLifetime::Session);
        state.compile(&self.bases);
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

    pub(crate) fn list(&self) -> Vec<SessionGrant> {
        let mut state = self.state();
        state.prune(&self.bases, &self.clock);
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
        state.prune(&self.bases, &self.clock);
        let held = |grant: &&Grant| state.kept.iter().any(|kept| kept.grant == **grant);
        if !spent.iter().all(held) {
            return false;
        }
        for grant in spent {
            if let Some(kept) = state.kept.iter_mut().find(|kept| kept.grant == *grant) {
                kept.used += 1;
                if let GrantLifetime::Calls(left) = &mut kept.lasts {
                    *left = left.saturating_sub(1);
                }
            }
        }
        state.prune(&self.bases, &self.clock);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
    use std::time::Duration;

    use pinfold_policy::{Class, Decision, Opinion, PartId, TrailEntry};

    use super::*;

    fn place(name: &str) -> Grant {
        Grant::Place(name.into(), Class::Write)
    }

    /// The verdict about a call of which each grant let a part through.
    fn verdict(grants: &[Grant]) -> Verdict {
        let entry = |grant: &Grant| TrailEntry {
            part: PartId::Tool,
            step: "session-grant",
            opinion: Opinion { decision: Decision::Allow, reason: Reason::Grant(Arc::new(grant.clone())) },
        };
        let trail = grants.iter().map(entry).collect();
        Verdict { decision: Decision::Allow, step: "session-grant", trail, decided_by: 0 }
    }

    fn holds(session: &SessionGrants, name: &str) -> bool {
        session.grants().place(name.as_ref(), Class::Write).is_some()
    }

    #[test]
    fn a_grant_ends_with_its_time_whoever_looks_first() {
        let second = Arc::new(AtomicI64::new(100));
        let seen = Arc::clone(&second);
        let session = SessionGrants::with_clock(Bases::default(), move || {
            Timestamp::UNIX_EPOCH + Duration::from_secs(seen.load(Ordering::Relaxed).unsigned_abs())
        });
        let end = Timestamp::UNIX_EPOCH + Duration::from_secs(160);
        session.give([place("/a")], &AnsweredBy::default(), GrantLifetime::Until(end));
        session.give([place("/b")], &AnsweredBy::default(), GrantLifetime::Session);
        second.store(159, Ordering::Relaxed);
        assert!(holds(&session, "/a") && session.spend(&verdict(&[place("/a")])));
        second.store(160, Ordering::Relaxed);
        // What was judged a moment before its end is not let through behind it.
        assert!(!session.spend(&verdict(&[place("/a"), place("/b")])));
        assert!(!holds(&session, "/a") && holds(&session, "/b"));
        assert_eq!(session.list().len(), 1);
        // A clock that is set back does not bring it back.
        second.store(100, Ordering::Relaxed);
        assert!(!holds(&session, "/a"));
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_nothing() {
        let session = SessionGrants::with_clock(Bases::default(), || Timestamp::UNIX_EPOCH);
        let end = Timestamp::UNIX_EPOCH + Duration::from_millis(30);
        session.give([place("/a")], &AnsweredBy::default(), GrantLifetime::Until(end));
        assert!(holds(&session, "/a"));
        std::thread::sleep(Duration::from_millis(40));
        assert!(!holds(&session, "/a") && !session.spend(&verdict(&[place("/a")])));
    }

    #[test]
    fn a_grant_for_so_many_calls_ends_with_the_last() {
        let session = SessionGrants::new(Bases::default());
        session.give([place("/a")], &AnsweredBy::default(), GrantLifetime::Calls(2));
        // Two parts of one call are one use.
        assert!(session.spend(&verdict(&[place("/a"), place("/a")])));
        assert_eq!(
            session.list().first().map(|kept| (kept.lasts, kept.used)),
            Some((GrantLifetime::Calls(1), 1))
        );
        assert!(session.spend(&verdict(&[place("/a")])));
        assert!(!holds(&session, "/a") && !session.spend(&verdict(&[place("/a")])));
    }

    #[test]
    fn a_call_that_one_of_its_grants_is_missing_for_spends_none() {
        let session = SessionGrants::new(Bases::default());
        session.give([place("/a")], &AnsweredBy::default(), GrantLifetime::Calls(1));
        assert!(!session.spend(&verdict(&[place("/a"), place("/b")])));
        assert!(holds(&session, "/a"));
    }

    #[test]
    fn what_is_taken_back_holds_no_more() {
        let session = SessionGrants::new(Bases::default());
        session.give([place("/a"), place("/b"), place("/a")], &AnsweredBy::default(), GrantLifetime::Session);
        let kept = session.list();
        assert_eq!(kept.iter().map(|kept| kept.number).collect::<Vec<_>>(), [1, 2]);
        assert!(session.revoke(1) && !session.revoke(1) && !session.revoke(9));
        assert!(!holds(&session, "/a") && !session.spend(&verdict(&[place("/a")])) && holds(&session, "/b"));
        session.replace([place("/c")], &AnsweredBy::default());
        assert!(!holds(&session, "/b") && holds(&session, "/c"));
        // A number is never given twice.
        assert_eq!(session.list().first().map(|kept| kept.number), Some(3));
    }

    #[test]
    fn many_at_once_are_let_through_as_often_as_was_granted() {
        for calls in [1, 7, 64] {
            let session = SessionGrants::new(Bases::default());
            session.give([place("/a")], &AnsweredBy::default(), GrantLifetime::Calls(calls));
            let let_through = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            // As the gate does: judged by what holds, then counted.
                            let judged = session.grants();
                            let granted = judged.place("/a".as_ref(), Class::Write).is_some();
                            if granted && session.spend(&verdict(&[place("/a")])) {
                                let_through.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            assert_eq!(let_through.load(Ordering::Relaxed), usize::try_from(calls).unwrap_or(0));
        }
    }
}

//! The report on the escalations of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pinfold::paths::show;
use pinfold_boundary::{Approved, EscalationOutcome, INSTEAD_OUTSIDE, Refused, TO_ALLOW_OUTSIDE};
use pinfold_sandbox::Syscall;

use super::process_call;

/// Most different ones that are remembered; more are only counted.
const MAX_DISTINCT: usize = 1000;

pub(super) type Key = (&'static str, PathBuf, String);

/// Decisions so far.
#[derive(Debug, Default)]
pub(super) struct EscalationHistory {
    refused: BTreeMap<(Key, String), u64>,
    approved: BTreeMap<Key, u64>,
    more: u64,
}

impl EscalationHistory {
    /// Adds a refusal with its reason.
    pub(super) fn refused(&mut self, call: &Syscall, why: &str) {
        count(&mut self.refused, (key(call), why.to_owned()), &mut self.more);
    }

    /// Counts an operation that was approved and done.
    pub(super) fn approved(&mut self, did: Key) {
        count(&mut self.approved, did, &mut self.more);
    }

    /// Adds all of it to what else was tried.
    pub(super) fn add_to(&self, tried: &mut EscalationOutcome) {
        let refused = |(((tried, place, program), why), times): (&(Key, String), &u64)| Refused {
            id: None,
            tried,
            place: place.clone(),
            program: program.clone(),
            times: *times,
            why: why.clone(),
            rule: None,
            source: None,
            instead: INSTEAD_OUTSIDE,
            to_allow: TO_ALLOW_OUTSIDE.into(),
        };
        let done = |((did, place, program), times): (&Key, &u64)| Approved {
            did,
            place: place.clone(),
            program: program.clone(),
            times: *times,
        };
        tried.refused.extend(self.refused.iter().map(refused));
        tried.approved.extend(self.approved.iter().map(done));
        tried.omitted_count += self.more;
    }
}

/// Returns the key of a system call in the report.
pub(super) fn key(call: &Syscall) -> Key {
    let (word, place) = process_call::report(call);
    (word, place.to_owned(), show(&call.caller.program))
}

fn count<K: Ord>(list: &mut BTreeMap<K, u64>, key: K, more: &mut u64) {
    if list.len() >= MAX_DISTINCT && !list.contains_key(&key) {
        *more += 1;
    } else {
        *list.entry(key).or_default() += 1;
    }
}

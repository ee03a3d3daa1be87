//! Limits that processes of a run met.

use std::collections::BTreeMap;

use pinfold_sandbox::Limit;

use super::refusal::program;
use crate::outcome::LimitMet;

/// Most different ones that are remembered.
const MOST: usize = 100;

/// The limits that were met so far.
#[derive(Debug, Default)]
pub(super) struct LimitsMet(BTreeMap<(Limit, String), u64>);

impl LimitsMet {
    pub(super) fn add(&mut self, limit: Limit, pid: i32) {
        let key = (limit, program(pid));
        if self.0.len() < MOST || self.0.contains_key(&key) {
            *self.0.entry(key).or_default() += 1;
        }
    }

    pub(super) fn all(&self) -> Vec<LimitMet> {
        let met = |((limit, program), times): (&(Limit, String), &u64)| LimitMet {
            limit: *limit,
            program: program.clone(),
            times: *times,
        };
        self.0.iter().map(met).collect()
    }
}

//! Limits that processes of a run met.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use pinfold_sandbox::Limit;

use crate::outcome::{LimitMet, shown_program};

/// Most different ones that are remembered.
const MAX_DISTINCT: usize = 100;

/// The limits that were met so far.
#[derive(Debug, Default)]
pub(super) struct LimitsMet(BTreeMap<(Limit, String), u64>);

impl LimitsMet {
    pub(super) fn add(&mut self, limit: Limit, program: &OsStr) {
        let key = (limit, shown_program(program));
        if self.0.len() < MAX_DISTINCT || self.0.contains_key(&key) {
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

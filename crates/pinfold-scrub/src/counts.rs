//! Counts of the secrets found, by kind.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde::{Serialize, Serializer};

/// Counts by kind, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// Returns `true` if no secret was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of secrets of all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the number of secrets of one kind.
    pub fn get(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or(0)
    }

    /// Each kind that was found, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    pub(crate) fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }
}

impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        for (kind, count) in other.iter() {
            *self.0.entry(kind).or_default() += count;
        }
    }
}

/// `2 github-token, 1 private-key`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (kind, count)) in self.iter().enumerate() {
            let gap = if at == 0 { "" } else { ", " };
            write!(f, "{gap}{count} {kind}")?;
        }
        Ok(())
    }
}

/// `{"github-token": 2, "private-key": 1}`.
impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

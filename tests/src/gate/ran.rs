//! What came of the cases, told by area.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How a case came out.
#[derive(Debug, Clone)]
pub enum Ran {
    /// As it has to.
    Passed,
    /// Otherwise; with the trace.
    Failed(String),
    /// Something that it needs is not there yet, or not on this machine.
    NotRun(String),
}

/// What came of one area.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// As it has to.
    pub passed: usize,
    /// Otherwise, by name, with the trace.
    pub failed: Vec<(String, String)>,
    /// By name, with the reason.
    pub not_run: Vec<(String, String)>,
}

/// What came of all areas.
#[derive(Debug, Default, Clone)]
pub struct Report {
    areas: BTreeMap<String, Tally>,
}

impl Report {
    /// Notes how a case came out.
    pub fn note(&mut self, area: &str, id: &str, ran: Ran) {
        let tally = self.areas.entry(area.to_owned()).or_default();
        match ran {
            Ran::Passed => tally.passed += 1,
            Ran::Failed(why) => tally.failed.push((id.to_owned(), why)),
            Ran::NotRun(why) => tally.not_run.push((id.to_owned(), why)),
        }
    }

    /// The names of all cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.areas.values().flat_map(|tally| &tally.failed).map(|(id, _)| id.as_str())
    }

    /// How many passed.
    pub fn passed(&self) -> usize {
        self.areas.values().map(|tally| tally.passed).sum()
    }

    /// Every failing case with its trace, every case that did not run with its reason, and a line for each area.
    pub fn told(&self) -> String {
        let mut text = String::new();
        for (area, tally) in &self.areas {
            for (id, trace) in &tally.failed {
                let _ = writeln!(text, "not as expected: {area}/{id}\n{trace}");
            }
        }
        for (area, tally) in &self.areas {
            let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (id, why) in &tally.not_run {
                by_reason.entry(why).or_default().push(id);
            }
            for (why, ids) in by_reason {
                let _ = writeln!(text, "not run {area}: {why}: {}", ids.join(" "));
            }
        }
        for (area, tally) in &self.areas {
            let (passed, failed, not_run) = (tally.passed, tally.failed.len(), tally.not_run.len());
            let _ = writeln!(text, "{area}: {passed} passed, {failed} failed, {not_run} not run");
        }
        text
    }
}

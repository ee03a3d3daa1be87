//! Which lines are shown.

use globset::{GlobBuilder, GlobMatcher};
use jiff::Timestamp;
use serde_json::Value;

use crate::args::{Filters, When};
use crate::exit::{Failure, USAGE};

/// Which lines are shown: all conditions hold.
pub(super) struct Filter<'a> {
    said: &'a Filters,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    path: Option<GlobMatcher>,
    only_decisions: bool,
}

impl<'a> Filter<'a> {
    pub(super) fn new(said: &'a Filters) -> Result<Self, Failure> {
        let now = Timestamp::now();
        let moment = |when: When| match when {
            When::At(at) => at,
            When::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
        };
        let glob = |text: &String| {
            GlobBuilder::new(text).literal_separator(true).build().map(|glob| glob.compile_matcher()).map_err(
                |e| {
                    Failure::new(USAGE, format!("`{text}` is no pattern: {e}"))
                        .mend("write `**/.env`, `/etc/*`")
                },
            )
        };
        Ok(Self {
            said,
            since: said.since.map(moment),
            until: said.until.map(moment),
            path: said.path.as_ref().map(glob).transpose()?,
            only_decisions: false,
        })
    }

    /// Decisions and refusals alone.
    pub(super) fn only_decisions(self, only: bool) -> Self {
        Self { only_decisions: only, ..self }
    }

    pub(super) fn takes(&self, record: &Value) -> bool {
        let said = self.said;
        let is = |key: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| record[key].as_str() == Some(wanted))
        };
        let kind = record["kind"].as_str().unwrap_or_default();
        (!self.only_decisions || matches!(kind, "decision" | "refusal"))
            && self.in_time(record)
            && is("session", &said.session)
            && is("tool", &said.tool)
            && is("principal", &said.agent)
            && is("decision", &said.decision)
            && is("step", &said.step)
            && (!said.asked || record["ruling"] == "question")
            && (!said.refused || record["ruling"] == "refusal" || kind == "refusal")
            && self.path.as_ref().is_none_or(|glob| places(record).any(|place| glob.is_match(place)))
    }

    fn in_time(&self, record: &Value) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let at = record["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        at.is_some_and(|at| {
            self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at <= until)
        })
    }
}

/// The places that a line is about, under each of their names.
pub(super) fn places(record: &Value) -> impl Iterator<Item = &str> {
    let paths = record["paths"].as_array().into_iter().flatten();
    let named = paths.flat_map(|path| [path["asked"].as_str(), path["real"].as_str()]);
    let refused = record.pointer("/denial/place").and_then(Value::as_str);
    named.chain([refused]).flatten()
}

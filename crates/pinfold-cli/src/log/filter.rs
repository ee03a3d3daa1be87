//! The filter for events.

use globset::{GlobBuilder, GlobMatcher};
use jiff::Timestamp;
use pinfold::audit::read::{AuditLine, RecordedCall};
use pinfold::audit::{AuditEvent, DecisionEvent, Ruled};

use crate::args::{Filters, LogMoment};
use crate::exit::{Failure, USAGE};

/// Conditions of the events that are shown: all of them hold.
pub(crate) struct LogFilter<'a> {
    said: &'a Filters,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    path: Option<GlobMatcher>,
    only_decisions: bool,
}

impl<'a> LogFilter<'a> {
    pub(crate) fn new(said: &'a Filters) -> Result<Self, Failure> {
        let now = Timestamp::now();
        let moment = |when: LogMoment| match when {
            LogMoment::At(at) => at,
            LogMoment::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
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

    /// Decisions and refusals alone, and the ends of runs and calls that reached for hosts.
    pub(crate) fn only_decisions(self, only: bool) -> Self {
        Self { only_decisions: only, ..self }
    }

    /// The moment before which no line is shown.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.since
    }

    /// Returns whether a line is shown.
    pub(crate) fn takes(&self, line: &AuditLine) -> bool {
        let said = self.said;
        let decision = line.decision();
        let ruling = decision.map(|decision| decision.ruling);
        let (refused, place) = match &line.event {
            AuditEvent::Refusal(refusal) => (true, refusal.denial.place.as_deref()),
            _ => (ruling == Some(Ruled::Refusal), None),
        };
        (!self.only_decisions || is_decision(&line.event))
            && self.is_of(line.at, &line.session, &line.tool, &line.principal)
            && self.is_decided(decision)
            && (!said.asked || ruling == Some(Ruled::Question))
            && (!said.refused || refused)
            && self.path.as_ref().is_none_or(|glob| {
                let places = decision.into_iter().flat_map(DecisionEvent::places);
                places.chain(place).any(|place| glob.is_match(place))
            })
    }

    /// Returns whether a call is counted.
    pub(crate) fn takes_call(&self, call: &RecordedCall) -> bool {
        let said = self.said;
        self.is_of(call.at, &call.session, &call.tool, &call.principal)
            && self.is_decided(Some(&call.judged))
            && (!said.asked || call.asked > 0)
            && (!said.refused || call.ruling == Ruled::Refusal)
            && self.path.as_ref().is_none_or(|glob| call.judged.places().any(|place| glob.is_match(place)))
    }

    fn is_of(&self, at: Option<Timestamp>, session: &str, tool: &str, principal: &str) -> bool {
        let said = self.said;
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let in_time = match at {
            Some(at) => {
                self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at <= until)
            }
            None => self.since.is_none() && self.until.is_none(),
        };
        in_time && is(&said.session, session) && is(&said.tool, tool) && is(&said.agent, principal)
    }

    fn is_decided(&self, decision: Option<&DecisionEvent>) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        is(&self.said.decision, decision.and_then(|decision| decision.decision.as_deref()))
            && is(&self.said.step, decision.and_then(|decision| decision.step.as_deref()))
    }
}

/// Returns whether a line says what was allowed or refused.
fn is_decision(says: &AuditEvent) -> bool {
    match says {
        AuditEvent::Decision(_) | AuditEvent::Refusal(_) => true,
        AuditEvent::End(end) => !end.hosts.is_empty(),
        AuditEvent::Outcome(outcome) => !outcome.hosts.is_empty(),
        _ => false,
    }
}

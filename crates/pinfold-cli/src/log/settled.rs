//! Permits that came to nothing: what was refused after all is told as a refusal, with its reason.

use std::collections::{HashMap, VecDeque};

use pinfold::RefusalCode;
use pinfold::audit::read::AuditLine;
use pinfold::audit::{AuditEvent, Ruled};

/// Lines that wait for the outcome of a permit, at most: what a long command was permitted is told before it has ended.
const MAX_WAITING: usize = 64;

/// Tool that fetches a page.
const WEB_FETCH: &str = "WebFetch";

/// Returns why the call of an outcome was refused after it was permitted.
fn refused_after_all(line: &AuditLine) -> Option<&str> {
    match &line.event {
        AuditEvent::Outcome(outcome) if outcome.code.as_deref() == Some(RefusalCode::Denied.as_str()) => {
            outcome.reason.as_deref()
        }
        _ => None,
    }
}

/// Returns whether a line permits a connection of a process or a page: what of them is known only where the host leads.
fn is_permit_to_reach(line: &AuditLine) -> bool {
    line.decision().is_some_and(|decision| {
        let reaches = decision.process.is_some() || line.tool == WEB_FETCH;
        decision.ruling == Ruled::Permit && reaches && decision.hosts.iter().any(Option::is_some)
    })
}

/// Makes a refusal of a permit.
fn refuse(line: &mut AuditLine, why: &str) {
    if let AuditEvent::Decision(decision) = &mut line.event {
        decision.ruling = Ruled::Refusal;
        decision.reason = Some(why.to_owned());
    }
}

/// Lines in their order, those behind a permit to reach a host once its outcome is known.
#[derive(Default)]
pub(super) struct Settling(VecDeque<Waiting>);

struct Waiting {
    line: AuditLine,
    text: String,
    /// A permission that the outcome may still refuse.
    is_open: bool,
}

impl Settling {
    /// Takes the next line.
    pub(super) fn take(&mut self, line: AuditLine, text: &str) {
        if matches!(line.event, AuditEvent::Outcome(_)) {
            let name = line.call();
            if let Some(permit) = self.0.iter_mut().find(|one| one.is_open && one.line.call() == name) {
                permit.is_open = false;
                if let Some(why) = refused_after_all(&line) {
                    refuse(&mut permit.line, why);
                }
            }
        }
        let is_open = is_permit_to_reach(&line);
        self.0.push_back(Waiting { line, text: text.to_owned(), is_open });
    }

    /// Returns the next line that waits for nothing.
    pub(super) fn next_settled(&mut self) -> Option<(AuditLine, String)> {
        let is_ready = self.0.len() > MAX_WAITING || self.0.front().is_some_and(|first| !first.is_open);
        if is_ready { self.next() } else { None }
    }

    /// Returns the next line, whatever it waits for.
    pub(super) fn next(&mut self) -> Option<(AuditLine, String)> {
        self.0.pop_front().map(|first| (first.line, first.text))
    }
}

/// Calls that were refused after all, of lines that are read from the end.
#[derive(Default)]
pub(super) struct RefusedLater(HashMap<String, String>);

impl RefusedLater {
    /// Takes the line before those that were taken.
    pub(super) fn settle(&mut self, line: &mut AuditLine) {
        let Some(name) = line.call() else { return };
        if let Some(why) = refused_after_all(line) {
            self.0.insert(name, why.to_owned());
        } else if is_permit_to_reach(line)
            && let Some(why) = self.0.remove(&name)
        {
            refuse(line, &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use pinfold::audit::{DecisionEvent, OutcomeEvent};

    use super::*;

    fn line(id: u64, event: AuditEvent) -> AuditLine {
        AuditLine {
            v: 2,
            at: None,
            session: "run-a".to_owned(),
            id: Some(id),
            principal: "main".to_owned(),
            agents: Vec::new(),
            tool: WEB_FETCH.to_owned(),
            event,
        }
    }

    fn permit(id: u64) -> AuditLine {
        let hosts = vec![Some("a.test".to_owned())];
        let decision = DecisionEvent { ruling: Ruled::Permit, hosts, ..DecisionEvent::default() };
        line(id, AuditEvent::Decision(Box::new(decision)))
    }

    fn outcome(id: u64, code: Option<&'static str>) -> AuditLine {
        let reason = code.map(|_| "it leads to 10.9.8.7".to_owned());
        let outcome = OutcomeEvent { code: code.map(Cow::Borrowed), reason, ..OutcomeEvent::default() };
        line(id, AuditEvent::Outcome(outcome))
    }

    fn shown(line: &AuditLine) -> Option<(u64, &'static str, Option<&str>)> {
        let decision = line.decision()?;
        Some((line.id?, decision.ruling.as_str(), decision.reason.as_deref()))
    }

    #[test]
    fn a_permit_that_was_refused_after_all_is_told_as_a_refusal() {
        let denied = RefusalCode::Denied.as_str();
        let lines = || {
            [
                permit(1),
                permit(2),
                outcome(2, None),
                outcome(1, Some(denied)),
                permit(3),
                outcome(3, Some("other")),
            ]
        };
        let expected =
            [(1, "refusal", Some("it leads to 10.9.8.7")), (2, "permit", None), (3, "permit", None)];
        let mut settling = Settling::default();
        let mut told = Vec::new();
        for line in lines() {
            settling.take(line, "");
            told.extend(std::iter::from_fn(|| settling.next_settled()));
        }
        assert!(settling.next().is_none(), "all had their outcome");
        assert_eq!(told.iter().filter_map(|(line, _)| shown(line)).collect::<Vec<_>>(), expected);

        let mut later = RefusedLater::default();
        let mut told: Vec<AuditLine> = lines()
            .into_iter()
            .rev()
            .map(|mut line| {
                later.settle(&mut line);
                line
            })
            .collect();
        told.reverse();
        assert_eq!(told.iter().filter_map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_permit_without_an_outcome_holds_few_lines_back() {
        let mut settling = Settling::default();
        settling.take(permit(1), "");
        assert!(settling.next_settled().is_none(), "it waits");
        for id in 2..=MAX_WAITING as u64 + 1 {
            settling.take(outcome(id, None), "");
        }
        assert_eq!(settling.next_settled().and_then(|(line, _)| line.id), Some(1));
    }
}

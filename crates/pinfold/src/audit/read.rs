//! The record, read: each line as what it says.
//!
//! One reader for all who look: a field, kind or word that is not known is passed over, so that a line of a later
//! version is read as far as it is understood. A line that cannot be what a journal wrote is told with its file and
//! number, and hides no other. Whether the chain holds is another question: [`verify`](super::verify()).

pub(in crate::audit) mod backwards;
mod calls;
mod find;
mod reader;
mod recorded_call;
mod time_search;

use jiff::Timestamp;
use serde::Deserialize;

use super::event::{AuditEvent, DecisionEvent};
use super::record::VERSION;

pub use calls::{Calls, RecordedCall};
pub use find::{CallHistory, NamedRecord, NotFound, RecordName, RunHistory, last_no};
pub use reader::{Damage, LogReader, Read};

/// A line of the record, as far as it is understood.
#[derive(Debug, Clone)]
pub struct AuditLine {
    /// The version of its format.
    pub v: u32,
    /// The time; a line always says it.
    pub at: Option<Timestamp>,
    /// Which session.
    pub session: String,
    /// Which call of the session, if it is about one.
    pub id: Option<u64>,
    /// The principal that called.
    pub principal: String,
    /// The agents from the main loop down to who called; empty where that is the main loop.
    pub agents: Vec<String>,
    /// The tool; empty where it is about no call.
    pub tool: String,
    /// The event.
    pub event: AuditEvent,
}

/// The fields of every line.
#[derive(Deserialize)]
struct Head {
    v: u32,
    at: Option<Timestamp>,
    #[serde(default)]
    session: String,
    id: Option<u64>,
    #[serde(default)]
    principal: String,
    #[serde(default)]
    agents: Vec<String>,
    #[serde(default)]
    tool: String,
    kind: String,
}

impl AuditLine {
    /// Reads a line, with or without its line feed.
    ///
    /// # Errors
    /// Says why it cannot be what a journal wrote.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let bad = |e: serde_json::Error| {
            // Which line of the text it is says nothing: there is one.
            let said = e.to_string();
            said.split_once(" at line ").map_or_else(|| said.clone(), |(what, _)| what.to_owned())
        };
        let Head { v, at, session, id, principal, agents, tool, kind } =
            serde_json::from_slice(line).map_err(bad)?;
        let event = match AuditEvent::parse(&kind, line) {
            // A later version may say more than is understood here.
            Err(_) if v > VERSION => AuditEvent::Other(kind),
            event => event.map_err(bad)?,
        };
        Ok(Self { v, at, session, id, principal, agents, tool, event })
    }

    /// The name of the call that it is about, as `pinfold why` takes it.
    pub fn call(&self) -> Option<String> {
        self.id.map(|id| format!("{}:{id}", self.session))
    }

    /// The decision, if the line is one.
    pub fn decision(&self) -> Option<&DecisionEvent> {
        self.event.decision()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::Retry;
    use crate::audit::Record;

    /// Reads what this version writes.
    fn written(event: AuditEvent) -> AuditEvent {
        let record = Record::for_session(&Arc::from("s"), &Arc::from("main"), event);
        let line = AuditLine::parse(&serde_json::to_vec(&record).unwrap()).unwrap();
        assert_eq!((line.v, line.session.as_str(), line.at), (VERSION, "s", Some(record.at)));
        assert_eq!(line.event.as_str(), record.event.as_str());
        line.event
    }

    #[test]
    fn what_is_written_is_read() {
        use crate::audit::{
            AnswerEvent, EndEvent, NotWrittenEvent, NoteEvent, OutcomeEvent, RecordedApprover, RefusalEvent,
            StartEvent,
        };
        use crate::consent::ApprovalChannel;
        use crate::{Denial, DeniedBy};

        let denial = Denial {
            id: "s:k1".to_owned(),
            layer: DeniedBy::Kernel,
            who: "cp".to_owned(),
            what: "write".to_owned(),
            place: Some("/etc/x".to_owned()),
            code: None,
            rule: None,
            source: None,
            why: "it lies outside".to_owned(),
            instead: "write inside".to_owned(),
            retry: Retry::Never,
            times: 3,
            to_allow: vec!["pinfold run --allow-write /etc/x".to_owned()],
        };
        let by = RecordedApprover::new(ApprovalChannel::Terminal, Some("ana".to_owned()));
        let answer = AnswerEvent {
            choice: "yes".into(),
            by,
            digest: "d".to_owned(),
            lasts: Some("call".into()),
            until: Some(jiff::Timestamp::UNIX_EPOCH),
            calls: Some(3),
            waited_ms: 7,
            message: None,
            grants: Vec::new(),
            rules: Vec::new(),
        };
        let decision = DecisionEvent {
            input: Some(json!({"command": "ls"}).into()),
            denial: Some(denial.clone()),
            ..DecisionEvent::default()
        };
        let outcome =
            OutcomeEvent { end: "done".into(), denials: vec![denial.clone()], ..OutcomeEvent::default() };
        for kind in [
            AuditEvent::NotWritten(NotWrittenEvent {
                rules: vec!["Edit".to_owned()],
                failed: "full".to_owned(),
            }),
            AuditEvent::Outcome(outcome),
            AuditEvent::Start(Box::default()),
            AuditEvent::Start(Box::new(StartEvent {
                command: Some("ls".to_owned()),
                ..StartEvent::default()
            })),
            AuditEvent::End(Box::new(EndEvent { exit: Some(-1), ..EndEvent::default() })),
            AuditEvent::Note(NoteEvent {
                note: "torn".into(),
                bytes: 1,
                after: Some(String::new()),
                found: None,
                reason: None,
            }),
        ] {
            written(kind);
        }
        let AuditEvent::Decision(read) = written(AuditEvent::Decision(Box::new(decision))) else { panic!() };
        assert_eq!(read.input(), Some(json!({"command": "ls"})));
        let AuditEvent::Answer(read) = written(AuditEvent::Answer(Box::new(answer))) else { panic!() };
        assert_eq!((&*read.by.via, read.waited_ms, read.calls), ("terminal", 7, Some(3)));
        assert_eq!(read.until, Some(Timestamp::UNIX_EPOCH));
        let refused = RefusalEvent { denial: denial.clone() };
        let AuditEvent::Refusal(read) = written(AuditEvent::Refusal(Box::new(refused))) else { panic!() };
        // Every field of it.
        assert_eq!(serde_json::to_value(&read.denial).unwrap(), serde_json::to_value(&denial).unwrap());
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        for (line, kind) in [
            (json!({"v": 2, "kind": "decision", "ruling": "permit", "novel": {"x": 1}}), "decision"),
            (json!({"v": 2, "kind": "decision", "ruling": "postponed", "decision": "perhaps"}), "decision"),
            (json!({"v": 1, "kind": "outcome", "end": "done", "ms": 1}), "outcome"),
            (json!({"v": 2, "kind": "musing"}), "musing"),
            (json!({"v": 9, "kind": "decision", "ruling": {"now": "an object"}}), "decision"),
        ] {
            assert_eq!(AuditLine::parse(line.to_string().as_bytes()).unwrap().event.as_str(), kind, "{line}");
        }
    }

    #[test]
    fn names_of_earlier_lines_are_read() {
        let event = |line: &Value| AuditLine::parse(line.to_string().as_bytes()).unwrap().event;
        let old = json!({"v": 2, "kind": "decision", "ruling": "refusal", "theirs": true, "armed": true, "more": 7,
            "denial": {"retry": "mended"}});
        let AuditEvent::Decision(read) = event(&old) else { panic!() };
        assert!(read.external && read.enforce_write && read.omitted_count == 7);
        assert_eq!(read.denial.as_ref().unwrap().retry, Retry::AfterFix);
        let written = serde_json::to_string(&read).unwrap();
        for name in ["theirs", "armed", "more", "mended"] {
            assert!(!written.contains(&format!("\"{name}\"")), "{name}: {written}");
        }
        let old = json!({"v": 2, "kind": "end", "end": "code", "more": 3, "left": ["a"]});
        let AuditEvent::End(read) = event(&old) else { panic!() };
        assert_eq!((read.omitted_count, read.leftovers), (3, vec!["a".to_owned()]));
    }

    #[test]
    fn what_no_journal_wrote_is_told() {
        for line in [
            Value::Null,
            json!({}),
            json!([1]),
            json!({"v": 2}),
            json!({"v": "2", "kind": "note"}),
            json!({"v": 2, "kind": 3}),
            json!({"v": 2, "kind": "decision", "ruling": 3}),
            json!({"v": 2, "kind": "decision", "at": "yesterday"}),
            json!({"v": 2, "kind": "refusal"}),
        ] {
            let why = AuditLine::parse(line.to_string().as_bytes()).unwrap_err();
            assert!(!why.contains("line 1"), "{why}");
        }
        for line in ["", "{", "\u{0}", "{\"v\":2,\"kind\":\"deci"] {
            assert!(AuditLine::parse(line.as_bytes()).is_err());
        }
    }
}

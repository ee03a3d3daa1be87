//! The record, read: each line as what it says.
//!
//! One reader for all who look: a field, kind or word that is not known is passed over, so that a line of a later
//! version is read as far as it is understood. A line that cannot be what a journal wrote is told with its file and
//! number, and hides no other. Whether the chain holds is another question: [`verify`](super::verify()).

mod backwards;
mod calls;
mod find;
mod reader;
mod time_search;
mod told;

use jiff::Timestamp;
use serde::Deserialize;

use super::record::VERSION;

pub use calls::{Call, Calls};
pub use find::{Found, Name, NotFound, Ran, Told, last_no};
pub use reader::{Damage, Read, Reader};
pub use told::{
    AnswerRead, ByRead, CutRead, DecisionRead, DenialRead, EndRead, HookRead, HostRead, NotWrittenRead,
    NoteRead, OutcomeRead, PartRead, PathRead, RulingRead, StartRead,
};

/// A line of the record, as far as it is understood.
#[derive(Debug, Clone)]
pub struct Line {
    /// The version of its format.
    pub v: u32,
    /// When; a line always says it.
    pub at: Option<Timestamp>,
    /// Which session.
    pub session: String,
    /// Which call of the session, if it is about one.
    pub id: Option<u64>,
    /// Who called.
    pub principal: String,
    /// The agents from the main loop down to who called; empty where that is the main loop.
    pub agents: Vec<String>,
    /// The tool; empty where it is about no call.
    pub tool: String,
    /// What it says.
    pub says: Says,
}

/// What a line says.
#[derive(Debug, Clone)]
pub enum Says {
    /// A call was decided about.
    Decision(Box<DecisionRead>),
    /// A question was answered.
    Answer(Box<AnswerRead>),
    /// Rules that were given could not be written.
    NotWritten(Box<NotWrittenRead>),
    /// A permitted deed ended.
    Outcome(Box<OutcomeRead>),
    /// A run began.
    Start(Box<StartRead>),
    /// Something was refused to a run.
    Refusal(Box<DenialRead>),
    /// A run ended.
    End(Box<EndRead>),
    /// The journal says something about itself.
    Note(Box<NoteRead>),
    /// A kind that this version does not know, by its word.
    Other(String),
}

/// What every line has.
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

/// A refusal to a run, as it stands in its line.
#[derive(Deserialize)]
struct Refusal {
    denial: DenialRead,
}

impl Line {
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
        let says = match Says::parse(&kind, line) {
            // A later version may say more than is understood here.
            Err(_) if v > VERSION => Says::Other(kind),
            says => says.map_err(bad)?,
        };
        Ok(Self { v, at, session, id, principal, agents, tool, says })
    }

    /// The name of the call that it is about, as `pinfold why` takes it.
    pub fn call(&self) -> Option<String> {
        self.id.map(|id| format!("{}:{id}", self.session))
    }

    /// What was decided, if that is what it says.
    pub fn decision(&self) -> Option<&DecisionRead> {
        if let Says::Decision(read) = &self.says { Some(read) } else { None }
    }
}

impl Says {
    fn parse(kind: &str, line: &[u8]) -> serde_json::Result<Self> {
        fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> serde_json::Result<Box<T>> {
            serde_json::from_slice(line).map(Box::new)
        }
        Ok(match kind {
            "decision" => Self::Decision(read(line)?),
            "answer" => Self::Answer(read(line)?),
            "not-written" => Self::NotWritten(read(line)?),
            "outcome" => Self::Outcome(read(line)?),
            "start" => Self::Start(read(line)?),
            "refusal" => Self::Refusal(Box::new(read::<Refusal>(line)?.denial)),
            "end" => Self::End(read(line)?),
            "note" => Self::Note(read(line)?),
            other => Self::Other(other.to_owned()),
        })
    }

    /// The kind in a word, as it stands in the line.
    pub fn word(&self) -> &str {
        match self {
            Self::Decision(_) => "decision",
            Self::Answer(_) => "answer",
            Self::NotWritten(_) => "not-written",
            Self::Outcome(_) => "outcome",
            Self::Start(_) => "start",
            Self::Refusal(_) => "refusal",
            Self::End(_) => "end",
            Self::Note(_) => "note",
            Self::Other(word) => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::audit::{Record, RecordKind};

    /// What this version writes, as it is read.
    fn written(kind: RecordKind) -> Says {
        let record = Record::of_session(&Arc::from("s"), &Arc::from("main"), kind);
        let line = Line::parse(&serde_json::to_vec(&record).unwrap()).unwrap();
        assert_eq!((line.v, line.session.as_str(), line.at), (VERSION, "s", Some(record.at)));
        assert_eq!(line.says.word(), record.kind.word());
        line.says
    }

    #[test]
    fn what_is_written_is_read() {
        use crate::audit::{
            AnswerTold, DecisionTold, EndTold, NotWrittenTold, NoteTold, OutcomeTold, RunDenial, StartTold,
        };
        use crate::consent::{By, Via};
        use crate::{Denial, DeniedBy, Retry};

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
        let by = By { via: Via::Terminal, who: Some("ana".to_owned()) };
        let answer = AnswerTold {
            choice: "yes",
            by,
            digest: "d".to_owned(),
            lasts: Some("call"),
            until: Some(jiff::Timestamp::UNIX_EPOCH),
            calls: Some(3),
            waited_ms: 7,
            message: None,
            grants: Vec::new(),
            rules: Vec::new(),
        };
        let decision = DecisionTold {
            input: Some(json!({"command": "ls"})),
            denial: Some(denial.clone()),
            ..DecisionTold::default()
        };
        let outcome = OutcomeTold { end: "done", denials: vec![denial.clone()], ..OutcomeTold::default() };
        for kind in [
            RecordKind::NotWritten(NotWrittenTold {
                rules: vec!["Edit".to_owned()],
                failed: "full".to_owned(),
            }),
            RecordKind::Outcome(outcome),
            RecordKind::Start(Box::default()),
            RecordKind::Start(Box::new(StartTold { command: Some("ls".to_owned()), ..StartTold::default() })),
            RecordKind::End(Box::new(EndTold { exit: Some(-1), ..EndTold::default() })),
            RecordKind::Note(NoteTold { note: "torn", bytes: 1, after: Some(String::new()) }),
        ] {
            written(kind);
        }
        let Says::Decision(read) = written(RecordKind::Decision(Box::new(decision))) else { panic!() };
        assert_eq!(read.input(), Some(json!({"command": "ls"})));
        let Says::Answer(read) = written(RecordKind::Answer(Box::new(answer))) else { panic!() };
        assert_eq!((read.by.via.as_str(), read.waited_ms, read.calls), ("terminal", 7, Some(3)));
        assert_eq!(read.until, Some(Timestamp::UNIX_EPOCH));
        let refused = RunDenial { denial: denial.clone() };
        let Says::Refusal(read) = written(RecordKind::Refusal(Box::new(refused))) else { panic!() };
        // Every field of it.
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&denial).unwrap());
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
            assert_eq!(Line::parse(line.to_string().as_bytes()).unwrap().says.word(), kind, "{line}");
        }
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
            let why = Line::parse(line.to_string().as_bytes()).unwrap_err();
            assert!(!why.contains("line 1"), "{why}");
        }
        for line in ["", "{", "\u{0}", "{\"v\":2,\"kind\":\"deci"] {
            assert!(Line::parse(line.as_bytes()).is_err());
        }
    }
}

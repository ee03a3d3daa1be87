//! The format of the record: one JSON object a line.
//!
//! Version 2; lines of version 1 are read too. A reader passes over fields, kinds and words that it does not know; a
//! field is never given another meaning. `docs/audit-log.md` tells the same to people, `docs/record.schema.json` to
//! programs: both come from here.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use serde::{Serialize, Serializer};

mod told;

pub use told::{
    AnswerTold, Cut, DecisionTold, EndTold, HookTold, HostTold, NotWrittenTold, NoteTold, OutcomeTold,
    PartTold, RecordedPath, Ruled, RunDenial, Seal, StartTold,
};

/// The version of the format.
pub const VERSION: u32 = 2;

/// One line of the record, before the journal seals it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// The version of the format.
    pub v: u32,
    /// The time, in UTC.
    #[serde(serialize_with = "in_words")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub at: jiff::Timestamp,
    /// Which session.
    #[serde(serialize_with = "in_words")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub session: Arc<str>,
    /// Which call of the session: all records about one call share it. Absent where it is about no call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The principal that called.
    #[serde(serialize_with = "in_words")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub principal: Arc<str>,
    /// The agents from the main loop down to who called; absent where that is the main loop.
    #[serde(serialize_with = "in_order", skip_serializing_if = "is_alone")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub agents: Arc<[String]>,
    /// The tool, as said; absent where it is about no call.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub tool: Cow<'static, str>,
    /// The event.
    #[serde(flatten)]
    pub kind: RecordKind,
}

fn in_words<T: Display + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn in_order<S: Serializer>(agents: &Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(agents.iter())
}

fn is_alone(agents: &Arc<[String]>) -> bool {
    agents.len() < 2
}

/// The event of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RecordKind {
    /// A call was decided about; written before the deed.
    Decision(Box<DecisionTold>),
    /// A question was answered, or its time ran out.
    Answer(Box<AnswerTold>),
    /// Rules of an answer were not written to settings. They hold for the session.
    #[serde(rename = "not-written")]
    NotWritten(NotWrittenTold),
    /// A permitted deed ended.
    Outcome(OutcomeTold),
    /// A run began, or a session of an agent.
    Start(Box<StartTold>),
    /// The kernel, or what stands beside it, refused something to a run.
    Refusal(Box<RunDenial>),
    /// A run ended, or a session of an agent.
    End(Box<EndTold>),
    /// The journal says something about itself.
    Note(NoteTold),
}

impl RecordKind {
    /// The kind in a word, as it stands in a line.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Decision(_) => "decision",
            Self::Answer(_) => "answer",
            Self::NotWritten(_) => "not-written",
            Self::Outcome(_) => "outcome",
            Self::Start(_) => "start",
            Self::Refusal(_) => "refusal",
            Self::End(_) => "end",
            Self::Note(_) => "note",
        }
    }

    /// The decision, if the record is one.
    pub fn decision(&self) -> Option<&DecisionTold> {
        if let Self::Decision(told) = self { Some(told) } else { None }
    }

    /// The outcome, if the record is one.
    pub fn outcome(&self) -> Option<&OutcomeTold> {
        if let Self::Outcome(told) = self { Some(told) } else { None }
    }

    /// The answer, if the record is one.
    pub fn answer(&self) -> Option<&AnswerTold> {
        if let Self::Answer(told) = self { Some(told) } else { None }
    }
}

impl Record {
    /// A record about no call, now.
    pub fn of_session(session: &Arc<str>, principal: &Arc<str>, kind: RecordKind) -> Self {
        Self {
            v: VERSION,
            at: jiff::Timestamp::now(),
            session: Arc::clone(session),
            id: None,
            principal: Arc::clone(principal),
            agents: Arc::default(),
            tool: Cow::Borrowed(""),
            kind,
        }
    }
}

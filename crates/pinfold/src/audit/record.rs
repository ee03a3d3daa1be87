//! The format of the audit log: one JSON object a line.
//!
//! Version 1. A reader passes over fields it does not know; a field is never given another meaning.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use pinfold_policy::Decision;
use serde::{Serialize, Serializer};

use crate::consent::By;
use crate::refusal::RefusalCode;

/// The version of the format.
pub const VERSION: u32 = 1;

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// The version of the format.
    pub v: u32,
    /// When, in UTC.
    #[serde(serialize_with = "in_words")]
    pub at: jiff::Timestamp,
    /// Which session.
    #[serde(serialize_with = "in_words")]
    pub session: Arc<str>,
    /// Which call of the session; decision and outcome of one call share it.
    pub id: u64,
    /// Who called.
    #[serde(serialize_with = "in_words")]
    pub principal: Arc<str>,
    /// The tool, as said.
    pub tool: Cow<'static, str>,
    /// What happened.
    #[serde(flatten)]
    pub kind: RecordKind,
}

fn in_words<T: Display + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RecordKind {
    /// A call was decided about; written before the deed.
    Decision {
        /// What the judgement said; absent for a call that was not understood.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
        /// The step that said it.
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<&'static str>,
        /// What the gate answered.
        ruling: Ruled,
        /// Which no, unless it was a permit.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<RefusalCode>,
        /// Why, unless it was a permit.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What it was about.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        paths: Vec<RecordedPath>,
        /// What would be said to a shell, as it stands.
        #[serde(skip_serializing_if = "Option::is_none")]
        shell: Option<String>,
    },
    /// A question was answered, or nobody answered in time.
    Answer {
        /// `yes`, `session`, `always`, `no` or `silence`.
        choice: &'static str,
        /// Who answered, and which way.
        by: By,
        /// What was answered: the digest of the request.
        digest: String,
        /// What the model is told with a no.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// What holds beyond the call from now on.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        grants: Vec<String>,
        /// The rules that were to be written to settings.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    },
    /// Rules that somebody gave were not written to settings. They hold for the session.
    NotWritten {
        /// Which.
        rules: Vec<String>,
        /// Why.
        failed: String,
    },
    /// A permitted deed ended.
    Outcome {
        /// How: `done`, `failed` or `abandoned`.
        end: &'static str,
        /// Which failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<RefusalCode>,
        /// How long it took, in milliseconds.
        ms: u64,
    },
}

/// What the gate answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruled {
    /// Go ahead.
    Permit,
    /// A person is asked.
    Question,
    /// No.
    Refusal,
}

/// One path of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedPath {
    /// What would be done to it.
    pub operation: &'static str,
    /// As the caller knows it.
    pub asked: String,
    /// Where it leads, when that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
}

//! The format of the record: one JSON object a line.
//!
//! Version 2; lines of version 1 are read too. A reader passes over fields, kinds and words that it does not know; a
//! field is never given another meaning. `docs/audit-log.md` tells the same to people, `docs/record.schema.json` to
//! programs: both come from here.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::event::AuditEvent;

/// The version of the format.
pub const VERSION: u32 = 2;

/// One line of the record, before the journal seals it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// The version of the format.
    pub v: u32,
    /// The time, in UTC.
    #[serde(serialize_with = "serialize_display")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub at: jiff::Timestamp,
    /// Which session.
    #[serde(serialize_with = "serialize_display")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub session: Arc<str>,
    /// Which call of the session: all records about one call share it. Absent where it is about no call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The principal that called.
    #[serde(serialize_with = "serialize_display")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub principal: Arc<str>,
    /// The agents from the main loop down to who called; absent where that is the main loop.
    #[serde(serialize_with = "serialize_agents", skip_serializing_if = "is_alone")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub agents: Arc<[String]>,
    /// The tool, as said; absent where it is about no call.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub tool: Cow<'static, str>,
    /// The event.
    #[serde(flatten)]
    pub event: AuditEvent,
}

fn serialize_display<T: Display + ?Sized, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn serialize_agents<S: Serializer>(agents: &Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(agents.iter())
}

fn is_alone(agents: &Arc<[String]>) -> bool {
    agents.len() < 2
}

impl Record {
    /// A record about no call, now.
    pub fn for_session(session: &Arc<str>, principal: &Arc<str>, event: AuditEvent) -> Self {
        Self {
            v: VERSION,
            at: jiff::Timestamp::now(),
            session: Arc::clone(session),
            id: None,
            principal: Arc::clone(principal),
            agents: Arc::default(),
            tool: Cow::Borrowed(""),
            event,
        }
    }
}

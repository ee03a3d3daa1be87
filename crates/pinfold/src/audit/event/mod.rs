//! Events of the audit log, as they are written and read.
//!
//! One set of types for both: a word that can grow is a text, a field that a line leaves out is empty, and a field that is
//! not known is passed over, so that a line of a later version is read as far as it is understood.

mod input;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use input::RecordedInput;

use super::word::FormatWord;
#[cfg(test)]
use crate::consent::answer::AnsweredBy;
use crate::consent::answer::ApprovalChannel;
use crate::consent::request::ProcessShown;
use crate::denial::Denial;
#[cfg(test)]
use crate::refusal::RefusalCode;

/// The event of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AuditEvent {
    /// A call was decided about; written before the deed.
    Decision(Box<DecisionEvent>),
    /// A question was answered, or its time ran out.
    Answer(Box<AnswerEvent>),
    /// Rules of an answer were not written to settings. They hold for the session.
    #[serde(rename = "not-written")]
    NotWritten(NotWrittenEvent),
    /// A permitted deed ended.
    Outcome(OutcomeEvent),
    /// A run began, or a session of an agent.
    Start(Box<StartEvent>),
    /// The kernel, or what stands beside it, refused something to a run.
    Refusal(Box<RefusalEvent>),
    /// A run ended, or a session of an agent.
    End(Box<EndEvent>),
    /// The journal says something about itself.
    Note(NoteEvent),
    /// A kind that this version does not know, by its word. It is read, and never written.
    #[serde(skip_serializing)]
    #[cfg_attr(test, schemars(skip))]
    Other(String),
}

impl AuditEvent {
    /// The kind in a word, as it stands in a line.
    pub fn as_str(&self) -> &str {
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

    /// The decision, if the record is one.
    pub fn decision(&self) -> Option<&DecisionEvent> {
        if let Self::Decision(event) = self { Some(event) } else { None }
    }

    /// The outcome, if the record is one.
    pub fn outcome(&self) -> Option<&OutcomeEvent> {
        if let Self::Outcome(event) = self { Some(event) } else { None }
    }

    /// The answer, if the record is one.
    pub fn answer(&self) -> Option<&AnswerEvent> {
        if let Self::Answer(event) = self { Some(event) } else { None }
    }

    /// Reads the event of a line, of the kind that it names.
    ///
    /// # Errors
    /// When the line is no event of that kind.
    pub(super) fn parse(kind: &str, line: &[u8]) -> serde_json::Result<Self> {
        fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> serde_json::Result<T> {
            serde_json::from_slice(line)
        }
        Ok(match kind {
            "decision" => Self::Decision(read(line)?),
            "answer" => Self::Answer(read(line)?),
            "not-written" => Self::NotWritten(read(line)?),
            "outcome" => Self::Outcome(read(line)?),
            "start" => Self::Start(read(line)?),
            "refusal" => Self::Refusal(read(line)?),
            "end" => Self::End(read(line)?),
            "note" => Self::Note(read(line)?),
            other => Self::Other(other.to_owned()),
        })
    }
}

/// A call was decided about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "GateResult"))]
#[expect(clippy::struct_excessive_bools, reason = "independent fields of a line")]
#[serde(default)]
pub struct DecisionEvent {
    /// The verdict; absent for a call that was not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<DecisionWord>"))]
    pub decision: Option<FormatWord>,
    /// The step that said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<FormatWord>,
    /// The ruling of the gate.
    pub ruling: Ruled,
    /// Which no, unless it was a permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<RefusalCode>"))]
    pub code: Option<FormatWord>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule, grant, guard, list or safeguard that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The source of that: layer, file, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The folder that relative paths are shown from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The folder that may be written, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// More places that may be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The folder that relative paths of the input start from, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The shape of the arguments of an MCP tool, beyond their names: laid out like the input, with `path` or
    /// `text` in their places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Value>,
    /// The mode that held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<FormatWord>,
    /// Which commands need no question in that session, where that is said: `read-only` or `sandboxed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash: Option<FormatWord>,
    /// Nothing could be changed.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// The agent executes it itself, with tools of its own: nothing of pinfold holds it.
    #[serde(alias = "theirs", skip_serializing_if = "is_false")]
    pub external: bool,
    /// No approver could be asked.
    #[serde(skip_serializing_if = "is_false")]
    pub headless: bool,
    /// A write outside was denied to this agent, not asked about.
    #[serde(alias = "armed", skip_serializing_if = "is_false")]
    pub enforce_write: bool,
    /// The input, without secrets, and with long texts cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Value>"))]
    pub input: Option<RecordedInput>,
    /// The texts that were cut out of the input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// The paths of the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RecordedPath>,
    /// The text that a shell would be sent, where the input does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// The hosts that it would reach; `null` for one that is known only at run time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Option<String>>,
    /// The reasons for which it is not known what runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<String>,
    /// The parts of the call that are asked about or denied, the one that decides first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RecordedPart>,
    /// The number of paths, hosts and parts that are not listed.
    #[serde(alias = "more", skip_serializing_if = "is_zero")]
    pub omitted_count: u64,
    /// The word of hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<RecordedHook>,
    /// The process of a shell that tried it, where it was no call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "any_process")]
    pub process: Option<ProcessShown>,
    /// The digest that a yes would be tied to, for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The no as one shape of every layer, for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
}

impl DecisionEvent {
    /// The input, without secrets and with long texts cut; none where the line holds none.
    pub fn input(&self) -> Option<Value> {
        self.input.as_ref().map(RecordedInput::to_value)
    }

    /// The input as JSON.
    pub fn input_text(&self) -> Option<Cow<'_, str>> {
        self.input.as_ref().map(RecordedInput::to_text)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Reads what is told of a process; of one in a form of another version nothing is known, but that it was one.
fn any_process<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ProcessShown>, D::Error> {
    let process = Option::<Value>::deserialize(deserializer)?;
    Ok(process.map(|process| serde_json::from_value(process).unwrap_or_default()))
}

/// The approver of an answer, and the channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedApprover {
    /// The channel.
    pub via: FormatWord,
    /// The identity, as far as the channel knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

impl RecordedApprover {
    /// The approver of a channel, with an identity that is fit for the record.
    pub(crate) fn new(via: ApprovalChannel, who: Option<String>) -> Self {
        Self { via: via.as_str().into(), who }
    }
}

/// The words of a decision.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(rename = "Decision", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the type of another crate in the schema")]
enum DecisionWord {
    Allow,
    Ask,
    Deny,
}

/// The ruling of the gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ruled {
    /// Go ahead.
    Permit,
    /// Approval is requested.
    Question,
    /// No.
    #[default]
    Refusal,
    /// A word that this version does not know.
    #[serde(other)]
    #[cfg_attr(test, schemars(skip))]
    Other,
}

impl Ruled {
    /// The ruling in a word, as it stands in a line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Question => "question",
            Self::Refusal => "refusal",
            Self::Other => "other",
        }
    }
}

/// One path of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RecordedPath {
    /// The operation.
    pub operation: FormatWord,
    /// As the caller knows it: relative to the folder where it lies below.
    pub asked: String,
    /// The real path, where it is known and another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
}

/// One part of a call, and what decided about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Part"))]
#[serde(default)]
pub struct RecordedPart {
    /// The part, in words.
    pub part: String,
    /// The decision about it alone.
    #[cfg_attr(test, schemars(with = "DecisionWord"))]
    pub decision: FormatWord,
    /// The step that had the first opinion.
    pub step: FormatWord,
    /// Why, in one clause.
    pub reason: String,
    /// The rule, grant, guard, list or safeguard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A text of the input that is longer than a record keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cut {
    /// The position: a JSON Pointer into the input. Empty for the input as a whole, which is then left out.
    pub at: String,
    /// The length.
    pub bytes: u64,
    /// SHA-256 of all of it, as it was, in hexadecimal.
    pub sha256: String,
}

/// The word of hooks about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Hook"))]
#[serde(default)]
pub struct RecordedHook {
    /// The strictest of what they said.
    #[cfg_attr(test, schemars(with = "DecisionWord"))]
    pub decision: FormatWord,
    /// Which hook.
    pub by: String,
    /// Why, in its words.
    pub reason: String,
    /// True for a doubt of the way in, which did not know something about the call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub doubt: bool,
}

/// A question was answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Answered"))]
#[serde(default)]
pub struct AnswerEvent {
    /// `yes`, `session`, `always`, `no` or `silence`.
    pub choice: FormatWord,
    /// The approver, and the channel.
    #[cfg_attr(test, schemars(with = "AnsweredBy"))]
    pub by: RecordedApprover,
    /// The digest of the request.
    pub digest: String,
    /// The lifetime: `call`, `session` or `always`; `process` for a no to all that a process tries; absent for any
    /// other no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<FormatWord>,
    /// The moment until which it holds, where the session may last longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub until: Option<jiff::Timestamp>,
    /// For how many calls it holds, this one among them, where that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// The time until the answer, in milliseconds.
    pub waited_ms: u64,
    /// Text for the model with a no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The grants beyond the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The rules that were to be written to settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// Rules were not written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "NotWritten"))]
#[serde(default)]
pub struct NotWrittenEvent {
    /// Which.
    pub rules: Vec<String>,
    /// Why.
    pub failed: String,
}

/// A permitted deed ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Outcome"))]
#[serde(default)]
pub struct OutcomeEvent {
    /// The outcome: `done`, `failed` or `abandoned`.
    pub end: FormatWord,
    /// Which failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<RefusalCode>"))]
    pub code: Option<FormatWord>,
    /// The failure, in one clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The duration, in milliseconds.
    pub ms: u64,
    /// The refusals of the kernel to the shell of the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// The hosts that the shell of the call looked up, connected to, or was refused, as those of a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RecordedHost>,
    /// The number of hosts that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_hosts: u64,
}

/// A run began, or a session of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Started"))]
#[serde(default)]
pub struct StartEvent {
    /// The program, as said.
    pub program: String,
    /// The command, as it would be typed; absent where it could hold a secret: then its end says it, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The folder that can be written.
    pub folder: String,
    /// The tier that is to hold the run: `full`, `landlock` or `off`; `none` for a session, in which calls are judged.
    pub tier: FormatWord,
    /// The process that watches over it; of a session of another agent the one that started its hook.
    pub pid: u32,
    /// SHA-256 over what was granted, in hexadecimal: two runs with the same could do the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// Something was refused to a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Refused"))]
pub struct RefusalEvent {
    /// The no, as one shape of every layer.
    pub denial: Denial,
}

/// A run ended, or a session of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Ended"))]
#[serde(default)]
pub struct EndEvent {
    /// The end: `code`, `time`, `lost` or `not-started`; `closed` for a session.
    pub end: FormatWord,
    /// Why a session of another agent ended, in its words; of a run the limits that were reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command, where the start does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The tier that held the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// True if refusals could be seen.
    pub watched: bool,
    /// The exit code of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The duration, in milliseconds; absent where it is not known, as of a session of another agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// The number of different attempts that were refused.
    pub refused: u64,
    /// The number of them that are not recorded one by one.
    #[serde(alias = "more", skip_serializing_if = "is_zero")]
    pub omitted_count: u64,
    /// Files that were changed and run or are acted on later, and new repositories.
    #[serde(alias = "left", skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<String>,
    /// The hosts that were looked up, connected to, or refused, as far as a relay or the watch saw them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RecordedHost>,
    /// The number of hosts that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_hosts: u64,
}

/// A host, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Host"))]
#[serde(default)]
pub struct RecordedHost {
    /// Its name or address.
    pub host: String,
    /// Its port; absent where only the name was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// `reached`; `unreachable` where it was allowed and no connection came about; `refused`; `looked-up` where only
    /// the name was asked for.
    pub outcome: FormatWord,
    /// The number of times.
    pub times: u64,
}

/// The note by which a person acknowledges a break of the chain.
pub(super) const ACKNOWLEDGED: &str = "acknowledged";

/// The journal says something about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Note"))]
#[serde(default)]
pub struct NoteEvent {
    /// The note: `torn` when a killed process left the line before unfinished, `damaged` when what stands before
    /// this line follows no line of the chain, `aside` when the file is put aside and the chain goes on in the next,
    /// `acknowledged` when a person has looked at a break somewhere before this line.
    pub note: FormatWord,
    /// The number of bytes of the unfinished line, of what is damaged, of the break, or of the file before this line.
    pub bytes: u64,
    /// The hash of the last line of the chain before the unfinished one, before what is damaged, or before the break.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The hash of all that is damaged, or of the break: of the bytes between that line and this one, or those from which on
    /// lines follow each other again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Why a break is acknowledged, in the words of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The fields that the journal adds to a record, last in its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Seal {
    /// Which machine: a random name, made once where the record is kept.
    pub machine: String,
    /// Which line of this machine, counted from 1 over all its files.
    pub seq: u64,
    /// The hash of the line before: SHA-256 over all its bytes with the line feed, in hexadecimal.
    pub prev: String,
}

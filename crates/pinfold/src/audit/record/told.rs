//! What each kind of record says.

use pinfold_policy::Decision;
use serde::Serialize;
use serde_json::Value;

use crate::consent::{By, ProcessShown};
use crate::denial::Denial;
use crate::refusal::RefusalCode;

/// A call was decided about.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Decided"))]
#[expect(clippy::struct_excessive_bools, reason = "independent fields of a line")]
pub struct DecisionTold {
    /// What the judgement said; absent for a call that was not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<DecisionWord>"))]
    pub decision: Option<Decision>,
    /// The step that said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<&'static str>,
    /// What the gate answered.
    pub ruling: Ruled,
    /// Which no, unless it was a permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<RefusalCode>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule, grant, guard, list or safeguard that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where that stands: layer, file, line and column.
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
    /// What was known of the arguments of an MCP tool beyond their names: laid out like the input, with `path` or
    /// `text` in their places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Value>,
    /// The mode that held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// Which commands need no question in that session, where that is said: `read-only` or `sandboxed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash: Option<&'static str>,
    /// Nothing could be changed.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// The agent carries it out itself, with tools of its own: nothing of ours holds it.
    #[serde(skip_serializing_if = "is_false")]
    pub theirs: bool,
    /// Nobody could be asked.
    #[serde(skip_serializing_if = "is_false")]
    pub headless: bool,
    /// A write outside was denied to this agent, not asked about.
    #[serde(skip_serializing_if = "is_false")]
    pub armed: bool,
    /// The input, without secrets, and with long texts cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What was cut out of the input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// What the call was about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RecordedPath>,
    /// What would be said to a shell, where the input does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// The hosts that it would reach; `null` for one that is known only by running.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Option<String>>,
    /// What could not be told before it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<String>,
    /// The parts of the call that are asked about or denied, the one that decides first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartTold>,
    /// How many paths, hosts and parts are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
    /// What hooks said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<HookTold>,
    /// The process of a shell that tried it, where it was no call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessShown>,
    /// What a yes would be tied to, for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The no as one shape of every layer, for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn is_zero(count: &u64) -> bool {
    *count == 0
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

/// What the gate answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ruled {
    /// Go ahead.
    Permit,
    /// A person is asked.
    Question,
    /// No.
    #[default]
    Refusal,
}

/// One path of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedPath {
    /// What would be done to it.
    pub operation: &'static str,
    /// As the caller knows it: relative to the folder where it lies below.
    pub asked: String,
    /// Where it leads, when that is known and somewhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
}

/// One part of a call, and what decided about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Part"))]
pub struct PartTold {
    /// The part, in words.
    pub part: String,
    /// What is decided about it alone.
    #[cfg_attr(test, schemars(with = "DecisionWord"))]
    pub decision: Decision,
    /// The step that had the first opinion.
    pub step: &'static str,
    /// Why, in one clause.
    pub reason: String,
    /// The rule, grant, guard, list or safeguard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A text of the input that is longer than a record keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cut {
    /// Where it stands: a JSON Pointer into the input. Empty for the input as a whole, which is then left out.
    pub at: String,
    /// How long it is.
    pub bytes: u64,
    /// SHA-256 of all of it, as it was, in hexadecimal.
    pub sha256: String,
}

/// What hooks said about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Hook"))]
pub struct HookTold {
    /// The strictest of what they said.
    #[cfg_attr(test, schemars(with = "DecisionWord"))]
    pub decision: Decision,
    /// Which hook.
    pub by: String,
    /// Why, in its words.
    pub reason: String,
    /// It was no hook: the way in did not know something about the call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub doubt: bool,
}

/// A question was answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Answered"))]
pub struct AnswerTold {
    /// `yes`, `session`, `always`, `no` or `silence`.
    pub choice: &'static str,
    /// Who answered, and which way.
    pub by: By,
    /// What was answered: the digest of the request.
    pub digest: String,
    /// How long it holds: `call`, `session` or `always`; `process` for a no to all that a process tries; absent for any
    /// other no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<&'static str>,
    /// The moment until which it holds, where the session may last longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub until: Option<jiff::Timestamp>,
    /// For how many calls it holds, this one among them, where that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// How long the answer took, in milliseconds.
    pub waited_ms: u64,
    /// What the model is told with a no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What holds beyond the call from now on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The rules that were to be written to settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// Rules were not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "NotWritten"))]
pub struct NotWrittenTold {
    /// Which.
    pub rules: Vec<String>,
    /// Why.
    pub failed: String,
}

/// A permitted deed ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Outcome"))]
pub struct OutcomeTold {
    /// How: `done`, `failed` or `abandoned`.
    pub end: &'static str,
    /// Which failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<RefusalCode>,
    /// What the failure was, in one clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// What the kernel refused to the shell of the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
}

/// A run began, or a session of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Started"))]
pub struct StartTold {
    /// The program, as said.
    pub program: String,
    /// The command, as it would be typed; absent where it could hold a secret: then its end says it, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The folder that can be written.
    pub folder: String,
    /// What is to hold the run: `full`, `landlock` or `off`; `none` for a session, in which calls are judged.
    pub tier: &'static str,
    /// The process that watches over it; of a session of another agent the one that started its hook.
    pub pid: u32,
    /// SHA-256 over what was granted, in hexadecimal: two runs with the same could do the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// Something was refused to a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Refused"))]
pub struct RunDenial {
    /// The no, as one shape of every layer.
    pub denial: Denial,
}

/// A run ended, or a session of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Ended"))]
pub struct EndTold {
    /// How: `code`, `time`, `lost` or `not-started`; `closed` for a session.
    pub end: &'static str,
    /// Why a session of another agent ended, in its words; of a run the limits that were reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command, where the start does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What held the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// What was refused could be seen.
    pub watched: bool,
    /// The exit code of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// How long it took, in milliseconds; absent where that is not known, as of a session of another agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// How many different attempts were refused.
    pub refused: u64,
    /// How many of them are not recorded one by one.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Files that were changed and run or are acted on later, and new repositories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// The hosts that were looked up, connected to, or refused, as far as a relay or the watch saw them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostTold>,
    /// How many hosts are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_hosts: u64,
}

/// A host, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Host"))]
pub struct HostTold {
    /// Its name or address.
    pub host: String,
    /// Its port; absent where only the name was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// `reached`; `unreachable` where it was allowed and no connection came about; `refused`; `looked-up` where only
    /// the name was asked for.
    pub outcome: &'static str,
    /// How often.
    pub times: u64,
}

/// The journal says something about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Note"))]
pub struct NoteTold {
    /// What: `torn` when the line before was left unfinished by somebody who was stopped, `aside` when the file is put
    /// aside and the chain goes on in the next.
    pub note: &'static str,
    /// How many bytes there are of the unfinished line, or of the file before this line.
    pub bytes: u64,
    /// The hash of the last whole line before the unfinished one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What the journal adds to a record, last in its line.
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

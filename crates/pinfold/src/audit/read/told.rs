//! What each kind of line says. A word that can grow is a text; a field that a line leaves out is empty.

use pinfold_policy::{PathText, RawCall, Shape, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What the gate answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulingRead {
    /// Go ahead.
    Permit,
    /// A person is asked.
    Question,
    /// No.
    Refusal,
    /// A word that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl RulingRead {
    /// The ruling in a word, as it stands in a line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Question => "question",
            Self::Refusal => "refusal",
            Self::Other => "other",
        }
    }
}

/// A call was decided about.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "independent fields of a line")]
pub struct DecisionRead {
    /// What the judgement said; none for a call that was not understood.
    pub decision: Option<String>,
    /// The step that said it.
    pub step: Option<String>,
    /// What the gate answered.
    pub ruling: RulingRead,
    /// Which no, unless it was a permit.
    pub code: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// The rule, grant, guard, list or safeguard that decided.
    pub rule: Option<String>,
    /// Where that stands.
    pub source: Option<String>,
    /// The folder that paths are shown from.
    pub folder: String,
    /// The folder that may be written, where that is another one.
    pub root: Option<String>,
    /// More places that may be written.
    pub added: Vec<String>,
    /// The folder that relative paths of the input start from.
    pub cwd: Option<String>,
    /// What was known of the arguments of an MCP tool beyond their names.
    pub shape: Option<Value>,
    /// The mode that held.
    pub mode: Option<String>,
    /// Which commands needed no question: `read-only` or `sandboxed`.
    pub bash: Option<String>,
    /// Nothing could be changed.
    pub read_only: bool,
    /// The agent carried it out itself, with tools of its own.
    pub theirs: bool,
    /// Nobody could be asked.
    pub headless: bool,
    /// A write outside was denied to this agent.
    pub armed: bool,
    input: Option<Box<RawValue>>,
    /// What was cut out of the input.
    pub cut: Vec<CutRead>,
    /// What the call was about.
    pub paths: Vec<PathRead>,
    /// What would be said to a shell, where the input does not say it.
    pub shell: Option<String>,
    /// The hosts that it would reach; `None` for one that is known only by running.
    pub hosts: Vec<Option<String>>,
    /// What could not be told before it runs.
    pub opaque: Vec<String>,
    /// The parts that are asked about or denied, the one that decides first.
    pub parts: Vec<PartRead>,
    /// How many paths, hosts and parts are not listed.
    pub more: u64,
    /// What hooks said before.
    pub hook: Option<HookRead>,
    /// Whether a process of a shell tried it, and no agent called.
    #[serde(deserialize_with = "is_there")]
    pub process: bool,
    /// What a yes would be tied to, for a question.
    pub digest: Option<String>,
    /// The no, for a refusal.
    pub denial: Option<DenialRead>,
}

fn is_there<'de, D: serde::Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Option::<serde::de::IgnoredAny>::deserialize(value).map(|there| there.is_some())
}

impl DecisionRead {
    /// The input, without secrets and with long texts cut; none where the line holds none.
    pub fn input(&self) -> Option<Value> {
        // What was read as a part of JSON is JSON.
        serde_json::from_str(self.input.as_ref()?.get()).ok()
    }

    /// The input, as it stands in the line.
    pub fn input_text(&self) -> Option<&str> {
        self.input.as_ref().map(|input| input.get())
    }

    /// The places that it is about, under each of their names.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let named = self.paths.iter().flat_map(|path| [Some(&path.asked), path.real.as_ref()]);
        named.flatten().map(String::as_str)
    }

    /// Whether a safeguard asked about any part of it.
    pub fn is_guarded(&self) -> bool {
        let steps = self.parts.iter().map(|part| part.step.as_str()).chain(self.step.as_deref());
        steps.into_iter().any(|step| step == "safeguard")
    }

    /// The call, if all that a verdict goes by is in the line.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn call(&self, tool: &str) -> Result<RawCall, &'static str> {
        if self.process {
            return Err("a process tried it, and what it held is gone");
        }
        let (Some(input), Some(text)) = (self.input(), self.input_text()) else {
            return Err("its input is not in the record");
        };
        if self.cut.iter().any(|cut| !is_only_for_the_deed(tool, &cut.at)) {
            return Err("its input was too long, and is cut in the record");
        }
        if text.contains(REDACTED) && holds_a_secret(tool, &input, &mut String::new()) {
            return Err("its input held a secret, which is not in the record");
        }
        let cwd = self.cwd.as_deref().map(PathText::new);
        let shape = self.shape.as_ref().map(Shape::parse).transpose();
        let shape = shape.map_err(|_| "what was known of its arguments is not understood")?;
        Ok(RawCall { tool: tool.to_owned(), input, cwd, shape, is_method: false })
    }
}

/// How the place of a secret begins.
const REDACTED: &str = "[REDACTED";

/// Fields of our own tools that a deed alone would use: no verdict goes by them.
const FOR_THE_DEED: [&str; 9] = [
    "content",
    "contents",
    "file_text",
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "new_source",
    "description",
];

/// Whether what stands there in an input of the tool, as a JSON Pointer, is only for the deed.
fn is_only_for_the_deed(tool: &str, at: &str) -> bool {
    let mut names = at.split('/').skip(1);
    let names = [names.next(), names.next(), names.next(), names.next()];
    let ([Some(field), None, ..] | [Some("edits"), Some(_), Some(field), None]) = names else { return false };
    ToolName::parse(tool).is_some() && FOR_THE_DEED.contains(&field)
}

/// Whether a secret was taken out where a verdict would look.
fn holds_a_secret(tool: &str, value: &Value, at: &mut String) -> bool {
    let outer = at.len();
    let mut below = |name: &str, value: &Value| {
        at.push('/');
        at.push_str(name);
        let found = name.contains(REDACTED) || holds_a_secret(tool, value, at);
        at.truncate(outer);
        found
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(REDACTED) && !is_only_for_the_deed(tool, at),
        Value::Array(values) => values.iter().enumerate().any(|(i, value)| below(&i.to_string(), value)),
        Value::Object(fields) => fields.iter().any(|(name, value)| below(name, value)),
    }
}

/// One path of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PathRead {
    /// What would be done to it.
    pub operation: String,
    /// As the caller knows it.
    pub asked: String,
    /// Where it leads, when that is known and somewhere else.
    pub real: Option<String>,
}

/// One part of a call, and what decided about it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PartRead {
    /// The part, in words.
    pub part: String,
    /// What is decided about it alone.
    pub decision: String,
    /// The step that had the first opinion.
    pub step: String,
    /// Why, in one clause.
    pub reason: String,
    /// The rule, grant, guard, list or safeguard.
    pub rule: Option<String>,
    /// Where it stands.
    pub source: Option<String>,
}

/// A text of the input that is longer than a record keeps.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct CutRead {
    /// Where it stands: a JSON Pointer into the input.
    pub at: String,
    /// How long it is.
    pub bytes: u64,
    /// SHA-256 of all of it, in hexadecimal.
    pub sha256: String,
}

/// What hooks said about a call.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct HookRead {
    /// The strictest of what they said.
    pub decision: String,
    /// Which hook.
    pub by: String,
    /// Why, in its words.
    pub reason: String,
    /// It was no hook: the way in did not know something about the call.
    pub doubt: bool,
}

/// A question was answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct AnswerRead {
    /// `yes`, `session`, `always`, `no` or `silence`.
    pub choice: String,
    /// Who answered, and which way.
    pub by: ByRead,
    /// What was answered: the digest of the request.
    pub digest: String,
    /// How long it holds; none for a no.
    pub lasts: Option<String>,
    /// The moment until which it holds, where the session may last longer.
    pub until: Option<jiff::Timestamp>,
    /// For how many calls it holds, this one among them, where that is said.
    pub calls: Option<u32>,
    /// How long the answer took, in milliseconds.
    pub waited_ms: u64,
    /// What the model is told with a no.
    pub message: Option<String>,
    /// What holds beyond the call from then on.
    pub grants: Vec<String>,
    /// The rules that were to be written to settings.
    pub rules: Vec<String>,
}

/// Who answered, and which way.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ByRead {
    /// Which way the answer came in.
    pub via: String,
    /// Who it was, as far as that way knows.
    pub who: Option<String>,
}

/// Rules were not written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NotWrittenRead {
    /// Which.
    pub rules: Vec<String>,
    /// Why.
    pub failed: String,
}

/// A permitted deed ended.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct OutcomeRead {
    /// How: `done`, `failed` or `abandoned`.
    pub end: String,
    /// Which failure.
    pub code: Option<String>,
    /// What the failure was.
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// What the kernel refused to the shell of the call.
    pub denials: Vec<DenialRead>,
    /// The hosts that the shell looked up, connected to, or was refused.
    pub hosts: Vec<HostRead>,
    /// How many hosts are not listed.
    pub more_hosts: u64,
}

/// A run began, or a session of an agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct StartRead {
    /// The program, as said.
    pub program: String,
    /// The command; its end says it where the start does not.
    pub command: Option<String>,
    /// The folder that can be written.
    pub folder: String,
    /// What is to hold the run.
    pub tier: String,
    /// The process that watches over it.
    pub pid: u32,
    /// A digest of what was granted.
    pub policy: Option<String>,
}

/// A run ended, or a session of an agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct EndRead {
    /// How: `code`, `time`, `lost` or `not-started`; `closed` for a session.
    pub end: String,
    /// Why a session of another agent ended, in its words.
    pub reason: Option<String>,
    /// The command, where the start does not say it.
    pub command: Option<String>,
    /// What held the run.
    pub tier: Option<String>,
    /// What was refused could be seen.
    pub watched: bool,
    /// The exit code of the command.
    pub exit: Option<i32>,
    /// How long it took, in milliseconds, where that is known.
    pub ms: Option<u64>,
    /// How many different attempts were refused.
    pub refused: u64,
    /// How many of them are not recorded one by one.
    pub more: u64,
    /// What runs later.
    pub left: Vec<String>,
    /// The hosts that were looked up, connected to, or refused.
    pub hosts: Vec<HostRead>,
    /// How many hosts are not listed.
    pub more_hosts: u64,
}

/// A host, and what came of it.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct HostRead {
    /// Its name or address.
    pub host: String,
    /// Its port, where one was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// `reached`, `unreachable`, `refused`, `looked-up`.
    pub outcome: String,
    /// How often.
    pub times: u64,
}

/// The journal says something about itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NoteRead {
    /// What: `torn` or `aside`.
    pub note: String,
    /// How many bytes there are of the unfinished line, or of the file before this line.
    pub bytes: u64,
}

/// One no, whichever layer said it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DenialRead {
    /// Its name.
    pub id: String,
    /// Who said no: `rule`, `kernel`, `proxy` or `socket`.
    pub layer: String,
    /// To whom.
    pub who: String,
    /// What was tried.
    pub what: String,
    /// Where, or on what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Which no, for a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The rule, guard, list or safeguard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why, in one clause.
    pub why: String,
    /// What can be done instead.
    pub instead: String,
    /// Whether the same can work at another time: `never`, `allowed` or `mended`.
    pub retry: String,
    /// How often, where it happened more than once.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u64,
    /// What could be added so that it passes, from the narrowest to the widest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_allow: Vec<String>,
}

fn once() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn is_once(times: &u64) -> bool {
    *times <= 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decision(line: &Value) -> DecisionRead {
        serde_json::from_str(&line.to_string()).unwrap()
    }

    #[test]
    fn a_call_is_whole_where_nothing_is_missing_that_a_verdict_goes_by() {
        let cut = |at: &str| json!([{"at": at, "bytes": 9000, "sha256": ""}]);
        for (line, whole) in [
            (json!({"input": {"command": "make"}}), true),
            (json!({"input": {}}), true),
            (json!({}), false),
            (json!({"input": null}), false),
            (json!({"input": {"command": "make"}, "process": {"pid": 1}}), false),
            (json!({"input": {"command": "curl -H [REDACTED:token] x"}}), false),
            (json!({"input": {"[REDACTED:token]": 1}}), false),
            (json!({"input": {"a": [{"b": "[REDACTED:token]"}]}}), false),
            // What is written is for the deed.
            (json!({"input": {"file_path": "a", "content": "[REDACTED:token]"}}), true),
            (json!({"input": {"file_path": "a", "edits": [{"new_string": "[REDACTED:token]"}]}}), true),
            (json!({"input": {"file_path": "a", "content": "x…"}, "cut": cut("/content")}), true),
            (json!({"input": {"file_path": "a"}, "cut": cut("/edits/3/old_string")}), true),
            (json!({"input": {"edits": []}, "cut": cut("/edits/3/path")}), false),
            (json!({"input": {"command": "x…"}, "cut": cut("/command")}), false),
            (json!({"input": {"patch": "x…"}, "cut": cut("/patch")}), false),
            (json!({"input": {"x": {"content": "x…"}}, "cut": cut("/x/content")}), false),
            (json!({"cut": cut("")}), false),
        ] {
            assert_eq!(decision(&line).call("MultiEdit").is_ok(), whole, "{line}");
        }
        // Nobody knows what a server takes from which field.
        let line = json!({"input": {"content": "[REDACTED:token]"}});
        assert!(decision(&line).call("mcp__fs__write").is_err());
    }

    #[test]
    fn a_safeguard_is_seen_in_any_part() {
        for (line, guarded) in [
            (json!({"step": "safeguard"}), true),
            (json!({"step": "scope", "parts": [{"step": "scope"}, {"step": "safeguard"}]}), true),
            (json!({"step": "scope", "parts": [{"step": "scope"}]}), false),
        ] {
            assert_eq!(decision(&line).is_guarded(), guarded);
        }
    }
}

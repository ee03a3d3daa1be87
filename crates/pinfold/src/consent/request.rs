//! A question as data: all that an approver needs to see before the answer, and nothing that has to be believed.
//!
//! Texts are as they would be carried out, with secrets taken out; a program that shows them makes control,
//! bidirectional and invisible characters visible, and never hides the tail.

use jiff::Timestamp;
use pinfold_policy::Mode;
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const VERSION: u32 = 1;

/// A question, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The version of the format.
    pub v: u32,
    /// `SESSION:CALL`: the name of the call, in the record too.
    pub id: String,
    /// A digest of the call and of all that it was judged by. A yes is for this and nothing else.
    pub digest: String,
    /// The time of the question.
    pub asked_at: Timestamp,
    /// The deadline, after which silence is a no.
    pub deadline: Timestamp,
    /// The session and the process that ask.
    pub asker: Asker,
    /// The tool, as said.
    pub tool: String,
    /// The operation.
    pub operation: RequestedOperation,
    /// The definition of the tool, where it is another one than was said yes to: what was known of it, and what its
    /// server says now. A yes is for this one too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Hunk>,
    /// The reasons, for each part of the call that is asked about; the part that decides comes first.
    pub why: Vec<WhyAsked>,
    /// Only yes and no: nothing standing can be granted.
    pub always_ask: bool,
    /// The operation cannot be undone, so that no is the default choice.
    pub destructive: bool,
    /// The grants beyond this call that can be chosen.
    pub offer: GrantOptionsShown,
}

impl Request {
    /// The mode that asks, where nothing but a mode does: no rule, guard, safeguard or hook, and the call was
    /// understood.
    pub fn asked_by_mode(&self) -> Option<Mode> {
        const STEP: &str = "mode-default";
        let words: Vec<&str> = self.why.iter().map(|why| why.reason.as_str()).collect();
        let mode = Mode::WORDS.iter().filter_map(|word| Mode::parse(word).ok()).find(|mode| {
            let asks = mode_clause(*mode);
            !words.is_empty() && words.iter().all(|reason| *reason == asks)
        })?;
        self.why.iter().all(|why| why.step == STEP).then_some(mode)
    }
}

/// The session and the process that ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The session.
    pub session: String,
    /// The agents from the main loop down to the one that calls.
    pub agents: Vec<String>,
    /// The folder the session works in.
    pub folder: String,
    /// The process of a shell that tried it, where it was no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessShown>,
}

/// A process that waits for the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessShown {
    /// Its number, as it is known outside.
    pub pid: i32,
    /// Its program.
    pub program: String,
    /// Its command line. The process itself can write what it likes there.
    pub command_line: String,
}

/// The operation that would be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RequestedOperation {
    /// A command line is run.
    Command {
        /// All of it, exactly.
        command: String,
        /// The folder that it starts in.
        cwd: String,
        /// True if it goes on in the background.
        background: bool,
        /// The caller's description, which proves nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<String>,
    },
    /// Files are changed.
    Change {
        /// Each of them.
        files: Vec<Change>,
    },
    /// A patch is applied.
    Patch {
        /// Its text.
        patch: String,
    },
    /// Places are touched in other ways.
    Paths {
        /// The operations, place by place.
        acts: Vec<OperationShown>,
    },
    /// A call of a tool that pinfold does not provide.
    Input {
        /// Its input, as JSON.
        input: String,
    },
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file, as the caller knows it.
    pub path: String,
    /// The real path, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
    /// True if the file does not exist yet.
    pub new: bool,
    /// The text that goes and the text that comes.
    pub hunks: Vec<Hunk>,
}

/// A piece of text that gives way to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// The text that goes; empty for a new file.
    pub before: String,
    /// The text that comes.
    pub after: String,
    /// Wherever it occurs.
    #[serde(default)]
    pub all: bool,
}

/// An operation on one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationShown {
    /// The word of the operation.
    pub operation: String,
    /// The place, as the caller knows it.
    pub path: String,
    /// The real path, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
    /// The text that goes there and the text that comes, where a file with content gets the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
    /// A description of the content that comes, where it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The limit of an approval, in one clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The number of files and folders below it that go with it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub below: usize,
    /// The names of the first of them, relative to the place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The reason for which one part is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyAsked {
    /// The part, in words.
    pub part: String,
    /// The step that asks.
    pub step: String,
    /// Why, in one clause.
    pub reason: String,
    /// The rule, guard or safeguard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The source of the rule: layer, file, line and column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The grants beyond the call that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantOptionsShown {
    /// The grants of a plain yes until the session ends, in words: places outside the folder, each asked about once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// The meanings of "all of this kind this session"; the first is the default. Empty: not offered.
    pub session: Vec<ScopeShown>,
    /// The rules that "always" would write, one for each part. Empty: not offered.
    pub always: Vec<PartShown>,
    /// The files that rules can go to: the one for this project, then the person's own.
    pub files: Vec<String>,
}

impl GrantOptionsShown {
    /// The number of the first scope for the session that is more than what a plain yes keeps anyway. As many as there
    /// are when none is.
    pub fn first_beyond_yes(&self) -> usize {
        let kept = self.kept.join(", and ");
        self.session.iter().position(|scope| scope.says != kept).unwrap_or(self.session.len())
    }
}

/// The rule for one part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartShown {
    /// The part, as it stands in the call.
    pub part: String,
    /// The possible rules, from the narrowest to the widest.
    pub scopes: Vec<ScopeShown>,
    /// The default among them.
    pub usual: usize,
}

/// One possible grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeShown {
    /// The grant in words, or the text of the rule.
    pub says: String,
    /// Calls that it would let through too.
    pub also: Vec<String>,
    /// Calls near by that would still be asked about.
    pub still_asks: Vec<String>,
}

/// The clause for a decision of nothing but a mode.
pub(crate) fn mode_clause(mode: Mode) -> String {
    format!("the mode {} says so", mode.as_str())
}

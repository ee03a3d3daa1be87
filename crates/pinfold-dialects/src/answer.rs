//! Answers to an agent.

use pinfold_policy::Decision;
use serde_json::Value;

/// An answer to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Yes, ask, or no; none where the agent's own rules are to decide.
    pub decision: Option<Decision>,
    /// Why, for the model.
    pub reason: String,
    /// More text for the model.
    pub context: Option<String>,
}

impl Answer {
    /// Nothing to say: the agent goes on by its own rules.
    pub fn silence() -> Self {
        Self::default()
    }

    /// Go ahead.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Allow), reason: reason.into(), context: None }
    }

    /// Ask the person.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Ask), reason: reason.into(), context: None }
    }

    /// No.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Deny), reason: reason.into(), context: None }
    }

    /// Adds text for the model.
    #[must_use]
    pub fn with_context(self, context: Option<String>) -> Self {
        Self { context, ..self }
    }

    /// The reason; agents that are given none take a no for no answer.
    pub(crate) fn reason(&self) -> &str {
        if self.reason.trim().is_empty() { "pinfold does not allow it" } else { &self.reason }
    }
}

/// An answer as an agent reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl HookOutput {
    /// Returns `true` if it means the same as `other`, whatever the reasons are.
    pub fn is_like(&self, other: &Self) -> bool {
        let shape = |said: &Self| match said.stdout.trim() {
            "" => Some(Value::Null),
            text => serde_json::from_str(text).ok().map(|value| strip_texts(&value)),
        };
        let told = |said: &Self| (said.code, said.stderr.trim().is_empty());
        // Where standard output says it, what stands beside it is for the person.
        let silent = self.stdout.trim().is_empty();
        shape(self).is_some() && shape(self) == shape(other) && (!silent || told(self) == told(other))
    }

    /// One object of JSON, and nothing else.
    pub(crate) fn json(value: &Value) -> Self {
        Self { stdout: format!("{value}\n"), stderr: String::new(), code: 0 }
    }

    /// An object without a word in it.
    pub(crate) fn nothing() -> Self {
        Self { stdout: "{}\n".to_owned(), stderr: String::new(), code: 0 }
    }

    /// The code that most agents take for a no, with the reason where they read it.
    pub(crate) fn exit_2(why: &str) -> Self {
        Self { stdout: String::new(), stderr: format!("{why}\n"), code: 2 }
    }
}

/// Returns the answer with its reasons made alike.
fn strip_texts(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let alike = |(name, value): (&String, &Value)| {
                let words =
                    ["reason", "message", "permissionDecisionReason", "user_message", "agent_message"]
                        .contains(&name.as_str());
                (name.clone(), if words { Value::Null } else { strip_texts(value) })
            };
            fields.iter().map(alike).collect()
        }
        other => other.clone(),
    }
}

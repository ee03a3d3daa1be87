//! Inputs of the tools that run shells. None of them says where a shell runs or what holds it.

use serde_json::{Value, json};

use crate::form::{BadField, Field, describe_value, input};

/// The longest time that a command can ask for: an agent that needs more runs it in the background.
pub const MAX_TIMEOUT_MS: u64 = 600_000;

/// A shell command, every byte as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandText(String);

impl CommandText {
    /// The command.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Field for CommandText {
    fn read(value: &Value) -> Result<Self, BadField> {
        let bad = |expected: &str, found: &str| Err(BadField::new("", expected, found));
        match value.as_str() {
            None => Err(BadField::new("", "a command as a string", describe_value(value))),
            Some(text) if text.trim().is_empty() => bad("a command", "an empty string"),
            Some(text) => Ok(Self(text.to_owned())),
        }
    }

    fn schema() -> Value {
        json!({"type": "string", "minLength": 1})
    }
}

/// A time in milliseconds, up to the longest wait for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitMs(u64);

impl WaitMs {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Field for WaitMs {
    fn read(value: &Value) -> Result<Self, BadField> {
        match value.as_u64() {
            Some(ms) if ms <= MAX_TIMEOUT_MS => Ok(Self(ms)),
            _ => Err(BadField::new(
                "",
                format!("a whole number of milliseconds up to {MAX_TIMEOUT_MS}"),
                describe_value(value),
            )),
        }
    }

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 0, "maximum": MAX_TIMEOUT_MS})
    }
}

input! {
    /// Input of `Bash`.
    ShellInput {
        /// The command; it is given to bash as it stands.
        command = "command" | "cmd" | "script": CommandText,
        /// After how many milliseconds everything it started is ended; 120000 when absent, in the background no limit when absent.
        timeout = "timeout" | "timeout_ms" | "timeoutMs": Option<WaitMs>,
        /// The purpose of the command, in a few words, for the user.
        description = "description": Option<String>,
        /// Return at once and let it run; read it with `BashOutput`, end it with `KillBash`.
        background = "run_in_background" | "background" | "is_background": Option<bool>,
    }
}

input! {
    /// Input of `BashOutput`.
    ShellOutputInput {
        /// The background shell, as Bash named it.
        id = "bash_id" | "shell_id" | "id": String,
        /// Only lines that match this regular expression; the others are passed over for good.
        filter = "filter" | "regex": Option<String>,
        /// Wait up to this many milliseconds for new output or the end; 0 when absent.
        wait = "wait" | "wait_ms" | "timeout": Option<WaitMs>,
    }
}

input! {
    /// Input of `KillBash`.
    ShellKillInput {
        /// The background shell, as Bash named it.
        id = "shell_id" | "bash_id" | "id": String,
    }
}

input! {
    /// Input of `BashInput`.
    ShellSendInput {
        /// The background shell, as Bash named it.
        id = "bash_id" | "shell_id" | "id": String,
        /// The text to send to its standard input, as it stands; end a line with \n.
        text = "text" | "input" | "data": String,
        /// Close its standard input afterwards.
        close = "close" | "eof": Option<bool>,
    }
}

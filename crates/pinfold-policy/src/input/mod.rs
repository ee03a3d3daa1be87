//! The inputs of the tools: each field once, under the name that agents use, with the older names
//! that are still accepted.

mod edit;
mod file;
mod search;
mod shell;
mod web;

use pinfold_commands::PathText;
use serde_json::{Value, json};

use crate::form::{BadField, Field, describe_value};

pub use edit::{ApplyPatchInput, CellMode, CellType, EditInput, EditStep, MultiEditInput, NotebookEditInput};
pub use file::{CopyFileInput, DeleteInput, MakeDirInput, MoveFileInput, ReadInput, WriteInput};
pub use search::{GlobInput, GrepInput, LsInput, OutputMode};
pub use shell::{
    CommandText, MAX_TIMEOUT_MS, ShellInput, ShellKillInput, ShellOutputInput, ShellSendInput, WaitMs,
};
pub use web::{WebFetchInput, WebMethod};

impl Field for PathText {
    fn read(value: &Value) -> Result<Self, BadField> {
        match value.as_str() {
            Some("") => Err(BadField::new("", "a path", "an empty string")),
            Some(text) => Ok(Self::new(text)),
            None => Err(BadField::new("", "a path as a string", describe_value(value))),
        }
    }

    fn schema() -> Value {
        json!({"type": "string", "minLength": 1})
    }
}

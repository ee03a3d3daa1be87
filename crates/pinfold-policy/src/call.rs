//! Parsing of calls: JSON in, a typed call out. Nothing half-understood travels on.

use std::fmt;

use pinfold_commands::PathText;
use serde_json::Value;

use crate::foreign::ForeignCall;
use crate::form::{BadField, InputForm, RequiredFields};
use crate::input::{
    ApplyPatchInput, CopyFileInput, DeleteInput, EditInput, GlobInput, GrepInput, LsInput, MakeDirInput,
    MoveFileInput, MultiEditInput, NotebookEditInput, ReadInput, ShellInput, ShellKillInput,
    ShellOutputInput, ShellSendInput, WebFetchInput, WriteInput,
};
use crate::mcp::{McpCall, Shape};
use crate::patch::Patch;
use crate::process::ProcessCall;
use crate::tool::{Level, ToolName};

/// A call as it came in; nothing is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct RawCall {
    /// The name of the tool, as said.
    pub tool: String,
    /// Its input, as said.
    pub input: Value,
    /// The folder that relative paths start from, when the caller has one of its own. It is only ever
    /// resolved like a path in the input: naming a folder here does not make it part of the line.
    pub cwd: Option<PathText>,
    /// The caller's knowledge of the arguments of an MCP tool beyond their names, such as its schema.
    pub shape: Option<Shape>,
    /// Set if it is no tool of an MCP server that is called, but a method of the protocol: `mcp__docs__resources/read`.
    /// The caller knows; no name says it.
    pub is_method: bool,
}

impl RawCall {
    /// A call of `tool` with `input`, relative to the workspace.
    pub fn new(tool: impl Into<String>, input: Value) -> Self {
        Self { tool: tool.into(), input, cwd: None, shape: None, is_method: false }
    }
}

/// One tool call, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// Read a file.
    Read(ReadInput),
    /// Create or overwrite a file.
    Write(WriteInput),
    /// Replace text in a file.
    Edit(EditInput),
    /// Make several replacements in one file.
    MultiEdit(MultiEditInput),
    /// Change a cell of a notebook.
    NotebookEdit(NotebookEditInput),
    /// Change several files as one patch says.
    ApplyPatch(Patch),
    /// Delete a file or folder.
    Delete(DeleteInput),
    /// Rename a file or folder.
    MoveFile(MoveFileInput),
    /// Copy a file or folder.
    CopyFile(CopyFileInput),
    /// Create a folder.
    MakeDir(MakeDirInput),
    /// List a folder.
    Ls(LsInput),
    /// Find files by name.
    Glob(GlobInput),
    /// Find files by content.
    Grep(GrepInput),
    /// Run a command in a shell.
    Bash(ShellInput),
    /// Read what a background shell said.
    BashOutput(ShellOutputInput),
    /// End a background shell.
    KillBash(ShellKillInput),
    /// Send input to a background shell.
    BashInput(ShellSendInput),
    /// Fetch a page.
    WebFetch(WebFetchInput),
    /// A tool of an MCP server.
    Mcp(McpCall),
    /// A third-party tool, which its owner carries out.
    Foreign(ForeignCall),
    /// An operation that a process of a shell is about to do. No call can spell it.
    Process(ProcessCall),
}

impl ToolCall {
    /// Understands a raw call.
    ///
    /// # Errors
    /// [`BadCall`] names the tool or the field, what was expected and what was found. A path that is missing
    /// or is not a string is an error here, never a check that is skipped.
    pub fn parse(raw: &RawCall) -> Result<Self, BadCall> {
        Self::parse_needed(raw, RequiredFields::ForExecution)
    }

    /// Understands a raw call as far as a verdict needs it: text that only the deed would use may be missing.
    /// What comes out is for judging; performed, it would write nothing into files.
    ///
    /// # Errors
    /// As [`ToolCall::parse`], but for missing texts.
    pub fn parse_for_verdict(raw: &RawCall) -> Result<Self, BadCall> {
        Self::parse_needed(raw, RequiredFields::ForJudgement)
    }

    fn parse_needed(raw: &RawCall, needed: RequiredFields) -> Result<Self, BadCall> {
        let bad = |bad| BadCall { tool: raw.tool.clone(), fault: Fault::Field(bad) };
        if let Some(name) = ToolName::parse(&raw.tool) {
            return Self::parse_as(name, &raw.input, needed).map_err(bad);
        }
        if let Some(call) = McpCall::parse(&raw.tool, &raw.input, raw.shape.as_ref()) {
            return call.map(|call| Self::Mcp(call.of_method(raw.is_method))).map_err(bad);
        }
        match (ForeignCall::parse(&raw.tool, &raw.input).map_err(bad)?, needed) {
            (Some(foreign), _) => Ok(Self::Foreign(foreign)),
            (None, RequiredFields::ForJudgement) => {
                Ok(Self::Foreign(ForeignCall::Unknown { name: raw.tool.clone() }))
            }
            (None, RequiredFields::ForExecution) => Err(BadCall::unknown_tool(&raw.tool)),
        }
    }

    fn parse_as(name: ToolName, input: &Value, needed: RequiredFields) -> Result<Self, BadField> {
        Ok(match name {
            ToolName::Read => Self::Read(InputForm::from_value(input, needed)?),
            ToolName::Write => Self::Write(InputForm::from_value(input, needed)?),
            ToolName::Edit => Self::Edit(InputForm::from_value(input, needed)?),
            ToolName::MultiEdit => Self::MultiEdit(InputForm::from_value(input, needed)?),
            ToolName::NotebookEdit => Self::NotebookEdit(InputForm::from_value(input, needed)?),
            ToolName::ApplyPatch => Self::ApplyPatch(patch(&ApplyPatchInput::from_value(input, needed)?)?),
            ToolName::Delete => Self::Delete(InputForm::from_value(input, needed)?),
            ToolName::MoveFile => Self::MoveFile(InputForm::from_value(input, needed)?),
            ToolName::CopyFile => Self::CopyFile(InputForm::from_value(input, needed)?),
            ToolName::MakeDir => Self::MakeDir(InputForm::from_value(input, needed)?),
            ToolName::Ls => Self::Ls(InputForm::from_value(input, needed)?),
            ToolName::Glob => Self::Glob(InputForm::from_value(input, needed)?),
            ToolName::Grep => Self::Grep(InputForm::from_value(input, needed)?),
            ToolName::Bash => Self::Bash(InputForm::from_value(input, needed)?),
            ToolName::BashOutput => Self::BashOutput(InputForm::from_value(input, needed)?),
            ToolName::KillBash => Self::KillBash(InputForm::from_value(input, needed)?),
            ToolName::BashInput => Self::BashInput(InputForm::from_value(input, needed)?),
            ToolName::WebFetch => Self::WebFetch(InputForm::from_value(input, needed)?),
        })
    }

    /// The name of the tool, as rules say it.
    pub fn name(&self) -> &str {
        match self {
            Self::Mcp(call) => &call.name,
            Self::Foreign(call) => call.name(),
            Self::Process(_) => "Process",
            own => own.tool().map_or("", ToolName::as_str),
        }
    }

    /// Returns the highest level of effect that the tool can have.
    pub fn level(&self) -> Level {
        match self {
            Self::Mcp(call) => call.level(),
            Self::Foreign(call) => call.level(),
            Self::Process(_) => Level::Write,
            own => own.tool().map_or(Level::Dangerous, ToolName::level),
        }
    }

    /// Returns `true` if the tool itself is a part that is judged: a third-party tool, or one whose effect is not on a path.
    pub fn judged_itself(&self) -> bool {
        matches!(self, Self::Mcp(_) | Self::Foreign(_) | Self::WebFetch(_))
    }

    /// Returns the tool of pinfold whose rules it follows.
    pub fn governing_tool(&self) -> Option<ToolName> {
        match self {
            Self::Foreign(call) => call.governing_tool(),
            own => own.tool(),
        }
    }

    /// The tool of ours this is a call of.
    pub fn tool(&self) -> Option<ToolName> {
        Some(match self {
            Self::Mcp(_) | Self::Foreign(_) | Self::Process(_) => return None,
            Self::Read(_) => ToolName::Read,
            Self::Write(_) => ToolName::Write,
            Self::Edit(_) => ToolName::Edit,
            Self::MultiEdit(_) => ToolName::MultiEdit,
            Self::NotebookEdit(_) => ToolName::NotebookEdit,
            Self::ApplyPatch(_) => ToolName::ApplyPatch,
            Self::Delete(_) => ToolName::Delete,
            Self::MoveFile(_) => ToolName::MoveFile,
            Self::CopyFile(_) => ToolName::CopyFile,
            Self::MakeDir(_) => ToolName::MakeDir,
            Self::Ls(_) => ToolName::Ls,
            Self::Glob(_) => ToolName::Glob,
            Self::Grep(_) => ToolName::Grep,
            Self::Bash(_) => ToolName::Bash,
            Self::BashOutput(_) => ToolName::BashOutput,
            Self::KillBash(_) => ToolName::KillBash,
            Self::BashInput(_) => ToolName::BashInput,
            Self::WebFetch(_) => ToolName::WebFetch,
        })
    }
}

fn patch(input: &ApplyPatchInput) -> Result<Patch, BadField> {
    Patch::parse(&input.patch)
        .map_err(|bad| BadField::new("patch", bad.expected, format!("something else in line {}", bad.line)))
}

/// Why a raw call was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCall {
    tool: String,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Tool { nearest: ToolName },
    Field(BadField),
}

impl BadCall {
    fn unknown_tool(name: &str) -> Self {
        Self { tool: name.to_owned(), fault: Fault::Tool { nearest: ToolName::nearest(name) } }
    }

    /// The name of the tool, as said.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The field that is wrong; `None` when the tool itself is not known.
    pub fn field(&self) -> Option<&BadField> {
        match &self.fault {
            Fault::Field(bad) => Some(bad),
            Fault::Tool { .. } => None,
        }
    }

    /// Returns `true` if the tool may just have other fields than are known: one is missing, or one is not known. A field that is known
    /// and holds something else is no such form.
    pub fn is_another_form(&self) -> bool {
        matches!(&self.fault, Fault::Field(bad) if bad.is_extra() || bad.found == BadField::MISSING)
    }

    /// Returns the forms that would have been understood.
    pub fn hint(&self) -> String {
        match &self.fault {
            Fault::Tool { nearest } => format!("did you mean `{}`?", nearest.as_str()),
            Fault::Field(bad) if bad.field.is_empty() => format!("give {} as the input", bad.expected),
            Fault::Field(bad) if bad.is_extra() => format!("leave `{}` out", bad.field),
            Fault::Field(bad) => format!("give {} as `{}`", bad.expected, bad.field),
        }
    }
}

impl fmt::Display for BadCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Tool { .. } => write!(f, "there is no tool `{}`", self.tool),
            Fault::Field(bad) if bad.field.is_empty() => {
                write!(f, "the input of {}: expected {}, found {}", self.tool, bad.expected, bad.found)
            }
            Fault::Field(bad) => {
                write!(f, "`{}` of {}: expected {}, found {}", bad.field, self.tool, bad.expected, bad.found)
            }
        }
    }
}

impl std::error::Error for BadCall {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(tool: &str, input: Value) -> Result<ToolCall, String> {
        ToolCall::parse(&RawCall::new(tool, input)).map_err(|bad| bad.to_string())
    }

    #[test]
    fn every_older_name_of_a_field_is_read_like_the_main_one() {
        let main = parse(
            "Edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}),
        );
        for older in [
            json!({"path": "a", "old_str": "x", "new_str": "y", "replaceAll": true}),
            json!({"filePath": "a", "oldText": "x", "newText": "y", "replace_all": true}),
            json!({"filename": "a", "oldString": "x", "newString": "y", "replace_all": true}),
        ] {
            assert_eq!(parse("Edit", older), main);
        }
        assert!(main.is_ok());
    }

    #[test]
    fn a_bad_field_is_named_with_what_was_expected_and_found() {
        for (tool, input, words) in [
            ("Read", json!({}), "`file_path` of Read: expected a value, found nothing"),
            (
                "Read",
                json!({"file_path": null}),
                "`file_path` of Read: expected a path as a string, found null",
            ),
            (
                "Read",
                json!({"file_path": ["a"]}),
                "`file_path` of Read: expected a path as a string, found an array of 1",
            ),
            ("Read", json!({"file_path": ""}), "`file_path` of Read: expected a path, found an empty string"),
            ("Read", json!("a"), "the input of Read: expected an object, found a string"),
            (
                "Read",
                json!({"file_path": "a", "path": "b"}),
                "`file_path` of Read: expected `file_path` or `path`, not both, found both",
            ),
            (
                "Read",
                json!({"file_path": "a", "limit": -1}),
                "`limit` of Read: expected a whole number, zero or more, found the number -1",
            ),
            (
                "Write",
                json!({"file_path": "a", "content": 1}),
                "`content` of Write: expected a string, found the number 1",
            ),
            (
                "MultiEdit",
                json!({"file_path": "a", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": 1}]}),
                "`edits[1].old_string` of MultiEdit: expected a string, found the number 1",
            ),
            (
                "LS",
                json!({"path": ".", "recursive": true}),
                "`recursive` of LS: expected only path, ignore, found a field that is not known",
            ),
            (
                "Grep",
                json!({"pattern": "x", "output_mode": "lines"}),
                "`output_mode` of Grep: expected content or files_with_matches or count, found `lines`",
            ),
            (
                "Bash",
                json!({"command": "ls", "cwd": "/"}),
                "`cwd` of Bash: expected only command, timeout, description, run_in_background, found a field that is not known",
            ),
            (
                "Bash",
                json!({"command": "ls", "timeout": 600_001}),
                "`timeout` of Bash: expected a whole number of milliseconds up to 600000, found the number 600001",
            ),
            ("Reed", json!({}), "there is no tool `Reed`"),
        ] {
            assert_eq!(parse(tool, input.clone()), Err(words.to_owned()), "{input}");
        }
    }

    #[test]
    fn null_means_absent_for_a_field_that_may_be_absent() {
        assert_eq!(
            parse("Read", json!({"file_path": "a", "limit": null})),
            parse("Read", json!({"file_path": "a"}))
        );
    }
}

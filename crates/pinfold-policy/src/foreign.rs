//! Calls of tools that others carry out: an agent's own tools, skills, subagents, MCP servers.

use pinfold_commands::Operation;
use pinfold_commands::PathText;
use serde_json::Value;

use crate::form::{BadField, describe_value};
use crate::tool::{Level, ToolName};

/// A call of a third-party tool. The gate decides about it; we never perform it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignCall {
    /// A tool that is known by its name alone.
    Known {
        /// Its name.
        name: &'static str,
        /// Highest level of effect.
        level: Level,
    },
    /// A file tool that ours do not have.
    File {
        /// Its name.
        name: &'static str,
        /// The tool of ours whose rules it follows.
        like: ToolName,
        /// The operation on the path.
        operation: Operation,
        /// The path.
        path: Option<PathText>,
    },
    /// Code that is run as it stands.
    Code {
        /// The code.
        code: String,
    },
    /// A skill that is run.
    Skill {
        /// Its name.
        name: String,
    },
    /// An agent that is started.
    Agent {
        /// Its type.
        kind: String,
        /// The folder it is to work in, when the call names one.
        folder: Option<PathText>,
        /// Set if it is to have a shell.
        wants_shell: bool,
    },
    /// A tool that is known, called in a form that is not: what it would do is for a person to see.
    Unread {
        /// The tool of ours whose rules it follows.
        like: ToolName,
    },
    /// A tool that nothing is known about.
    Unknown {
        /// Its name.
        name: String,
    },
}

/// The tools that agents have beside ours, by name: 002's safe tools, and what is known to run something.
pub(crate) const KNOWN: &[(&str, Level)] = &[
    ("WebSearch", Level::ReadOnly),
    ("LSP", Level::ReadOnly),
    ("TaskCreate", Level::ReadOnly),
    ("TaskGet", Level::ReadOnly),
    ("TaskList", Level::ReadOnly),
    ("TaskUpdate", Level::ReadOnly),
    ("AskUserQuestion", Level::ReadOnly),
    // An agent and those that it started: what is said between them touches nothing by itself.
    ("wait_for_agents", Level::ReadOnly),
    ("send_message", Level::ReadOnly),
    ("TodoWrite", Level::ReadOnly),
    ("ToolSearch", Level::ReadOnly),
    // Dialogs of an agent with its person: they change what the agent is about to do, and no file.
    ("EnterPlanMode", Level::ReadOnly),
    ("ExitPlanMode", Level::ReadOnly),
    ("CronList", Level::ReadOnly),
    ("CronCreate", Level::Dangerous),
    ("CronDelete", Level::Dangerous),
];

/// Tools that reach hosts which nothing in the call names: the words of a search leave with it.
const REACHES_HOSTS: [&str; 1] = ["WebSearch"];

/// Returns `true` if a tool does nothing but reach hosts, so that rules about hosts decide about it.
pub(crate) fn reaches_hosts(tool: &str) -> bool {
    tool == ToolName::WebFetch.as_str() || REACHES_HOSTS.contains(&tool)
}

impl ForeignCall {
    /// Returns `true` if it reaches hosts that nothing in the call names.
    pub(crate) fn reaches_hosts(&self) -> bool {
        matches!(self, Self::Known { name, .. } if REACHES_HOSTS.contains(name))
            || matches!(self, Self::Unread { like: ToolName::WebFetch })
    }

    /// Understands a call of a tool that is known not to be ours; `None`: the name is not known.
    ///
    /// # Errors
    /// The field that is wrong.
    pub(crate) fn parse(tool: &str, input: &Value) -> Result<Option<Self>, BadField> {
        Ok(Some(match tool {
            "file_append" | "append_file" => Self::File {
                name: "file_append",
                like: ToolName::Write,
                operation: Operation::Patch,
                path: Some(path(input)?.ok_or_else(|| missing("path"))?),
            },
            "search_files" => Self::File {
                name: "search_files",
                like: ToolName::Grep,
                operation: Operation::Search,
                path: path(input)?,
            },
            "code_execution" | "execute_code" => {
                let code = text(input, &["code", "source", "script"])?.ok_or_else(|| missing("code"))?;
                Self::Code { code: code.to_owned() }
            }
            "Skill" => {
                let name = text(input, &["skill", "name", "command"])?.ok_or_else(|| missing("skill"))?;
                Self::Skill { name: name.to_owned() }
            }
            "Agent" | "Task" | "run_agent" => Self::Agent {
                kind: text(input, &["subagent_type", "name", "type"])?.unwrap_or_default().to_owned(),
                folder: text(input, &["folder"])?.map(PathText::new),
                wants_shell: flag(input, &["allowBash", "allow_bash"])?,
            },
            other => match KNOWN.iter().find(|(name, _)| *name == other) {
                Some((name, level)) => Self::Known { name, level: *level },
                None => return Ok(None),
            },
        }))
    }

    /// The name of the tool, as rules say it.
    pub fn name(&self) -> &str {
        match self {
            Self::Known { name, .. } | Self::File { name, .. } => name,
            Self::Code { .. } => "code_execution",
            Self::Skill { .. } => "Skill",
            Self::Agent { .. } => "Agent",
            Self::Unread { like } => like.as_str(),
            Self::Unknown { name } => name,
        }
    }

    /// Returns the tool of pinfold whose rules it follows.
    pub(crate) fn governing_tool(&self) -> Option<ToolName> {
        match self {
            Self::File { like, .. } | Self::Unread { like } => Some(*like),
            Self::Known { .. }
            | Self::Code { .. }
            | Self::Skill { .. }
            | Self::Agent { .. }
            | Self::Unknown { .. } => None,
        }
    }

    /// Returns the highest level of effect.
    pub fn level(&self) -> Level {
        match self {
            Self::Known { level, .. } => *level,
            Self::File { like, .. } | Self::Unread { like } => like.level(),
            Self::Code { .. } | Self::Skill { .. } | Self::Agent { .. } | Self::Unknown { .. } => {
                Level::Dangerous
            }
        }
    }
}

/// Returns the highest level of effect of a tool of this name, ours or not.
pub fn level_of(tool: &str) -> Level {
    let known = || KNOWN.iter().find(|(name, _)| *name == tool).map(|(_, level)| *level);
    match ToolName::parse(tool) {
        Some(own) => own.level(),
        None => known().unwrap_or(Level::Dangerous),
    }
}

fn path(input: &Value) -> Result<Option<PathText>, BadField> {
    match text(input, &["path", "file_path", "filename", "file"])? {
        Some("") => Err(BadField::new("path", "a path", "an empty string")),
        given => Ok(given.map(PathText::new)),
    }
}

fn missing(field: &str) -> BadField {
    BadField::new(field, "a string", BadField::MISSING)
}

/// The first of `names` that is there, as text.
fn text<'v>(input: &'v Value, names: &[&str]) -> Result<Option<&'v str>, BadField> {
    let found_one = names.iter().find_map(|name| Some((*name, input.get(name).filter(|v| !v.is_null())?)));
    match found_one {
        None => Ok(None),
        Some((name, value)) => {
            value.as_str().map(Some).ok_or_else(|| BadField::new(name, "a string", describe_value(value)))
        }
    }
}

fn flag(input: &Value, names: &[&str]) -> Result<bool, BadField> {
    let found_one = names.iter().find_map(|name| Some((*name, input.get(name).filter(|v| !v.is_null())?)));
    match found_one {
        None => Ok(false),
        Some((name, value)) => {
            value.as_bool().ok_or_else(|| BadField::new(name, "true or false", describe_value(value)))
        }
    }
}

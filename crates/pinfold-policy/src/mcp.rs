//! Tools of MCP servers, understood as far as their names go: which arguments are paths, and whether the operation
//! reads or writes them.
//!
//! A server's claims are unverified, so everything here errs to the strict side: an operation that does not say what it
//! does counts as writing, a text under the name of a path is that path whatever else it looks like, and any other
//! text is looked up as one.
//!
//! Trap: where a server's relative paths start is its own affair; they are taken from the project's root.

mod argument;
mod class;
mod key;
mod method;
mod reading;
mod shape;

use serde_json::Value;

pub use class::McpClass;
pub use shape::{ArgumentKind, Shape};

use pinfold_commands::{Origin, PathClaim};

use self::argument::{Arguments, PathArgument};
use self::class::{class, operation};
use self::key::Role;
use crate::form::{BadField, describe_value};
use crate::tool::Level;

/// A call of a tool of an MCP server, or of another method of its protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCall {
    /// The name as the model says it: `mcp__filesystem__read_file`.
    pub name: String,
    /// The server: `filesystem`.
    pub server: String,
    /// The tool of the server: `read_file`.
    pub tool: String,
    /// Set if it is no tool, but a method of the protocol: `resources/read`.
    pub is_method: bool,
    /// Knowledge of its arguments beyond their names.
    pub shape: Option<Shape>,
    arguments: Arguments,
}

impl McpCall {
    /// Understands a call by the name of its tool; `None` when that is no name of an MCP tool. `shape`: the
    /// caller's knowledge of its arguments.
    ///
    /// # Errors
    /// [`BadField`] when the input is no object, or an argument that names a path is no path.
    pub fn parse(name: &str, input: &Value, shape: Option<&Shape>) -> Option<Result<Self, BadField>> {
        let (server, tool) = split_name(name)?;
        if !input.is_object() && !input.is_null() {
            return Some(Err(BadField::new("", "an object", describe_value(input))));
        }
        Some(Arguments::read(input, shape).map(|arguments| Self {
            name: name.to_owned(),
            server: server.to_owned(),
            tool: tool.to_owned(),
            is_method: false,
            shape: shape.and_then(|shape| shape.restrict_to(input)),
            arguments,
        }))
    }

    /// Marks the call as one of a method of the protocol, not of a tool.
    #[must_use]
    pub(crate) fn of_method(self, is_method: bool) -> Self {
        Self { is_method, ..self }
    }

    /// Returns the class of the operation by its name.
    pub fn class(&self) -> McpClass {
        class(&self.tool)
    }

    /// Returns the highest level of effect. The effect of a server's tool is unverified; some methods only read by the protocol.
    pub fn level(&self) -> Level {
        if self.is_method && method::only_reads(&self.tool) { Level::ReadOnly } else { Level::Dangerous }
    }

    /// Returns the paths that the call would touch if the operation is of this class. Paths under names that say so come first.
    pub fn claims(&self, class: McpClass) -> Vec<PathClaim> {
        let paths = &self.arguments.paths;
        let named = || paths.iter().filter(|argument| argument.supposed.is_none());
        let has = |roles: &[Role]| named().any(|argument| roles.contains(&argument.role));
        let goes = has(&[Role::Destination, Role::Target]);
        let comes = has(&[Role::Source, Role::Plain]);
        let claim = |argument: &PathArgument| {
            let operation = operation(class, argument.role, goes, comes);
            PathClaim::new(
                Some(argument.path.clone()),
                operation,
                argument.supposed.map_or(Origin::Foreign, Origin::Supposed),
            )
        };
        paths.iter().map(claim).collect()
    }

    /// Returns the arguments whose names may mean a path and whose values cannot. They count where a scope is declared.
    pub fn odd(&self) -> &[BadField] {
        &self.arguments.odd
    }
}

/// `mcp__server__tool`; a server's own name may hold single underscores, a tool's double ones.
fn split_name(name: &str) -> Option<(&str, &str)> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

/// `readFile`, `read_file`, `READ-FILE` → `read`, `file`.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        let starts = c.is_uppercase() && lower;
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        lower = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests;

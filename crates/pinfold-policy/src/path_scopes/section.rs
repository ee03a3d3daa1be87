//! One `tools:` section as a person wrote it.

use crate::pattern::NamePattern;

/// One `tools:` section: each tool in it with the places that it is held to, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolScopes {
    pub(super) scopes: Vec<ToolScope>,
}

impl ToolScopes {
    /// Each tool of the section, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &ToolScope> {
        self.scopes.iter()
    }

    /// Returns `true` if the section names no tool.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }
}

/// One tool of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolScope {
    /// The tool, as written: `terminal`, `mcp__filesystem__*`.
    pub key: String,
    pub(super) covers: ScopeSubject,
    /// Set if the tool can be used at all.
    pub enabled: bool,
    /// The lists that are set, in the order of the text.
    pub lists: Vec<List>,
    /// Text that cannot be audited is let through; what can be seen in it is checked all the same.
    pub allow_metacharacters: bool,
    /// MCP operations whose effect the person states, by name in lower case.
    pub operations: Vec<(String, McpEffect)>,
}

/// The calls that a scope covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScopeSubject {
    Terminal,
    File,
    CodeExecution,
    /// MCP tools by full name, in lower case.
    Mcp(NamePattern),
}

/// One list of places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The kind of list.
    pub kind: ListKind,
    /// The places, as written.
    pub entries: Vec<String>,
}

/// The kind of a list of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `allowed_paths`: reading and writing only here.
    Allowed,
    /// `allowed_read_paths`: reading only here.
    AllowedRead,
    /// `allowed_write_paths`: writing only here.
    AllowedWrite,
    /// `denied_paths`: nothing here, whatever allows it.
    Denied,
}

impl ListKind {
    /// The key of the list.
    pub fn key(self) -> &'static str {
        match self {
            Self::Allowed => "allowed_paths",
            Self::AllowedRead => "allowed_read_paths",
            Self::AllowedWrite => "allowed_write_paths",
            Self::Denied => "denied_paths",
        }
    }
}

/// The declared effect of an MCP operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum McpEffect {
    /// Reads the places that it names.
    Read,
    /// Changes the places that it names.
    Write,
}

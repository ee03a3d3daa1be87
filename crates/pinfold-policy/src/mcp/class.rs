//! Classes of operations of MCP servers, by their names.

use pinfold_commands::Operation;

use super::key::Role;
use super::split_words;

/// The effect of an operation on the places that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpClass {
    /// Reads.
    Read,
    /// Lists folders.
    List,
    /// Searches folders.
    Search,
    /// Writes or changes.
    Write,
    /// Creates folders.
    MakeDir,
    /// Deletes.
    Delete,
    /// Moves.
    Move,
    /// Copies.
    Copy,
    /// Its name does not say.
    Unknown,
}

/// Words in the name of an operation that say what it does. Where several do, the strictest counts: the one that
/// stands first here.
const OPERATIONS: &[(McpClass, &[&str])] = &[
    (McpClass::Move, &["move", "mv", "rename"]),
    (McpClass::Delete, &["delete", "remove", "rm", "rmdir", "unlink"]),
    (McpClass::Copy, &["copy", "cp"]),
    (McpClass::MakeDir, &["mkdir"]),
    (
        McpClass::Write,
        &[
            "append",
            "create",
            "edit",
            "insert",
            "modify",
            "overwrite",
            "patch",
            "put",
            "replace",
            "save",
            "touch",
            "truncate",
            "update",
            "write",
        ],
    ),
    (McpClass::Search, &["find", "glob", "grep", "search", "tree"]),
    (McpClass::List, &["list", "ls"]),
    (
        McpClass::Read,
        &[
            "blame", "cat", "count", "describe", "diff", "exists", "get", "head", "info", "log", "read",
            "show", "stat", "status", "tail", "view",
        ],
    ),
];

/// Returns the class of an operation by its name.
pub(super) fn class(tool: &str) -> McpClass {
    let words = split_words(tool);
    let has = |word: &str| words.iter().any(|own| own == word);
    if has("create") && (has("directory") || has("folder") || has("dir")) {
        return McpClass::MakeDir;
    }
    let said = OPERATIONS.iter().find(|(_, own)| own.iter().any(|word| has(word)));
    said.map_or(McpClass::Unknown, |(class, _)| *class)
}

/// Returns the operation on a path of this role. `goes`, `comes`: the call also names where it goes, where it comes from.
pub(super) fn operation(class: McpClass, role: Role, goes: bool, comes: bool) -> Operation {
    use McpClass as C;
    use Operation as O;
    let reads = |own: O| match role {
        Role::Destination => O::Write,
        Role::Target if comes => O::Write,
        Role::Plain | Role::Source | Role::Target => own,
    };
    match class {
        C::Read => reads(O::Read),
        C::List => reads(O::List),
        C::Search => reads(O::Search),
        C::Move => match role {
            Role::Destination | Role::Target => O::MoveTo,
            Role::Plain | Role::Source => O::MoveFrom,
        },
        C::Copy => match role {
            Role::Plain | Role::Source if goes => O::CopyFrom,
            Role::Plain | Role::Source | Role::Destination | Role::Target => O::CopyTo,
        },
        C::Write | C::MakeDir if role == Role::Source && goes => O::Read,
        C::MakeDir => O::MakeDir,
        C::Delete => O::Delete,
        C::Write | C::Unknown => O::Write,
    }
}

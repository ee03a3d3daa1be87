//! Tools of MCP servers, understood as far as their names go: which arguments are paths, and whether the operation
//! reads or writes them.
//!
//! Nobody vouches for a server, so everything here errs to the strict side: an operation that does not say what it
//! does counts as writing, and an argument counts as a path by its name or by how it begins.
//!
//! Trap: where a server's relative paths start is its own affair; they are taken from the project's root.

mod shape;

use serde_json::Value;

pub use shape::{ArgumentKind, Shape};

use crate::claim::{Operation, Origin, PathClaim};
use crate::form::{BadField, found};
use crate::input::PathText;

/// A call of a tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCall {
    /// The name as the model says it: `mcp__filesystem__read_file`.
    pub name: String,
    /// The server: `filesystem`.
    pub server: String,
    /// The tool of the server: `read_file`.
    pub tool: String,
    /// What is known of the arguments that it has, beyond their names.
    pub shape: Option<Shape>,
    arguments: Vec<Argument>,
    odd: Vec<BadField>,
}

/// One argument that is a path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    path: PathText,
    role: Role,
}

/// What the name of an argument says about its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// `path`, `file`: what the operation is about.
    Plain,
    /// `source`, `from`: where it comes from.
    Source,
    /// `destination`, `output`: where it goes.
    Destination,
    /// `target`, `to`: where it goes, or what it is about.
    Target,
    /// No name for a path, but the value begins as only a path does.
    Unnamed,
}

/// What an operation does to what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpClass {
    /// It reads.
    Read,
    /// It lists folders.
    List,
    /// It looks through folders.
    Search,
    /// It writes or changes.
    Write,
    /// It makes folders.
    MakeDir,
    /// It takes away.
    Delete,
    /// It gives another name.
    Move,
    /// It makes another of the same.
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

impl McpCall {
    /// Understands a call by the name of its tool; `None` when that is no name of an MCP tool. `shape`: what whoever
    /// passes it on knows of its arguments.
    ///
    /// # Errors
    /// [`BadField`] when the input is no object, or an argument that names a path is no path.
    pub fn parse(name: &str, input: &Value, shape: Option<&Shape>) -> Option<Result<Self, BadField>> {
        let (server, tool) = split_name(name)?;
        if !input.is_object() && !input.is_null() {
            return Some(Err(BadField::new("", "an object", found(input))));
        }
        let mut call = Self {
            name: name.to_owned(),
            server: server.to_owned(),
            tool: tool.to_owned(),
            shape: shape.and_then(|shape| shape.about(input)),
            arguments: Vec::new(),
            odd: Vec::new(),
        };
        Some(call.read_arguments(input, shape).map(|()| call))
    }

    /// What the name of the operation says that it does.
    pub fn class(&self) -> McpClass {
        class(&self.tool)
    }

    /// What the call would touch if the operation is of this class. Paths under names that say so come first.
    pub fn claims(&self, class: McpClass) -> Vec<PathClaim> {
        self.of(class, |role| role != Role::Unnamed)
    }

    /// Paths under names that do not say so. They count where somebody declared the server to be about files.
    pub fn unnamed_claims(&self, class: McpClass) -> Vec<PathClaim> {
        self.of(class, |role| role == Role::Unnamed)
    }

    /// Arguments whose names may mean a path and whose values cannot. They count like [`McpCall::unnamed_claims`].
    pub fn odd(&self) -> &[BadField] {
        &self.odd
    }

    fn of(&self, class: McpClass, wanted: impl Fn(Role) -> bool) -> Vec<PathClaim> {
        let has = |roles: &[Role]| self.arguments.iter().any(|argument| roles.contains(&argument.role));
        let goes = has(&[Role::Destination, Role::Target]);
        let comes = has(&[Role::Source, Role::Plain]);
        let claim = |argument: &Argument| {
            let operation = operation(class, argument.role, goes, comes);
            PathClaim::new(Some(argument.path.clone()), operation, Origin::Foreign)
        };
        self.arguments.iter().filter(|argument| wanted(argument.role)).map(claim).collect()
    }

    /// Goes through objects and arrays at every depth, without going deeper itself.
    fn read_arguments(&mut self, input: &Value, shape: Option<&Shape>) -> Result<(), BadField> {
        let mut waiting = vec![(String::new(), Key::Other, shape, input)];
        while let Some((at, key, shape, value)) = waiting.pop() {
            match value {
                Value::Object(fields) => waiting.extend(fields.iter().rev().map(|(name, value)| {
                    let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                    let shape = shape.and_then(|shape| shape.of(name));
                    (at, Key::of(name).known_as(shape.and_then(Shape::kind)), shape, value)
                })),
                Value::Array(items) => waiting.extend(
                    items.iter().enumerate().rev().map(|(i, item)| (format!("{at}[{i}]"), key, shape, item)),
                ),
                Value::String(text) => self.read_text(&at, key, text)?,
                Value::Null => {}
                Value::Bool(_) | Value::Number(_) => self.read_other(&at, key, value)?,
            }
        }
        Ok(())
    }

    fn read_text(&mut self, at: &str, key: Key, text: &str) -> Result<(), BadField> {
        let role = match key {
            Key::Path(role, strict) if text.is_empty() => {
                let bad = BadField::new(at, "a path", "an empty string");
                if strict && role == Role::Plain {
                    return Err(bad);
                }
                self.odd.push(bad);
                return Ok(());
            }
            Key::Path(role, _) => role,
            Key::Address if file_url(text).is_some() || begins_as_path(text) => Role::Plain,
            Key::Other if file_url(text).is_some() || begins_as_path(text) => Role::Unnamed,
            Key::Address | Key::Other | Key::Content => return Ok(()),
        };
        if is_elsewhere(text) {
            return Ok(());
        }
        if text.contains('\0') {
            return Err(BadField::new(at, "a path without NUL bytes", "a NUL byte"));
        }
        let path = PathText::new(file_url(text).unwrap_or_else(|| text.to_owned()));
        self.arguments.push(Argument { path, role });
        Ok(())
    }

    fn read_other(&mut self, at: &str, key: Key, value: &Value) -> Result<(), BadField> {
        match key {
            Key::Path(_, strict) => {
                let bad = BadField::new(at, "a path as a string", found(value));
                if strict {
                    return Err(bad);
                }
                self.odd.push(bad);
                Ok(())
            }
            Key::Address | Key::Other | Key::Content => Ok(()),
        }
    }
}

/// `mcp__server__tool`; a server's own name may hold single underscores, a tool's double ones.
fn split_name(name: &str) -> Option<(&str, &str)> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

fn class(tool: &str) -> McpClass {
    let words = words(tool);
    let has = |word: &str| words.iter().any(|own| own == word);
    if has("create") && (has("directory") || has("folder") || has("dir")) {
        return McpClass::MakeDir;
    }
    let said = OPERATIONS.iter().find(|(_, own)| own.iter().any(|word| has(word)));
    said.map_or(McpClass::Unknown, |(class, _)| *class)
}

/// `readFile`, `read_file`, `READ-FILE` → `read`, `file`.
fn words(name: &str) -> Vec<String> {
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

/// What is done to a path of this role. `goes`, `comes`: the call also names where it goes, where it comes from.
fn operation(class: McpClass, role: Role, goes: bool, comes: bool) -> Operation {
    use McpClass as C;
    use Operation as O;
    let reads = |own: O| match role {
        Role::Destination => O::Write,
        Role::Target if comes => O::Write,
        Role::Plain | Role::Source | Role::Target | Role::Unnamed => own,
    };
    match class {
        C::Read => reads(O::Read),
        C::List => reads(O::List),
        C::Search => reads(O::Search),
        C::Move => match role {
            Role::Destination | Role::Target => O::MoveTo,
            Role::Plain | Role::Source | Role::Unnamed => O::MoveFrom,
        },
        C::Copy => match role {
            Role::Plain | Role::Source if goes => O::CopyFrom,
            Role::Plain | Role::Source | Role::Destination | Role::Target | Role::Unnamed => O::CopyTo,
        },
        C::Write | C::MakeDir if role == Role::Source && goes => O::Read,
        C::MakeDir => O::MakeDir,
        C::Delete => O::Delete,
        C::Write | C::Unknown => O::Write,
    }
}

/// What the name of an argument says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// A path; `strict`: nothing but a path has this name.
    Path(Role, bool),
    /// A URL, which may be a local one.
    Address,
    /// Text for a file or about one: never a path.
    Content,
    /// Anything else.
    Other,
}

/// Last words of names that are paths and nothing else.
const PATHS: &[&str] = &[
    "cwd",
    "dir",
    "directories",
    "directory",
    "dirs",
    "file",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "files",
    "folder",
    "folders",
    "path",
    "pathname",
    "paths",
    "workdir",
];
/// Whole names that are often paths.
const ROLES: &[(&str, Role)] = &[
    ("source", Role::Source),
    ("sources", Role::Source),
    ("src", Role::Source),
    ("from", Role::Source),
    ("destination", Role::Destination),
    ("destinations", Role::Destination),
    ("dest", Role::Destination),
    ("dst", Role::Destination),
    ("output", Role::Destination),
    ("out", Role::Destination),
    ("outfile", Role::Destination),
    ("target", Role::Target),
    ("targets", Role::Target),
    ("to", Role::Target),
    ("root", Role::Plain),
    ("roots", Role::Plain),
    ("location", Role::Plain),
    ("repo", Role::Plain),
    ("repository", Role::Plain),
    ("workspace", Role::Plain),
];
/// Words in front of a path's name that say which end it is.
const ENDS: &[(&str, Role)] = &[
    ("source", Role::Source),
    ("src", Role::Source),
    ("from", Role::Source),
    ("old", Role::Source),
    ("input", Role::Source),
    ("destination", Role::Destination),
    ("dest", Role::Destination),
    ("dst", Role::Destination),
    ("new", Role::Destination),
    ("output", Role::Destination),
    ("out", Role::Destination),
    ("save", Role::Destination),
    ("target", Role::Target),
    ("to", Role::Target),
];
/// Last words of names that hold text.
const CONTENTS: &[&str] = &[
    "body",
    "code",
    "command",
    "content",
    "contents",
    "data",
    "description",
    "message",
    "pattern",
    "patterns",
    "prompt",
    "query",
    "regex",
    "replacement",
    "string",
    "text",
    "title",
    "value",
];

impl Key {
    fn of(name: &str) -> Self {
        let words = words(name);
        let Some(last) = words.last().map(String::as_str) else { return Self::Other };
        let first = words.first().map(String::as_str).unwrap_or_default();
        let is_file_name =
            words.len() > 1 && last == "name" && words.iter().rev().nth(1).is_some_and(|w| w == "file");
        if PATHS.contains(&last) || is_file_name {
            let end = if words.len() > 1 { ENDS.iter().find(|(word, _)| *word == first) } else { None };
            return Self::Path(end.map_or(Role::Plain, |(_, role)| *role), true);
        }
        if let Some((_, role)) = ROLES.iter().find(|(word, _)| words.len() == 1 && *word == last) {
            return Self::Path(*role, false);
        }
        match last {
            "url" | "urls" | "uri" | "uris" | "href" => Self::Address,
            _ if CONTENTS.contains(&last) => Self::Content,
            _ => Self::Other,
        }
    }
}

impl Key {
    /// The same, once more is known than the name.
    fn known_as(self, kind: Option<ArgumentKind>) -> Self {
        match (kind, self) {
            (None, key) | (Some(ArgumentKind::Path), key @ Self::Path(..)) => key,
            (Some(ArgumentKind::Path), _) => Self::Path(Role::Plain, false),
            (Some(ArgumentKind::Text), _) => Self::Content,
        }
    }
}

fn begins_as_path(text: &str) -> bool {
    text.starts_with('/')
        || text == "~"
        || text.starts_with("~/")
        || text.starts_with("../")
        || text.starts_with("./")
}

/// A URL of another kind than `file`.
fn is_elsewhere(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    }) && file_url(text).is_none()
}

/// The path of a `file:` URL: host and fragments aside, percent signs taken apart.
pub(crate) fn file_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_at_checked("file:".len())?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.find('/').and_then(|at| behind.get(at..)).unwrap_or("/"),
        None => rest,
    };
    Some(percent_decoded(path))
}

/// Bytes written as `%2e`. What is no byte stays as it is.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let decoded = if byte == b'%' { after.get(..2).and_then(hex) } else { None };
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Two hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests;

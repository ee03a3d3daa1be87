//! JSON or YAML, already read into a value → [`ToolScopes`]. Nothing unknown is passed over: a key that is
//! misspelt would be a line that is not drawn.

use serde_json::{Map, Value, json};

use super::bad::BadScope;
use super::section::{List, ListKind, McpEffect, ScopeSubject, ToolScope, ToolScopes};
use crate::form::describe_value;
use crate::pattern::NamePattern;
use crate::tool::nearest_name;

/// More places in one list are a mistake, and each word of a command is compared with all of them.
const MAX_ENTRIES: usize = 1000;

/// The tools of a section, with the keys that each takes. MCP tools are beside them, by name.
const TOOLS: [(&str, ScopeSubject, &[&str]); 3] = [
    (
        "terminal",
        ScopeSubject::Terminal,
        &["enabled", "allowed_paths", "denied_paths", "allow_metacharacters"],
    ),
    (
        "file",
        ScopeSubject::File,
        &["enabled", "allowed_paths", "allowed_read_paths", "allowed_write_paths", "denied_paths"],
    ),
    (
        "code_execution",
        ScopeSubject::CodeExecution,
        &["enabled", "allowed_paths", "denied_paths", "allow_metacharacters"],
    ),
];

const MCP_KEYS: &[&str] =
    &["enabled", "allowed_paths", "allowed_read_paths", "allowed_write_paths", "denied_paths", "operations"];

impl ToolScopes {
    /// Understands the value of a `tools` key.
    ///
    /// # Errors
    /// [`BadScope`] names the key that is unknown or holds something else than it should.
    pub fn parse(section: &Value) -> Result<Self, BadScope> {
        let scopes = object("tools", section)?.iter().map(|(key, value)| scope(key, value));
        Ok(Self { scopes: scopes.collect::<Result<_, _>>()? })
    }
}

impl ToolScopes {
    /// The JSON Schema of a `tools` section, from the same tables that parse it.
    pub fn schema() -> Value {
        let tools: Map<String, Value> =
            TOOLS.iter().map(|(name, _, keys)| ((*name).to_owned(), tool_schema(keys))).collect();
        json!({
            "type": "object",
            "properties": tools,
            "patternProperties": {"^mcp__.": tool_schema(MCP_KEYS)},
            "additionalProperties": false,
        })
    }
}

fn tool_schema(keys: &[&str]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), key_schema(key))).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn key_schema(key: &str) -> Value {
    let list = |about: &str| {
        json!({
            "description": about,
            "type": "array",
            "maxItems": MAX_ENTRIES,
            "items": {"type": "string", "minLength": 1, "pattern": "^[^*?]+$"},
        })
    };
    match key {
        "enabled" => json!({"description": "Whether the tool can be used.", "type": "boolean"}),
        "allow_metacharacters" => json!({
            "description": "Let text through that cannot be audited; what can be seen in it is checked.",
            "type": "boolean",
        }),
        "operations" => json!({
            "description": "What MCP operations do, where their names do not say.",
            "type": "object",
            "additionalProperties": {"enum": ["read", "write"]},
        }),
        "allowed_read_paths" => list("Read only here."),
        "allowed_write_paths" => list("Write only here."),
        "denied_paths" => list("Neither read nor write here."),
        _ => list("Read and write only here."),
    }
}

fn scope(key: &str, value: &Value) -> Result<ToolScope, BadScope> {
    let at = format!("tools.{key}");
    let (covers, keys) = covers(key, &at)?;
    let fields = object(&at, value)?;
    let mut scope = ToolScope {
        key: key.to_owned(),
        covers,
        enabled: true,
        lists: Vec::new(),
        allow_metacharacters: false,
        operations: Vec::new(),
    };
    for (name, value) in fields {
        let at = format!("{at}.{name}");
        if !keys.contains(&name.as_str()) {
            return Err(unknown(at, name, keys));
        }
        match name.as_str() {
            "enabled" => scope.enabled = boolean(&at, value)?,
            "allow_metacharacters" => scope.allow_metacharacters = boolean(&at, value)?,
            "operations" => scope.operations = operations(&at, value)?,
            "allowed_paths" => scope.lists.push(list(&at, ListKind::Allowed, value)?),
            "allowed_read_paths" => scope.lists.push(list(&at, ListKind::AllowedRead, value)?),
            "allowed_write_paths" => scope.lists.push(list(&at, ListKind::AllowedWrite, value)?),
            "denied_paths" => scope.lists.push(list(&at, ListKind::Denied, value)?),
            _ => return Err(unknown(at, name, keys)),
        }
    }
    Ok(scope)
}

fn covers(key: &str, at: &str) -> Result<(ScopeSubject, &'static [&'static str]), BadScope> {
    if let Some((_, covers, keys)) = TOOLS.iter().find(|(name, ..)| *name == key) {
        return Ok((covers.clone(), keys));
    }
    let folded = key.to_lowercase();
    match folded.strip_prefix("mcp__") {
        Some("") => {
            Err(BadScope::new(at, "a server is missing", "write `mcp__SERVER__*`, or `mcp__*` for all"))
        }
        Some(_) => Ok((ScopeSubject::Mcp(NamePattern::server(&folded)), MCP_KEYS)),
        None => {
            let near = nearest_name(key, &["terminal", "file", "code_execution", "mcp__SERVER__*"]);
            Err(BadScope::new(at, "there is no such tool to scope", format!("did you mean `{near}`?")))
        }
    }
}

fn unknown(at: String, name: &str, keys: &[&'static str]) -> BadScope {
    let hint = format!("did you mean `{}`? known are: {}", nearest_name(name, keys), keys.join(", "));
    BadScope::new(at, "there is no such key", hint)
}

fn wrong(at: &str, expected: &str, value: &Value) -> BadScope {
    let problem = format!("expected {expected}, found {}", describe_value(value));
    let hint = match value {
        Value::Null => "leave the key out, or give it a value".to_owned(),
        Value::String(_) if expected.starts_with("a list") => "put it in brackets".to_owned(),
        _ => format!("write {expected}"),
    };
    BadScope::new(at, problem, hint)
}

fn object<'a>(at: &str, value: &'a Value) -> Result<&'a Map<String, Value>, BadScope> {
    value.as_object().ok_or_else(|| wrong(at, "keys with values", value))
}

fn boolean(at: &str, value: &Value) -> Result<bool, BadScope> {
    value.as_bool().ok_or_else(|| wrong(at, "true or false", value))
}

fn list(at: &str, kind: ListKind, value: &Value) -> Result<List, BadScope> {
    let items = value.as_array().ok_or_else(|| wrong(at, "a list of paths", value))?;
    if items.len() > MAX_ENTRIES {
        let problem = format!("a list of {} paths; {MAX_ENTRIES} are the most", items.len());
        return Err(BadScope::new(at, problem, "name the folders that they lie in"));
    }
    let entries = items.iter().enumerate().map(|(i, item)| entry(&format!("{at}[{i}]"), item));
    Ok(List { kind, entries: entries.collect::<Result<_, _>>()? })
}

fn entry(at: &str, value: &Value) -> Result<String, BadScope> {
    match value.as_str() {
        Some("") => Err(BadScope::new(at, "an empty path", "name a folder or a file, or leave it out")),
        Some(text) if text.contains('\0') => Err(BadScope::new(at, "a NUL byte in a path", "leave it out")),
        // Taken as a name it would match nothing, and a denial that matches nothing is no denial.
        Some(text) if text.contains(['*', '?']) => Err(BadScope::new(
            at,
            format!("`{text}` is a pattern, and entries are folders or files"),
            "name the folder, and all below it is meant; for patterns write a rule",
        )),
        Some(text) => Ok(text.to_owned()),
        None if value.is_null() => Err(BadScope::new(
            at,
            "expected a path as a string, found null",
            "in YAML a bare ~ is null: write \"~\" in quotes",
        )),
        None => Err(wrong(at, "a path as a string", value)),
    }
}

fn operations(at: &str, value: &Value) -> Result<Vec<(String, McpEffect)>, BadScope> {
    let read = |(name, value): (&String, &Value)| {
        let at = format!("{at}.{name}");
        match value.as_str() {
            Some("read") => Ok((name.to_lowercase(), McpEffect::Read)),
            Some("write") => Ok((name.to_lowercase(), McpEffect::Write)),
            Some(other) => Err(BadScope::new(
                at,
                format!("expected read or write, found `{other}`"),
                "write `read` or `write`",
            )),
            None => Err(wrong(&at, "read or write", value)),
        }
    };
    object(at, value)?.iter().map(read).collect()
}

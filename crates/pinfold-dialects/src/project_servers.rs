//! MCP servers that a project declares for an agent. A repository chooses their names, also those of servers that the
//! person has allowed.

use std::path::Path;

use serde_json::Value;

use crate::jsonc;

/// The table of files.
const FILES: &str = include_str!("project_servers.txt");

/// A file of a project in which an agent finds servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFile {
    /// Below the project, or a folder in it.
    pub path: &'static str,
    fields: &'static str,
    /// A call does not say which server it is for.
    any: bool,
}

/// A server as a project declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectServer {
    /// Its name.
    pub name: String,
    /// Command or address of the server as it is declared: for messages.
    pub says: String,
    any: bool,
}

/// The files in which an agent finds servers of a project.
pub fn server_files(agent: &str) -> impl Iterator<Item = ServerFile> {
    rows().filter(move |(whose, _)| *whose == agent).map(|(_, file)| file)
}

/// Server files of all agents, each file once.
pub fn all_server_files() -> impl Iterator<Item = (&'static str, ServerFile)> {
    rows()
}

fn rows() -> impl Iterator<Item = (&'static str, ServerFile)> {
    FILES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (agent, path, fields) = (words.next()?, words.next()?, words.next()?);
        let any = fields.starts_with('*');
        Some((agent, ServerFile { path, fields: fields.trim_start_matches('*'), any }))
    })
}

impl ServerFile {
    /// The servers that a text of this file declares.
    ///
    /// # Errors
    /// Why it cannot be read: the agent may read more of it.
    pub fn servers(&self, text: &[u8]) -> Result<Vec<ProjectServer>, String> {
        let text = std::str::from_utf8(text).map_err(|_| "it is no UTF-8".to_owned())?;
        let all = self.parse(text.trim_start_matches('\u{feff}'))?;
        let held = self.fields.split(',').filter_map(|field| all.get(field));
        let mut servers = Vec::new();
        for held in held {
            let named = held.as_object().ok_or("its servers are no object")?;
            servers.extend(named.iter().map(|(name, server)| ProjectServer {
                name: name.clone(),
                says: command_or_url(server),
                any: self.any,
            }));
        }
        Ok(servers)
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        let all = if Path::new(self.path).extension().is_some_and(|extension| extension == "toml") {
            toml::from_str(text).map_err(|e| e.message().to_owned())?
        } else if text.trim().is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            jsonc::parsed(text)?.to_serde_value().ok_or("it holds no value")?
        };
        if all.is_object() { Ok(all) } else { Err("it is no object".to_owned()) }
    }
}

impl ProjectServer {
    /// Returns `true` if a call of this tool, by its name in rules or as the agent has it, may be one of this server. Agents write
    /// other characters than letters, digits, `-` and `_` as `_`.
    pub fn may_have(&self, tool: &str) -> bool {
        let written: String = self.name.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
        let written = written.to_lowercase();
        let tool: String = tool.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
        let tool = tool.to_lowercase();
        let of_server = tool.strip_prefix("mcp__").or_else(|| tool.strip_prefix("mcp_"));
        if self.any {
            return of_server.is_some();
        }
        [Some(tool.as_str()), of_server]
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.strip_prefix(&written))
            .any(|rest| rest.starts_with(['_', '-']) || rest.is_empty())
    }
}

fn is_kept(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Returns the command or the address of a server.
fn command_or_url(server: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for field in ["url", "httpUrl", "serverUrl"] {
        if let Some(url) = server.get(field) {
            return text(url);
        }
    }
    let words = ["command", "args"].into_iter().filter_map(|field| server.get(field));
    let words = words.flat_map(|value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]));
    words.map(|word| text(&word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DIALECTS;

    fn servers(agent: &str, path: &str, text: &str) -> Result<Vec<ProjectServer>, String> {
        server_files(agent).find(|file| file.path == path).unwrap().servers(text.as_bytes())
    }

    #[test]
    fn every_row_is_about_an_agent_that_is_known() {
        for (agent, file) in all_server_files() {
            assert!(DIALECTS.iter().any(|dialect| dialect.name() == agent), "{agent} {file:?}");
            assert!(
                !file.fields.is_empty() && !file.path.starts_with(['/', '.']) || file.path.starts_with('.')
            );
        }
        assert_eq!(FILES.lines().filter(|line| !line.starts_with('#')).count(), all_server_files().count());
    }

    #[test]
    fn a_server_is_found_however_its_file_is_written() {
        for (agent, path, text) in [
            ("claude", ".mcp.json", r#"{"mcpServers":{"m":{"command":"evil","args":["-x"]}}}"#),
            (
                "claude",
                ".mcp.json",
                "\u{feff}// a comment\n{\"mcpServers\":{\"m\":{\"command\":\"evil\",\"args\":[\"-x\"],},}}",
            ),
            ("codex", ".codex/config.toml", "[mcp_servers.m]\ncommand = 'evil'\nargs = ['-x']"),
            ("gemini", ".gemini/settings.json", r#"{"mcpServers":{"m":{"command":"evil","args":["-x"]}}}"#),
            ("copilot", ".vscode/mcp.json", r#"{"servers":{"m":{"command":"evil","args":["-x"]}}}"#),
            ("opencode", "opencode.jsonc", r#"{"mcp":{"m":{"command":["evil","-x"]}}}"#),
        ] {
            let found = servers(agent, path, text).unwrap();
            assert_eq!(found.len(), 1, "{agent}");
            assert_eq!((found[0].name.as_str(), found[0].says.as_str()), ("m", "evil -x"), "{agent}");
        }
        assert_eq!(servers("claude", ".mcp.json", "{}"), Ok(Vec::new()));
        for bad in ["{", "[]", r#"{"mcpServers":[]}"#, r#"{"mcpServers":"m"}"#, "null"] {
            assert!(servers("claude", ".mcp.json", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_covers_every_way_in_which_an_agent_writes_it() {
        let server = |name: &str, any| ProjectServer { name: name.to_owned(), says: String::new(), any };
        for (name, tool, may) in [
            ("m", "mcp__m__write_file", true),
            ("m", "mcp__m__", true),
            ("m", "mcp__m", true),
            ("m", "mcp_m_write", true),
            ("m", "m-write", true),
            ("m", "m_write", true),
            ("M", "mcp__m__write", true),
            ("my server", "mcp__my_server__write", true),
            ("my.server", "mcp__my.server__write", true),
            ("m__evil", "mcp__m__evil__exec", true),
            ("m__evil", "mcp__m__write", false),
            ("m", "mcp__me__write", false),
            ("m", "mcp__other__m", false),
            ("m", "Bash", false),
        ] {
            assert_eq!(server(name, false).may_have(tool), may, "{name} {tool}");
        }
        assert!(server("m", true).may_have("mcp__cursor__anything") && !server("m", true).may_have("Bash"));
    }
}

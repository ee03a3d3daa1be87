//! Several servers behind one proxy, as a file lists them in the form that clients have in common. Each has a proxy of its
//! own, with the options that were given for all and those of its own.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use pinfold_mcp::MultiplexedServer;
use serde_json::{Map, Value};

use crate::args::is_server;
use crate::env;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::output::{self, warn};

/// The option that names the file.
const CONFIG: &str = "--config";

pub(super) fn proxy(file: &Path) -> Result<ExitCode, Failure> {
    let servers = servers(file)?;
    let members =
        servers.iter().map(|(name, server)| member(file, name, server)).collect::<Result<_, _>>()?;
    let by_client =
        pinfold_mcp::multiplex(members).map_err(|why| Failure::new(FAILED, output::lines(&why)))?;
    if !by_client {
        warn("all servers have ended");
    }
    Ok(ExitCode::from(if by_client { DONE } else { FAILED }))
}

fn unusable(file: &Path, why: &str) -> Failure {
    Failure::new(USAGE, output::lines(&format!("`{}` cannot be used: {why}", file.display())))
}

fn servers(file: &Path) -> Result<Map<String, Value>, Failure> {
    let text = fs::read_to_string(file).map_err(|e| unusable(file, &e.to_string()))?;
    let mut all: Value = serde_json::from_str(&text).map_err(|e| unusable(file, &e.to_string()))?;
    match all.get_mut("mcpServers").map(Value::take) {
        Some(Value::Object(servers)) if !servers.is_empty() => Ok(servers),
        _ => Err(unusable(file, "it has no `mcpServers`")
            .mend(r#"write {"mcpServers": {"NAME": {"command": "SERVER", "args": []}}}"#)),
    }
}

/// A server of the file, behind a proxy of its own.
fn member(file: &Path, name: &str, server: &Value) -> Result<MultiplexedServer, Failure> {
    let bad = |what: &str| unusable(file, &format!("`{name}`: {what}"));
    if !is_server(name) {
        return Err(bad("this name cannot stand in rules"));
    }
    if server.get("cwd").is_some() {
        return Err(bad("`cwd` is not taken").mend("say \"pinfold\": [\"--folder\", DIR]"));
    }
    let words = |field: &str| -> Result<Vec<String>, Failure> {
        let Some(words) = server.get(field) else { return Ok(Vec::new()) };
        let texts = words
            .as_array()
            .and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
        texts.ok_or_else(|| bad(&format!("`{field}` is no list of texts")))
    };
    let mut command = Command::new(env::OWN_PROGRAM);
    command.args(["mcp", "proxy"]).args(shared_options()).args(["--name", name]).args(words("pinfold")?);
    let named = |field: &str| -> Result<Vec<(String, String)>, Failure> {
        let all = match server.get(field) {
            None => return Ok(Vec::new()),
            Some(all) => all.as_object().ok_or_else(|| bad(&format!("`{field}` is no object")))?,
        };
        let texts = all.iter().map(|(name, value)| {
            let value = value.as_str().ok_or_else(|| bad(&format!("a value of `{field}` is no text")))?;
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(bad(&format!("a name or value of `{field}` cannot stand in an environment")));
            }
            Ok((name.clone(), value.to_owned()))
        });
        texts.collect()
    };
    // Values stand where only the person sees them, and not on a command line.
    match (server.get("command").map(Value::as_str), server.get("url").map(Value::as_str)) {
        (Some(Some(program)), None) => {
            for (variable, value) in named("env")? {
                command.args(["--env", &variable]).env(&variable, value);
            }
            command.arg("--").arg(program).args(words("args")?);
        }
        (None, Some(Some(url))) => {
            command.args(["--url", url]);
            for (number, (header, value)) in named("headers")?.into_iter().enumerate() {
                let variable = format!("PINFOLD_MCP_HEADER_{number}");
                command.arg("--header-env").arg(format!("{header}={variable}")).env(variable, value);
            }
        }
        _ => return Err(bad("it needs a `command` or a `url`, one of them, as a text")),
    }
    Ok(MultiplexedServer { name: name.to_owned(), command })
}

/// The options that were given for all: the words of our own command line, as they were understood, without the file.
fn shared_options() -> Vec<OsString> {
    let mut words = env::words_after("proxy");
    let mut left = Vec::new();
    while let Some(word) = words.next() {
        if word == CONFIG {
            words.next();
        } else if !word.to_string_lossy().starts_with(&format!("{CONFIG}=")) {
            left.push(word);
        }
    }
    left
}

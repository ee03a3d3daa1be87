//! Gemini CLI: `settings.json`, with the keys of its first versions at the top, and policies (`policies/*.toml`).
//!
//! Follows <https://geminicli.com/docs/reference/configuration/>.

mod policies;

use std::path::Path;

use pinfold_policy::Layer;
use pinfold_policy::rule::Effect;
use pinfold_policy::settings::{List, SettingsChange, Word};
use serde_json::Value;

use super::{File, Finding, Findings, NEVER, NotRead, entries, json, rules, shown};

/// Names of its tools here.
const TOOLS: [(&str, &str); 11] = [
    ("run_shell_command", "Bash"),
    ("write_file", "Write"),
    ("replace", "Edit"),
    ("read_file", "Read"),
    ("read_many_files", "Read"),
    ("list_directory", "LS"),
    ("glob", "Glob"),
    ("grep_search", "Grep"),
    ("search_file_content", "Grep"),
    ("web_fetch", "WebFetch"),
    ("google_web_search", "WebSearch"),
];

pub(super) fn findings(file: File<'_>) -> Result<Vec<Finding>, NotRead> {
    let mut findings = Findings::default();
    if Path::new(file.name).extension().is_some_and(|extension| extension == "toml") {
        policies::findings(file.text, &mut findings)?;
        return Ok(findings.0);
    }
    let all = json(file.text)?;
    for (pointer, at, effect) in [
        ("/tools/allowed", "tools.allowed", Effect::Allow),
        ("/allowedTools", "allowedTools", Effect::Allow),
        ("/tools/confirmationRequired", "tools.confirmationRequired", Effect::Ask),
        ("/tools/exclude", "tools.exclude", Effect::Deny),
        ("/excludeTools", "excludeTools", Effect::Deny),
    ] {
        for (at, text) in entries(all.pointer(pointer).unwrap_or(&Value::Null), at, &mut findings) {
            tool(&at, text, effect, &mut findings);
        }
    }
    for (pointer, at) in [("/tools/core", "tools.core"), ("/coreTools", "coreTools")] {
        core(all.pointer(pointer), at, &mut findings);
    }
    for (pointer, at) in [("/tools/sandbox", "tools.sandbox"), ("/sandbox", "sandbox")] {
        match all.pointer(pointer) {
            None => {}
            Some(Value::Bool(false)) => findings.left_out(at, "false", NEVER),
            Some(value) => {
                let change = SettingsChange::Say(Word::SandboxMode, "workspace-write".to_owned());
                findings.taken(at, &shown(value), vec![change]);
            }
        }
    }
    mode(&all, &mut findings);
    servers(&all, &mut findings);
    directories(&all, file.layer, &mut findings);
    others(&all, &mut findings);
    Ok(findings.0)
}

/// `NAME` or `NAME(COMMAND)`, which there is about every command that begins so.
fn tool(at: &str, text: &str, effect: Effect, findings: &mut Findings) {
    let (name, command) = match text.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')),
        None => (text, Some("")),
    };
    let ours = TOOLS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
    let (Some(ours), Some(command)) = (ours, command) else {
        return findings.left_out(at, text, not_held(effect));
    };
    let plain = !command.contains(['*', '?', '(', ')', ':', '\n']);
    let (rule, same) = match (ours, command.trim(), effect) {
        // Changing files is one thing here, whatever tool does it.
        ("Write" | "Edit", "", Effect::Ask | Effect::Deny) => ("Edit".to_owned(), true),
        (ours, "", _) => (ours.to_owned(), true),
        ("Bash", command, Effect::Allow) if plain => (format!("Bash({command}:*)"), false),
        ("Bash", command, Effect::Ask | Effect::Deny) if plain => (format!("Bash({command}*)"), true),
        _ => return findings.left_out(at, text, not_held(effect)),
    };
    match rules(effect, &[rule]) {
        Some(changes) if same => findings.taken(at, text, changes),
        Some(changes) => findings.narrowed(at, text, "here it ends where a word ends", changes),
        None => findings.left_out(at, text, not_held(effect)),
    }
}

fn not_held(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "no rule here says this; it is asked about",
        Effect::Ask | Effect::Deny => "NOT HELD HERE: no rule says this; look for another way to deny it",
    }
}

/// The only tools that there are: here all others are denied.
fn core(list: Option<&Value>, at: &str, findings: &mut Findings) {
    let Some(list) = list else { return };
    let listed = entries(list, at, findings);
    let named = |theirs: &str| listed.iter().any(|(_, text)| text.split('(').next() == Some(theirs));
    let partly = listed.iter().any(|(_, text)| text.starts_with("run_shell_command("));
    let is_there = |ours: &str| TOOLS.iter().any(|(theirs, name)| *name == ours && named(theirs));
    let edits = is_there("Write") || is_there("Edit");
    let mut denied: Vec<String> = Vec::new();
    for ours in ["Bash", "Read", "LS", "Glob", "Grep", "WebFetch", "WebSearch"] {
        if !is_there(ours) {
            denied.push(ours.to_owned());
        }
    }
    if !edits {
        denied.push("Edit".to_owned());
    }
    let said = listed.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(", ");
    let changes = rules(Effect::Deny, &denied).unwrap_or_default();
    let asked = if partly { rules(Effect::Ask, &["Bash".to_owned()]) } else { None };
    let all = changes.into_iter().chain(asked.into_iter().flatten()).collect();
    findings.narrowed(
        at,
        &said,
        "what is not in it is denied; where it names some commands, all are asked about",
        all,
    );
}

fn mode(all: &Value, findings: &mut Findings) {
    const AT: &str = "general.defaultApprovalMode";
    let say = |word: &str| vec![SettingsChange::Say(Word::DefaultMode, word.to_owned())];
    match all.pointer("/general/defaultApprovalMode").map(shown).as_deref() {
        None => {}
        Some(word @ "default") => findings.taken(AT, word, say("default")),
        Some(word @ "auto_edit") => findings.taken(AT, word, say("acceptEdits")),
        Some(word @ "yolo") => findings.left_out(AT, word, NEVER),
        Some(word) => findings.left_out(AT, word, "there is no such mode here"),
    }
}

fn servers(all: &Value, findings: &mut Findings) {
    for (pointer, at) in [("/mcp/excluded", "mcp.excluded"), ("/excludeMCPServers", "excludeMCPServers")] {
        for (at, server) in entries(all.pointer(pointer).unwrap_or(&Value::Null), at, findings) {
            denied(&at, server, &format!("mcp__{server}"), findings);
        }
    }
    if let Some(allowed) = all.pointer("/mcp/allowed") {
        findings.left_out(
            "mcp.allowed",
            &shown(allowed),
            "NOT HELD HERE: other servers are asked about, not denied",
        );
    }
    for (name, server) in all.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("mcpServers.{name}");
        if server.get("trust") == Some(&Value::Bool(true)) {
            findings.left_out(&format!("{at}.trust"), "true", NEVER);
        }
        let excluded = server.get("excludeTools").unwrap_or(&Value::Null);
        for (at, tool) in entries(excluded, &format!("{at}.excludeTools"), findings) {
            denied(&at, tool, &format!("mcp__{name}__{tool}"), findings);
        }
        if let Some(included) = server.get("includeTools") {
            let why = "NOT HELD HERE: other tools of the server are asked about, not denied";
            findings.left_out(&format!("{at}.includeTools"), &shown(included), why);
        }
    }
}

fn denied(at: &str, said: &str, rule: &str, findings: &mut Findings) {
    match rules(Effect::Deny, &[rule.to_owned()]) {
        Some(changes) => findings.taken(at, said, changes),
        None => findings.left_out(at, said, not_held(Effect::Deny)),
    }
}

fn directories(all: &Value, layer: Layer, findings: &mut Findings) {
    let list = all.pointer("/context/includeDirectories").unwrap_or(&Value::Null);
    for (at, text) in entries(list, "context.includeDirectories", findings) {
        let starts = text.starts_with('/') || text.starts_with("~/");
        if text.trim_matches('/').len() < 2 {
            findings.left_out(&at, text, "that is everything, and no folder to work in");
        } else if !starts && layer == Layer::User {
            findings.left_out(&at, text, "there it starts wherever the agent was started");
        } else {
            findings.taken(
                &at,
                text,
                vec![SettingsChange::Include(List::AdditionalDirectories, text.to_owned())],
            );
        }
    }
}

fn others(all: &Value, findings: &mut Findings) {
    let top = [
        "$schema",
        "tools",
        "allowedTools",
        "excludeTools",
        "coreTools",
        "sandbox",
        "general",
        "mcp",
        "mcpServers",
        "excludeMCPServers",
        "context",
    ];
    findings.others(all, &top, "");
    let tools = ["allowed", "confirmationRequired", "exclude", "core", "sandbox"];
    for (section, known) in [
        ("tools", &tools[..]),
        ("general", &["defaultApprovalMode"]),
        ("mcp", &["excluded", "allowed"]),
        ("context", &["includeDirectories"]),
    ] {
        if let Some(object) = all.get(section) {
            findings.others(object, known, section);
        }
    }
}

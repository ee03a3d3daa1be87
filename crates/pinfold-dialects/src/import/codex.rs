//! Codex: `config.toml`, and the rules that it stores when a user always allows a command (`rules/*.rules`).
//!
//! Follows <https://developers.openai.com/codex/config-reference> and <https://developers.openai.com/codex/rules>.

use std::path::Path;

use pinfold_policy::rule::Effect;
use pinfold_policy::settings::{List, SettingsChange, Word};
use serde_json::Value;

use super::{File, Finding, Findings, NEVER, NotRead, entries, patterns, rules, shown};

pub(super) fn findings(file: File<'_>) -> Result<Vec<Finding>, NotRead> {
    let mut findings = Findings::default();
    if Path::new(file.name).extension().is_some_and(|extension| extension == "rules") {
        stored(file.text, &mut findings);
        return Ok(findings.0);
    }
    let all: Value =
        toml::from_str(file.text).map_err(|e| NotRead(format!("it cannot be read: {}", e.message())))?;
    let sandboxed = sandbox(&all, &mut findings);
    approvals(&all, sandboxed, &mut findings);
    for (name, server) in all.get("mcp_servers").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("mcp_servers.{name}.disabled_tools");
        for (at, tool) in entries(server.get("disabled_tools").unwrap_or(&Value::Null), &at, &mut findings) {
            match rules(Effect::Deny, &[format!("mcp__{name}__{tool}")]) {
                Some(changes) => findings.taken(&at, tool, changes),
                None => findings.left_out(&at, tool, "NOT HELD HERE: no rule names such a tool"),
            }
        }
    }
    for key in ["permissions", "default_permissions", "profiles", "projects", "features"] {
        if let Some(value) = all.get(key) {
            let why = "what holds for single projects, profiles and experiments is not taken over";
            findings.left_out(key, &shown(value).chars().take(60).collect::<String>(), why);
        }
    }
    let known = [
        "sandbox_mode",
        "sandbox_workspace_write",
        "approval_policy",
        "mcp_servers",
        "permissions",
        "default_permissions",
        "profiles",
        "projects",
        "features",
    ];
    findings.others(&all, &known, "");
    Ok(findings.0)
}

/// Reads the sandbox settings. Returns `true` if the agent has a sandbox.
fn sandbox(all: &Value, findings: &mut Findings) -> bool {
    const AT: &str = "sandbox_mode";
    let mode = all.get(AT).map(shown);
    match mode.as_deref() {
        None => {}
        Some(word @ ("read-only" | "workspace-write")) => {
            findings.taken(AT, word, vec![SettingsChange::Say(Word::SandboxMode, word.to_owned())]);
        }
        Some(word @ "danger-full-access") => findings.left_out(AT, word, NEVER),
        Some(word) => findings.left_out(AT, word, "it is not known"),
    }
    if let Some(section) = all.get("sandbox_workspace_write") {
        workspace(section, mode.as_deref() == Some("workspace-write"), findings);
    }
    matches!(mode.as_deref(), Some("read-only" | "workspace-write"))
}

fn workspace(section: &Value, counts: bool, findings: &mut Findings) {
    const AT: &str = "sandbox_workspace_write";
    for (at, root) in entries(
        section.get("writable_roots").unwrap_or(&Value::Null),
        &format!("{AT}.writable_roots"),
        findings,
    ) {
        if !counts {
            findings.left_out(&at, root, "it counts with `workspace-write` alone");
        } else if (root.starts_with('/') || root.starts_with("~/")) && root.trim_matches('/').len() > 1 {
            findings.taken(&at, root, vec![SettingsChange::Include(List::Writable, root.to_owned())]);
        } else {
            findings.left_out(&at, root, "it is not certain where it starts, or it is everything");
        }
    }
    for key in ["exclude_slash_tmp", "exclude_tmpdir_env_var"] {
        if let Some(value) = section.get(key) {
            findings.taken(
                &format!("{AT}.{key}"),
                &format!("{value} (/tmp is private here anyway)"),
                Vec::new(),
            );
        }
    }
    match section.get("network_access") {
        Some(Value::Bool(true)) => {
            let why = "it opens every host; name those that are needed under `network.allow`";
            findings.left_out(&format!("{AT}.network_access"), "true", why);
        }
        Some(_) => findings.taken(
            &format!("{AT}.network_access"),
            "false (nothing is reached here either, until hosts are allowed)",
            Vec::new(),
        ),
        None => {}
    }
    let known = ["writable_roots", "exclude_slash_tmp", "exclude_tmpdir_env_var", "network_access"];
    findings.others(section, &known, AT);
}

fn approvals(all: &Value, sandboxed: bool, findings: &mut Findings) {
    const AT: &str = "approval_policy";
    let say = |word: Word, said: &str| SettingsChange::Say(word, said.to_owned());
    match all.get(AT).map(shown).as_deref() {
        None => {}
        Some(word @ "untrusted") => {
            let changes = vec![say(Word::DefaultMode, "default"), say(Word::Bash, "read-only")];
            findings.taken(AT, word, changes);
        }
        Some(word @ "on-request") if sandboxed => {
            let why = "only for commands that the kernel holds in full and that hide no host";
            findings.narrowed(AT, word, why, vec![say(Word::Bash, "sandboxed")]);
        }
        Some(word @ "on-request") => findings.left_out(AT, word, "nothing held those commands there"),
        Some(word @ "never") => findings.left_out(AT, word, NEVER),
        Some(word @ "on-failure") => {
            findings.left_out(AT, word, "there is no later approval here: what is refused was not done");
        }
        Some(word) => findings.left_out(AT, word, "it is not known"),
    }
}

/// `prefix_rule(pattern=["git", "status"], decision="allow")`, one on a line, as Codex writes it. The language has more,
/// which is told as not understood.
fn stored(text: &str, findings: &mut Findings) {
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = format!("line {}", number + 1);
        let Some((words, effect)) = prefix_rule(line) else {
            let why = "NOT HELD HERE, if it forbids something: only plain rules on one line are understood";
            findings.left_out(&at, line, why);
            continue;
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match patterns::begins_with(&words).and_then(|rule| rules(effect, &[rule])) {
            Some(changes) => findings.taken(&at, line, changes),
            None if effect == Effect::Allow => findings.left_out(&at, line, "its words could mean more here"),
            None => findings.left_out(&at, line, "NOT HELD HERE: its words have no counterpart"),
        }
    }
}

fn prefix_rule(line: &str) -> Option<(Vec<String>, Effect)> {
    let inner = line.strip_prefix("prefix_rule(")?.strip_suffix(')')?.trim().trim_end_matches(',');
    let rest = inner.strip_prefix("pattern")?.trim_start().strip_prefix('=')?.trim_start();
    let end = rest.find(']')?;
    let words: Vec<String> = serde_json::from_str(rest.get(..=end)?).ok()?;
    let decision = rest.get(end + 1..)?.trim().strip_prefix(',')?.trim().strip_prefix("decision")?;
    let decision = decision.trim_start().strip_prefix('=')?.trim();
    let effect = match decision {
        "\"allow\"" => Effect::Allow,
        "\"prompt\"" => Effect::Ask,
        "\"forbidden\"" => Effect::Deny,
        _ => return None,
    };
    Some((words, effect))
}

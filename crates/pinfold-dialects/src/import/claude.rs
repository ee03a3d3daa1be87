//! Claude Code: `settings.json`. Its rules are written as ours are.
//!
//! Follows <https://code.claude.com/docs/en/settings> and <https://code.claude.com/docs/en/permissions>.

use pinfold_policy::Layer;
use pinfold_policy::rule::Effect;
use pinfold_policy::settings::{List, SettingsChange, Word};
use serde_json::Value;

use super::{File, Finding, Findings, NEVER, NotRead, entries, json, patterns, rules, shown};

/// Tools that take paths there.
const PATHS: [&str; 8] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Grep", "Glob", "LS"];
/// Tools that a rule on `Edit` covers there.
const EDITS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

pub(super) fn findings(file: File<'_>) -> Result<Vec<Finding>, NotRead> {
    let all = json(file.text)?;
    let mut findings = Findings::default();
    let sandboxed = all.pointer("/sandbox/enabled") == Some(&Value::Bool(true));
    if let Some(permissions) = all.get("permissions") {
        for (effect, key) in [(Effect::Allow, "allow"), (Effect::Ask, "ask"), (Effect::Deny, "deny")] {
            let at = format!("permissions.{key}");
            let list = permissions.get(key).unwrap_or(&Value::Null);
            for (at, text) in entries(list, &at, &mut findings) {
                rule(&at, text, effect, file.layer, sandboxed, &mut findings);
            }
        }
        mode(permissions, &mut findings);
        directories(permissions, file.layer, &mut findings);
        if permissions.get("disableBypassPermissionsMode").is_some() {
            let why = "a lock counts in managed settings only";
            findings.left_out("permissions.disableBypassPermissionsMode", "disable", why);
        }
        let known =
            ["allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"];
        findings.others(permissions, &known, "permissions");
    }
    if let Some(sandbox) = all.get("sandbox") {
        self::sandbox(sandbox, file.layer, &mut findings);
    }
    if all.get("hooks").is_some() {
        findings.left_out(
            "hooks",
            "…",
            "hooks stay with the agent; those of pinfold stand under `hooks` here",
        );
    }
    findings.others(&all, &["$schema", "permissions", "sandbox", "hooks"], "");
    Ok(findings.0)
}

fn rule(at: &str, text: &str, effect: Effect, layer: Layer, sandboxed: bool, findings: &mut Findings) {
    let (tool, pattern) = match text.trim().split_once('(') {
        Some((tool, rest)) => (tool, rest.strip_suffix(')').map(str::trim)),
        None => (text.trim(), None),
    };
    if tool == "WebFetch" && pattern.is_some() && effect == Effect::Allow && !sandboxed {
        let why = "here it would let commands reach that host too; say `network.allow` if that is meant";
        return findings.left_out(at, text, why);
    }
    if let (true, Some(pattern)) = (PATHS.contains(&tool), pattern) {
        return path(at, text, (tool, pattern), effect, layer, findings);
    }
    if tool.starts_with("mcp__*") && effect == Effect::Allow {
        return findings.left_out(at, text, "there it allows nothing, since it names no server");
    }
    let texts = match (tool, effect, pattern.and_then(|pattern| pattern.strip_suffix(" *"))) {
        ("Edit", Effect::Allow, _) => EDITS.map(str::to_owned).to_vec(),
        // There it may be about the command without anything behind it, too.
        ("Bash", Effect::Ask | Effect::Deny, Some(bare)) => {
            vec![text.trim().to_owned(), format!("Bash({bare})")]
        }
        _ => vec![text.trim().to_owned()],
    };
    match rules(effect, &texts) {
        Some(changes) => findings.taken(at, text, changes),
        None => findings.left_out(at, text, not_a_rule(effect)),
    }
}

fn path(
    at: &str,
    text: &str,
    (tool, pattern): (&str, &str),
    effect: Effect,
    layer: Layer,
    findings: &mut Findings,
) {
    let from_its_file = pattern.starts_with('/') && !pattern.starts_with("//");
    if from_its_file && layer == Layer::User {
        return findings.left_out(
            at,
            text,
            "there it starts at the file that it stands in, here at a project",
        );
    }
    let Some(patterns) = patterns::ignored_paths(effect, pattern) else {
        return findings.left_out(at, text, not_a_rule(effect));
    };
    let tools: &[&str] = if tool == "Edit" && effect == Effect::Allow { &EDITS } else { &[tool] };
    let texts: Vec<String> =
        tools.iter().flat_map(|tool| patterns.iter().map(move |p| format!("{tool}({p})"))).collect();
    match rules(effect, &texts) {
        Some(changes) if patterns == [pattern] => findings.taken(at, text, changes),
        Some(changes) => findings.narrowed(at, text, "said so that it covers what lies beneath too", changes),
        None => findings.left_out(at, text, not_a_rule(effect)),
    }
}

fn not_a_rule(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "no rule here says this; it is asked about",
        Effect::Ask | Effect::Deny => "NOT HELD HERE: no rule says this; look for another way to deny it",
    }
}

fn mode(permissions: &Value, findings: &mut Findings) {
    const AT: &str = "permissions.defaultMode";
    match permissions.get("defaultMode").map(shown).as_deref() {
        None => {}
        Some(word @ ("default" | "acceptEdits" | "dontAsk")) => {
            findings.taken(AT, word, vec![SettingsChange::Say(Word::DefaultMode, word.to_owned())]);
        }
        Some(word @ "bypassPermissions") => findings.left_out(AT, word, NEVER),
        Some(word @ "plan") => {
            findings.left_out(AT, word, "there is no such mode; `pinfold run --read-only` writes nothing");
        }
        Some(word) => findings.left_out(AT, word, "it means something else here, or nothing"),
    }
}

fn directories(permissions: &Value, layer: Layer, findings: &mut Findings) {
    let list = permissions.get("additionalDirectories").unwrap_or(&Value::Null);
    for (at, text) in entries(list, "permissions.additionalDirectories", findings) {
        let starts = text.starts_with('/') || text.starts_with("~/");
        if text == "/" || text == "~" || text == "~/" {
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

fn sandbox(sandbox: &Value, layer: Layer, findings: &mut Findings) {
    let is = |pointer: &str| sandbox.pointer(pointer) == Some(&Value::Bool(true));
    let enabled = is("/enabled");
    match sandbox.get("enabled") {
        Some(Value::Bool(true)) => {
            let change = SettingsChange::Say(Word::SandboxMode, "workspace-write".to_owned());
            findings.taken("sandbox.enabled", "true", vec![change]);
        }
        Some(other) => findings.left_out("sandbox.enabled", &shown(other), NEVER),
        None => {}
    }
    if is("/autoAllowBashIfSandboxed") && enabled {
        let why = "only for commands that the kernel holds in full and that hide no host";
        let change = SettingsChange::Say(Word::Bash, "sandboxed".to_owned());
        findings.narrowed("sandbox.autoAllowBashIfSandboxed", "true", why, vec![change]);
    }
    for (at, text) in listed(sandbox, "/excludedCommands", "sandbox.excludedCommands", findings) {
        findings.left_out(&at, &text, "no command runs outside the sandbox");
    }
    for (at, text) in listed(sandbox, "/network/allowedDomains", "sandbox.network.allowedDomains", findings) {
        if text.trim() == "*" {
            findings.left_out(&at, &text, NEVER);
        } else {
            host(&at, &text, List::NetworkAllow, findings);
        }
    }
    for (at, text) in listed(sandbox, "/network/deniedDomains", "sandbox.network.deniedDomains", findings) {
        host(&at, &text, List::NetworkDeny, findings);
    }
    for (at, text) in listed(sandbox, "/filesystem/allowWrite", "sandbox.filesystem.allowWrite", findings) {
        match place(&text, layer) {
            Some(place) => findings.taken(&at, &text, vec![SettingsChange::Include(List::Writable, place)]),
            None => findings.left_out(&at, &text, "it is not certain where it starts"),
        }
    }
    denied(sandbox, layer, findings);
    for key in ["allowUnixSockets", "allowAllUnixSockets", "allowLocalBinding"] {
        if let Some(value) = sandbox.pointer(&format!("/network/{key}")) {
            let why = "sockets of other programs are declared by you: network.sockets in your own settings";
            findings.left_out(&format!("sandbox.network.{key}"), &shown(value), why);
        }
    }
    if let Some(network) = sandbox.get("network") {
        let known = [
            "allowedDomains",
            "deniedDomains",
            "allowUnixSockets",
            "allowAllUnixSockets",
            "allowLocalBinding",
        ];
        findings.others(network, &known, "sandbox.network");
    }
    if let Some(files) = sandbox.get("filesystem") {
        findings.others(files, &["allowWrite", "denyWrite", "denyRead"], "sandbox.filesystem");
    }
    let known = ["enabled", "autoAllowBashIfSandboxed", "excludedCommands", "network", "filesystem"];
    findings.others(sandbox, &known, "sandbox");
}

/// Denied places: a rule denies them to the tools, and the kernel holds them as guarded.
fn denied(sandbox: &Value, layer: Layer, findings: &mut Findings) {
    for (key, tool, guards) in
        [("denyWrite", "Edit", List::GuardsWrite), ("denyRead", "Read", List::GuardsRead)]
    {
        let (pointer, at) = (format!("/filesystem/{key}"), format!("sandbox.filesystem.{key}"));
        for (at, text) in listed(sandbox, &pointer, &at, findings) {
            let said = place(&text, layer).and_then(|place| {
                let absolute = place.starts_with('/');
                let pattern = if absolute { format!("/{place}") } else { place.clone() };
                let rules = rules(Effect::Deny, &[format!("{tool}({pattern})")])?;
                // The place of a guard does not depend on a working directory.
                let held = absolute || place.starts_with("~/");
                Some((rules, held.then_some(SettingsChange::Include(guards, place))))
            });
            match said {
                Some((rules, guard)) => {
                    findings.taken(&at, &text, rules.into_iter().chain(guard).collect());
                }
                None => findings.left_out(&at, &text, not_a_rule(Effect::Deny)),
            }
        }
    }
}

/// A place of the file system as it is written here. `None` where it is not certain what is meant.
fn place(text: &str, layer: Layer) -> Option<String> {
    let plain = !text.contains(['*', '?', '[', '!']) && !text.split('/').any(|part| part == "..");
    let place = match text.strip_prefix("//") {
        Some(rest) => format!("/{}", rest.trim_matches('/')),
        None if text.starts_with("~/") => text.trim_end_matches('/').to_owned(),
        None if text.starts_with("./") && layer != Layer::User => text.trim_end_matches('/').to_owned(),
        None => return None,
    };
    (plain && place.len() > 2).then_some(place)
}

fn host(at: &str, text: &str, list: List, findings: &mut Findings) {
    if pinfold_host::HostRule::parse(text).is_ok() {
        findings.taken(at, text, vec![SettingsChange::Include(list, text.to_owned())]);
    } else {
        findings.left_out(at, text, "it names no host");
    }
}

fn listed(object: &Value, pointer: &str, at: &str, findings: &mut Findings) -> Vec<(String, String)> {
    let list = object.pointer(pointer).unwrap_or(&Value::Null);
    entries(list, at, findings).into_iter().map(|(at, text)| (at, text.to_owned())).collect()
}

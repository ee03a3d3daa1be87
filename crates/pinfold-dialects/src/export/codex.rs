//! Codex: `config.toml` for its sandbox, and a file of rules of ours. There a rule that allows runs the command outside of the
//! sandbox, so none is written.
//!
//! Follows <https://developers.openai.com/codex/config-reference> and <https://developers.openai.com/codex/rules>.

use pinfold_policy::rule::{Effect, RuleSubject};
use pinfold_policy::settings::SandboxMode;
use pinfold_policy::{Merged, Rule};
use serde_json::{Value, json};

use super::command::PatternForm;
use super::text::{Content, header};
use super::{EnforcedBy, Export, ExportedFile, Rows, format_rule};

pub(super) fn export(ours: &Merged) -> Export {
    let mut rows = Rows::default();
    let mut keys = Vec::new();
    sandbox(ours, &mut keys, &mut rows);
    rows.nothing("commands need a rule or a question", "in its sandbox it runs them without one");
    for rule in ours.rules.iter().filter(|rule| rule.effect == Effect::Allow) {
        let why = match rule.rule.covers() {
            RuleSubject::Command(_) => "there it would run outside of the sandbox; it is asked about",
            _ => FIRST_WORDS,
        };
        rows.nothing(format_rule(rule.effect, &rule.rule), why);
    }
    let mut rules = header("codex");
    for rule in ours.rules.iter().filter(|rule| rule.effect != Effect::Allow) {
        let told = format_rule(rule.effect, &rule.rule);
        match prefix(&rule.rule) {
            Some((words, why)) => {
                let decision = if rule.effect == Effect::Deny { "forbidden" } else { "prompt" };
                let line = format!("prefix_rule(pattern={}, decision=\"{decision}\")\n", json!(words));
                if !rules.contains(&line) {
                    rules.push_str(&line);
                }
                rows.held(told, EnforcedBy::Gate, why);
            }
            None => rows.nothing(told, FIRST_WORDS),
        }
    }
    for host in &ours.network.deny {
        let why = "no host can be reached by commands";
        rows.held(format!("network.deny {}", host.value), EnforcedBy::Kernel, why).needs(MODE, mode(ours));
    }
    for guard in ours.guards.write.iter().chain(&ours.guards.read) {
        rows.nothing(format!("guards {}", guard.value), "it guards places of its own alone");
    }
    let own = ExportedFile { name: "rules/pinfold.rules", content: Content::Own(rules) };
    Export {
        rows: rows.0,
        parts: vec![ExportedFile { name: "config.toml", content: Content::Head(keys) }, own],
    }
}

const MODE: &str = "/sandbox_mode";
const FIRST_WORDS: &str = "its rules are about the first words of commands and nothing else";

fn mode(ours: &Merged) -> &'static str {
    match ours.sandbox.mode.as_ref().map_or(SandboxMode::default(), |mode| mode.value) {
        SandboxMode::ReadOnly => "read-only",
        // Nothing there is between the folder and everything.
        SandboxMode::WorkspaceWrite | SandboxMode::DefaultWrite | SandboxMode::Off => "workspace-write",
    }
}

fn sandbox(ours: &Merged, keys: &mut Vec<(&'static str, String)>, rows: &mut Rows) {
    let (mode, said) =
        (mode(ours), ours.sandbox.mode.as_ref().map_or(SandboxMode::default(), |mode| mode.value));
    keys.push(("sandbox_mode", quoted(mode)));
    let why = if said.as_str() == mode { "" } else { "the nearest that there is, and no wider" };
    rows.held(format!("sandbox.mode = {}", said.as_str()), EnforcedBy::Kernel, why).needs(MODE, mode);
    if mode == "workspace-write" {
        keys.push(("sandbox_workspace_write.network_access", "false".to_owned()));
        let roots: Vec<&str> = ours.sandbox.writable.iter().map(|place| place.value.as_str()).collect();
        let (there, elsewhere): (Vec<&str>, Vec<&str>) =
            roots.into_iter().partition(|root| root.starts_with('/') && root.trim_matches('/').len() > 1);
        if !there.is_empty() {
            keys.push(("sandbox_workspace_write.writable_roots", json!(there).to_string()));
        }
        for root in &there {
            rows.held(format!("sandbox.writable {root}"), EnforcedBy::Kernel, "")
                .needs("/sandbox_workspace_write/writable_roots", Value::from(there.clone()));
        }
        for root in elsewhere {
            rows.nothing(format!("sandbox.writable {root}"), "there places start at the root");
        }
        rows.held("no host but those that are allowed", EnforcedBy::Kernel, "none at all")
            .needs("/sandbox_workspace_write/network_access", false);
    }
    rows.nothing(
        "credentials are hidden from commands",
        "commands read everything there; `pinfold run` hides them",
    );
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// The words that a rule is about, and what is wider there.
fn prefix(rule: &Rule) -> Option<(Vec<String>, &'static str)> {
    let RuleSubject::Command(_) = rule.covers() else { return None };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    match PatternForm::from_rule(rule)? {
        PatternForm::Any(text) => Some((words(&text), "")),
        PatternForm::More(text) => Some((words(&text), "also with nothing behind the words")),
        PatternForm::Exact(text) => Some((words(&text), "also with more behind the words")),
        PatternForm::Glob(_) => None,
    }
}

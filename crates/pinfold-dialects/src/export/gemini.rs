//! Gemini CLI: a file of ours among its policies (`policies/*.toml`). Of all rules that fit the one with the highest priority
//! decides, so a deny stands above a question, and that above an allow.
//!
//! Follows <https://geminicli.com/docs/reference/policy-engine/>. `tools.exclude` and `tools.allowed` of its settings are
//! not used: what they say about single commands is not held by its newer versions.

use std::fmt::Write as _;

use pinfold_policy::rule::{Effect, RuleSubject};
use pinfold_policy::{Merged, Rule};
use serde_json::json;

use super::command::{PatternForm, UnexportedPrograms};
use super::text::{Content, header};
use super::{ASKED, BESIDE, EnforcedBy, Export, ExportedFile, Rows, format_rule};

const SHELL: &str = "run_shell_command";
/// Expression for the beginning of another word: nothing that ends a command or begins a comment.
pub(crate) const MORE: &str = "[A-Za-z0-9_./=@%+,:~-]";

/// Returns the agent's names of a tool of ours.
fn theirs(tool: &str) -> Option<&'static [&'static str]> {
    Some(match tool {
        "Bash" => &[SHELL],
        "Edit" | "Write" | "MultiEdit" => &["write_file", "replace"],
        "Read" => &["read_file", "read_many_files"],
        "LS" => &["list_directory"],
        "Glob" => &["glob"],
        "Grep" => &["grep_search", "search_file_content"],
        "WebFetch" => &["web_fetch"],
        "WebSearch" => &["google_web_search"],
        _ => return None,
    })
}

pub(super) fn export(ours: &Merged) -> Export {
    let mut rows = Rows::default();
    let around = "its sandbox is a container that has to be set up; `pinfold run -- gemini` is the sandbox";
    rows.nothing("the folder, credentials and hosts", around);
    rows.held("commands and edits need a rule or a question", EnforcedBy::Gate, "as it does by itself");
    let mut text = header("gemini");
    let unsaid = UnexportedPrograms::collect(ours, |_| true);
    for rule in &ours.rules {
        let told = format_rule(rule.effect, &rule.rule);
        match translate_rule(rule.effect, &rule.rule, &unsaid) {
            Ok(said) => {
                text.push_str(&said);
                rows.held(told, EnforcedBy::Gate, "");
            }
            Err(why) => rows.nothing(told, why),
        }
    }
    for guard in ours.guards.write.iter().chain(&ours.guards.read) {
        rows.nothing(format!("guards {}", guard.value), COMPARES);
    }
    for host in ours.network.allow.iter().chain(&ours.network.deny) {
        rows.nothing(format!("network {}", host.value), around);
    }
    Export {
        rows: rows.0,
        parts: vec![ExportedFile { name: "policies/pinfold.toml", content: Content::Own(text) }],
    }
}

const COMPARES: &str = "it compares what the model writes, not where that leads";

/// A rule there, whole.
fn translate_rule(effect: Effect, rule: &Rule, unsaid: &UnexportedPrograms) -> Result<String, &'static str> {
    match rule.covers() {
        RuleSubject::Command(_) => command(effect, rule, unsaid),
        RuleSubject::Tool(tool) => match (effect, theirs(tool)) {
            (Effect::Allow, _) if tool != "WebSearch" => Err(ASKED),
            (_, Some(names)) => Ok(entry(effect, &format!("toolName = {}", json!(names)))),
            (_, None) => Err("it has no such tool"),
        },
        RuleSubject::Mcp(_) => server(effect, rule.text()),
        RuleSubject::Path(..) | RuleSubject::Host(_) => Err(COMPARES),
        RuleSubject::Skill(_) | RuleSubject::Agent(_) => Err("its rules do not know them"),
    }
}

fn command(effect: Effect, rule: &Rule, unsaid: &UnexportedPrograms) -> Result<String, &'static str> {
    let form = PatternForm::from_rule(rule).ok_or("its words mean something else there")?;
    if effect == Effect::Allow && unsaid.concerns(&form) {
        return Err(BESIDE);
    }
    let shell = |effect: Effect, what: &str| entry(effect, &format!("toolName = \"{SHELL}\"\n{what}"));
    // What is matched is JSON, so a quote ends the command. Their prefix of a command goes on behind a quote (`git"x"`).
    let exactly = |words: &str| format!("commandRegex = {}", json!(format!("{}\"", escaped(words))));
    let with_more = |words: &str| format!("commandRegex = {}", json!(format!("{} {MORE}", escaped(words))));
    let prefix = |words: &str| format!("commandPrefix = {}", json!(words));
    Ok(match (&form, effect) {
        (PatternForm::Glob(_), Effect::Allow) => return Err(ASKED),
        (PatternForm::Exact(words), Effect::Allow) => shell(effect, &exactly(words)),
        (PatternForm::More(words), Effect::Allow) => shell(effect, &with_more(words)),
        (PatternForm::Any(words), Effect::Allow) => {
            shell(effect, &exactly(words)) + &shell(effect, &with_more(words))
        }
        (
            PatternForm::Any(words) | PatternForm::Exact(words) | PatternForm::More(words),
            Effect::Ask | Effect::Deny,
        ) => shell(effect, &prefix(words)),
        (PatternForm::Glob(text), Effect::Ask | Effect::Deny) => shell(
            effect,
            &format!("commandRegex = {}", json!(escaped(text).replace("\\*", ".*").replace("\\?", "."))),
        ),
    })
}

fn server(effect: Effect, text: &str) -> Result<String, &'static str> {
    let name = text.strip_prefix("MCP(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).trim();
    if name == "MCP" && effect != Effect::Allow {
        return Ok(entry(effect, "mcpName = \"*\""));
    }
    let name = name.strip_prefix("mcp__").ok_or("it names no server")?;
    let (server, tool) = name.split_once("__").unwrap_or((name, "*"));
    if server.is_empty() || server.contains(['*', '?']) || (tool != "*" && tool.contains(['*', '?'])) {
        return Err("there a name is whole, or every one");
    }
    let tool = if tool == "*" { String::new() } else { format!("\ntoolName = {}", json!(tool)) };
    Ok(entry(effect, &format!("mcpName = {}{tool}", json!(server))))
}

fn entry(effect: Effect, what: &str) -> String {
    let (decision, priority) = match effect {
        Effect::Allow => ("allow", 100),
        Effect::Ask => ("ask_user", 998),
        Effect::Deny => ("deny", 999),
    };
    let mut text = format!("\n[[rule]]\n{what}\n");
    let _ = writeln!(text, "decision = \"{decision}\"\npriority = {priority}");
    text
}

/// Words as they are, for its regular expressions.
fn escaped(words: &str) -> String {
    let mut text = String::new();
    for letter in words.chars() {
        if !letter.is_ascii_alphanumeric() && letter != ' ' {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

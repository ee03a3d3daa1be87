//! Policies of Gemini CLI (`policies/*.toml`): of all rules that fit the one with the highest priority decides there, while here a
//! deny always wins, then a question. So an allow below one that takes it back, and cannot be said here, is left out.
//!
//! Follows <https://geminicli.com/docs/reference/policy-engine/>.

use pinfold_policy::rule::Effect;
use pinfold_policy::settings::SettingsChange;
use serde_json::Value;

use super::super::{Findings, NotRead, Outcome, patterns, rules};
use super::{TOOLS, not_held};
use crate::export::gemini::MORE;

/// Keys of a rule that are understood.
const KNOWN: [&str; 7] =
    ["toolName", "mcpName", "commandPrefix", "commandRegex", "decision", "priority", "denyMessage"];

pub(super) fn findings(text: &str, findings: &mut Findings) -> Result<(), NotRead> {
    let all: Value =
        toml::from_str(text).map_err(|e| NotRead(format!("it cannot be read: {}", e.message())))?;
    let mut all_said = true;
    for (number, entry) in all.get("rule").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let at = format!("rule[{number}]");
        let shown = entry.to_string().chars().take(120).collect::<String>();
        let effect = match entry.get("decision").and_then(Value::as_str) {
            Some("allow") => Effect::Allow,
            Some("ask_user") => Effect::Ask,
            // Whatever it is, it is no allow.
            _ => Effect::Deny,
        };
        if let Some(changes) = translate_entry(entry, effect).and_then(|texts| rules(effect, &texts)) {
            findings.taken(&at, &shown, changes);
        } else {
            all_said &= effect == Effect::Allow;
            findings.left_out(&at, &shown, not_held(effect));
        }
    }
    if !all_said {
        take_back(findings);
    }
    for key in all.as_object().into_iter().flatten().map(|(key, _)| key).filter(|key| *key != "rule") {
        findings.left_out(key, "…", "NOT HELD HERE, if it forbids something: only rules are understood");
    }
    Ok(())
}

/// A rule that is not understood could stand above any allow.
fn take_back(findings: &mut Findings) {
    let allows = |change: &SettingsChange| matches!(change, SettingsChange::Add(Effect::Allow, _));
    for finding in findings.0.iter_mut().filter(|finding| finding.changes.iter().any(allows)) {
        finding.outcome = Outcome::LeftOut;
        finding.why = "a rule that is not understood could take it back".into();
        finding.changes.clear();
    }
}

fn translate_entry(entry: &Value, effect: Effect) -> Option<Vec<String>> {
    let known = entry.as_object()?.keys().all(|key| KNOWN.contains(&key.as_str()));
    if !known {
        return None;
    }
    let tools = texts(entry.get("toolName"))?;
    if let Some(server) = entry.get("mcpName") {
        let server = server.as_str()?;
        return match (server, tools.as_slice()) {
            ("*", []) => Some(vec!["MCP".to_owned()]),
            (server, []) => Some(vec![format!("mcp__{server}")]),
            (server, tools) => Some(tools.iter().map(|tool| format!("mcp__{server}__{tool}")).collect()),
        };
    }
    let commands = commands(entry, effect)?;
    if !commands.is_empty() {
        return (tools == ["run_shell_command"]).then_some(commands);
    }
    let ours =
        |tool: &String| TOOLS.iter().find(|(theirs, _)| theirs == tool).map(|(_, ours)| (*ours).to_owned());
    let mut named: Vec<String> = tools.iter().map(ours).collect::<Option<_>>()?;
    named.dedup();
    (!named.is_empty()).then_some(named)
}

/// Rules about its commands; none where it says nothing about them.
fn commands(entry: &Value, effect: Effect) -> Option<Vec<String>> {
    if let Some(regex) = entry.get("commandRegex") {
        let regex = regex.as_str()?;
        return Some(vec![match regex.strip_suffix(MORE).and_then(|words| words.strip_suffix(' ')) {
            Some(words) => format!("Bash({} *)", plain(words)?),
            None => format!("Bash({})", plain(regex.strip_suffix('"')?)?),
        }]);
    }
    let said = texts(entry.get("commandPrefix"))?;
    let rule = |prefix: &String| {
        let prefix: Vec<&str> = prefix.split(' ').collect();
        let begins = patterns::begins_with(&prefix)?;
        // There a quote ends a word, too: what is denied is denied with whatever follows.
        Some(if effect == Effect::Allow { vec![begins] } else { vec![begins.replace(":*", "*")] })
    };
    Some(said.iter().map(rule).collect::<Option<Vec<_>>>()?.concat())
}

/// The words that an expression of plain letters stands for.
fn plain(regex: &str) -> Option<String> {
    let mut command = String::new();
    let mut letters = regex.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => command.push(letters.next().filter(|letter| "-_./=@%+,".contains(*letter))?),
            letter if letter.is_ascii_alphanumeric() || letter == ' ' => command.push(letter),
            _ => return None,
        }
    }
    (!command.is_empty()).then_some(command)
}

/// One text or several; none where there is none, nothing where it is something else.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(all)) => all.iter().map(|one| Some(one.as_str()?.to_owned())).collect(),
        Some(_) => None,
    }
}

//! opencode: `opencode.json`, `opencode.jsonc`.
//!
//! There the last pattern that fits decides; here a deny always wins, then a question. So an allow that a later entry takes
//! back is left out, and one that stands after a broader deny stays denied.
//!
//! Follows <https://opencode.ai/docs/permissions/>.

use pinfold_policy::rule::Effect;
use pinfold_policy::settings::SettingsChange;
use serde_json::Value;

use super::{File, Finding, Findings, NEVER, NotRead, Outcome, json, rules, shown};

/// Our tools by the name of a permission.
const ABOUT: [(&str, &str); 9] = [
    ("bash", "Bash"),
    ("edit", "Edit"),
    ("read", "Read"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("list", "LS"),
    ("webfetch", "WebFetch"),
    ("websearch", "WebSearch"),
    ("task", "Agent"),
];

/// The tools that could be switched off one by one.
const SWITCHED: [(&str, &str); 10] = [
    ("bash", "Bash"),
    ("edit", "Edit"),
    ("write", "Write"),
    ("patch", "ApplyPatch"),
    ("read", "Read"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("list", "LS"),
    ("webfetch", "WebFetch"),
    ("task", "Agent"),
];

pub(super) fn findings(file: File<'_>) -> Result<Vec<Finding>, NotRead> {
    let all = json(file.text)?;
    let mut findings = Findings::default();
    match all.get("permission") {
        None => {}
        Some(Value::Object(permissions)) => {
            for (name, value) in permissions {
                if name == "*" && effect(value) != Some(Effect::Allow) {
                    take_back(&mut findings);
                }
                one(name, value, &mut findings);
            }
        }
        Some(value) => everything("permission", value, &mut findings),
    }
    for (name, value) in all.get("tools").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("tools.{name}");
        let ours = SWITCHED.iter().find(|(theirs, _)| theirs == name).map(|(_, ours)| *ours);
        match (value, ours) {
            (Value::Bool(false), Some(ours)) => {
                add(&at, "false", Effect::Deny, &[ours.to_owned()], None, &mut findings);
            }
            (Value::Bool(false), None) => findings.left_out(&at, "false", NOT_HELD),
            _ => findings.left_out(&at, &shown(value), "that a tool is there allows nothing"),
        }
    }
    for key in ["agent", "mode"] {
        if all.get(key).is_some() {
            findings.left_out(
                key,
                "…",
                "what holds for single agents is said in their own files (AGENT.md) here",
            );
        }
    }
    findings.others(&all, &["$schema", "permission", "tools", "agent", "mode"], "");
    Ok(findings.0)
}

/// Takes back what was allowed before a rule about everything asks or denies.
fn take_back(findings: &mut Findings) {
    let allows = |change: &SettingsChange| matches!(change, SettingsChange::Add(Effect::Allow, _));
    for finding in findings.0.iter_mut().filter(|finding| finding.changes.iter().any(allows)) {
        finding.outcome = Outcome::LeftOut;
        finding.why = "the entry about everything that follows takes it back".into();
        finding.changes.clear();
    }
}

const NOT_HELD: &str = "NOT HELD HERE: no rule says this; look for another way to deny it";

fn one(name: &str, value: &Value, findings: &mut Findings) {
    let at = format!("permission.{name}");
    if name == "*" {
        return everything(&at, value, findings);
    }
    let Some((_, ours)) = ABOUT.iter().find(|(theirs, _)| *theirs == name) else {
        let why = match name {
            "external_directory" => "a place outside is always a question here, or a rule that names it",
            _ => "nothing here corresponds to it",
        };
        return match effect(value) {
            Some(Effect::Deny) => findings.left_out(&at, "deny", NOT_HELD),
            _ => findings.left_out(&at, &shown(value), why),
        };
    };
    match (effect(value), value) {
        (Some(effect), _) => whole(&at, ours, effect, findings),
        (None, Value::Object(patterns)) => {
            let all: Vec<(&str, Option<Effect>)> =
                patterns.iter().map(|(pattern, value)| (pattern.as_str(), self::effect(value))).collect();
            for (number, (pattern, effect)) in all.iter().enumerate() {
                let later = all.get(number + 1..).unwrap_or_default();
                let at = format!("{at}.{pattern}");
                match effect {
                    None => findings.left_out(&at, pattern, "it is none of allow, ask, deny"),
                    Some(effect) => entry(&at, ours, pattern, *effect, (number, later), findings),
                }
            }
        }
        (None, other) => findings.left_out(&at, &shown(other), "it is none of allow, ask, deny"),
    }
}

fn effect(value: &Value) -> Option<Effect> {
    match value.as_str()? {
        "allow" => Some(Effect::Allow),
        "ask" => Some(Effect::Ask),
        "deny" => Some(Effect::Deny),
        _ => None,
    }
}

fn everything(at: &str, value: &Value, findings: &mut Findings) {
    match effect(value) {
        Some(Effect::Allow) => findings.left_out(at, "allow", NEVER),
        Some(Effect::Ask) => findings.left_out(at, "ask", "what no rule allows is asked about here too"),
        Some(Effect::Deny) => {
            let all: Vec<String> = ABOUT.iter().map(|(_, ours)| (*ours).to_owned()).collect();
            let why = "a deny wins over everything here, also over what is allowed beside it";
            add(at, "deny", Effect::Deny, &all, Some(why), findings);
        }
        None => findings.left_out(at, &shown(value), "it is none of allow, ask, deny"),
    }
}

fn whole(at: &str, ours: &str, effect: Effect, findings: &mut Findings) {
    let rules = match (ours, effect) {
        // One permission is about all tools that change files.
        ("Edit", Effect::Allow) => ["Edit", "Write", "MultiEdit", "ApplyPatch"].map(str::to_owned).to_vec(),
        _ => vec![ours.to_owned()],
    };
    add(at, effect.as_str(), effect, &rules, None, findings);
}

/// One pattern of several.
fn entry(
    at: &str,
    ours: &str,
    pattern: &str,
    effect: Effect,
    (number, later): (usize, &[(&str, Option<Effect>)]),
    findings: &mut Findings,
) {
    if effect == Effect::Allow && later.iter().any(|later| takes_back(ours, *later)) {
        return findings.left_out(at, "allow", "an entry that follows takes it back, and is not held here");
    }
    if pattern == "*" {
        return match (effect, number) {
            // A call without an allow is a question anyway; as a rule it would win over later entries.
            (Effect::Ask, 0) => findings.left_out(at, "ask", "what no rule allows is asked about here too"),
            (Effect::Deny, _) if !later.is_empty() => {
                let why = "a deny wins over everything here, also over the entries that follow";
                add(at, "deny", effect, &[ours.to_owned()], Some(why), findings);
            }
            _ => whole(at, ours, effect, findings),
        };
    }
    let said = translate_pattern(ours, pattern, effect);
    match (said, effect) {
        (Some((rules, why)), _) => add(at, effect.as_str(), effect, &rules, why, findings),
        (None, Effect::Allow) => findings.left_out(at, "allow", "no rule here says this; it is asked about"),
        (None, Effect::Ask | Effect::Deny) => findings.left_out(at, effect.as_str(), NOT_HELD),
    }
}

/// Returns `true` if a later entry asks about or denies what an earlier one allows, and no rule here can say it: a rule would win.
fn takes_back(ours: &str, (pattern, effect): (&str, Option<Effect>)) -> bool {
    match effect {
        Some(Effect::Allow) => false,
        Some(effect) if pattern != "*" => {
            translate_pattern(ours, pattern, effect).and_then(|(texts, _)| rules(effect, &texts)).is_none()
        }
        Some(_) => false,
        None => true,
    }
}

fn translate_pattern(ours: &str, pattern: &str, effect: Effect) -> Option<TranslatedPattern> {
    match ours {
        "Bash" => command(pattern, effect),
        "Edit" | "Read" => path(ours, pattern, effect),
        "Agent" => Some((vec![format!("Agent({pattern})")], None)),
        _ => None,
    }
}

type TranslatedPattern = (Vec<String>, Option<&'static str>);

/// `git *` is about `git` alone, too.
fn command(pattern: &str, effect: Effect) -> Option<TranslatedPattern> {
    if pattern.contains(['?', '(', ')', '\n', ':']) {
        return None;
    }
    match (pattern.strip_suffix(" *"), effect) {
        (Some(program), _) if !program.contains('*') => Some((vec![format!("Bash({program}:*)")], None)),
        (Some(_), Effect::Allow) | (None, _) => Some((vec![format!("Bash({pattern})")], None)),
        (Some(program), _) => Some((vec![format!("Bash({pattern})"), format!("Bash({program})")], None)),
    }
}

/// There a `*` passes over slashes.
fn path(tool: &str, pattern: &str, effect: Effect) -> Option<TranslatedPattern> {
    if pattern.contains(['(', ')', '[', '{', '\\', '\n', '!']) || pattern.starts_with('/') {
        return None;
    }
    let inner_star = pattern.split('/').rev().skip(1).any(|part| part.contains('*'));
    let has_star = pattern.contains('*');
    let home = pattern.starts_with("~/");
    match effect {
        Effect::Allow if has_star && pattern.contains('/') => {
            let start = if home || pattern.starts_with("./") { "" } else { "./" };
            Some((vec![format!("{tool}({start}{pattern})")], Some("here a `*` stays within a name")))
        }
        Effect::Allow => Some((vec![format!("{tool}({pattern})")], None)),
        // `src/*`, `*.env`, `src/*.key`: what lies deeper is meant too.
        Effect::Ask | Effect::Deny if !inner_star => {
            let start = if home || pattern.starts_with("./") || !pattern.contains('/') { "" } else { "./" };
            let mut rules = vec![format!("{tool}({start}{pattern})")];
            if let (true, Some((folder, last))) = (has_star, pattern.rsplit_once('/')) {
                rules.push(format!("{tool}({start}{folder}/**/{last})"));
            }
            if has_star {
                rules.extend(rules.clone().into_iter().map(|rule| rule.replace(')', "/**)")));
            }
            Some((rules, None))
        }
        Effect::Ask | Effect::Deny => None,
    }
}

fn add(
    at: &str,
    said: &str,
    effect: Effect,
    texts: &[String],
    narrowed: Option<&'static str>,
    findings: &mut Findings,
) {
    match (rules(effect, texts), narrowed) {
        (Some(changes), None) => findings.taken(at, said, changes),
        (Some(changes), Some(why)) => findings.narrowed(at, said, why, changes),
        (None, _) if effect == Effect::Allow => {
            findings.left_out(at, said, "no rule here says this; it is asked about");
        }
        (None, _) => findings.left_out(at, said, NOT_HELD),
    }
}

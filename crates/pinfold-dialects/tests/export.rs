//! Our settings, told for other agents: what becomes of each line, and the law that nothing gets wider by it.
//!
//! `ours/AGENT.txt` is what `ours/settings.json` becomes; `PINFOLD_BLESS=1` writes it anew.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pinfold_dialects::export::{EXPORTED, EnforcedBy, export, switched_off};
use pinfold_dialects::import::{File, import};
use pinfold_policy::merge::{Layered, merge};
use pinfold_policy::rule::{Effect, RuleSubject};
use pinfold_policy::settings::SettingsChange;
use pinfold_policy::{Layer, Merged, Rule, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

fn merged(text: &str) -> Merged {
    let settings = Settings::parse(text.as_bytes(), Layer::User, &"f".into()).expect("settings");
    merge(&[Layered { settings, trusted: true }])
}

/// The files of a fresh home: name and text.
fn written(agent: &str, ours: &Merged, layer: Layer) -> Vec<(&'static str, String)> {
    let parts = export(agent, ours, layer).expect("it is known").parts;
    parts.iter().filter_map(|part| Some((part.name, part.written(None).expect("a text")?))).collect()
}

fn told(agent: &str, ours: &Merged, layer: Layer) -> String {
    let mut export = export(agent, ours, layer).expect("it is known");
    let mut text = String::new();
    let mut files = String::new();
    for part in export.parts.clone() {
        let Some(after) = part.written(None).expect("a text") else { continue };
        if let Some(now) = part.settings(&after).expect("it is read") {
            export.settle(&now);
        }
        let _ = write!(files, "=== {}\n{after}", part.name);
    }
    for row in &export.rows {
        let _ = writeln!(
            text,
            "{:<12} {}{}",
            row.held.as_str(),
            row.ours,
            match &*row.why {
                "" => String::new(),
                why => format!("  ({why})"),
            }
        );
    }
    text + &files
}

#[test]
fn each_line_becomes_what_is_written_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ours");
    let ours = merged(&fs::read_to_string(folder.join("settings.json")).expect("the settings"));
    let mut wrong = Vec::new();
    for agent in EXPORTED {
        let expected = folder.join(format!("{agent}.txt"));
        let found = told(agent, &ours, Layer::User);
        if std::env::var_os("PINFOLD_BLESS").is_some() {
            fs::write(&expected, &found).expect("a place to write");
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{agent}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_that_is_switched_off_is_not_handed_on() {
    let ours = merged(
        r#"{"permissions": {"defaultMode": "bypassPermissions", "allow": ["Bash", "MCP", "Write", "WebFetch(domain:*)"]},
            "sandbox": {"mode": "off", "network": "host"}, "network": {"allow": ["*"]}}"#,
    );
    for agent in EXPORTED {
        let text: String = written(agent, &ours, Layer::User).into_iter().map(|(_, text)| text).collect();
        for word in ["bypass", "danger", "yolo", "never", "\"allow\"", "true"] {
            assert!(!text.contains(word), "{agent}: {word} in {text}");
        }
    }
}

#[test]
fn what_stands_there_stays_and_a_second_time_changes_nothing() {
    let ours = merged(r#"{"permissions": {"deny": ["Bash(rm:*)", "mcp__x__y"], "allow": ["Bash(ls)"]}}"#);
    for (agent, name, before) in [
        (
            "claude",
            "settings.json",
            "{\n  // mine\n  \"model\": \"x\", // always\n  \"permissions\": {\"deny\": [\"Read\"]}\n}\n",
        ),
        ("codex", "config.toml", "# mine\nmodel = \"x\"\n[mcp_servers.x]\ncommand = \"y\"\n"),
        (
            "opencode",
            "opencode.json",
            "{\n  // mine\n  \"model\": \"x\",\n  \"permission\": {\"bash\": {\"ls *\": \"allow\"}, \"edit\": \"deny\"}\n}\n",
        ),
    ] {
        let export = export(agent, &ours, Layer::User).expect("it is known");
        let part = export.parts.iter().find(|part| part.name == name).expect("the part");
        let after = part.written(Some(before)).expect("a text").expect("a text");
        for line in before.lines().filter(|line| line.contains("mine") || line.contains("model")) {
            assert!(after.contains(line), "{line} in {after}");
        }
        assert_eq!(part.written(Some(&after)).expect("a text").as_deref(), Some(after.as_str()), "{agent}");
    }
    for (agent, name) in [("codex", "rules/pinfold.rules"), ("gemini", "policies/pinfold.toml")] {
        let export = export(agent, &ours, Layer::User).expect("it is known");
        let part = export.parts.iter().find(|part| part.name == name).expect("the part");
        assert!(part.written(Some("somebody else's\n")).is_err(), "{agent}");
        let before = part.written(None).expect("a text").expect("a text") + "older = 1\n";
        assert_eq!(part.written(Some(&before)).expect("a text"), part.written(None).expect("a text"));
    }
}

/// What somebody wrote there is only ever narrowed, and what does not hold because of it is said.
#[test]
fn what_stands_otherwise_is_told() {
    let ours = merged(r#"{"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"]}}"#);
    let rows = |agent: &str, name: &str, before: &str| {
        let mut export = export(agent, &ours, Layer::User).expect("it is known");
        let part = export.parts.iter().find(|part| part.name == name).expect("the part").clone();
        let after = part.written(Some(before)).expect("a text").expect("a text");
        let now = part.settings(&after).expect("it is read").expect("settings");
        export.settle(&now);
        (export.rows, now)
    };
    let (held, now) = rows("claude", "settings.json", r#"{"sandbox": {"enabled": false}}"#);
    assert_eq!(now["sandbox"]["enabled"], false);
    assert!(
        held.iter().all(|row| row.held != EnforcedBy::Kernel && row.held != EnforcedBy::KernelAndGate),
        "{held:?}"
    );
    let (held, now) = rows("codex", "config.toml", "sandbox_mode = \"danger-full-access\"\n");
    assert_eq!(now["sandbox_mode"], "danger-full-access");
    assert!(
        held.iter()
            .all(|row| row.ours != "sandbox.mode = workspace-write" || row.held == EnforcedBy::Nothing)
    );
    let (held, now) =
        rows("opencode", "opencode.json", r#"{"permission": {"bash": "deny", "edit": {"*": "allow"}}}"#);
    assert_eq!(
        now["permission"]["bash"],
        json!({"*": "deny", "rm *": "deny"}),
        "nothing is allowed beside a deny"
    );
    assert_eq!(now["permission"]["edit"], json!({"*": "allow"}));
    let row = |ours: &str| held.iter().find(|row| row.ours == ours).expect("the row").held;
    assert_eq!((row("allow Bash(ls:*)"), row("deny Bash(rm:*)")), (EnforcedBy::Nothing, EnforcedBy::Gate));
    let (_, now) =
        rows("opencode", "opencode.json", r#"{"permission": {"bash": {"rm *": "ask", "rm -i *": "allow"}}}"#);
    let order: Vec<&String> = now["permission"]["bash"].as_object().expect("an object").keys().collect();
    assert_eq!(order, ["rm -i *", "rm *"], "what denies stands behind what allows");
    for (agent, name, text) in [
        ("claude", "settings.json", r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#),
        ("codex", "config.toml", "sandbox_mode = \"danger-full-access\"\n"),
        ("opencode", "opencode.json", r#"{"permission": "allow"}"#),
    ] {
        assert_eq!(
            switched_off(agent, File { layer: Layer::User, name, text }).expect("it is read").len(),
            1
        );
    }
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let ours = merged("{}");
    for (agent, before) in [
        ("claude", "{"),
        ("claude", "[]"),
        ("claude", r#"{"sandbox": []}"#),
        ("codex", "a = "),
        ("opencode", r#"{"permission": "allow"}"#),
    ] {
        let export = export(agent, &ours, Layer::User).expect("it is known");
        assert!(export.parts[0].written(Some(before)).is_err(), "{agent} {before}");
    }
    assert!(export("nobody", &ours, Layer::User).is_err() && export("gemini", &ours, Layer::Local).is_err());
}

/// What is allowed there about commands, each file read as the agent does it: an allow in the widest way that is possible, what
/// asks or denies in the narrowest.
fn allowed_there(agent: &str, files: &[(&'static str, String)], command: &str) -> bool {
    let text = |name: &str| files.iter().find(|(there, _)| *there == name).map(|(_, text)| text.as_str());
    match agent {
        "claude" => claude(&serde_json::from_str(text("settings.json").unwrap()).unwrap(), command),
        "gemini" => {
            text("policies/pinfold.toml").is_some_and(|text| gemini(&toml::from_str(text).unwrap(), command))
        }
        "opencode" => opencode(&serde_json::from_str(text("opencode.json").unwrap()).unwrap(), command),
        _ => text("rules/pinfold.rules").is_some_and(|text| text.contains("\"allow\"")),
    }
}

fn claude(settings: &Value, command: &str) -> bool {
    let list = |key: &str| {
        let all = settings["permissions"][key].as_array().cloned().unwrap_or_default();
        all.into_iter().map(|rule| rule.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let fits = |rule: &String, wide: bool| match rule
        .strip_prefix("Bash(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        None => rule == "Bash",
        Some(pattern) => {
            let bare = pattern.strip_suffix(" *").filter(|_| wide);
            glob(pattern, command) || bare.is_some_and(|bare| glob(bare, command))
        }
    };
    let any = |key: &str, wide: bool| list(key).iter().any(|rule| fits(rule, wide));
    any("allow", true) && !any("ask", false) && !any("deny", false)
}

fn gemini(policies: &Value, command: &str) -> bool {
    let fits = |rule: &Value, allows: bool| {
        if rule
            .get("toolName")
            .is_none_or(|tool| *tool != "run_shell_command" && *tool != json!(["run_shell_command"]))
        {
            return false;
        }
        match (rule.get("commandPrefix"), rule.get("commandRegex")) {
            (Some(prefix), _) => {
                let rest = command.strip_prefix(prefix.as_str().unwrap());
                rest.is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(' ') || allows && rest.starts_with('"')
                })
            }
            (_, Some(regex)) => {
                let regex = regex.as_str().unwrap().replace(".*", "*").replace('\\', "");
                let more = regex.strip_suffix("[A-Za-z0-9_./=@%+,:~-]");
                match (regex.strip_suffix('"'), more) {
                    (Some(exact), _) => exact == command,
                    (_, Some(words)) => command.strip_prefix(words).is_some_and(|rest| !rest.is_empty()),
                    (None, None) => glob(&format!("{}*", regex.replace('.', "?")), command),
                }
            }
            (None, None) => true,
        }
    };
    let mut rules: Vec<&Value> = policies["rule"].as_array().into_iter().flatten().collect();
    rules.sort_by_key(|rule| -rule["priority"].as_i64().unwrap());
    let first = rules.into_iter().find(|rule| fits(rule, rule["decision"] == "allow"));
    first.is_some_and(|rule| rule["decision"] == "allow")
}

fn opencode(config: &Value, command: &str) -> bool {
    let entries = config["permission"]["bash"].as_object().unwrap();
    let fits = |pattern: &str| {
        glob(pattern, command) || pattern.strip_suffix(" *").is_some_and(|bare| glob(bare, command))
    };
    entries.iter().rfind(|(pattern, _)| fits(pattern)).is_none_or(|(_, word)| word == "allow")
}

/// `*` is anything at all, `?` one letter.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| glob(rest, &text[at..]))
        }
        Some(letter) => match text.chars().next() {
            Some(there) if letter == '?' || letter == there => {
                glob(&pattern[letter.len_utf8()..], &text[there.len_utf8()..])
            }
            _ => false,
        },
    }
}

/// What rules of ours say about a plain command.
fn allowed_here<'a>(rules: impl Iterator<Item = (Effect, &'a Rule)>, command: &str) -> bool {
    let mut allowed = false;
    for (effect, rule) in rules {
        let fits = match rule.covers() {
            RuleSubject::Command(pattern) => pattern.matches_text(command),
            RuleSubject::Tool(tool) => tool == "Bash",
            _ => false,
        };
        match effect {
            _ if !fits => {}
            Effect::Allow => allowed = true,
            Effect::Ask | Effect::Deny => return false,
        }
    }
    allowed
}

fn rule() -> impl Strategy<Value = String> {
    let words =
        prop::collection::vec(prop::sample::select(vec!["git", "gi", "npm", "push", "run", "-f"]), 1..4);
    let end = prop::sample::select(vec![
        "", "", " *", " *", ":*", ":*", "*", " * x", " ?", "?", " * | sh", " \"a b\"",
    ]);
    let start = prop::sample::select(vec!["", "", "", "", "* ", "g*"]);
    let bare = prop::sample::select(vec![false, false, false, false, false, false, false, true]);
    (words, start, end, bare).prop_map(|(words, start, end, bare)| {
        if bare { "Bash".to_owned() } else { format!("Bash({start}{}{end})", words.join(" ")) }
    })
}

fn command() -> impl Strategy<Value = String> {
    let word =
        prop::sample::select(vec!["git", "gi", "gitk", "npm", "push", "run", "runx", "-f", "x", "git\"x\""]);
    prop::collection::vec(word, 1..5).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The law: what an agent lets through by what was exported, a rule here lets through.
    #[test]
    fn nothing_gets_wider_by_it(
        allow in prop::collection::vec(rule(), 0..5),
        ask in prop::collection::vec(rule(), 0..3),
        deny in prop::collection::vec(rule(), 0..3),
        commands in prop::collection::vec(command(), 12),
    ) {
        let valid = |rules: Vec<String>| rules.into_iter().filter(|rule| Rule::parse(rule).is_ok()).collect::<Vec<_>>();
        let text = json!({"permissions": {"allow": valid(allow), "ask": valid(ask), "deny": valid(deny)}}).to_string();
        let ours = merged(&text);
        for agent in EXPORTED {
            let files = written(agent, &ours, Layer::User);
            let back: Vec<SettingsChange> = files.iter().flat_map(|(name, text)| {
                let found = import(agent, File { layer: Layer::User, name, text }).expect("what was written is understood");
                found.into_iter().flat_map(|finding| finding.changes)
            }).collect();
            let back = || back.iter().filter_map(|change| match change {
                SettingsChange::Add(effect, rule) => Some((*effect, rule)),
                _ => None,
            });
            for command in &commands {
                let here = allowed_here(ours.rules.iter().map(|rule| (rule.effect, &rule.rule)), command);
                prop_assert!(here || !allowed_there(agent, &files, command), "{agent} {command}: {text}\n{files:?}");
                // There and back again.
                prop_assert!(here || !allowed_here(back(), command), "{agent} {command} back: {text}\n{files:?}");
            }
        }
    }

    /// Whatever stands in a setting: no panic, and a text that can be read.
    #[test]
    fn any_setting_is_told(tool in "(Bash|Read|Edit|WebFetch|Agent|Skill|MCP|mcp__a)", pattern in "\\PC{0,16}", place in "\\PC{1,12}") {
        let rule = format!("{tool}({pattern})");
        let rules = if Rule::parse(&rule).is_ok() { vec![rule] } else { Vec::new() };
        let text = json!({"permissions": {"allow": rules, "deny": rules, "additionalDirectories": [place]}, "sandbox": {"writable": [place]}}).to_string();
        let Ok(settings) = Settings::parse(text.as_bytes(), Layer::User, &"f".into()) else { return Ok(()) };
        let ours = merge(&[Layered { settings, trusted: true }]);
        for agent in EXPORTED {
            for part in export(agent, &ours, Layer::User).expect("it is known").parts {
                let after = part.written(None).expect("a text");
                if let Some(after) = after {
                    prop_assert_eq!(part.written(Some(&after)).expect("a text"), Some(after.clone()));
                    let file = File { layer: Layer::User, name: part.name, text: &after };
                    let read = import(agent, file).is_ok();
                    prop_assert!(read || !part.is_ours(), "{}", after);
                }
            }
        }
    }
}

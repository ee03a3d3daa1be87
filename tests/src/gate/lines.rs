//! A case as a line of `pinfold check`, with the settings behind it, and whether the answer is the expected one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pinfold::Ambient;
use pinfold::check::{Answer, Desk};
use pinfold::policy::merge::Layered;
use pinfold::policy::settings::Flags;
use pinfold::policy::{Layer, Settings};
use serde_json::{Map, Value, json};

use super::case::Case;
use super::ran::Ran;
use super::world;

/// What parts a condition needs that do not exist yet.
const MISSING: &[(&str, &str)] = &[
    ("hooks", "needs hooks"),
    ("hook_scope", "needs hooks"),
    ("headless_permission_request", "needs hooks"),
    ("second_call", "needs hooks"),
    ("dialog", "needs the dialog"),
    ("history", "needs the dialog"),
    ("new_session", "needs the dialog"),
    ("session_id", "needs the dialog"),
    ("denials", "needs the agent loop"),
    ("judge", "needs the judge"),
    ("limits", "needs the agent loop"),
    ("depth", "needs the agent loop"),
];

/// Why a case cannot run yet.
pub fn missing(case: &Case) -> Option<&'static str> {
    let own = |name: &str| MISSING.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    let by_setup = case.setup.keys().find_map(|name| own(name));
    let by_area = || match case.area.as_str() {
        "hooks" => Some("needs hooks"),
        "dialog" => Some("needs the dialog"),
        _ => None,
    };
    let in_settings = || {
        let scopes = case.setup.get("scopes")?.as_object()?;
        scopes.values().any(|scope| scope.get("hooks").is_some()).then_some("needs hooks")
    };
    by_setup.or_else(by_area).or_else(in_settings)
}

/// Runs a case through the line interface.
pub fn run(case: &Case) -> Ran {
    let asked = match asked(case) {
        Ok(asked) => asked,
        Err(shape) => return Ran::Failed(format!("        unknown shape: {shape}")),
    };
    let Asked { line, layers, variables } = asked;
    let layers = match layers {
        Ok(layers) => layers,
        // Settings that cannot be read stop the start: nothing happens.
        Err(bad) => return compare(case, "deny", &format!("        refused to start: {bad}\n")),
    };
    let mut desk = Desk::new(Ambient::claim(), world::cwd(case).into())
        .with_variables(variables)
        .backed_by(Box::new(move |_| Ok(layers.clone())));
    if case.call.tool == "_list_tools" {
        return listed(case, &mut desk, &line);
    }
    match desk.answer(line.to_string().as_bytes()) {
        Err(bad) => compare(case, "deny", &format!("        error: {bad}\n")),
        Ok(answer) => match detail(case, &answer) {
            Ok(()) => compare(case, answer.decision.word(), &trace(&answer)),
            Err(wrong) => Ran::Failed(format!("        {wrong}\n{}", trace(&answer))),
        },
    }
}

fn compare(case: &Case, decision: &str, trace: &str) -> Ran {
    if case.accepts(decision) {
        return Ran::Passed;
    }
    let call = case.call.input.to_string();
    let call: String = call.chars().take(300).collect();
    let mut text = format!("        {} {call}\n", case.call.tool);
    let _ = writeln!(text, "        setup {}", Value::Object(case.setup.clone()));
    let _ = writeln!(text, "        expected {:?} ({}), got {decision}", case.expect, case.why);
    Ran::Failed(text + trace)
}

fn trace(answer: &Answer) -> String {
    let mut text = format!("        step {}: {}\n", answer.step, answer.reason);
    for part in answer.parts() {
        let mark = if part.decides { "=>" } else { "  " };
        let rule = part.rule.map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let (decision, step) = (part.decision.word(), part.step);
        let _ = writeln!(text, "        {mark} {}: {decision} by {step}: {}{rule}", part.part, part.reason);
    }
    for warning in &answer.warnings {
        let _ = writeln!(text, "        note {warning}");
    }
    text
}

/// What a case expects beside the decision, where it is about the answer.
fn detail(case: &Case, answer: &Answer) -> Result<(), String> {
    let refusal = serde_json::to_value(&answer.refusal).unwrap_or_default();
    match &case.detail {
        Value::Object(expected) => {
            let expected = expected.get("envelope").and_then(Value::as_object).unwrap_or(expected);
            for (key, value) in expected {
                // The words of the older envelope stand in `reason` and `message`; its keys are kept.
                let by_key = refusal.get(key).is_some();
                if !by_key
                    || (["error", "message"].contains(&key.as_str()) && case.seed == "000")
                        && refusal[key] != *value
                {
                    return Err(format!("the refusal has `{key}`: {}, expected {value}", refusal[key]));
                }
            }
            Ok(())
        }
        Value::Array(paths) => {
            let told = |operation: &str| {
                if operation == "read" { &answer.claims.reads } else { &answer.claims.writes }
            };
            for path in paths {
                let (Some(path), Some(operation)) = (path[0].as_str(), path[1].as_str()) else {
                    return Err(format!("unknown shape: detail {path}"));
                };
                if !told(operation).iter().any(|claimed| claimed == path) {
                    return Err(format!("{operation} of {path} is not among the claims"));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The schema filter.
fn listed(case: &Case, desk: &mut Desk, line: &Value) -> Ran {
    let all: Vec<String> = serde_json::from_value(case.setup["all_tools"].clone()).unwrap_or_default();
    let visible = match desk.visible_tools(line.to_string().as_bytes(), &all) {
        Ok(visible) => visible,
        Err(bad) => return Ran::Failed(format!("        error: {bad}\n")),
    };
    let texts =
        |key: &str| -> Vec<String> { serde_json::from_value(case.detail[key].clone()).unwrap_or_default() };
    let hidden = texts("must_include").into_iter().find(|tool| !visible.contains(tool));
    let shown = texts("must_exclude").into_iter().find(|tool| visible.contains(tool));
    match hidden.or(shown) {
        None => Ran::Passed,
        Some(tool) => Ran::Failed(format!("        {tool} is wrong among {visible:?}\n")),
    }
}

/// A case as it is asked.
struct Asked {
    line: Value,
    layers: Result<Vec<Layered>, String>,
    variables: BTreeMap<String, String>,
}

fn asked(case: &Case) -> Result<Asked, String> {
    let mut line = Map::new();
    line.insert("tool".into(), json!(if case.call.tool == "_start" { "Read" } else { &case.call.tool }));
    let start = json!({"file_path": "a"});
    line.insert("input".into(), if case.call.tool == "_start" { start } else { case.call.input.clone() });
    line.insert("cwd".into(), json!(world::cwd(case)));
    line.insert("project_root".into(), json!(world::project(case)));
    line.insert("home".into(), json!(world::home(case)));
    let mut asked = Asking {
        line,
        rules: Map::new(),
        tools: Map::new(),
        layers: Ok(Vec::new()),
        variables: BTreeMap::new(),
    };
    let trusted = case.setup.get("trusted") != Some(&json!(false));
    for (name, value) in &case.setup {
        asked.field(name, value, case, trusted)?;
    }
    let Asking { mut line, rules, tools, layers, variables } = asked;
    if !rules.is_empty() {
        line.insert("rules".into(), Value::Object(rules));
    }
    if !tools.is_empty() {
        line.insert("tools".into(), Value::Object(tools));
    }
    Ok(Asked { line: Value::Object(line), layers, variables })
}

struct Asking {
    line: Map<String, Value>,
    rules: Map<String, Value>,
    tools: Map<String, Value>,
    layers: Result<Vec<Layered>, String>,
    variables: BTreeMap<String, String>,
}

impl Asking {
    fn field(&mut self, name: &str, value: &Value, case: &Case, trusted: bool) -> Result<(), String> {
        let mut say = |field: &str, value: Value| drop(self.line.insert(field.to_owned(), value));
        match name {
            "home" | "cwd" | "project_root" | "fs" | "all_tools" | "read_tracker" | "profiles"
            | "mcp_servers" => {}
            "allow" | "ask" | "deny" => drop(self.rules.insert(name.to_owned(), value.clone())),
            "mode"
            | "headless"
            | "agent"
            | "agent_def"
            | "immune"
            | "ask_rules_in_bypass"
            | "trusted"
            | "additional_directories" => say(name, value.clone()),
            "parent" => say("mode", value["mode"].clone()),
            "session" => {
                let list = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
                let allow = [list("allow_all"), list("patterns")].concat();
                say("session", json!({"allow": allow}));
            }
            "scope" => say("scope", scope(value)?),
            "containment" => {
                let root = value["root"].clone();
                say(
                    "scope",
                    json!({"root": root, "display_root": root, "enforce_write": true, "allow_bash": true}),
                );
                say("reads", json!("workspace"));
            }
            "sandbox" => say("sandbox", sandbox(value)?),
            "read_only_bash" => say("bash", json!(if value == true { "read-only" } else { "ask" })),
            "read_guard" if value == "credentials" => {}
            "terminal" | "file" | "code_execution" => drop(self.tools.insert(name.to_owned(), value.clone())),
            "mcp_filesystem" => {
                let servers = case.setup.get("mcp_servers").and_then(Value::as_object);
                let named: Vec<String> =
                    servers.map(|servers| servers.keys().cloned().collect()).unwrap_or_default();
                for server in named.into_iter().chain(["mcp__filesystem__*".to_owned()]) {
                    self.tools.insert(server, value.clone());
                }
            }
            "profile" => {
                let profile = &case.setup["profiles"][value.as_str().unwrap_or_default()];
                let sections = profile.as_object().ok_or("`profile` names none of `profiles`")?;
                self.tools.extend(sections.clone());
            }
            "env" => {
                self.variables =
                    serde_json::from_value(value.clone()).map_err(|error| format!("`env`: {error}"))?;
            }
            "scopes" => {
                let scopes = value.as_object().ok_or("`scopes` is no object")?;
                for (name, says) in scopes {
                    self.add(layer(name, says, trusted)?);
                }
            }
            "cli" => {
                let flags = flags(value)?;
                let layered = |settings| Layered { settings, trusted: true };
                self.add(flags.settings().map(layered).map_err(|bad| bad.to_string()));
            }
            other => return Err(format!("`setup.{other}`")),
        }
        Ok(())
    }

    fn add(&mut self, layer: Result<Layered, String>) {
        match (&mut self.layers, layer) {
            (Ok(layers), Ok(layer)) => layers.push(layer),
            (Ok(_), Err(bad)) => self.layers = Err(bad),
            (Err(_), _) => {}
        }
    }
}

fn scope(value: &Value) -> Result<Value, String> {
    let mut scope = Map::new();
    for (name, value) in value.as_object().ok_or("`scope` is no object")? {
        let name = if name == "root_dir" { "root" } else { name };
        scope.insert(name.to_owned(), value.clone());
    }
    Ok(Value::Object(scope))
}

fn sandbox(value: &Value) -> Result<Value, String> {
    let mut sandbox = Map::new();
    for (name, value) in value.as_object().ok_or("`sandbox` is no object")? {
        let name = if name == "policy" { "mode" } else { name };
        sandbox.insert(name.to_owned(), value.clone());
    }
    Ok(Value::Object(sandbox))
}

/// A settings file of a scope: lists and mode stand in `permissions`, the rest at the top.
fn layer(name: &str, says: &Value, trusted: bool) -> Result<Result<Layered, String>, String> {
    let layer = match name {
        "managed" => Layer::Managed,
        "local" => Layer::Local,
        "project" => Layer::Project,
        "user" => Layer::User,
        other => return Err(format!("`scopes.{other}`")),
    };
    let (mut top, mut permissions) = (Map::new(), Map::new());
    for (key, value) in says.as_object().ok_or("a scope is no object")? {
        let at_the_top = ["tools", "hooks", "sandbox", "guards", "bash", "immune", "reads", "allowBash"];
        let list = if at_the_top.contains(&key.as_str()) { &mut top } else { &mut permissions };
        list.insert(key.clone(), value.clone());
    }
    top.insert("permissions".into(), Value::Object(permissions));
    let text = Value::Object(top).to_string();
    let settings = Settings::parse(text.as_bytes(), layer, &format!("{name}.json").into());
    let trusted = trusted || layer != Layer::Project;
    Ok(settings.map(|settings| Layered { settings, trusted }).map_err(|bad| bad.to_string()))
}

fn flags(value: &Value) -> Result<Flags, String> {
    let words: Vec<String> =
        serde_json::from_value(value.clone()).map_err(|error| format!("`cli`: {error}"))?;
    let mut words = words.into_iter();
    let mut flags = Flags::default();
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or_else(|| format!("`cli`: {word} lacks its value"));
        match word.as_str() {
            "--permission-mode" => flags.permission_mode = Some(next()?),
            "--add-dir" => flags.add_dir.push(next()?),
            "--allowedTools" => flags.allowed_tools.push(next()?),
            "--disallowedTools" => flags.disallowed_tools.push(next()?),
            "--allow-bash" => flags.allow_bash = true,
            other => return Err(format!("`cli`: {other}")),
        }
    }
    Ok(flags)
}

//! A case as a line of `pinfold check`, with the settings behind it, and whether the answer is the expected one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pinfold::Ambient;
use pinfold::check::{CheckAnswer, CheckService};
use pinfold::policy::merge::Layered;
use pinfold::policy::settings::Flags;
use pinfold::policy::{Layer, Settings, ToolName};
use serde_json::{Map, Value, json};

use super::case::Case;
use super::ran::Ran;
use super::world;

/// What parts a condition needs that do not exist yet.
const MISSING: &[(&str, &str)] = &[
    ("denials", "needs the agent loop"),
    ("judge", "needs the judge"),
    ("limits", "needs the agent loop"),
    ("depth", "needs the agent loop"),
];

/// Why a case cannot run yet.
pub fn missing(case: &Case) -> Option<&'static str> {
    let own = |name: &str| MISSING.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    case.setup.keys().find_map(|name| own(name))
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
    let mut desk = CheckService::new(Ambient::claim(), world::cwd(case).into())
        .with_variables(variables)
        .backed_by(Box::new(move |_| Ok(layers.clone())));
    if case.call.tool == "_list_tools" {
        return listed(case, &mut desk, &line);
    }
    match desk.answer(line.to_string().as_bytes()) {
        Err(bad) => compare(case, "deny", &format!("        error: {bad}\n")),
        Ok(answer) => match detail(case, &answer) {
            Ok(()) => compare(case, answer.decision.as_str(), &trace(&answer)),
            Err(wrong) => Ran::Failed(format!("        {wrong}\n{}", trace(&answer))),
        },
    }
}

pub(super) fn compare(case: &Case, decision: &str, trace: &str) -> Ran {
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

fn trace(answer: &CheckAnswer) -> String {
    let mut text = format!("        step {}: {}\n", answer.step, answer.reason);
    for part in answer.parts() {
        let mark = if part.decides { "=>" } else { "  " };
        let rule = part.rule.map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let (decision, step) = (part.decision.as_str(), part.step);
        let _ = writeln!(text, "        {mark} {}: {decision} by {step}: {}{rule}", part.part, part.reason);
    }
    for warning in &answer.warnings {
        let _ = writeln!(text, "        note {warning}");
    }
    text
}

/// What a case expects beside the decision, where it is about the answer.
fn detail(case: &Case, answer: &CheckAnswer) -> Result<(), String> {
    let refusal = serde_json::to_value(&answer.refusal).unwrap_or_default();
    match &case.detail {
        Value::Object(expected) => {
            let envelope = expected.get("envelope").and_then(Value::as_object);
            for key in envelope.into_iter().flat_map(|envelope| envelope.keys()) {
                if refusal.get(key).is_none() {
                    return Err(format!("the refusal lacks `{key}`"));
                }
            }
            // The words of 000 are kept; those of the other documents stand in other words.
            for key in ["error", "message"].into_iter().filter(|_| case.seed == "000") {
                if let Some(value) = expected.get(key).filter(|value| refusal[key] != **value) {
                    return Err(format!("the refusal has `{key}`: {}, expected {value}", refusal[key]));
                }
            }
            Ok(())
        }
        Value::Array(paths) => paths.iter().try_for_each(|path| claimed(path, answer)),
        _ => Ok(()),
    }
}

/// A path and what is done to it.
fn claimed(path: &Value, answer: &CheckAnswer) -> Result<(), String> {
    let (Some(path), Some(operation)) = (path[0].as_str(), path[1].as_str()) else { return Ok(()) };
    let told = if operation == "read" { &answer.claims.reads } else { &answer.claims.writes };
    let found = told.iter().any(|claimed| claimed == path);
    if found { Ok(()) } else { Err(format!("{operation} of {path} is not among the claims")) }
}

/// What agents have beside our tools.
const OTHERS: &[&str] = &["WebSearch", "WebFetch", "LSP", "Agent", "Skill", "CronCreate", "CronList"];

/// The schema filter.
fn listed(case: &Case, desk: &mut CheckService, line: &Value) -> Ran {
    let given = case.setup.get("all_tools").cloned();
    let own =
        || ToolName::ALL.iter().map(|tool| tool.as_str()).chain(OTHERS.iter().copied()).map(str::to_owned);
    let all: Vec<String> =
        given.and_then(|given| serde_json::from_value(given).ok()).unwrap_or_else(|| own().collect());
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
pub(super) struct Asked {
    pub(super) line: Value,
    pub(super) layers: Result<Vec<Layered>, String>,
    pub(super) variables: BTreeMap<String, String>,
}

pub(super) fn asked(case: &Case) -> Result<Asked, String> {
    let mut line = Map::new();
    line.insert("tool".into(), json!(if case.call.tool == "_start" { "Read" } else { &case.call.tool }));
    let start = json!({"file_path": "a"});
    line.insert("input".into(), if case.call.tool == "_start" { start } else { case.call.input.clone() });
    line.insert("cwd".into(), json!(world::cwd(case)));
    line.insert("project_root".into(), json!(world::project(case)));
    line.insert("home".into(), json!(world::home(case)));
    let mut asked = ApprovalOptions {
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
    let ApprovalOptions { mut line, rules, tools, layers, variables } = asked;
    if !rules.is_empty() {
        line.insert("rules".into(), Value::Object(rules));
    }
    if !tools.is_empty() {
        line.insert("tools".into(), Value::Object(tools));
    }
    Ok(Asked { line: Value::Object(line), layers, variables })
}

struct ApprovalOptions {
    line: Map<String, Value>,
    rules: Map<String, Value>,
    tools: Map<String, Value>,
    layers: Result<Vec<Layered>, String>,
    variables: BTreeMap<String, String>,
}

impl ApprovalOptions {
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
            "parent" => self.parent(value)?,
            "session" => {
                let list = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
                let allow = [list("allow_all"), list("patterns")].concat();
                say("session", json!({"allow": allow}));
            }
            "scope" => say("scope", scope(value)?),
            "containment" => {
                if value.get("profile").is_some_and(|profile| profile != "strict") {
                    return Err(format!("`containment.profile`: {}", value["profile"]));
                }
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
            "profile" => self.profile(case, value.as_str().unwrap_or_default())?,
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
                let Given { flags, profile, headless, unknown } = given(value)?;
                if headless {
                    self.line.insert("headless".into(), json!(true));
                }
                profile.map_or(Ok(()), |profile| self.profile(case, &profile))?;
                let layered = |settings| Layered { settings, trusted: true };
                self.add(match unknown {
                    Some(flag) => Err(format!("{flag} is no flag")),
                    None => flags.settings().map(layered).map_err(|bad| bad.to_string()),
                });
            }
            other => return Err(format!("`setup.{other}`")),
        }
        Ok(())
    }

    fn profile(&mut self, case: &Case, name: &str) -> Result<(), String> {
        let profile = case.setup.get("profiles").and_then(|profiles| profiles.get(name));
        let sections = profile.and_then(Value::as_object);
        self.tools.extend(sections.ok_or_else(|| format!("`profiles` has no `{name}`"))?.clone());
        Ok(())
    }

    /// The session that started the agent.
    fn parent(&mut self, value: &Value) -> Result<(), String> {
        for (name, value) in value.as_object().ok_or("`parent` is no object")? {
            match name.as_str() {
                "mode" => drop(self.line.insert("mode".into(), value.clone())),
                "allow" | "ask" | "deny" => drop(self.rules.insert(name.clone(), value.clone())),
                other => return Err(format!("`parent.{other}`")),
            }
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
    let read = |text: &str| {
        let settings = Settings::parse(text.as_bytes(), layer, &format!("{name}.json").into());
        let trusted = trusted || layer != Layer::Project;
        settings.map(|settings| Layered { settings, trusted }).map_err(|bad| bad.to_string())
    };
    if let Some(text) = says.as_str() {
        return Ok(read(text));
    }
    let (mut top, mut permissions) = (Map::new(), Map::new());
    for (key, value) in says.as_object().ok_or("a scope is no object")? {
        if let ("permissions", Some(nested)) = (key.as_str(), value.as_object()) {
            permissions.extend(nested.clone());
            continue;
        }
        let at_the_top = [
            "tools",
            "hooks",
            "sandbox",
            "guards",
            "bash",
            "immune",
            "reads",
            "allowBash",
            "headlessPermissionRequest",
            "allowManagedHooksOnly",
        ];
        let list = if at_the_top.contains(&key.as_str()) { &mut top } else { &mut permissions };
        list.insert(key.clone(), value.clone());
    }
    top.insert("permissions".into(), Value::Object(permissions));
    Ok(read(&Value::Object(top).to_string()))
}

/// Flags of a command line.
#[derive(Default)]
struct Given {
    flags: Flags,
    profile: Option<String>,
    headless: bool,
    /// What no command of ours takes: it would not start.
    unknown: Option<String>,
}

fn given(value: &Value) -> Result<Given, String> {
    let words: Vec<String> =
        serde_json::from_value(value.clone()).map_err(|error| format!("`cli`: {error}"))?;
    let apart = |word: String| match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => vec![flag.to_owned(), value.to_owned()],
        _ => vec![word],
    };
    let mut words = words.into_iter().flat_map(apart);
    let mut given = Given::default();
    let flags = &mut given.flags;
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or_else(|| format!("`cli`: {word} lacks its value"));
        match word.as_str() {
            "--permission-mode" => flags.permission_mode = Some(next()?),
            "--add-dir" => flags.add_dir.push(next()?),
            "--allowedTools" | "--allowed-tools" => flags.allowed_tools.push(next()?),
            "--disallowedTools" | "--disallowed-tools" => flags.disallowed_tools.push(next()?),
            "--allow-bash" => flags.allow_bash = true,
            "--profile" => given.profile = Some(next()?),
            "--headless" => given.headless = true,
            _ => given.unknown = Some(word),
        }
    }
    Ok(given)
}

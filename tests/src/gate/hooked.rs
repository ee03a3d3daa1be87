//! Cases with hooks: real settings, the real reading of answers and the whole road of a call. Only the programs are not
//! started; what each would have said stands in the case.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinfold::Ambient;
use pinfold::check::CheckService;
use pinfold::consent::Hooks;
use pinfold::policy::Hook;
use pinfold_hooks::{Configured, HookEnvironment, HookResult, Output, Runner};
use serde_json::{Map, Value, json};

use super::case::Case;
use super::lines::{self, Asked};
use super::ran::Ran;
use super::world;

/// The conditions that are about hooks.
const ABOUT: &[&str] = &["hooks", "hook_scope", "headless_permission_request", "second_call"];

/// Whether a case is about hooks.
pub fn is_about(case: &Case) -> bool {
    let scopes = case.setup.get("scopes").and_then(Value::as_object);
    let in_settings =
        || scopes.is_some_and(|scopes| scopes.values().any(|scope| scope.get("hooks").is_some()));
    case.area == "hooks" || ABOUT.iter().any(|key| case.setup.contains_key(*key)) || in_settings()
}

/// Runs a case: once, or twice where it is about the second call.
pub fn run(case: &Case) -> Ran {
    let (as_settings, said) = match as_settings(case) {
        Ok(found) => found,
        Err(shape) => return Ran::Failed(format!("        unknown shape: {shape}\n")),
    };
    let Asked { line, layers, variables } = match lines::asked(&as_settings) {
        Ok(asked) => asked,
        Err(shape) => return Ran::Failed(format!("        unknown shape: {shape}\n")),
    };
    let layers = match layers {
        Ok(layers) => layers,
        Err(bad) => return lines::compare(case, "deny", &format!("        refused to start: {bad}\n")),
    };
    let spoken = Arc::new(Spoken { said, silent: AtomicBool::new(false) });
    let runner = Arc::clone(&spoken);
    let folder = world::project(case).to_owned();
    let mut desk = CheckService::new(Ambient::claim(), world::cwd(case).into())
        .with_variables(variables)
        .backed_by(Box::new(move |_| Ok(layers.clone())))
        .with_hooks(Box::new(move |merged, plan| {
            let around =
                HookEnvironment { bases: plan.bases.clone(), ..HookEnvironment::new(folder.clone()) };
            let hooks = Configured::new(merged, around, runner.clone()).expect("hooks of a case");
            Some(Arc::new(hooks) as Arc<dyn Hooks>)
        }));
    let line = line.to_string();
    if case.setup.get("second_call") == Some(&json!(true)) {
        if let Err(bad) = desk.consult(line.as_bytes()) {
            return lines::compare(case, "deny", &format!("        error: {bad}\n"));
        }
        // What the first answer changed is what is looked at: nobody answers in a person's place again.
        spoken.silent.store(true, Ordering::Relaxed);
    }
    match desk.consult(line.as_bytes()) {
        Err(bad) => lines::compare(case, "deny", &format!("        error: {bad}\n")),
        Ok(consulted) => {
            let why = consulted.refusal.map(|refusal| refusal.message).unwrap_or_default();
            lines::compare(case, consulted.decision.as_str(), &format!("        {why}\n"))
        }
    }
}

/// What each hook says, by its number.
#[derive(Debug)]
struct Spoken {
    said: Vec<Said>,
    /// No question is answered any more.
    silent: AtomicBool,
}

#[derive(Debug)]
struct Said {
    event: String,
    came: HookResult,
}

impl Runner for Spoken {
    fn ask(&self, hook: &Hook, _: &[u8]) -> HookResult {
        let name = hook.asks.name();
        let said = name.strip_prefix("hook ").and_then(|number| self.said.get(number.parse::<usize>().ok()?));
        let Some(said) = said else { return HookResult::NotAsked(format!("nothing is known of `{name}`")) };
        if said.event == "PermissionRequest" && self.silent.load(Ordering::Relaxed) {
            return HookResult::Ended { code: Some(0), out: Output::default(), err: Output::default() };
        }
        said.came.clone()
    }

    fn start(&self, _: Arc<Hook>, _: Vec<u8>) -> Result<(), String> {
        Ok(())
    }
}

/// The case with its hooks as settings would have them, and what each says.
fn as_settings(case: &Case) -> Result<(Case, Vec<Said>), String> {
    let mut said = Vec::new();
    let mut made = case.clone();
    let mut scopes = match made.setup.remove("scopes") {
        Some(Value::Object(scopes)) => scopes,
        Some(other) => return Err(format!("`scopes`: {other}")),
        None => Map::new(),
    };
    for scope in scopes.values_mut().filter_map(Value::as_object_mut) {
        if let Some(hooks) = scope.get_mut("hooks") {
            *hooks = events(hooks, &mut said)?;
        }
    }
    let layer = made.setup.remove("hook_scope").and_then(|layer| Some(layer.as_str()?.to_owned()));
    let hooks = made.setup.remove("hooks");
    let headless = made.setup.remove("headless_permission_request");
    made.setup.remove("second_call");
    let mut into = |layer: &str, key: &str, value: Value| {
        let scope = scopes.entry(layer.to_owned()).or_insert_with(|| json!({}));
        scope.as_object_mut().map(|scope| scope.insert(key.to_owned(), value));
    };
    if let Some(hooks) = hooks {
        into(layer.as_deref().unwrap_or("user"), "hooks", events(&hooks, &mut said)?);
    }
    if let Some(headless) = headless {
        into("user", "headlessPermissionRequest", headless);
    }
    if !scopes.is_empty() {
        made.setup.insert("scopes".to_owned(), Value::Object(scopes));
    }
    Ok((made, said))
}

fn events(hooks: &Value, said: &mut Vec<Said>) -> Result<Value, String> {
    let mut events = Map::new();
    for (event, outputs) in hooks.as_object().ok_or("`hooks` is no object")? {
        let outputs = match outputs {
            Value::Array(outputs) => outputs.clone(),
            one => vec![one.clone()],
        };
        let groups = outputs.iter().map(|output| group(event, output, said));
        events.insert(event.clone(), Value::Array(groups.collect::<Result<_, _>>()?));
    }
    Ok(Value::Object(events))
}

/// What stands in settings of an output, with the rest of it as what the hook says.
const OF_HOOK: &[&str] = &["if", "once", "failClosed", "onFailure", "async"];

fn group(event: &str, output: &Value, said: &mut Vec<Said>) -> Result<Value, String> {
    let mut output = match output {
        Value::Object(output) => output.clone(),
        // In short: what it wants changed.
        Value::String(text) => match text.split_once(' ') {
            Some(("setMode", mode)) => {
                let update = json!({"decision": {"updatedPermissions": [{"setMode": mode}]}});
                update.as_object().cloned().unwrap_or_default()
            }
            _ => return Err(format!("`hooks.{event}`: {text}")),
        },
        other => return Err(format!("`hooks.{event}`: {other}")),
    };
    let mut hook = json!({"type": "command", "command": format!("hook {}", said.len())});
    for key in OF_HOOK {
        if let Some(value) = output.remove(*key) {
            hook[key] = value;
        }
    }
    let mut group = json!({"hooks": [hook]});
    if let Some(matcher) = output.remove("matcher") {
        group["matcher"] = matcher;
    }
    said.push(Said { event: event.to_owned(), came: came(output) });
    Ok(group)
}

/// How a program ends that says this.
fn came(mut output: Map<String, Value>) -> HookResult {
    let late = ["timeout", "sleep", "timed_out"].into_iter().any(|key| output.remove(key).is_some());
    if late {
        return HookResult::Late(Duration::from_mins(1));
    }
    let mut text = |key: &str| match output.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
        None => None,
    };
    let (out, err) = (text("stdout"), text("stderr").unwrap_or_default());
    let code = output.remove("exit").and_then(|code| i32::try_from(code.as_i64()?).ok()).unwrap_or(0);
    let rest = if output.is_empty() { String::new() } else { Value::Object(output).to_string() };
    HookResult::Ended { code: Some(code), out: Output::whole(out.unwrap_or(rest)), err: Output::whole(err) }
}

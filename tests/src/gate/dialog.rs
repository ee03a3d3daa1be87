//! Cases in which somebody is asked and answers: a session on real settings files, a person who answers as the case
//! says, and what was offered to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pinfold::audit::Discard;
use pinfold::consent::{
    Answer, AnsweredBy, ApprovalChannel, ApprovalOptions, Approver, ApproverResponse, Choice, Request,
};
use pinfold::policy::rule::Rule;
use pinfold::policy::settings::{Flags, SettingsChange};
use pinfold::policy::{Effect, Interaction, Layer, Principal};
use pinfold::settings::{Locations, Situation, change, load};
use pinfold::{Ambient, AssumedShells, GateResult, Plan, RawCall, Ruling, Session};
use serde_json::{Map, Value, json};

use super::case::Case;
use super::ran::Ran;
use super::world;

/// Whether a case is about questions and answers.
pub fn is_about(case: &Case) -> bool {
    let about = ["dialog", "history", "new_session", "session_id"];
    case.area == "dialog" || about.iter().any(|key| case.setup.contains_key(*key))
}

/// Answers what a case says was answered before, and then makes its call.
pub fn run(case: &Case) -> Ran {
    if let Some(missing) = not_here(case) {
        return Ran::NotRun(format!("needs `{}`, which is not ours to make", missing.display()));
    }
    match outcome(case) {
        Err(shape) => Ran::Failed(format!("        unknown shape: {shape}\n")),
        Ok(after) => match after.wrong(case) {
            None => Ran::Passed,
            Some(wrong) => {
                let call = case.call.input.to_string().chars().take(300).collect::<String>();
                Ran::Failed(format!("        {} {call}\n        {wrong} ({})\n", case.call.tool, case.why))
            }
        },
    }
}

/// A folder of the system that a path of the call climbs out of, where this machine has none.
fn not_here(case: &Case) -> Option<PathBuf> {
    let path = case.call.input.get("file_path").and_then(Value::as_str)?;
    let (folder, _) = path.split_once("/../")?;
    let folder = PathBuf::from(folder);
    (folder.is_absolute() && !folder.exists()).then_some(folder)
}

/// What came of the call of a case.
struct Came {
    decision: &'static str,
    /// What was offered, if somebody was asked.
    request: Option<Request>,
    /// The rules that stand in the person's file for the project afterwards.
    written: Vec<String>,
}

impl Came {
    fn wrong(&self, case: &Case) -> Option<String> {
        if !case.accepts(self.decision) {
            return Some(format!("expected {:?}, got {}", case.expect, self.decision));
        }
        let expected = case.detail.as_object()?;
        let offer = self.request.as_ref().map(|request| &request.offer);
        let usual = offer.into_iter().flat_map(|offer| &offer.always);
        let usual: Vec<&str> = usual.map(|part| part.scopes[part.usual].says.as_str()).collect();
        for (name, value) in expected {
            let wrong = match name.as_str() {
                "rules" => {
                    let written = case.setup.get("dialog").is_none() || json!(self.written) == *value;
                    (json!(usual) != *value || !written)
                        .then(|| format!("offered {usual:?}, wrote {:?}, expected {value}", self.written))
                }
                "options" => {
                    (json!(self.options()) != *value).then(|| format!("offered {:?}", self.options()))
                }
                "options_without" => {
                    let offered = self.options().into_iter().any(|option| json!(option) == *value);
                    offered.then(|| format!("offered {value}"))
                }
                other => Some(format!("unknown shape: `detail.{other}`")),
            };
            if wrong.is_some() {
                return wrong;
            }
        }
        None
    }

    /// What a person could choose from.
    fn options(&self) -> Vec<&'static str> {
        let Some(request) = &self.request else { return Vec::new() };
        let session = (!request.offer.session.is_empty()).then_some("session");
        let always = (!request.offer.always.is_empty()).then_some("always");
        ["yes"].into_iter().chain(session).chain(always).chain(["no"]).collect()
    }
}

fn outcome(case: &Case) -> Result<Came, String> {
    write_settings(case)?;
    let person = Arc::new(Person::default());
    let history = case.setup.get("history").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut session = session(case, &person, false)?;
    for step in &history {
        earlier(case, &session, &person, step)?;
    }
    let anew = case.setup.contains_key("new_session") || case.setup.contains_key("session_id");
    let subagent = case.setup.contains_key("agent");
    if anew || subagent {
        session = self::session(case, &person, subagent)?;
    }
    person.take();
    let raw = call(&case.call.tool, &case.call.input);
    let decision = match case.setup.get("dialog").and_then(Value::as_str) {
        Some(dialog) => {
            let meanwhile = case.setup.get("detail").is_some().then(|| another_process(case));
            person.answers(dialog)?;
            let GateResult { outcome, .. } = session.decide(&raw);
            meanwhile.map_or(Ok(()), Meanwhile::ended)?;
            if outcome.is_ok() { "allow" } else { "deny" }
        }
        None => match session.submit(&raw) {
            Ruling::Permit(_) => "allow",
            Ruling::Question(question) => {
                person.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.request().clone());
                "ask"
            }
            Ruling::Refusal(_) => "deny",
        },
    };
    Ok(Came { decision, request: person.take(), written: written(case) })
}

/// Another process of the same person saves rules of its own at the same time.
struct Meanwhile {
    at_work: std::thread::JoinHandle<()>,
    locations: Locations,
}

/// How many rules the other one saves.
const MEANWHILE: usize = 20;

fn another_process(case: &Case) -> Meanwhile {
    let locations = locations(case);
    let theirs = locations.clone();
    let at_work = std::thread::spawn(move || {
        for number in 0..MEANWHILE {
            let rule = Rule::parse(&format!("Bash(make step-{number})")).expect("a rule");
            change(&Ambient::claim(), &theirs, Layer::Local, &SettingsChange::Add(Effect::Allow, rule))
                .expect("it is written");
        }
    });
    Meanwhile { at_work, locations }
}

impl Meanwhile {
    /// Nothing of what either saved is lost.
    fn ended(self) -> Result<(), String> {
        self.at_work.join().map_err(|_| "the other process failed".to_owned())?;
        let file = self.locations.file(Layer::Local).expect("there is a local file");
        let text = fs::read_to_string(file.path).map_err(|error| error.to_string())?;
        let theirs = (0..MEANWHILE).map(|number| format!("\"Bash(make step-{number})\""));
        match theirs.chain(["\"Bash(make)\"".to_owned()]).find(|rule| !text.contains(rule.as_str())) {
            None => Ok(()),
            Some(lost) => Err(format!("{lost} was lost")),
        }
    }
}

/// A person who gives one answer at a time.
#[derive(Debug, Default)]
struct Person {
    next: Mutex<Option<ApproverResponse>>,
    choice: Mutex<Option<Choice>>,
    asked: Mutex<Vec<Request>>,
}

impl Person {
    /// The next answer, in the words of the corpus.
    fn answers(&self, word: &str) -> Result<(), String> {
        let no = || Choice::no();
        let choice = match word {
            "yes" | "once" => Choice::Yes,
            "session" => Choice::session(0),
            "always" => {
                Choice::Always { scopes: Vec::new(), file: pinfold::consent::answer::RuleFile::Local }
            }
            "no" | "esc" | "timeout" => no(),
            "interrupt" => {
                *self.next.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(ApproverResponse::NoApprover("it was interrupted".to_owned()));
                return Ok(());
            }
            other => return Err(format!("`answer`: {other}")),
        };
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) = Some(choice);
        Ok(())
    }

    /// What was asked last; nothing is left of it.
    fn take(&self) -> Option<Request> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner)).pop()
    }
}

impl Approver for Person {
    fn ask(&self, request: &Request, _: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        if let Some(heard) = self.next.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return heard;
        }
        let choice = self.choice.lock().unwrap_or_else(PoisonError::into_inner).take();
        let by = AnsweredBy { via: ApprovalChannel::Terminal, who: None };
        let (id, digest) = (request.id.clone(), request.digest.clone());
        ApproverResponse::Answer(choice.map_or_else(
            || Answer::silence(&request.id, &request.digest),
            |choice| Answer { id, digest, choice, by },
        ))
    }
}

/// Something that happened before: a call with its answer, or settings that changed.
fn earlier(case: &Case, session: &Session, person: &Arc<Person>, step: &Value) -> Result<(), String> {
    if let Some(settings) = step.get("settings") {
        let user = read_json(&user_file(case));
        fs::write(user_file(case), merged(&user, settings).to_string()).map_err(|error| error.to_string())?;
        session.set_policy(plan(case, person, false)?.policy);
        return Ok(());
    }
    let raw = match &step["call"] {
        Value::String(command) => call("Bash", &json!({"command": command})),
        said => call(said["tool"].as_str().ok_or("a call without a tool")?, &said["input"]),
    };
    person.answers(step["answer"].as_str().ok_or("a call without an answer")?)?;
    drop(session.decide(&raw));
    Ok(())
}

/// A call with the texts that only the deed would use.
fn call(tool: &str, input: &Value) -> RawCall {
    let mut input = input.clone();
    if let (Some(input), "Edit") = (input.as_object_mut(), tool) {
        for (field, text) in [("old_string", "a"), ("new_string", "b")] {
            input.entry(field).or_insert_with(|| json!(text));
        }
    }
    RawCall::new(tool, input)
}

fn locations(case: &Case) -> Locations {
    Locations {
        managed: Some("/opt/managed-settings.json".into()),
        managed_owner: 0,
        project: Some(world::project(case).into()),
        user: Some(user_file(case)),
        trust: None,
        home: Some(world::home(case).into()),
        allow_home: false,
    }
}

fn user_file(case: &Case) -> PathBuf {
    Path::new(world::home(case)).join(".config/pinfold/settings.json")
}

/// The settings that a case speaks of, as files.
fn write_settings(case: &Case) -> Result<(), String> {
    let lists = ["allow", "ask", "deny"].into_iter().filter_map(|effect| {
        let rules = case.setup.get(effect)?;
        Some((effect.to_owned(), rules.clone()))
    });
    let mut user = json!({"permissions": lists.collect::<Map<String, Value>>()});
    for (name, says) in case.setup.get("scopes").and_then(Value::as_object).into_iter().flatten() {
        match name.as_str() {
            "managed" => write(Path::new("/opt/managed-settings.json"), &json!({"permissions": says}))?,
            "user" => user = merged(&user, says),
            other => return Err(format!("`scopes.{other}`")),
        }
    }
    write(&user_file(case), &user)
}

fn write(file: &Path, settings: &Value) -> Result<(), String> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let made = fs::create_dir_all(folder).and_then(|()| fs::write(file, settings.to_string()));
    made.map_err(|error| format!("{}: {error}", file.display()))
}

fn read_json(file: &Path) -> Value {
    fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Settings with more permissions.
fn merged(settings: &Value, more: &Value) -> Value {
    let mut settings = settings.clone();
    for (name, value) in more.as_object().into_iter().flatten() {
        settings["permissions"][name] = value.clone();
    }
    settings
}

/// The rules of the person's own file for the project.
fn written(case: &Case) -> Vec<String> {
    let file = Path::new(world::project(case)).join(".pinfold/settings.local.json");
    serde_json::from_value(read_json(&file)["permissions"]["allow"].clone()).unwrap_or_default()
}

fn session(case: &Case, person: &Arc<Person>, subagent: bool) -> Result<Session, String> {
    let plan = plan(case, person, subagent)?;
    Session::open(&Ambient::claim(), plan, Arc::new(Discard)).map_err(|error| error.to_string())
}

fn plan(case: &Case, person: &Arc<Person>, subagent: bool) -> Result<Plan, String> {
    let known = [
        "dialog",
        "history",
        "new_session",
        "session_id",
        "agent",
        "detail",
        "scopes",
        "allow",
        "ask",
        "deny",
        "home",
        "cwd",
        "project_root",
        "fs",
        "scope",
        "sandbox",
    ];
    if let Some(other) = case.setup.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`setup.{other}`"));
    }
    let project = PathBuf::from(world::project(case));
    let root = |key: &str, name: &str| case.setup.get(key).and_then(|value| value.get(name)).cloned();
    let usual = json!(project);
    let other_folder = root("scope", "root_dir").is_some_and(|root| root != usual)
        || root("sandbox", "writable").is_some_and(|writable| writable != json!([project]));
    if other_folder {
        return Err("another folder than the project".to_owned());
    }
    let locations = locations(case);
    let merged =
        load(&Ambient::claim(), &locations, &Flags::default()).map_err(|bad| bad.to_string())?.merged;
    let approver: Arc<dyn Approver> = person.clone();
    let asking = ApprovalOptions { approver, timeout: Duration::from_mins(1), locations: Some(locations) };
    let mut plan = Plan::for_folder(&project)
        .with_home(PathBuf::from(world::home(case)))
        .with_shells(Arc::new(AssumedShells::in_folder(project.clone())))
        .with_asking(asking);
    if subagent {
        plan.principal = Principal::Subagent("sub".to_owned());
        plan.interaction = Interaction::Headless;
        plan.scope.enforce_write = true;
    }
    let situation = Situation { project, ..Situation::default() };
    plan.with_settings(&Ambient::claim(), &merged, &situation).map_err(|bad| bad.to_string())
}

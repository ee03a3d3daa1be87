//! Runs with scripts in the place of models: what agents are told, what they may, how they end.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pinfold::agents::{AgentLimits, Definitions};
use pinfold::consent::{
    ApprovalOptions, EventReply, HookCall, HookMoment, Hooks, PermissionRequestReply, PreToolUseReply,
    Request,
};
use pinfold::policy::hosts::Hosts;
use pinfold::policy::settings::NetworkSettings;
use pinfold::policy::{Effect, HookEvent, Interaction, Mode};
use pinfold::settings::Locations;
use pinfold::{Ambient, Plan, Refusal, Session};
use pinfold_agent::{
    AgentIdentity, AgentResult, End, Event, Listener, Model, ModelError, ModelRequest, Models, NoShells,
    Parking, Parts, RootAgent, Script, SpawnLimits, Store, Task, Team, Turn, events, resumed, tree,
};
use pinfold_gate_testkit::rules::{policy_with, rule};
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use serde_json::json;

/// Keeps what happened.
#[derive(Default)]
struct SessionReads(Mutex<Vec<Event>>);

impl Listener for SessionReads {
    fn handle_event(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A workspace, and runs in it.
struct Bed {
    tree: TempTree,
    limits: AgentLimits,
    reach: SpawnLimits,
    parking: Option<Arc<Parking>>,
    hooks: Option<Arc<dyn Hooks>>,
    seen: Arc<SessionReads>,
}

impl Bed {
    fn new(folders: &[&str]) -> Self {
        let tree = TempTree::new().with_dirs(["ws"]);
        for folder in folders {
            tree.make_dir(format!("ws/{folder}"));
        }
        let (limits, reach) = (AgentLimits::default(), SpawnLimits::default());
        Self { tree, limits, reach, parking: None, hooks: None, seen: Arc::default() }
    }

    fn at(&self, below: &str) -> PathBuf {
        self.tree.path("ws").join(below)
    }

    fn session(&self, allow: &[&str]) -> Session {
        let plan = Plan::for_folder(self.at(""));
        let texts: Vec<_> = allow.iter().map(|text| (Effect::Allow, *text)).collect();
        let mut policy = policy_with(plan.policy.clone(), Mode::AcceptEdits, &texts, &plan.bases);
        // Hosts are one list for an agent and those below it.
        let rules: Vec<_> = allow.iter().map(|text| rule(Effect::Allow, text)).collect();
        policy.hosts = Arc::new(Hosts::new(&NetworkSettings::default(), &rules).unwrap());
        let asking = self.parking.clone().map(|approver| ApprovalOptions {
            approver,
            timeout: Duration::from_secs(5),
            locations: None,
        });
        let interaction = if asking.is_some() { Interaction::Interactive } else { Interaction::Headless };
        let plan = plan
            .with_policy(policy)
            .with_asking(asking)
            .with_interaction(interaction)
            .with_hooks(self.hooks.clone());
        open(plan)
    }

    fn run_with(&self, models: Arc<dyn Models>, task: Task, more: Option<Arc<dyn Listener>>) -> AgentResult {
        let locations = Locations { project: Some(self.at("")), ..Locations::default() };
        let mut listeners = vec![Arc::clone(&self.seen) as Arc<dyn Listener>];
        listeners.extend(more);
        let team = Team::new(Parts {
            definitions: Definitions::find(&Ambient::claim(), &locations, &[]),
            models,
            shells: Arc::new(NoShells),
            listeners,
            reach: self.reach,
            judge: None,
            parking: self.parking.clone(),
            follow: None,
        });
        let session = self.session(&["Agent", "WebFetch(domain:pinfold.test)"]);
        team.run(RootAgent { session, definition: None, limits: self.limits, task, attended: false })
    }

    fn run(&self, script: &str) -> AgentResult {
        self.run_with(Arc::new(Script::parse(script).unwrap()), Task::New("the task".into()), None)
    }

    fn told(&self, agent: &str) -> Vec<String> {
        let seen = self.seen.0.lock().unwrap();
        let told = seen.iter().filter(|event| event.agent() == agent).filter_map(|event| match event {
            Event::Told { text, .. } => Some(text.clone()),
            Event::Called { result, .. } => Some(result.text.clone()),
            _ => None,
        });
        told.collect()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "called with what `json!` makes")]
fn line(value: serde_json::Value) -> String {
    format!("{value}\n")
}

fn write(path: &str) -> serde_json::Value {
    json!({"tool": "Write", "input": {"file_path": path, "content": "x\n"}})
}

fn run_agent(name: &str, folder: &str) -> serde_json::Value {
    json!({"tool": "run_agent", "input": {"name": name, "folder": folder, "task": "your part"}})
}

#[test]
fn a_child_defers_what_lies_outside_and_goes_on() {
    let bed = Bed::new(&["packages/adapters", "packages/core"]);
    fs::write(bed.at("packages/SCOPE.md"), "Ports live in core.\n").unwrap();
    let script = [
        json!({"calls": [run_agent("adapters", "packages/adapters")]}),
        json!({"calls": [{"tool": "wait_for_agents", "input": {}}]}),
        json!({"say": "routed"}),
        json!({"agent": "adapters", "calls": [write("packages/core/port.ts")]}),
        json!({"agent": "adapters", "calls": [write("packages/adapters/fs.ts")]}),
        json!({"agent": "adapters", "say": "fs.ts is done; the port in core needs a method"}),
    ];
    let ending = bed.run(&script.map(line).concat());
    assert_eq!((ending.how, ending.summary.as_str()), (End::Done, "routed"));
    assert!(bed.at("packages/adapters/fs.ts").exists(), "it went on with what it could do");
    assert!(!bed.at("packages/core/port.ts").exists());

    let words = "packages/core/port.ts is outside this scope (packages/adapters). Defer it to the parent in your summary.";
    let heard = bed.told("adapters");
    assert!(heard[1].contains(words) && heard[1].contains("\"error\":\"OutOfScope\""), "{heard:?}");
    let summary = bed.told("main").pop().unwrap();
    assert!(summary.contains("the port in core needs a method") && summary.contains(words), "{summary}");
}

/// A model that keeps its briefing.
struct Briefed(Arc<Mutex<Vec<Briefing>>>);

/// Which agent, its briefing, the tools that it is shown.
type Briefing = (String, String, Vec<String>);

impl Models for Briefed {
    fn model(&self, _: &AgentIdentity, _: Option<&str>) -> Result<Box<dyn Model>, ModelError> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }
}

impl Model for Briefed {
    fn answer(&mut self, asked: &ModelRequest<'_>, _: &mut dyn FnMut(&str)) -> Result<Turn, ModelError> {
        let tools = asked.tools.iter().map(|tool| tool.name.clone()).collect();
        self.0.lock().unwrap().push((asked.agent.id.clone(), asked.system.to_owned(), tools));
        let mut turn = Turn::default();
        if asked.agent.depth == 0 && asked.messages.len() == 1 {
            let input = json!({"name": "reader", "folder": "a", "task": "look"});
            turn.calls.push(pinfold_agent::RequestedCall::new("1", "run_agent", input));
        }
        Ok(turn)
    }
}

#[test]
fn an_agent_is_told_where_its_line_is_and_shown_what_it_may_use() {
    let bed = Bed::new(&["a/.hidden", ".pinfold/agents"]);
    fs::write(bed.at("a/SCOPE.md"), "Nobody touches b.\n").unwrap();
    let text = "---\nname: reader\nmode: explore\nallow_tools: [Read, Grep]\n---\nYou review.\n";
    fs::write(bed.at(".pinfold/agents/reader.md"), text).unwrap();
    let briefed = Arc::default();
    bed.run_with(Arc::new(Briefed(Arc::clone(&briefed))), Task::New("go".into()), None);
    let briefed = briefed.lock().unwrap();
    let (_, system, tools) = briefed.iter().find(|(agent, ..)| agent == "reader").unwrap();
    for words in ["You review.", "You only read", "OutOfScope", "a/SCOPE.md says", "Nobody touches b."] {
        assert!(system.contains(words), "{words}: {system}");
    }
    assert_eq!(tools, &["Read", "Grep"]);
    let (_, system, tools) = &briefed[0];
    assert!(system.contains("inside your scope: `.`") && !system.contains("Nobody touches b."), "{system}");
    assert!(tools.iter().any(|tool| tool == "run_agent") && tools.iter().any(|tool| tool == "Write"));
}

#[test]
fn a_hundred_agents_in_disjoint_folders_write_only_their_own() {
    let names: Vec<String> = (0..100).map(|n| format!("w{n:02}")).collect();
    let mut bed = Bed::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    bed.reach.parallel = 16;
    let spawns: Vec<_> = names.iter().map(|name| run_agent(name, name)).collect();
    // Each writes its own file and tries the one of its neighbour.
    let mut script = line(json!({"calls": spawns})) + &line(json!({"say": "all"}));
    for (n, name) in names.iter().enumerate() {
        let next = &names[(n + 1) % names.len()];
        script += &line(
            json!({"agent": name, "calls": [write(&format!("{name}/own")), write(&format!("{next}/{name}"))]}),
        );
        script += &line(json!({"agent": name, "say": "done"}));
    }
    let ending = bed.run(&script);
    assert_eq!((ending.how, ending.summary.as_str()), (End::Done, "all"));
    for name in &names {
        let found: Vec<_> = fs::read_dir(bed.at(name)).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(found, ["own"], "{name}");
    }
    let seen = bed.seen.0.lock().unwrap();
    let nodes = tree(&seen);
    assert_eq!(nodes.len(), 101);
    assert!(nodes[1..].iter().all(|node| (node.allowed, node.denied) == (1, 1)));
}

#[test]
fn writers_in_one_folder_work_one_after_the_other() {
    let bed = Bed::new(&["a/b", "c"]);
    let mut script =
        line(json!({"calls": [run_agent("one", "a"), run_agent("two", "a/b"), run_agent("three", "c")]}));
    script += &line(json!({"say": "all"}));
    for (name, folder) in [("one", "a"), ("two", "a/b"), ("three", "c")] {
        for n in 0..5 {
            script += &line(json!({"agent": name, "calls": [write(&format!("{folder}/{name}{n}"))]}));
        }
    }
    assert_eq!(bed.run(&script).how, End::Done);
    let seen = bed.seen.0.lock().unwrap();
    let of = |wanted: &str| -> Vec<usize> {
        (0..seen.len())
            .filter(|i| seen[*i].agent() == wanted && !matches!(seen[*i], Event::Waits { .. }))
            .collect()
    };
    let (one, two) = (of("one"), of("two"));
    let apart = one.last() < two.first() || two.last() < one.first();
    assert!(apart, "they overlap: {one:?} {two:?}");
}

#[test]
fn what_is_too_much_ends_a_run() {
    let deny: Vec<_> = (0..5).map(|n| json!({"calls": [write(&format!("/etc/x{n}"))]})).collect();
    let mixed: Vec<_> = (0..30)
        .flat_map(|n| [json!({"calls": [write(&format!("/etc/x{n}"))]}), json!({"calls": [write("a")]})])
        .collect();
    let many: Vec<_> = (0..9)
        .map(|n| json!({"calls": [write(&format!("f{n}"))], "usage": {"input": 100, "cost": 10}}))
        .collect();
    let join = |lines: &[serde_json::Value]| lines.iter().cloned().map(line).collect::<String>();
    let turns = AgentLimits { turns: Some(3), ..AgentLimits::default() };
    let tokens = AgentLimits { tokens: Some(250), ..AgentLimits::default() };
    let cost = AgentLimits { cost: Some(45), ..AgentLimits::default() };
    for (script, limits, how, why, written) in [
        (join(&deny), AgentLimits::default(), End::Stopped, "3 calls in a row", 0),
        (join(&mixed), AgentLimits::default(), End::Stopped, "20 calls of this run", 1),
        (join(&many), turns, End::OverBudget, "turns: 3 of 3", 3),
        (join(&many), tokens, End::OverBudget, "tokens: 300 of 250", 3),
        (join(&many), cost, End::OverBudget, "money", 5),
    ] {
        let bed = Bed { limits, ..Bed::new(&[]) };
        let ending = bed.run(&script);
        assert_eq!(ending.how, how, "{why}: {ending:?}");
        assert!(ending.why.contains(why), "{ending:?}");
        assert_eq!(fs::read_dir(bed.at("")).unwrap().count(), written, "{why}");
    }
}

#[test]
fn how_far_agents_spread_is_limited() {
    let mut bed = Bed::new(&["a/b/c"]);
    bed.reach.depth = 1;
    let text = "---\nname: chief\nallow_tools: [Agent, Write]\n---\n";
    fs::create_dir_all(bed.at(".pinfold/agents")).unwrap();
    fs::write(bed.at(".pinfold/agents/chief.md"), text).unwrap();
    let script = [
        json!({"calls": [run_agent("chief", "a"), run_agent("../x", "a"), run_agent("x", ".."), run_agent("x", "nowhere")]}),
        json!({"say": "{{results}}"}),
        json!({"agent": "chief", "calls": [run_agent("below", "a/b")]}),
    ];
    let ending = bed.run(&script.map(line).concat());
    for words in ["no name for an agent", "run_agent(x in ..) -> DENIED", "run_agent(x in nowhere) -> FAILED"]
    {
        assert!(ending.summary.contains(words), "{words}: {ending:?}");
    }
    let nodes = tree(&bed.seen.0.lock().unwrap());
    assert_eq!(nodes.len(), 2, "nobody stands below the first: {nodes:?}");
}

#[test]
fn agents_speak_while_they_work() {
    let bed = Bed::new(&["a"]);
    let send = |to: &str| json!({"tool": "send_message", "input": {"agent": to, "message": "mind the gap"}});
    let script = [
        json!({"calls": [run_agent("one", "a"), send("one"), send("nobody")]}),
        json!({"say": "{{results}}"}),
        json!({"agent": "one", "calls": [send("parent")]}),
        json!({"agent": "one", "say": "heard"}),
    ];
    bed.run(&script.map(line).concat());
    let heard = bed.told("main").join("\n");
    assert!(heard.contains("one says: mind the gap") || heard.contains("does not hear it"), "{heard}");
    assert!(heard.contains("you know no agent `nobody`"), "{heard}");
}

/// Breaks off where a run would be killed: nothing is told any more.
struct Until {
    store: Store,
    left: Mutex<usize>,
}

impl Listener for Until {
    fn handle_event(&self, event: &Event) {
        let mut left = self.left.lock().unwrap();
        if *left > 0 {
            *left -= 1;
            self.store.handle_event(event);
        }
    }
}

#[test]
fn a_run_goes_on_from_wherever_it_broke_off() {
    let script = [
        json!({"calls": [write("one"), write("two")]}),
        json!({"calls": [{"tool": "Read", "input": {"file_path": "one"}}]}),
        json!({"calls": [write("three")]}),
        json!({"say": "finished"}),
    ]
    .map(line)
    .concat();
    let models: Arc<dyn Models> = Arc::new(Script::parse(&script).unwrap());
    let mut whole = 0;
    for kept in 1.. {
        let bed = Bed::new(&[]);
        let file = bed.tree.path("run.jsonl");
        let until = Until { store: Store::open(&file).unwrap(), left: Mutex::new(kept) };
        bed.run_with(Arc::clone(&models), Task::New("go".into()), Some(Arc::new(until)));
        // Half a line, as a crash leaves it.
        let text = fs::read_to_string(&file).unwrap() + "{\"event\":\"turn\",\"agent\":\"ma";
        fs::write(&file, text).unwrap();
        let known = match resumed(&events(&file).unwrap()) {
            Ok(known) => known,
            Err(_) if kept == 1 => continue,
            Err(e) => {
                assert!(e.what.contains("came to its end"), "{kept}: {e}");
                break;
            }
        };
        for name in ["one", "two", "three"] {
            let _ = fs::remove_file(bed.at(name));
        }
        let ending = bed.run_with(Arc::clone(&models), Task::Resumed(Box::new(known)), None);
        assert_eq!((ending.how, ending.summary.as_str()), (End::Done, "finished"), "{kept}");
        whole += 1;
    }
    assert!(whole > 5, "it broke off in many places: {whole}");
}

#[test]
fn a_call_that_had_begun_is_not_made_twice() {
    let script = line(json!({"calls": [write("one"), write("two")]})) + &line(json!({"say": "{{results}}"}));
    let models: Arc<dyn Models> = Arc::new(Script::parse(&script).unwrap());
    let bed = Bed::new(&[]);
    let file = bed.tree.path("run.jsonl");
    // Begun, told, the turn; then it broke off in the first call.
    let until = Until { store: Store::open(&file).unwrap(), left: Mutex::new(3) };
    bed.run_with(Arc::clone(&models), Task::New("go".into()), Some(Arc::new(until)));
    for name in ["one", "two"] {
        fs::remove_file(bed.at(name)).unwrap();
    }
    let known = resumed(&events(&file).unwrap()).unwrap();
    let ending = bed.run_with(models, Task::Resumed(Box::new(known)), None);
    assert!(ending.summary.contains("it is not known whether it was done"), "{ending:?}");
    assert!(
        !bed.at("one").exists() && bed.at("two").exists(),
        "the first is not made again, the second is made"
    );
}

#[test]
fn a_question_is_parked_and_asked_again_when_the_run_goes_on() {
    let parking = Arc::new(Parking::default());
    let bed = Bed { parking: Some(parking), ..Bed::new(&[]) };
    let outside = bed.tree.path("outside.txt");
    let script = line(json!({"calls": [write("in"), write(outside.to_str().unwrap()), write("after")]}))
        + &line(json!({"say": "done"}));
    let models: Arc<dyn Models> = Arc::new(Script::parse(&script).unwrap());
    let file = bed.tree.path("run.jsonl");
    let store = Arc::new(Store::open(&file).unwrap());
    let ending = bed.run_with(Arc::clone(&models), Task::New("go".into()), Some(store));
    assert_eq!(ending.how, End::NeedsHuman, "{ending:?}");
    assert!(bed.at("in").exists() && !bed.at("after").exists() && !outside.exists());

    let known = resumed(&events(&file).unwrap()).unwrap();
    let asked_again = bed.run_with(models, Task::Resumed(Box::new(known)), None);
    assert_eq!(asked_again.how, End::NeedsHuman, "nobody has come: {asked_again:?}");
    assert!(!outside.exists() && !bed.at("after").exists());
}

#[test]
fn what_is_kept_of_a_run_has_no_secrets_and_no_other_readers() {
    use std::os::unix::fs::PermissionsExt;
    let bed = Bed::new(&[]);
    let file = bed.tree.path("kept/run.jsonl");
    let store = Arc::new(Store::open(&file).unwrap());
    let secret = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let script = line(json!({"say": format!("the token is {secret}"), "calls": [
        {"tool": "Write", "input": {"file_path": "a", "content": secret}}]}));
    bed.run_with(Arc::new(Script::parse(&script).unwrap()), Task::New(format!("use {secret}")), Some(store));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("REDACTED") && !text.contains(&secret), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_script_that_cannot_be_read_says_where() {
    for (text, words) in [("{\"say\":1}", "line 1"), ("\n{\"say\":\"a\"}\n{\"does\":1}", "line 3")] {
        assert!(Script::parse(text).unwrap_err().what.contains(words), "{text}");
    }
}

/// A model that says nothing any more once it is asked, for some agents; a script for the others.
struct Hangs(fn(&AgentIdentity) -> bool, Script);

struct Hanging;

impl Models for Hangs {
    fn model(&self, who: &AgentIdentity, named: Option<&str>) -> Result<Box<dyn Model>, ModelError> {
        if (self.0)(who) { Ok(Box::new(Hanging)) } else { self.1.model(who, named) }
    }
}

impl Model for Hanging {
    fn answer(&mut self, _: &ModelRequest<'_>, _: &mut dyn FnMut(&str)) -> Result<Turn, ModelError> {
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_limit_breaks_off_an_answer_that_has_begun() {
    let time = AgentLimits { time: Some(Duration::from_millis(300)), ..AgentLimits::default() };
    let bed = Bed { limits: time, ..Bed::new(&[]) };
    let alone = bed.run_with(Arc::new(Hangs(|_| true, Script::default())), Task::New("go".into()), None);
    assert_eq!((alone.how, alone.why.as_str()), (End::OverBudget, "time: 0 s of 0 s"));

    // One hangs, another one uses up what all of them have.
    let tokens = AgentLimits { tokens: Some(50), ..AgentLimits::default() };
    let bed = Bed { limits: tokens, ..Bed::new(&["a", "b"]) };
    let script = [
        json!({"calls": [run_agent("hangs", "a"), run_agent("spends", "b")]}),
        json!({"agent": "spends", "calls": [write("b/x")], "usage": {"output": 60}}),
    ];
    let script = Script::parse(&script.map(line).concat()).unwrap();
    let ending =
        bed.run_with(Arc::new(Hangs(|who| who.name == "hangs", script)), Task::New("go".into()), None);
    assert_eq!(ending.how, End::OverBudget, "{ending:?}");
    let nodes = tree(&bed.seen.0.lock().unwrap());
    for node in &nodes {
        let ending = node.ending.as_ref().unwrap();
        assert_eq!(
            (ending.how, ending.why.as_str()),
            (End::OverBudget, "tokens: 60 of 50"),
            "{}",
            node.who.id
        );
    }
    assert_eq!(nodes.len(), 3);
}

#[test]
fn one_that_waits_for_its_turn_is_over_with_its_own_limit() {
    let mut bed = Bed::new(&["a", "b/.pinfold"]);
    bed.reach.parallel = 1;
    bed.limits.time = Some(Duration::from_secs(2));
    fs::create_dir_all(bed.at(".pinfold/agents")).unwrap();
    fs::write(bed.at(".pinfold/agents/short.md"), "---\nname: short\nlimits: {time: 1s}\n---\n").unwrap();
    let script = line(json!({"calls": [run_agent("hangs", "a"), run_agent("short", "b")]}));
    let script = Script::parse(&script).unwrap();
    bed.run_with(Arc::new(Hangs(|who| who.depth > 0, script)), Task::New("go".into()), None);
    let told = bed.told("main").join("\n");
    // Whichever has the one place, the other one is over before it began.
    let (one, other) = (
        "short (b): over budget\nbecause: time: 1 s of 1 s",
        "short (b): over budget\nbecause: before it began: time: 1 s of 1 s",
    );
    assert!(told.contains(one) || told.contains(other), "{told}");
}

#[test]
fn pages_are_counted_over_all_agents_and_one_too_many_is_refused() {
    let fetches = AgentLimits { fetches: Some(2), ..AgentLimits::default() };
    let bed = Bed { limits: fetches, ..Bed::new(&["a"]) };
    let fetch = |n: u32| json!({"tool": "WebFetch", "input": {"url": format!("https://pinfold.test/{n}")}});
    let script = [
        json!({"calls": [fetch(1), run_agent("one", "a"), {"tool": "wait_for_agents", "input": {}}, fetch(4)]}),
        json!({"say": "{{results}}"}),
        json!({"agent": "one", "calls": [fetch(2), fetch(3), write("a/x")]}),
        json!({"agent": "one", "say": "{{results}}"}),
    ];
    let ending = bed.run(&script.map(line).concat());
    assert_eq!(ending.how, End::Done, "the run goes on: {ending:?}");
    let over = "2 pages were fetched, and no more may be";
    let of = |agent: &str| bed.told(agent).iter().map(|told| told.contains(over)).collect::<Vec<_>>();
    // The session has nothing to fetch with: what fails on its way is a fetch all the same.
    assert_eq!(of("one"), [false, false, true, false], "{:?}", bed.told("one"));
    assert!(of("main").last() == Some(&true), "{:?}", bed.told("main"));
    assert!(bed.at("a/x").exists());
}

/// Answers at the moments of an agent, and keeps what it was told of them.
#[derive(Debug, Default)]
struct Moments {
    /// Says no so often.
    no: Mutex<u32>,
    stop: bool,
    told: Mutex<Vec<(HookEvent, serde_json::Value)>>,
}

impl Hooks for Moments {
    fn pre_tool_use(&self, _: &HookCall<'_>) -> PreToolUseReply {
        PreToolUseReply::default()
    }
    fn permission_request(&self, _: &HookCall<'_>, _: &Request) -> PermissionRequestReply {
        PermissionRequestReply::default()
    }
    fn permission_denied(&self, _: &HookCall<'_>, _: &Refusal) -> bool {
        false
    }
    fn post_tool_use(&self, _: &HookCall<'_>, _: bool, _: &serde_json::Value) -> EventReply {
        EventReply::default()
    }
    fn event(&self, moment: &HookMoment<'_>) -> EventReply {
        self.told.lock().unwrap().push((moment.event, moment.detail.clone()));
        let mut no = self.no.lock().unwrap();
        let blocked = (*no > 0).then(|| "the tests were not run".to_owned());
        *no = no.saturating_sub(1);
        EventReply { blocked, stop: self.stop.then(|| "enough".to_owned()), ..EventReply::default() }
    }
}

impl Moments {
    fn of(&self, wanted: HookEvent) -> Vec<serde_json::Value> {
        let told = self.told.lock().unwrap();
        told.iter().filter(|(event, _)| *event == wanted).map(|(_, detail)| detail.clone()).collect()
    }
}

fn hooked(no: u32, stop: bool, folders: &[&str]) -> (Bed, Arc<Moments>) {
    let moments = Arc::new(Moments { no: Mutex::new(no), stop, ..Moments::default() });
    (Bed { hooks: Some(Arc::clone(&moments) as _), ..Bed::new(folders) }, moments)
}

#[test]
fn a_hook_has_an_agent_go_on_that_wants_to_stop() {
    let says = |n: u32| line(json!({"say": format!("done {n}")}));
    let many = (0..30).map(says).collect::<String>();
    let (bed, moments) = hooked(2, false, &[]);
    let ending = bed.run(&many);
    assert_eq!((ending.how, ending.summary.as_str()), (End::Done, "done 2"));
    let told = bed.told("main");
    assert_eq!(told.iter().filter(|told| told.contains("the tests were not run")).count(), 2, "{told:?}");
    let asked = moments.of(HookEvent::Stop);
    let again: Vec<_> = asked.iter().map(|detail| detail["stop_hook_active"].as_bool().unwrap()).collect();
    assert_eq!(again, [false, true, true]);
    assert_eq!(asked[2]["last_assistant_message"], "done 2");

    let (bed, _) = hooked(u32::MAX, false, &[]);
    assert_eq!(bed.run(&many).summary, "done 10", "one that never lets it is not asked for ever");
    let (bed, _) = hooked(u32::MAX, true, &[]);
    assert_eq!(bed.run(&many).summary, "done 0", "and one that says stop stops");

    // One that is stopped does not want to.
    let (bed, moments) = hooked(u32::MAX, false, &[]);
    let deny: String = (0..5).map(|n| line(json!({"calls": [write(&format!("/etc/x{n}"))]}))).collect();
    assert_eq!(bed.run(&deny).how, End::Stopped);
    assert!(moments.of(HookEvent::Stop).is_empty());
}

#[test]
fn a_hook_is_asked_before_an_agent_below_stops_and_told_when_it_is_stopped() {
    let deny: String =
        (0..5).map(|n| line(json!({"agent": "tries", "calls": [write(&format!("/etc/x{n}"))]}))).collect();
    let script = line(json!({"calls": [run_agent("one", "a"), run_agent("tries", "b")]}))
        + &line(json!({"say": "all"}))
        + &line(json!({"agent": "one", "say": "first"}))
        + &line(json!({"agent": "one", "calls": [write("a/x")]}))
        + &line(json!({"agent": "one", "say": "second"}))
        + &deny;
    let (bed, moments) = hooked(0, false, &["a", "b"]);
    bed.run(&script);
    let asked = moments.of(HookEvent::SubagentStop);
    let kinds: Vec<_> = asked.iter().filter_map(|detail| detail["agent_type"].as_str()).collect();
    assert!(kinds.len() == 2 && kinds.contains(&"one") && kinds.contains(&"tries"), "{asked:?}");
    assert_eq!(moments.of(HookEvent::Stop).len(), 1, "the first agent has an event of its own");
    assert!(!bed.at("a/x").exists(), "the control: it was done");

    // A hook that says stop to the beginning keeps it from beginning.
    let (bed, _) = hooked(0, true, &["a", "b"]);
    bed.run(&script);
    assert_eq!(tree(&bed.seen.0.lock().unwrap()).len(), 1);
}

#[test]
fn a_hook_is_asked_before_an_agent_forgets() {
    let big = ("x".repeat(70) + "\n").repeat(1000);
    let read = |n: u32| json!({"calls": [{"tool": "Read", "input": {"file_path": format!("big{n}")}}]});
    let script: String = (0..24).map(|n| line(read(n))).collect();
    let run = |no: u32, stop: bool| {
        let (bed, moments) = hooked(no, stop, &[]);
        for n in 0..24 {
            fs::write(bed.at(&format!("big{n}")), &big).unwrap();
        }
        let ending = bed.run(&script);
        let compacted = |event: &&Event| matches!(event, Event::Compacted { .. });
        let times = bed.seen.0.lock().unwrap().iter().filter(compacted).count();
        (ending.how, times, moments.of(HookEvent::PreCompact))
    };
    let (how, free, asked) = run(0, false);
    assert!(how == End::Done && free > 2 && asked.len() == free, "{how:?} {free} {asked:?}");
    assert_eq!(asked[0]["trigger"], "auto");
    let (how, held, asked) = run(2, false);
    assert!(how == End::Done && held == asked.len() - 2, "{how:?} {held} {asked:?}");
    assert_eq!(run(0, true).0, End::Stopped);
}

#[test]
fn an_agent_that_was_at_work_when_a_run_broke_off_is_told_of_and_not_started_again() {
    let script = [
        json!({"calls": [run_agent("one", "a")]}),
        json!({"calls": [{"tool": "wait_for_agents", "input": {}}]}),
        json!({"say": "routed"}),
        json!({"agent": "one", "calls": [write("a/x")]}),
        json!({"agent": "one", "calls": [write("a/y")]}),
        json!({"agent": "one", "say": "both are written"}),
    ]
    .map(line)
    .concat();
    let models: Arc<dyn Models> = Arc::new(Script::parse(&script).unwrap());
    let (mut at_work, mut ended) = (0, 0);
    for kept in 3.. {
        let bed = Bed::new(&["a"]);
        let file = bed.tree.path("run.jsonl");
        let until = Until { store: Store::open(&file).unwrap(), left: Mutex::new(kept) };
        bed.run_with(Arc::clone(&models), Task::New("go".into()), Some(Arc::new(until)));
        let known = events(&file).unwrap();
        let Ok(task) = resumed(&known) else { break };
        let of_one = |event: &&Event| event.agent() == "one";
        let began = known.iter().filter(of_one).any(|event| matches!(event, Event::Started { .. }));
        let over = known.iter().filter(of_one).any(|event| matches!(event, Event::Ended { .. }));
        let before = bed.seen.0.lock().unwrap().len();
        let ending = bed.run_with(Arc::clone(&models), Task::Resumed(Box::new(task)), None);
        assert_eq!((ending.how, ending.summary.as_str()), (End::Done, "routed"), "{kept}");
        let seen = bed.seen.0.lock().unwrap();
        let again =
            seen.iter().skip(before).filter(of_one).any(|event| matches!(event, Event::Started { .. }));
        assert!(!again || !began, "{kept}: it is not started again");
        let told = |words: &str| {
            seen.iter().filter(|event| event.agent() == "main").any(|event| match event {
                Event::Told { text, .. } => text.contains(words),
                Event::Called { result, .. } => result.text.contains(words),
                _ => false,
            })
        };
        if began && !over {
            at_work += 1;
            let words = "one (a): the run broke off while it worked; what it did up to then stands";
            assert!(told(words), "{kept}: the one above knows");
        } else if over {
            ended += 1;
            assert!(told("both are written"), "{kept}: what it came to is not lost");
        }
    }
    assert!(at_work > 2 && ended > 1, "it broke off in many places: {at_work} {ended}");
}

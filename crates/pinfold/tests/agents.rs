//! What definitions say, what is wrong in them, whom to believe, and what begins below a session.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pinfold::agents::{ChildOptions, Definition, Definitions};
use pinfold::audit::Memory;
use pinfold::policy::{BashMode, Effect, Interaction, Layer, Mode, Policy, SourcedRule, WayIn};
use pinfold::settings::{Locations, Trust, Widening};
use pinfold::{Ambient, Plan, RawCall, Ruling, Session};
use pinfold_gate_testkit::rules::policy_with;
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

fn cases(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn parsed(text: &str) -> Result<Definition, String> {
    Definition::parse(text.as_bytes(), Layer::User, &"a.md".into()).map_err(|bad| bad.to_string())
}

fn rules(rules: &[SourcedRule]) -> Vec<String> {
    rules.iter().map(|rule| format!("{} {}", rule.rule, rule.source.at.unwrap().0)).collect()
}

#[test]
fn definitions_are_read_in_the_forms_that_people_write() {
    for case in cases(include_str!("agents/good.jsonl")) {
        let about = case["about"].as_str().unwrap();
        let found = parsed(case["text"].as_str().unwrap()).unwrap_or_else(|bad| panic!("{about}: {bad}"));
        let texts =
            |name: &str| -> Option<Vec<String>> { serde_json::from_value(case[name].clone()).unwrap() };
        assert_eq!(found.mode.map(Mode::as_str), case["mode"].as_str(), "{about}");
        assert_eq!(found.allow_tools.as_deref().map(rules), texts("allow"), "{about}");
        assert_eq!(rules(&found.deny_tools), texts("deny").unwrap_or_default(), "{about}");
        assert_eq!(found.instructions, case["body"].as_str().unwrap_or_default(), "{about}");
        if let Some(wanted) = case["limits"].as_array() {
            let limits = found.limits;
            let time = limits.time.map(|time| time.as_secs());
            let got = [limits.turns, limits.tokens, limits.cost, time, limits.bytes, limits.agents];
            assert_eq!(json!(got), json!(wanted), "{about}");
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_a_mend() {
    for case in cases(include_str!("agents/bad.jsonl")) {
        let about = case["about"].as_str().unwrap();
        let bad = parsed(case["text"].as_str().unwrap()).map(|found| found.name).unwrap_err();
        let at = format!("user a.md:{}", case["at"].as_str().unwrap());
        assert!(bad.starts_with(&at), "{about}: {bad}");
        assert!(bad.contains(case["says"].as_str().unwrap()), "{about}: {bad}");
    }
}

/// A project and a person, each with definitions.
struct Bed(TempTree);

impl Bed {
    fn new() -> Self {
        let folders =
            ["project/.pinfold/agents", "project/sub/deep", "project/other", "config/agents", "state"];
        Self(TempTree::new().with_dirs(folders))
    }

    fn write(&self, below: &str, text: &str) {
        self.0.write(below, text);
    }

    fn locations(&self) -> Locations {
        let at = |below: &str| self.0.path(below);
        Locations::usual(&at("project"), None, Some(&at("config")), Some(&at("state")))
    }

    fn find(&self) -> Definitions {
        let locations = Locations { managed: None, ..self.locations() };
        Definitions::find(&Ambient::claim(), &locations, &[])
    }

    fn session(&self, mode: Mode, texts: &[(Effect, &str)]) -> Session {
        let plan = Plan::for_folder(self.0.path("project"));
        let policy = policy_with(plan.policy.clone(), mode, texts, &plan.bases);
        open(plan.with_policy(policy))
    }
}

fn below<'a>(name: &'a str, folder: &'a str, definition: Option<&'a Definition>) -> ChildOptions<'a> {
    ChildOptions { id: "child".into(), name, folder: Path::new(folder), definition, asking: None }
}

fn ruled(session: &Session, tool: &str, input: Value) -> String {
    match session.submit(&RawCall::new(tool, input)) {
        Ruling::Permit(_) => "permit".to_owned(),
        Ruling::Question(_) => "question".to_owned(),
        Ruling::Refusal(refusal) => format!("{:?}", refusal.code),
    }
}

fn write(session: &Session, path: &str) -> String {
    ruled(session, "Write", json!({"file_path": path, "content": "x"}))
}

#[test]
fn a_project_is_believed_once_it_is_trusted_as_it_is() {
    let bed = Bed::new();
    let text = "---\nname: maker\nmode: acceptEdits\nallow_tools: [\"Bash(make*)\"]\nmodel: big\n---\n";
    bed.write("project/.pinfold/agents/maker.md", text);
    assert!(!bed.find().get("maker").unwrap().trusted);

    let widening = Widening::scan(&Ambient::claim(), &bed.locations()).unwrap();
    assert_eq!(
        widening.what,
        [
            ".pinfold/agents/maker.md: the agent maker: allow Bash(make*)",
            ".pinfold/agents/maker.md: the agent maker: model big"
        ]
    );
    Trust::grant(&Ambient::claim(), &bed.locations(), &widening).unwrap();
    assert!(bed.find().get("maker").unwrap().trusted);

    bed.write("project/.pinfold/agents/maker.md", &format!("{text}One byte more."));
    assert!(!bed.find().get("maker").unwrap().trusted, "it is another file now");
}

#[test]
fn the_mode_of_a_definition_reaches_commands() {
    let bed = Bed::new();
    let plan = Plan::for_folder(bed.0.path("project"));
    let open = |policy| {
        let plan = plan.clone().with_policy(policy);
        Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap()
    };
    let granted = || Policy::folder_is_granted();
    let chosen = granted().entered(WayIn::OwnTools, None, Some(BashMode::Sandboxed));
    for (policy, mode, expected) in [
        (granted(), "", BashMode::Sandboxed),
        (granted(), "mode: default\n", BashMode::Ask),
        (granted(), "mode: dontAsk\n", BashMode::Ask),
        (granted(), "mode: acceptEdits\n", BashMode::Ask),
        (chosen.clone(), "mode: acceptEdits\n", BashMode::Sandboxed),
        (chosen, "mode: explore\n", BashMode::Ask),
    ] {
        let definition = parsed(&format!("---\nname: worker\n{mode}---\n")).unwrap();
        let child = open(policy).new_child(below("worker", "sub", Some(&definition))).unwrap();
        assert_eq!(child.plan().policy.bash, expected, "{mode}");
    }
}

#[test]
fn nobody_takes_the_name_of_a_persons_own_agent() {
    let bed = Bed::new();
    bed.write("config/agents/own.md", "---\nname: reviewer\ndeny_tools: [Bash]\n---\nmine");
    bed.write("project/.pinfold/agents/reviewer.md", "---\nname: reviewer\n---\ntheirs");
    bed.write("project/.pinfold/agents/folder/AGENT.md", "---\nname: in-a-folder\n---\n");
    let found = bed.find();
    assert_eq!(found.get("reviewer").unwrap().instructions, "mine");
    assert_eq!(found.files.iter().filter(|file| file.hidden).count(), 1);
    assert!(found.get("in-a-folder").is_some());
}

#[test]
fn a_definition_that_leads_out_of_the_project_is_not_read() {
    let bed = Bed::new();
    bed.write("secret.md", "---\nname: outside\n---\n");
    let link = bed.0.path("project/.pinfold/agents/link.md");
    std::os::unix::fs::symlink(bed.0.path("secret.md"), link).unwrap();
    let found = bed.find();
    assert!(found.get("outside").is_none());
    assert!(found.bad().any(|bad| bad.to_string().contains("leads it out of the project")));
}

#[test]
fn what_begins_below_writes_in_its_folder_and_nowhere_else() {
    let bed = Bed::new();
    let main = bed.session(Mode::AcceptEdits, &[]);
    let child = main.new_child(below("worker", "sub", None)).unwrap().begin(None).unwrap();
    assert_eq!(write(&main, "other/a.txt"), "permit", "the control");
    assert_eq!(write(&child, "sub/a.txt"), "permit");
    assert_eq!(write(&child, "other/a.txt"), "OutOfScope");
    assert_eq!(write(&child, "sub/../other/a.txt"), "OutOfScope");
    assert_eq!(child.interaction(), Interaction::Headless);

    let grandchild = child.new_child(below("worker", "sub/deep", None)).unwrap().begin(None).unwrap();
    assert_eq!(write(&grandchild, "sub/deep/a.txt"), "permit");
    assert_eq!(write(&grandchild, "sub/a.txt"), "OutOfScope");
    for folder in ["other", "/", "..", "sub/../other", "missing"] {
        assert!(child.new_child(below("worker", folder, None)).is_err(), "{folder}");
    }
}

#[test]
fn a_folder_that_became_a_link_is_no_folder_inside() {
    let bed = Bed::new();
    let main = bed.session(Mode::AcceptEdits, &[]);
    let child = main.new_child(below("worker", "sub", None)).unwrap();
    let sub = bed.0.path("project/sub");
    fs::rename(&sub, bed.0.path("project/moved")).unwrap();
    std::os::unix::fs::symlink(bed.0.path("config"), &sub).unwrap();
    assert!(main.new_child(below("worker", "sub", None)).is_err());
    // The folder that was looked at is held: what is written goes there, wherever it is now.
    let child = child.begin(None).unwrap();
    let call = RawCall::new("Write", json!({"file_path": "sub/a.txt", "content": "x"}));
    if let Ruling::Permit(permit) = child.submit(&call) {
        let (_, mut targets, receipt) = permit.spend();
        targets.next_write().unwrap().create_new(b"x").unwrap();
        receipt.close(&pinfold::Outcome::Done).unwrap();
        assert!(bed.0.path("project/moved/a.txt").exists());
    }
    assert!(!bed.0.path("config/a.txt").exists());
}

#[test]
fn deny_rules_and_lists_are_inherited_and_what_allows_is_not() {
    use Effect::{Allow, Ask, Deny};
    let bed = Bed::new();
    let rules =
        [(Deny, "Edit(**/*.lock)"), (Allow, "WebFetch"), (Allow, "Agent"), (Ask, "Read(**/notes.md)")];
    let main = bed.session(Mode::AcceptEdits, &rules);
    let child = main.new_child(below("worker", "sub", None)).unwrap().begin(None).unwrap();
    let agent = || json!({"name": "x", "folder": "sub/deep", "task": "t"});
    assert_eq!(write(&child, "sub/a.lock"), "Denied");
    assert_eq!(ruled(&main, "run_agent", agent()), "permit", "the control");
    assert_eq!(ruled(&child, "run_agent", agent()), "RequiresApproval");
    assert_eq!(ruled(&child, "Read", json!({"file_path": "sub/notes.md"})), "permit");

    let list = |text: &str| Definition { trusted: true, ..parsed(text).unwrap() };
    let narrow = list("---\nname: narrow\nallow_tools: [Agent, \"Write(**/a.txt)\"]\n---\n");
    let wide = list("---\nname: wide\nmode: bypassPermissions\nallow_tools: [Write, Delete]\n---\n");
    let narrow = main.new_child(below("narrow", "sub", Some(&narrow))).unwrap().begin(None).unwrap();
    assert_eq!(write(&narrow, "sub/a.txt"), "permit");
    assert_eq!(write(&narrow, "sub/b.txt"), "Denied");
    let alone = main.new_child(below("wide", "sub", Some(&wide))).unwrap().begin(None).unwrap();
    assert_eq!(write(&alone, "sub/b.txt"), "permit", "the control");
    assert_eq!(alone.policy().mode, Mode::AcceptEdits, "no looser than the one above");
    let beneath = narrow.new_child(below("wide", "sub", Some(&wide))).unwrap().begin(None).unwrap();
    assert_eq!(write(&beneath, "sub/b.txt"), "Denied", "the list above holds too");
}

#[test]
fn a_definition_that_nobody_trusts_takes_away_and_gives_nothing() {
    let bed = Bed::new();
    let text = "---\nname: a\nmode: explore\nallow_tools: [Write]\ndeny_tools: [\"Read(**/x)\"]\n---\n";
    let mine = Definition { trusted: true, ..parsed(text).unwrap() };
    let theirs = parsed(text).unwrap();
    let main = bed.session(Mode::AcceptEdits, &[]);
    let trusted = main.new_child(below("a", "sub", Some(&mine))).unwrap().begin(None).unwrap();
    let untrusted = main.new_child(below("a", "sub", Some(&theirs))).unwrap().begin(None).unwrap();
    assert_eq!(write(&trusted, "sub/a"), "permit", "the control");
    assert_eq!(write(&untrusted, "sub/a"), "Denied");
    for session in [&trusted, &untrusted] {
        assert_eq!(ruled(session, "Read", json!({"file_path": "x"})), "Denied");
        assert_eq!(ruled(session, "Delete", json!({"path": "sub/deep"})), "Denied");
    }
}

#[test]
fn what_changes_for_a_session_changes_for_those_that_began_below_it() {
    let bed = Bed::new();
    let definition = Definition {
        trusted: true,
        ..parsed("---\nname: own\nallow_tools: [Write]\ndeny_tools: [\"Edit(own.txt)\"]\n---\n").unwrap()
    };
    let main = bed.session(Mode::AcceptEdits, &[]);
    let narrowed = main.new_child(below("late", "other", None)).unwrap();
    let child = main.new_child(below("own", "sub", Some(&definition))).unwrap().begin(None).unwrap();
    let deep = child.new_child(below("deep", "sub/deep", None)).unwrap().begin(None).unwrap();
    let all = |expected: &str, name: &str| {
        assert_eq!(write(&child, &format!("sub/{name}")), expected, "{name}");
        assert_eq!(write(&deep, &format!("sub/deep/{name}")), expected, "{name}");
    };
    all("permit", "a.txt");

    let changed = bed.session(Mode::AcceptEdits, &[(Effect::Deny, "Edit(a.txt)"), (Effect::Allow, "Bash")]);
    main.set_policy(changed.policy());
    all("Denied", "a.txt");
    all("permit", "b.txt");
    all("Denied", "own.txt");
    let late = narrowed.begin(None).unwrap();
    assert_eq!(write(&late, "other/a.txt"), "Denied", "one that was narrowed before and begins after");
    main.set_policy(bed.session(Mode::AcceptEdits, &[]).policy());
    all("permit", "a.txt");
    all("Denied", "own.txt");

    // A mode reaches those below as far as it is no looser than the one they began in.
    assert!(main.set_mode(Mode::DontAsk));
    assert_eq!((child.policy().mode, deep.policy().mode), (Mode::DontAsk, Mode::DontAsk));
    assert!(main.set_mode(Mode::BypassPermissions));
    assert_eq!((child.policy().mode, deep.policy().mode), (Mode::AcceptEdits, Mode::AcceptEdits));

    // One that is over is not kept, and one that changes by itself changes those below it alone.
    drop(deep);
    assert!(child.set_mode(Mode::DontAsk));
    assert_eq!(late.policy().mode, Mode::AcceptEdits);
}

#[test]
fn rules_that_change_while_agents_begin_hold_for_each_of_them() {
    let bed = Bed::new();
    let main = bed.session(Mode::AcceptEdits, &[]);
    let last = bed.session(Mode::AcceptEdits, &[(Effect::Deny, "Edit(a.txt)")]).policy();
    let other = bed.session(Mode::AcceptEdits, &[(Effect::Deny, "Edit(b.txt)")]).policy();
    let main = &main;
    let children: Vec<Session> = std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for _ in 0..50 {
                main.set_policy(Arc::clone(&other));
                main.set_policy(Arc::clone(&last));
            }
        });
        let begin = || main.new_child(below("x", "sub", None)).unwrap().begin(None).unwrap();
        let begins = move || (0..20).map(|_| begin()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(begins)).collect();
        changes.join().unwrap();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for child in &children {
        assert_eq!(
            (write(child, "sub/a.txt"), write(child, "sub/b.txt")),
            ("Denied".into(), "permit".into())
        );
    }
}

//! What a process of a shell is about to do goes down the road of every call: the same rules, the same questions, held
//! places, and nothing that the kernel holds as a wall.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold::consent::{Choice, RequestedOperation};
use pinfold::paths::Opening;
use pinfold::policy::{
    Access, Connection, Effect, Interaction, Mode, Operation, PathText, Policy, Preview, ProcessCall,
    ProcessEffect,
};
use pinfold::{Permit, Plan, Question, RawCall, Refusal, Ruling, Session, ToolCall};
use pinfold_gate_testkit::answer;
use pinfold_gate_testkit::rules::{bases, policy_with};
use pinfold_gate_testkit::session::{open, question};
use pinfold_host::Host;
use pinfold_testkit::TempTree;
use serde_json::json;

struct Bed {
    _tree: TempTree,
    inside: PathBuf,
    outside: PathBuf,
    home: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let tree = TempTree::new();
        let [inside, outside, home] = ["inside", "outside", "home"].map(|name| tree.make_dir(name));
        Self { _tree: tree, inside, outside, home }
    }

    fn session(&self, mode: Mode, rules: &[(Effect, &str)]) -> Session {
        self.session_of(mode, rules, |plan| plan)
    }

    fn session_of(&self, mode: Mode, rules: &[(Effect, &str)], change: impl FnOnce(Plan) -> Plan) -> Session {
        let bases = bases(&self.inside);
        let texts: Vec<String> =
            rules.iter().map(|(_, text)| text.replace("$OUT", self.outside.to_str().unwrap())).collect();
        let rules: Vec<_> =
            rules.iter().zip(&texts).map(|((effect, _), text)| (*effect, text.as_str())).collect();
        let plan = Plan::for_folder(&self.inside)
            .with_policy(policy_with(Policy::folder_is_granted(), mode, &rules, &bases))
            .with_home(self.home.clone())
            .with_bases(bases);
        open(change(plan))
    }
}

fn touch(operation: Operation, place: &Path) -> ProcessEffect {
    ProcessEffect {
        operation,
        says: operation.as_str().to_owned(),
        place: PathText::new(place),
        named: PathText::new(place),
        preview: Preview::None,
    }
}

fn process(effects: impl Into<Vec<ProcessEffect>>) -> ToolCall {
    ToolCall::Process(ProcessCall {
        program: "touch".to_owned(),
        command_line: "touch a".to_owned(),
        effects: effects.into(),
        connects: None,
    })
}

fn write(place: &Path) -> ToolCall {
    process([touch(Operation::Write, place)])
}

/// What became of a call, in a word, with the step that said so.
fn ruled(session: &Session, call: ToolCall) -> String {
    match session.submit(call) {
        Ruling::Permit(_) => "allow".to_owned(),
        Ruling::Question(question) => format!("ask {}", question.verdict.step),
        Ruling::Refusal(refusal) => format!("deny {:?}", refusal.code),
    }
}

#[test]
fn rules_and_modes_say_the_same_as_of_an_edit() {
    use Effect::{Allow, Ask, Deny};
    let bed = Bed::new();
    let place = bed.outside.join("d/f");
    std::fs::create_dir(bed.outside.join("d")).unwrap();
    for (mode, rules, expected) in [
        (Mode::Default, &[] as &[(Effect, &str)], "ask scope"),
        (Mode::AcceptEdits, &[], "ask scope"),
        (Mode::DontAsk, &[], "deny RequiresApproval"),
        // A mode is nobody's word for what the kernel holds.
        (Mode::BypassPermissions, &[], "ask scope"),
        // A rule that names the place reaches it; one that names a tool does not.
        (Mode::Default, &[(Allow, "Edit(/$OUT/**)")], "allow"),
        (Mode::Default, &[(Allow, "Write(/$OUT/d/f)")], "allow"),
        (Mode::Default, &[(Allow, "Edit(/$OUT/other/**)")], "ask scope"),
        (Mode::Default, &[(Allow, "Edit"), (Allow, "Write"), (Allow, "Bash")], "ask scope"),
        (Mode::Default, &[(Allow, "Edit(**)")], "ask scope"),
        (Mode::DontAsk, &[(Allow, "Edit(/$OUT/**)")], "allow"),
        // What takes away takes away, in every mode and whatever allows it.
        (Mode::BypassPermissions, &[(Deny, "Edit(/$OUT/**)")], "deny Denied"),
        (Mode::Default, &[(Allow, "Edit(/$OUT/**)"), (Deny, "Edit(/$OUT/d/f)")], "deny Denied"),
        (Mode::Default, &[(Allow, "Edit(/$OUT/**)"), (Deny, "Write(/$OUT/d/**)")], "deny Denied"),
        (Mode::Default, &[(Allow, "Edit(/$OUT/**)"), (Ask, "Edit(/$OUT/d/*)")], "ask ask-rule"),
    ] {
        assert_eq!(ruled(&bed.session(mode, rules), write(&place)), expected, "{mode:?} {rules:?}");
    }
}

fn connects(host: &str, port: u16) -> ToolCall {
    let is_usual = [22, 80, 443].contains(&port);
    ToolCall::Process(ProcessCall {
        program: "curl".to_owned(),
        command_line: "curl x".to_owned(),
        effects: Vec::new(),
        connects: Some(Connection { host: Host::parse(host).unwrap(), port, is_usual }),
    })
}

#[test]
fn a_host_is_a_question_whatever_the_mode_unless_a_rule_speaks_of_it() {
    use Effect::{Allow, Ask, Deny};
    let bed = Bed::new();
    for (mode, rules, port, expected) in [
        (Mode::Default, &[] as &[(Effect, &str)], 443, "ask scope"),
        (Mode::AcceptEdits, &[], 443, "ask scope"),
        (Mode::BypassPermissions, &[], 443, "ask scope"),
        (Mode::DontAsk, &[], 443, "deny RequiresApproval"),
        (Mode::Default, &[(Allow, "WebFetch(domain:a.example)")], 443, "allow"),
        (Mode::Default, &[(Allow, "WebFetch(domain:*.example)")], 22, "allow"),
        (Mode::Default, &[(Allow, "WebFetch"), (Allow, "Bash")], 443, "ask scope"),
        // Rules name no port, and let nobody through to another than the usual ones.
        (Mode::Default, &[(Allow, "WebFetch(domain:a.example)")], 5432, "ask scope"),
        (Mode::BypassPermissions, &[(Deny, "WebFetch(domain:*.example)")], 5432, "deny Denied"),
        (
            Mode::Default,
            &[(Allow, "WebFetch(domain:a.example)"), (Ask, "WebFetch(domain:a.example)")],
            80,
            "ask ask-rule",
        ),
    ] {
        let said = ruled(&bed.session(mode, rules), connects("a.example", port));
        assert_eq!(said, expected, "{mode:?} {rules:?} {port}");
    }
}

#[test]
fn nobody_is_asked_where_nobody_is_there_or_may_be() {
    let bed = Bed::new();
    let place = bed.outside.join("f");
    let said = |change: fn(Plan) -> Plan| ruled(&bed.session_of(Mode::Default, &[], change), write(&place));
    assert_eq!(said(|plan| plan), "ask scope", "the control");
    assert_eq!(said(|plan| plan.with_interaction(Interaction::Headless)), "deny RequiresApproval");
    assert_eq!(said(|plan| plan.with_access(Access::ReadOnly)), "deny ReadOnly");
    assert_eq!(
        said(|mut plan| {
            plan.scope.enforce_write = true;
            plan
        }),
        "deny OutOfScope"
    );
}

#[test]
fn sensitive_places_are_for_a_person_each_time_and_walls_inside_for_nobody() {
    let bed = Bed::new();
    std::fs::create_dir_all(bed.inside.join(".git/hooks")).unwrap();
    let all = &[(Effect::Allow, "Edit(//**)")];
    for name in [".bashrc", ".ssh/authorized_keys", ".aws/credentials", ".config/systemd/user/x.service"] {
        let place = bed.home.join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        for mode in [Mode::Default, Mode::BypassPermissions] {
            assert_eq!(ruled(&bed.session(mode, all), write(&place)), "ask safeguard", "{name}");
        }
        let Ruling::Question(asked) = bed.session(Mode::Default, all).submit(write(&place)) else {
            panic!("{name}")
        };
        assert!(
            asked.request().always_ask && asked.offer().session.is_empty() && asked.offer().kept.is_empty()
        );
    }
    for name in [".git/hooks/pre-commit", ".git/config", ".claude/settings.json", ".mcp.json"] {
        for mode in [Mode::Default, Mode::BypassPermissions] {
            let said = ruled(&bed.session(mode, all), write(&bed.inside.join(name)));
            assert_eq!(said, "deny RequiresApproval", "{name}");
        }
    }
    // The control: what no sandbox holds it may do by itself.
    assert_eq!(ruled(&bed.session(Mode::Default, &[]), write(&bed.inside.join("plain"))), "allow");
}

#[test]
fn a_rule_that_denies_covers_the_name_that_the_process_said() {
    let bed = Bed::new();
    let rules = &[(Effect::Deny, "Edit(/link/**)"), (Effect::Allow, "Edit(/$OUT/**)")];
    let session = bed.session(Mode::Default, rules);
    let place = bed.outside.join("f");
    let named = |named: PathBuf| {
        process([ProcessEffect { named: PathText::new(named), ..touch(Operation::Write, &place) }])
    };
    assert_eq!(ruled(&session, named(bed.inside.join("link/f"))), "deny Denied");
    assert_eq!(ruled(&session, named(bed.inside.join("other/../link/./f"))), "deny Denied");
    assert_eq!(ruled(&session, named(bed.inside.join("other/f"))), "allow", "the control");
}

#[test]
fn what_is_not_plain_when_it_is_judged_is_denied() {
    let bed = Bed::new();
    let session = bed.session(Mode::BypassPermissions, &[]);
    std::os::unix::fs::symlink(bed.outside.join("none"), bed.outside.join("dangling")).unwrap();
    std::os::unix::fs::symlink(&bed.outside, bed.inside.join("link")).unwrap();
    std::os::unix::net::UnixListener::bind(bed.outside.join("socket")).unwrap();
    for (place, code) in [
        (bed.outside.join("dangling"), "Unresolved"),
        (bed.outside.join("socket"), "SpecialFile"),
        (PathBuf::from("/proc/self/cwd/x"), "Unresolved"),
        (PathBuf::from("/proc/1/root/x"), "Unresolved"),
        // It was outside when the process was looked at, and leads through the folder now.
        (bed.inside.join("link/f"), "Disguised"),
    ] {
        assert_eq!(ruled(&session, write(&place)), format!("deny {code}"), "{}", place.display());
    }
}

#[test]
fn a_question_tells_the_deed_and_a_yes_is_kept_for_the_place_alone() {
    let bed = Bed::new();
    let session = bed.session(Mode::Default, &[]);
    let odd = bed.outside.join(OsStr::from_bytes(b"new\nline \xff\x1b[2J"));
    let call =
        process([ProcessEffect { says: "cut to 0 bytes".to_owned(), ..touch(Operation::Write, &odd) }]);
    let asked = asked_about(&session, call.clone());
    let RequestedOperation::Paths { acts } = &asked.request().operation else {
        panic!("{:?}", asked.request())
    };
    assert_eq!(acts[0].operation, "cut to 0 bytes");
    assert!(acts[0].path.ends_with(r"/outside/new\nline \xff\u{1b}[2J"), "{}", acts[0].path);
    let mut targets = yes(&session, asked).spend().1;
    let target = targets.next_write().unwrap();
    assert!(!target.is_inside() && target.real() == odd);
    drop(target.open_in_place(Opening { write: true, create: Some(0o600), ..Opening::default() }).unwrap());
    assert!(odd.exists());
    // The same place and operation is not asked about again, by whatever call.
    assert_eq!(ruled(&session, call), "allow");
    let raw = RawCall::new("Write", json!({"file_path": bed.outside.join("other"), "content": ""}));
    assert!(matches!(session.submit(&raw), Ruling::Question(_)));
    assert_eq!(ruled(&session, write(&bed.outside.join("other"))), "ask scope");
    assert_eq!(ruled(&session, process([touch(Operation::Delete, &odd)])), "ask scope");
}

#[test]
fn both_ends_of_a_move_are_judged_and_held() {
    let bed = Bed::new();
    std::fs::write(bed.inside.join("f"), "f").unwrap();
    std::fs::create_dir(bed.inside.join("folder")).unwrap();
    let session = bed.session(Mode::Default, &[]);
    let moved = |from: &str, to: &str| {
        process([
            touch(Operation::MoveFrom, &bed.inside.join(from)),
            touch(Operation::MoveTo, &bed.outside.join(to)),
        ])
    };
    let mut targets = yes(&session, asked_about(&session, moved("f", "g"))).spend().1;
    let (from, to) = (targets.next_write().unwrap(), targets.next_write().unwrap());
    assert!(from.is_inside() && !to.is_inside());
    from.rename_in_place(&to, true).unwrap();
    assert_eq!(std::fs::read_to_string(bed.outside.join("g")).unwrap(), "f");
    // Across the line no folder goes, and no second name.
    let mut targets = yes(&session, asked_about(&session, moved("folder", "folder"))).spend().1;
    let (from, to) = (targets.next_write().unwrap(), targets.next_write().unwrap());
    assert!(from.rename_in_place(&to, true).is_err() && bed.inside.join("folder").exists());
    std::fs::write(bed.inside.join("l"), "l").unwrap();
    let linked = process([
        touch(Operation::Edit, &bed.inside.join("l")),
        touch(Operation::MoveTo, &bed.outside.join("l")),
    ]);
    let mut targets = yes(&session, asked_about(&session, linked)).spend().1;
    let (from, to) = (targets.next_write().unwrap(), targets.next_write().unwrap());
    assert!(from.link_in_place(&to).is_err() && !bed.outside.join("l").exists());
    // The sandbox decides about the whole.
    std::fs::create_dir(bed.inside.join(".git")).unwrap();
    std::fs::write(bed.inside.join(".git/config"), "").unwrap();
    assert_eq!(ruled(&session, moved(".git/config", "config")), "deny RequiresApproval");
}

#[test]
fn it_cannot_be_said() {
    let bed = Bed::new();
    let session = bed.session(Mode::BypassPermissions, &[]);
    let raw = RawCall::new("Process", json!({"program": "x", "touches": []}));
    let Ruling::Refusal(refusal) = session.submit(&raw) else { panic!("nobody can say it") };
    assert!(refusal.message.contains("there is no tool `Process`"), "{}", refusal.message);
}

fn asked_about(session: &Session, call: ToolCall) -> Question {
    question(session.submit(call))
}

fn yes(session: &Session, question: Question) -> Permit {
    let yes = answer(question.request(), Choice::Yes);
    match session.answer(question, &yes) {
        Ruling::Permit(permit) => *permit,
        Ruling::Question(_) => panic!("the same question again"),
        Ruling::Refusal(refusal) => {
            let refusal: Refusal = *refusal;
            panic!("{}", refusal.message)
        }
    }
}

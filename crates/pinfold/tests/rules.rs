//! Rules, modes and grants over real folders: what a policy makes of a session, and that asking and considering agree.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use pinfold::policy::{Bases, Decision, Effect, Grant, Layer, Mode, Policy, Source, SourcedRule};
use pinfold::{AssumedShells, Plan, RawCall, Ruling, Session};
use pinfold_gate_testkit::calls::{bash, read};
use pinfold_gate_testkit::rules::{bases, policy_with, rule};
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

struct Bed {
    _tree: TempTree,
    root: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let tree = TempTree::new().with_files(
            ["src/a.rs", "docs/x.md", "secrets/key", ".env"].map(|file| format!("root/{file}")),
            "text\n",
        );
        Self { root: tree.path("root"), _tree: tree }
    }

    fn session(&self, mode: Mode, rules: &[(Effect, &str)]) -> Session {
        let mut plan = Plan::for_folder(&self.root);
        plan.policy = self.policy(mode, rules);
        plan.shells = Some(Arc::new(AssumedShells::in_folder(self.root.clone())));
        open(plan)
    }

    fn policy(&self, mode: Mode, rules: &[(Effect, &str)]) -> Policy {
        policy_with(Policy::default(), mode, rules, &bases(&self.root))
    }
}

fn call(tool: &str, input: Value) -> RawCall {
    RawCall::new(tool, input)
}

fn edit(path: &str) -> RawCall {
    call("Edit", json!({"file_path": path, "old_string": "text", "new_string": "other"}))
}

fn decide(session: &Session, raw: &RawCall) -> (Decision, &'static str) {
    let verdict = session.check(raw).unwrap().verdict;
    (verdict.decision, verdict.step)
}

#[test]
fn a_deny_meets_a_path_under_either_name_and_an_allow_needs_both() {
    let bed = Bed::new();
    symlink("secrets/key", bed.root.join("plain")).unwrap();
    symlink("../docs/x.md", bed.root.join("src/linked.md")).unwrap();
    let deny = bed.session(Mode::AcceptEdits, &[(Effect::Deny, "Read(./secrets/**)")]);
    assert_eq!(decide(&deny, &read("secrets/key")), (Decision::Deny, "deny-rule"));
    assert_eq!(decide(&deny, &read("plain")), (Decision::Deny, "deny-rule"));
    assert_eq!(decide(&deny, &read("src/../secrets/key")), (Decision::Deny, "deny-rule"));
    assert_eq!(decide(&deny, &read("src/a.rs")).0, Decision::Allow);
    assert_eq!(decide(&deny, &bash("cat plain")), (Decision::Deny, "deny-rule"));
    let allow = bed.session(Mode::Default, &[(Effect::Allow, "Edit(./src/**)")]);
    assert_eq!(decide(&allow, &edit("src/a.rs")), (Decision::Allow, "allow-rule"));
    assert_eq!(decide(&allow, &edit("src/linked.md")), (Decision::Ask, "mode-default"));
}

#[test]
fn a_refusal_names_the_rule_and_where_it_stands() {
    let bed = Bed::new();
    let file: Arc<str> = ".pinfold/settings.json".into();
    let rule = SourcedRule {
        source: Source::in_file(Layer::Project, file, 7, 5),
        ..rule(Effect::Deny, "Bash(curl *)")
    };
    let mut policy = Policy::default().with_rules([rule], &Bases::default());
    policy.mode = Mode::BypassPermissions;
    let session = bed.session(Mode::Default, &[]);
    session.set_policy(policy);
    let refusal = session.check(&bash("echo $(sudo curl http://x)")).unwrap().refusal.unwrap();
    assert_eq!(refusal.rule.as_deref(), Some("Bash(curl *)"));
    assert_eq!(refusal.source.as_deref(), Some("project .pinfold/settings.json:7:5"));
    assert!(refusal.message.contains("`sudo curl http://x`"), "{}", refusal.message);
    assert!(!refusal.approvable);
}

#[test]
fn a_deny_reaches_what_another_program_starts() {
    let bed = Bed::new();
    for denied in ["Bash(curl)", "Bash(curl *)", "Bash(curl:*)"] {
        let session = bed.session(Mode::BypassPermissions, &[(Effect::Deny, denied)]);
        assert_eq!(decide(&session, &bash("echo x | xargs curl")).0, Decision::Deny, "{denied}");
        assert_ne!(decide(&session, &bash("X=curl; $X http://x")).0, Decision::Allow, "{denied}");
        assert_eq!(decide(&session, &bash("echo curl")).0, Decision::Allow, "{denied}");
    }
}

#[test]
fn a_file_that_a_command_puts_into_a_folder_keeps_its_name() {
    let bed = Bed::new();
    let session = bed.session(Mode::BypassPermissions, &[]);
    for command in ["cp secrets/.mcp.json src", "mv secrets/.bashrc docs", "cp -r secrets/.git src"] {
        assert_eq!(decide(&session, &bash(command)), (Decision::Ask, "safeguard"), "{command}");
    }
    assert_eq!(decide(&session, &bash("cp secrets/key src")).0, Decision::Allow);
}

#[test]
fn a_policy_that_changes_counts_from_the_next_call_on() {
    let bed = Bed::new();
    let session = bed.session(Mode::AcceptEdits, &[]);
    assert_eq!(decide(&session, &edit("src/a.rs")).0, Decision::Allow);
    session.set_policy(bed.policy(Mode::AcceptEdits, &[(Effect::Deny, "Edit(./src/**)")]));
    assert_eq!(decide(&session, &edit("src/a.rs")).0, Decision::Deny);
}

#[test]
fn a_grant_answers_for_its_class_and_for_nothing_that_needs_a_person() {
    let bed = Bed::new();
    let session = bed.session(Mode::Default, &[]);
    let grants = ["Edit", "Bash(npm test)"].map(|text| Grant::Rule(Arc::new(rule(Effect::Allow, text))));
    session.set_grants(grants);
    let write = |path: &str| call("Write", json!({"file_path": path, "content": "x"}));
    assert_eq!(decide(&session, &write("docs/new.md")), (Decision::Allow, "session-grant"));
    assert_eq!(decide(&session, &write(".git/hooks/pre-commit")), (Decision::Ask, "safeguard"));
    assert_eq!(decide(&session, &write("/etc/motd")).0, Decision::Ask);
    assert_eq!(decide(&session, &bash("npm test")), (Decision::Allow, "session-grant"));
    assert_eq!(decide(&session, &bash("npm test && make")).0, Decision::Ask);
}

#[test]
fn what_is_considered_is_what_is_ruled() {
    let bed = Bed::new();
    let rules = [
        (Effect::Allow, "Bash(git status)"),
        (Effect::Allow, "Edit(./src/**)"),
        (Effect::Ask, "Bash(npm *)"),
        (Effect::Deny, "Read(./secrets/**)"),
    ];
    let calls = [
        read("src/a.rs"),
        read("secrets/key"),
        call("Grep", json!({"pattern": "x", "path": "secrets"})),
        call("Write", json!({"file_path": "docs/new.md", "content": "x"})),
        call("Write", json!({"file_path": "/etc/not-there-yet", "content": "x"})),
        call("Delete", json!({"path": ".env"})),
        bash("git status"),
        bash("git status && npm test"),
        bash("rm -rf src"),
        bash("echo x > docs/y"),
        bash("echo 'unclosed"),
    ];
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::DontAsk, Mode::BypassPermissions] {
        let session = bed.session(mode, &rules);
        for raw in &calls {
            let answered = match session.submit(raw) {
                Ruling::Permit(_) => Decision::Allow,
                Ruling::Question(_) => Decision::Ask,
                Ruling::Refusal(_) => Decision::Deny,
            };
            assert_eq!(session.check(raw).unwrap().verdict.decision, answered, "{mode:?} {raw:?}");
        }
    }
}

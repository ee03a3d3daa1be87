//! Rules that past answers speak for.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::PathBuf;
use std::sync::Arc;

use pinfold::audit::Discard;
use pinfold::learn::{Learned, PastAnswer, PastQuestion, learn};
use pinfold::policy::grant_options::may_be_learnt;
use pinfold::policy::{Decision, Effect, Layer, Policy, Rule, Source, SourcedRule};
use pinfold::settings::Situation;
use pinfold::{Ambient, AssumedShells, Plan, RawCall, Session};
use pinfold_gate_testkit::session::open_recorded;
use pinfold_testkit::TempTree;
use proptest::prelude::*;
use serde_json::json;

/// A project with a session in it, and the same where the folder is granted.
struct Bed(TempTree);

impl Bed {
    fn new() -> Self {
        Self(TempTree::new().with_dirs(["home/proj/src", "home/proj/.git", "beside"]))
    }

    fn project(&self) -> PathBuf {
        self.0.path("home/proj")
    }

    fn session(&self, rules: &[Rule]) -> Session {
        let merged = pinfold::policy::merge(&[]);
        let situation = Situation { project: self.project(), ..Situation::default() };
        let plan = Plan::for_folder(self.project())
            .with_home(self.0.path("home"))
            .with_shells(Arc::new(AssumedShells::in_folder(self.project())));
        let plan = plan.with_settings(&Ambient::claim(), &merged, &situation).unwrap();
        let bases = plan.bases.clone();
        let session = open_recorded(plan, Arc::new(Discard));
        let local = |rule: &Rule| SourcedRule {
            effect: Effect::Allow,
            rule: rule.clone(),
            source: Source::plain(Layer::Local),
        };
        let policy = Policy::clone(&session.policy());
        session
            .set_policy(rules.iter().fold(policy, |policy, rule| policy.and_allowing(local(rule), &bases)));
        session
    }

    /// What is learnt from lines of `yes` or `no` with a call.
    fn learns(&self, past: &[(&str, &str)], least: usize) -> Learned {
        let past = past.iter().enumerate().map(|(at, (answer, call))| PastQuestion {
            name: format!("s:{at}"),
            call: self.call(call),
            answer: if *answer == "yes" { PastAnswer::Yes } else { PastAnswer::No },
        });
        learn(&[self.session(&[])], past, least)
    }

    fn call(&self, text: &str) -> RawCall {
        let at = |path: &str| path.replace("BESIDE", &self.0.path("beside").display().to_string());
        match text.split_once(' ') {
            Some(("write", path)) => RawCall::new("Write", json!({"file_path": at(path), "content": ""})),
            Some(("delete", path)) => RawCall::new("Delete", json!({"path": at(path)})),
            Some(("mcp", name)) => RawCall::new(format!("mcp__{name}"), json!({})),
            _ => RawCall::new("Bash", json!({"command": text})),
        }
    }

    fn decides(&self, rules: &[Rule], call: &RawCall) -> Decision {
        self.session(rules).check(call).unwrap().verdict.decision
    }
}

fn rules(learned: &Learned) -> Vec<&str> {
    let mut rules: Vec<&str> = learned.proposals.iter().map(|proposal| proposal.rule.text()).collect();
    rules.sort_unstable();
    rules
}

#[test]
fn the_narrowest_rules_that_save_what_was_asked_twice() {
    let bed = Bed::new();
    for (past, expected) in [
        (&["npm test", "npm test"][..], &["Bash(npm test)"][..]),
        (&["npm test"], &[]),
        (&["git commit -m a", "git commit -m b"], &["Bash(git commit *)"]),
        (&["git commit -m a", "git commit -m a"], &["Bash(git commit -m a)"]),
        // The narrow one is covered by what the others need.
        (&["git commit -m a", "git commit -m a", "git commit -m b"], &["Bash(git commit *)"]),
        (&["npm test && make", "npm test", "make"], &["Bash(make)", "Bash(npm test)"]),
        // One part alone saves nothing.
        (&["npm test && python3 x.py", "npm test && python3 x.py"], &[]),
        (&["npm test && cargo b", "npm test && cargo c"], &[]),
        (&["timeout 5 npm test", "npm test"], &["Bash(npm test)"]),
        (&["write src/a", "write src/a"], &["Write(/src/a)"]),
        (&["write src/a", "write src/b"], &["Write(/src/*)"]),
        (&["write src/a/x", "write src/b/x"], &[]),
        (&["mcp git__log", "mcp git__log"], &["mcp__git__log"]),
        (&["mcp git__log", "mcp git__show"], &[]),
        // Never.
        (&["python3 x.py", "python3 x.py"], &[]),
        (&["curl https://example.com", "curl https://example.com"], &[]),
        (&["git push", "git push"], &[]),
        (&["npm install", "npm install"], &[]),
        (&["rm a", "rm a"], &[]),
        (&["rm -rf build", "rm -rf build"], &[]),
        (&["delete a", "delete a"], &[]),
        (&["write .git/config", "write .git/config"], &[]),
        (&["sudo make", "sudo make"], &[]),
    ] {
        let past: Vec<_> = past.iter().map(|call| ("yes", *call)).collect();
        let learned = bed.learns(&past, 2);
        assert_eq!(rules(&learned), expected, "{past:?}");
        for proposal in &learned.proposals {
            assert!(proposal.saves >= 2 && !proposal.calls.is_empty(), "{proposal:?}");
        }
    }
}

#[test]
fn a_no_is_heeded_and_told() {
    let bed = Bed::new();
    let learned =
        bed.learns(&[("yes", "git commit -m a"), ("yes", "git commit -m b"), ("no", "git commit -m c")], 2);
    assert_eq!(rules(&learned), Vec::<&str>::new());
    let learned = bed.learns(
        &[("yes", "make"), ("yes", "make"), ("no", "make"), ("yes", "npm test"), ("yes", "npm test")],
        2,
    );
    assert_eq!(rules(&learned), ["Bash(npm test)"]);
    assert!(learned.left[0].why.contains("answered with no"), "{:?}", learned.left);
    let learned = bed.learns(&[("yes", "python3 x.py"), ("yes", "python3 x.py")], 2);
    assert_eq!((learned.left[0].call.as_str(), learned.left[0].times), ("python3 x.py", 2));
}

#[test]
fn each_proposal_has_the_calls_that_speak_for_it_and_what_else_it_lets_through() {
    let bed = Bed::new();
    let learned =
        bed.learns(&[("yes", "git commit -m a"), ("yes", "git commit -m b"), ("yes", "git commit -m a")], 3);
    let [proposal] = learned.proposals.as_slice() else { unreachable!("{learned:?}") };
    assert_eq!((proposal.rule.text(), proposal.saves), ("Bash(git commit *)", 3));
    let names: Vec<&str> = proposal.calls.iter().flat_map(|call| &call.names).map(String::as_str).collect();
    assert_eq!(names.len(), 3);
    assert!(proposal.also.iter().any(|call| call.contains("--amend")), "{:?}", proposal.also);
    assert!(proposal.still_asks.contains(&"git push".to_owned()), "{:?}", proposal.still_asks);
}

#[test]
fn what_needs_no_question_any_more_needs_no_rule() {
    let bed = Bed::new();
    let past = ["make", "make"].map(|call| PastQuestion {
        name: "s:1".to_owned(),
        call: bed.call(call),
        answer: PastAnswer::Yes,
    });
    let session = bed.session(&[Rule::parse("Bash(make)").unwrap()]);
    assert_eq!(learn(&[session], past, 2), Learned::default());
}

/// A call as it is told.
fn shown(raw: &RawCall) -> String {
    let about = ["command", "file_path", "path"].iter().find_map(|field| raw.input.get(field)?.as_str());
    match (raw.tool.as_str(), about) {
        ("Bash", Some(command)) => command.to_owned(),
        (tool, about) => format!("{tool}({})", about.unwrap_or("{}")),
    }
}

const CALLS: &[&str] = &[
    "npm test",
    "npm run build",
    "npm install",
    "git status",
    "git commit -m a",
    "git commit -m b",
    "git commit --amend",
    "git push",
    "git push --force",
    "make",
    "make test",
    "cargo build",
    "cargo test x",
    "cargo test y",
    "ls a",
    "ls b",
    "echo a && ls b",
    "npm test && git commit -m a",
    "echo hi > notes.txt",
    "python3 x.py",
    "rm -rf build",
    "rm a",
    "curl https://example.com",
    "cp a BESIDE/b",
    "write src/a",
    "write src/b",
    "write src/sub/a",
    "write BESIDE/a",
    "write BESIDE/b",
    "write .git/config",
    "delete src/a",
    "mcp git__log",
    "mcp git__push",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was answered: what is learnt lets no refused call through, is narrow, and each call that speaks for a
    /// rule goes through with all of them.
    #[test]
    fn what_is_learnt_lets_no_refused_call_through(
        answers in proptest::collection::vec((prop_oneof![3 => Just("yes"), 1 => Just("no")], proptest::sample::select(CALLS)), 2..30),
        least in 1usize..4,
    ) {
        let bed = Bed::new();
        let learned = bed.learns(&answers, least);
        let rules: Vec<Rule> = learned.proposals.iter().map(|proposal| proposal.rule.clone()).collect();
        prop_assert!(rules.iter().all(may_be_learnt), "{rules:?}");
        for (answer, call) in &answers {
            if *answer == "no" {
                let raw = bed.call(call);
                let before = bed.decides(&[], &raw);
                let after = bed.decides(&rules, &raw);
                prop_assert!(after != Decision::Allow || before == Decision::Allow, "{call} by {rules:?}");
            }
        }
        for proposal in &learned.proposals {
            prop_assert!(proposal.saves >= least);
            for call in &proposal.calls {
                let (_, said) = answers.iter().find(|(_, said)| shown(&bed.call(said)) == call.call).unwrap();
                prop_assert_eq!(bed.decides(&rules, &bed.call(said)), Decision::Allow, "{} by {:?}", said, rules);
            }
        }
    }
}

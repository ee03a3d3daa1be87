//! What hooks may say about a command: a no is final, a question holds, a yes waives the routine question alone, and
//! with an `if` only for what that covers.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::sync::Arc;

use pinfold_policy::{
    Access, Bases, Case, Claims, Decision, Effect, Facts, Grants, HookDecision, HookDecisionOrigin,
    Interaction, Layer, Mode, PathClaim, PathFact, PathKind, PathStatus, Policy, RawCall, Rule, RuleSet,
    Scope, ShellConfinement, ShellFact, Source, SourcedRule, ToolCall, judge,
};
use proptest::prelude::*;
use serde_json::json;

fn bases() -> Bases {
    Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] }
}

fn sourced(effect: Effect, text: &str) -> SourcedRule {
    SourcedRule { effect, rule: Rule::parse(text).unwrap(), source: Source::plain(Layer::User) }
}

fn fact(claim: &PathClaim) -> PathFact {
    let words = claim.path.as_ref().map_or_else(Default::default, |path| path.as_os_str().to_owned());
    let path = Path::new("/w").join(words);
    let inside = path.starts_with("/w");
    PathFact {
        shown: path.display().to_string(),
        operation: claim.operation,
        asked: path.clone(),
        path_status: if inside { PathStatus::Inside } else { PathStatus::Outside { disguise: None } },
        real: Some(path),
        kind: PathKind::File,
        names: 1,
        guarded: None,
        path_scopes: None,
        other_mount: false,
        line_itself: false,
        matched: Vec::new(),
        guarded_below: None,
        denied_below: None,
    }
}

fn with<T>(
    raw: &RawCall,
    policy: &Policy,
    hook: Option<&HookDecision>,
    look: impl FnOnce(&Case<'_>) -> T,
) -> T {
    let call = ToolCall::parse_for_verdict(raw).unwrap();
    let claims = Claims::from_call(&call);
    let shell = claims
        .shell
        .is_some()
        .then_some(ShellFact { confinement: ShellConfinement::Full, open_network: false });
    let facts = Facts { paths: claims.paths.iter().map(fact).collect(), shell, ..Facts::default() };
    let scope =
        Scope { root: "/w".into(), display_root: "/w".into(), enforce_write: false, allow_bash: true };
    look(&Case {
        call: &call,
        claims: &claims,
        facts: &facts,
        scope: &scope,
        access: Access::ReadWrite,
        interaction: Interaction::Interactive,
        policy,
        grants: &Grants::default(),
        hook,
    })
}

fn bash(command: &str) -> RawCall {
    RawCall::new("Bash", json!({"command": command}))
}

fn only(rule: &str) -> Vec<Arc<RuleSet>> {
    vec![Arc::new(RuleSet::compile([Arc::new(sourced(Effect::Allow, rule))], &bases()))]
}

fn word(decision: Decision, only: Vec<Arc<RuleSet>>) -> HookDecision {
    HookDecision {
        decision,
        reason: "it says so".into(),
        by: "a hook".into(),
        only,
        origin: HookDecisionOrigin::Hook,
    }
}

const COMMANDS: &[&str] = &[
    "make",
    "git status",
    "git push --force",
    "rm -rf build",
    "git status && make",
    "git log > /etc/x",
    "$X status",
    "eval \"$X\"",
    "cat a",
];
const MODES: [Mode; 6] =
    [Mode::Default, Mode::AcceptEdits, Mode::DontAsk, Mode::BypassPermissions, Mode::Auto, Mode::Explore];

fn in_mode(mode: Mode) -> Policy {
    let mut policy = Policy::default();
    policy.mode = mode;
    policy
}

fn policies() -> impl Iterator<Item = Policy> {
    let rules = [
        None,
        Some((Effect::Allow, "Bash")),
        Some((Effect::Ask, "Bash(make)")),
        Some((Effect::Deny, "Bash(make)")),
    ];
    MODES.into_iter().flat_map(move |mode| {
        rules.into_iter().map(move |rule| {
            let rules = rule.map(|(effect, text)| sourced(effect, text));
            in_mode(mode).with_rules(rules, &bases())
        })
    })
}

/// The specification of the three steps, over every mode, rule and command.
#[test]
fn a_hook_takes_away_as_it_likes_and_gives_the_routine_question_alone() {
    for (policy, command) in policies().flat_map(|policy| COMMANDS.iter().map(move |c| (policy.clone(), *c)))
    {
        let raw = bash(command);
        let of = |hook: Option<&HookDecision>| with(&raw, &policy, hook, judge);
        let plain = of(None);
        for said in [Decision::Allow, Decision::Ask, Decision::Deny] {
            let word = word(said, Vec::new());
            let heard = of(Some(&word)).decision;
            let routine = plain
                .trail
                .iter()
                .all(|entry| entry.opinion.decision != Decision::Ask || entry.step == "mode-default");
            let expected = match said {
                Decision::Deny => Decision::Deny,
                // Where nobody may be asked its question is a no, as any other.
                Decision::Ask if matches!(policy.mode, Mode::DontAsk | Mode::Explore) => Decision::Deny,
                Decision::Ask => plain.decision.max(Decision::Ask),
                // What a deny rule could be meant for is not let through unasked by anybody.
                Decision::Allow if command.contains("$X") && !policy.rules(Effect::Deny).is_empty() => {
                    plain.decision
                }
                Decision::Allow if plain.decision == Decision::Ask && routine => Decision::Allow,
                Decision::Allow => plain.decision,
            };
            assert_eq!(heard, expected, "{command} in {:?}: {said:?} over {:?}", policy.mode, plain.decision);
        }
    }
}

#[test]
fn a_yes_under_a_condition_counts_for_what_the_condition_covers() {
    let policy = Policy::default();
    for (rule, command, touched, decision) in [
        ("Bash(git *)", "git status", true, Decision::Allow),
        ("Bash(git *)", "git status && git log", true, Decision::Allow),
        ("Bash(git *)", "make", false, Decision::Ask),
        ("Bash(git *)", "git status && make", true, Decision::Ask),
        ("Bash(git *)", "git status | sh", true, Decision::Ask),
        ("Bash(git *)", "echo $(git status)", true, Decision::Ask),
        ("Bash(git *)", "sudo git status", true, Decision::Ask),
        ("Bash(git *)", "/tmp/evil/git status", true, Decision::Ask),
        ("Bash(git *)", "$X status", true, Decision::Ask),
        ("Bash(git *)", "bash -c 'git push'", true, Decision::Ask),
        ("Bash(git *)", "git log > out.txt", true, Decision::Ask),
        ("Bash(git *)", "git push --force", true, Decision::Ask),
        ("Bash(rm *)", "git rm x", false, Decision::Ask),
        ("Bash", "make", true, Decision::Allow),
        ("Edit", "make", false, Decision::Ask),
    ] {
        let word = word(Decision::Allow, only(rule));
        let raw = bash(command);
        let found = with(&raw, &policy, Some(&word), |case| {
            (judge::touches(case, &word.only[0]), judge(case).decision)
        });
        assert_eq!(found, (touched, decision), "{rule}: {command}");
    }
}

#[test]
fn a_condition_on_files_reads_as_a_rule_on_files() {
    let policy = Policy::default();
    let edit =
        |path: &str| RawCall::new("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}));
    let write = |path: &str| RawCall::new("Write", json!({"file_path": path, "content": "b"}));
    for (rule, raw, touched, decision) in [
        ("Edit(./src/**)", edit("src/a.rs"), true, Decision::Allow),
        ("Edit(./src/**)", edit("docs/a.md"), false, Decision::Ask),
        // For a no it covers every tool that edits, for a yes the one that it names.
        ("Edit(./src/**)", write("src/a.rs"), true, Decision::Ask),
        ("Write(./src/**)", write("src/a.rs"), true, Decision::Allow),
        ("Edit", edit("/etc/x"), true, Decision::Ask),
        ("Read(./.env)", RawCall::new("Read", json!({"file_path": ".env"})), true, Decision::Allow),
        ("mcp__a__*", RawCall::new("mcp__a__b", json!({"x": 1})), true, Decision::Allow),
        ("mcp__a__*", RawCall::new("mcp__b__b", json!({"x": 1})), false, Decision::Ask),
    ] {
        let Ok(_) = Rule::parse(rule) else { continue };
        let word = word(Decision::Allow, only(rule));
        let found = with(&raw, &policy, Some(&word), |case| {
            (judge::touches(case, &word.only[0]), judge(case).decision)
        });
        assert_eq!(found, (touched, decision), "{rule}: {} {}", raw.tool, raw.input);
    }
}

proptest! {
    /// Whatever a yes is conditioned on, it never lets through more than a yes without a condition.
    #[test]
    fn a_condition_only_takes_away(
        command in proptest::sample::select(COMMANDS),
        rule in proptest::sample::select(&["Bash(git *)", "Bash", "Bash(make)", "Edit", "Bash(* *)"][..]),
        mode in proptest::sample::select(&MODES[..]),
    ) {
        let policy = in_mode(mode);
        let raw = bash(command);
        let of = |only| with(&raw, &policy, Some(&word(Decision::Allow, only)), judge).decision;
        prop_assert!(of(only(rule)) >= of(Vec::new()));
    }
}

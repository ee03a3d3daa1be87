//! What a verdict costs: a command line parsed, understood and judged against few and many rules; a file tool.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark stops where it fails")]

use divan::{Bencher, black_box};
use pinfold_policy::{
    Access, Bases, Case, Claims, Effect, Facts, Grants, Interaction, Layer, PathFact, PathKind, PathStatus,
    Policy, RawCall, Rule, Scope, ShellConfinement, ShellFact, Source, SourcedRule, ToolCall, judge,
};
use serde_json::json;

fn main() {
    divan::main();
}

const COMMANDS: [&str; 6] = [
    "git status",
    "npm run build && npm test",
    "git commit -m \"fix(parser): keep the tail\"",
    "grep -rn 'fn main' src | head -20",
    "cargo test -p app --lib -- --nocapture 2>&1 | tail -40",
    "for f in *.rs; do sed -n 1p \"$f\"; done",
];

/// Rules as a team has them: programs with subcommands, some with paths, and those that the commands need.
fn rules(count: usize) -> Vec<SourcedRule> {
    let needed = ["git:*", "npm run *", "npm test", "grep *", "head *", "cargo test *", "tail *"];
    let needed = needed.iter().map(|pattern| rule(Effect::Allow, &format!("Bash({pattern})")));
    let many = (0..count).map(|i| match i % 5 {
        0 => rule(Effect::Allow, &format!("Bash(tool{i} run *)")),
        1 => rule(Effect::Deny, &format!("Bash(git remote-{i} *)")),
        2 => rule(Effect::Ask, &format!("Bash(npm publish-{i}*)")),
        3 => rule(Effect::Deny, &format!("Read(./secret{i}/**)")),
        _ => rule(Effect::Allow, &format!("Edit(./pkg{i}/**/*.rs)")),
    });
    needed.chain(many).collect()
}

fn rule(effect: Effect, text: &str) -> SourcedRule {
    SourcedRule { effect, rule: Rule::parse(text).unwrap(), source: Source::plain(Layer::User) }
}

fn policy(count: usize) -> Policy {
    let bases = Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] };
    Policy::default().with_rules(rules(count), &bases)
}

fn scope() -> Scope {
    Scope { root: "/w".into(), display_root: "/w".into(), enforce_write: false, allow_bash: true }
}

fn decide(call: &ToolCall, claims: &Claims, facts: &Facts, scope: &Scope, policy: &Policy) -> bool {
    let grants = Grants::default();
    let verdict = judge(&Case {
        call,
        claims,
        facts,
        scope,
        access: Access::ReadWrite,
        interaction: Interaction::Interactive,
        policy,
        grants: &grants,
        hook: None,
    });
    verdict.decision == pinfold_policy::Decision::Allow
}

/// A whole command: text in, verdict out. Paths that it names are taken as found inside.
#[divan::bench(args = COMMANDS, consts = [10, 1_000, 10_000])]
fn command<const RULES: usize>(bencher: Bencher<'_, '_>, command: &str) {
    let (policy, scope) = (policy(RULES), scope());
    let call = ToolCall::parse(&RawCall::new("Bash", json!({"command": command}))).unwrap();
    bencher.bench(|| {
        let claims = Claims::from_call(black_box(&call));
        let facts = Facts {
            paths: claims.paths.iter().map(|claim| fact(claim.operation)).collect(),
            shell: Some(ShellFact { confinement: ShellConfinement::Full, open_network: false }),
            ..Facts::default()
        };
        decide(&call, &claims, &facts, &scope, &policy)
    });
}

/// Lines that are made to be expensive: four times as much may cost four times as much.
#[divan::bench(args = ["rm -rf a;", "x=1; \"$x\" y;", "sudo ", "> a ", "$(", "{a,", "(", "A=1 ", "f(){ f|f& };"], consts = [1_000, 4_000])]
fn hostile<const TIMES: usize>(bencher: Bencher<'_, '_>, piece: &str) {
    let call = ToolCall::parse(&RawCall::new("Bash", json!({"command": piece.repeat(TIMES)}))).unwrap();
    bencher.bench(|| Claims::from_call(black_box(&call)));
}

/// A file tool's verdict, without the look at the file system.
#[divan::bench(consts = [10, 1_000, 10_000])]
fn file_tool<const RULES: usize>(bencher: Bencher<'_, '_>) {
    let (policy, scope) = (policy(RULES), scope());
    let raw = RawCall::new("Edit", json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"}));
    bencher.bench(|| {
        let call = ToolCall::parse(black_box(&raw)).unwrap();
        let claims = Claims::from_call(&call);
        let facts = Facts { paths: vec![fact(claims.paths[0].operation)], ..Facts::default() };
        decide(&call, &claims, &facts, &scope, &policy)
    });
}

fn fact(operation: pinfold_policy::Operation) -> PathFact {
    PathFact {
        shown: "src/a.rs".into(),
        operation,
        asked: "/w/src/a.rs".into(),
        real: Some("/w/src/a.rs".into()),
        path_status: PathStatus::Inside,
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

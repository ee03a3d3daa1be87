//! The specification, small enough to read, and the laws, over every combination.

use pinfold_commands::{Operation, Origin};
use serde_json::json;

use super::*;
use crate::call::RawCall;
use crate::claim::ShellClaim;
use crate::fact::{Disguise, GuardHit, PathKind, PathStatus, ShellConfinement, Why};
use crate::grant::Grant;
use crate::mode::BashMode;
use crate::pattern::Bases;
use crate::rule::{Effect, Rule, SourcedRule};
use crate::source::{Layer, Source};

const OPERATIONS: [Operation; 13] = [
    Operation::Read,
    Operation::List,
    Operation::Search,
    Operation::Write,
    Operation::Edit,
    Operation::Patch,
    Operation::Create,
    Operation::MakeDir,
    Operation::Delete,
    Operation::MoveFrom,
    Operation::MoveTo,
    Operation::CopyFrom,
    Operation::CopyTo,
];

struct JudgeWorld {
    fact: PathFact,
    scope: Scope,
    access: Access,
    interaction: Interaction,
    policy: Policy,
    grants: Grants,
}

/// Everything that may happen without a question happens: what is left to see is the line.
fn only_the_line() -> Policy {
    Policy::folder_is_granted()
}

fn every_combination() -> Vec<JudgeWorld> {
    let standings = [
        PathStatus::Inside,
        PathStatus::Outside { disguise: None },
        PathStatus::Outside { disguise: Some(Disguise::Link) },
        PathStatus::Outside { disguise: Some(Disguise::DotDot) },
        PathStatus::Unresolved(Why { reason: "it is a loop of links".into(), missing: false }),
    ];
    let kinds =
        [PathKind::Missing, PathKind::File, PathKind::Folder, PathKind::Link, PathKind::Special("FIFO")];
    let mut worlds = Vec::new();
    for operation in OPERATIONS {
        for path_status in &standings {
            for kind in kinds {
                // guarded, two names, other mount, line itself, armed, read-only, headless
                for bits in 0u8..128 {
                    let bit = |n: u8| bits & (1 << n) != 0;
                    worlds.push(JudgeWorld {
                        fact: PathFact {
                            shown: "p".into(),
                            operation,
                            asked: "/w/a/p".into(),
                            real: None,
                            path_status: path_status.clone(),
                            kind,
                            names: if bit(1) { 2 } else { 1 },
                            guarded: bit(0).then(|| GuardHit {
                                pattern: ".git".into(),
                                why: "hooks".into(),
                                sensitive: true,
                            }),
                            other_mount: bit(2),
                            path_scopes: None,
                            line_itself: bit(3),
                            matched: Vec::new(),
                            guarded_below: None,
                            denied_below: None,
                        },
                        scope: Scope {
                            root: "/w/a".into(),
                            display_root: "/w".into(),
                            enforce_write: bit(4),
                            allow_bash: false,
                        },
                        access: if bit(5) { Access::ReadOnly } else { Access::ReadWrite },
                        interaction: if bit(6) { Interaction::Headless } else { Interaction::Interactive },
                        policy: only_the_line(),
                        grants: Grants::default(),
                    });
                }
            }
        }
    }
    worlds
}

/// A call of the tool that does such a thing.
fn call(operation: Operation) -> ToolCall {
    let tool = if operation.writes() { "Write" } else { "Read" };
    ToolCall::parse_for_verdict(&RawCall::new(tool, json!({"file_path": "p"}))).unwrap()
}

fn claims(facts: &Facts) -> Claims {
    let claim = |fact: &PathFact| PathClaim::new(None, fact.operation, Origin::Call);
    let shell = facts.shell.map(|_| ShellClaim::Reach);
    Claims { paths: facts.paths.iter().map(claim).collect(), shell, ..Claims::default() }
}

fn with_case<T>(world: &JudgeWorld, facts: &Facts, look: impl FnOnce(&Case<'_>) -> T) -> T {
    let claims = claims(facts);
    look(&Case {
        call: &call(world.fact.operation),
        claims: &claims,
        facts,
        scope: &world.scope,
        access: world.access,
        interaction: world.interaction,
        policy: &world.policy,
        grants: &world.grants,
        hook: None,
    })
}

fn verdict(world: &JudgeWorld, facts: &Facts) -> Verdict {
    with_case(world, facts, judge)
}

fn decide(world: &JudgeWorld) -> Decision {
    verdict(world, &Facts { paths: vec![world.fact.clone()], ..Facts::default() }).decision
}

/// The specification: where the line is, as one expression.
fn spec(w: &JudgeWorld) -> Decision {
    let f = &w.fact;
    let write = f.operation.writes();
    let outside = matches!(f.path_status, PathStatus::Outside { .. });
    let disguised = matches!(f.path_status, PathStatus::Outside { disguise: Some(_) });
    let special = matches!(f.kind, PathKind::Special(_));
    let name_only = matches!(f.operation, Operation::Delete | Operation::MoveFrom | Operation::MoveTo);
    let new_bytes =
        matches!(f.operation, Operation::Write | Operation::Edit | Operation::Patch | Operation::CopyTo);
    let denied = matches!(f.path_status, PathStatus::Unresolved(_))
        || write && w.access == Access::ReadOnly
        || write && outside && w.scope.enforce_write
        || write && disguised
        || !write && special
        || new_bytes && special
        || name_only && f.line_itself;
    let asked = f.guarded.is_some()
        || write && (outside || f.other_mount)
        || new_bytes && f.kind == PathKind::File && f.names > 1;
    if denied || asked && w.interaction == Interaction::Headless {
        Decision::Deny
    } else if asked {
        Decision::Ask
    } else {
        Decision::Allow
    }
}

#[test]
fn judge_agrees_with_the_specification_on_every_combination() {
    for world in every_combination() {
        assert_eq!(
            decide(&world),
            spec(&world),
            "{:?} {:?} {:?}",
            world.fact,
            world.access,
            world.interaction
        );
    }
}

#[test]
fn a_headless_run_never_asks() {
    for world in every_combination() {
        if world.interaction == Interaction::Headless {
            assert_ne!(decide(&world), Decision::Ask);
        }
    }
}

#[test]
fn an_armed_scope_never_allows_more_than_the_same_scope_unarmed() {
    for mut world in every_combination() {
        world.scope.enforce_write = false;
        let free = decide(&world);
        world.scope.enforce_write = true;
        assert!(decide(&world) >= free);
    }
}

#[test]
fn a_session_that_only_reads_is_denied_every_write_and_nothing_else() {
    for mut world in every_combination() {
        world.access = Access::ReadOnly;
        if world.fact.operation.writes() {
            assert_eq!(decide(&world), Decision::Deny);
        } else {
            let read_only = decide(&world);
            world.access = Access::ReadWrite;
            assert_eq!(decide(&world), read_only);
        }
    }
}

#[test]
fn the_strictest_part_stands_wherever_it_is() {
    let worlds = every_combination();
    let pick = |wanted| {
        worlds
            .iter()
            .find(|w| {
                decide(w) == wanted
                    && w.interaction == Interaction::Interactive
                    && w.access == Access::ReadWrite
            })
            .unwrap()
    };
    let parts = [pick(Decision::Allow), pick(Decision::Ask), pick(Decision::Deny)];
    for a in &parts {
        for b in &parts {
            let mut world = JudgeWorld {
                fact: a.fact.clone(),
                scope: a.scope.clone(),
                access: a.access,
                interaction: a.interaction,
                policy: only_the_line(),
                grants: Grants::default(),
            };
            world.scope.enforce_write = false;
            let facts =
                Facts { paths: vec![a.fact.clone(), b.fact.clone()], shell: None, ..Facts::default() };
            let both = verdict(&world, &facts);
            let alone = |fact: &PathFact| {
                verdict(&world, &Facts { paths: vec![fact.clone()], ..Facts::default() }).decision
            };
            assert_eq!(both.decision, alone(&a.fact).max(alone(&b.fact)));
            assert_eq!(both.deciding().unwrap().opinion.decision, both.decision);
        }
    }
}

#[test]
fn a_call_without_parts_is_denied() {
    let world = every_combination().remove(0);
    assert_eq!(verdict(&world, &Facts::default()).decision, Decision::Deny);
}

#[test]
fn the_line_alone_has_three_states_and_they_agree_with_the_verdict() {
    for world in every_combination() {
        let facts = Facts { paths: vec![world.fact.clone()], ..Facts::default() };
        let line = with_case(&world, &facts, |case| {
            let (claim, fact) = (&case.claims.paths[0], &world.fact);
            match path_decision(case, claim, fact) {
                PathDecision::Allow => Decision::Allow,
                PathDecision::RequiresApproval(_) => Decision::Ask,
                PathDecision::Deny(_) => Decision::Deny,
            }
        });
        if world.interaction == Interaction::Interactive {
            assert_eq!(line, decide(&world));
        }
    }
}

#[test]
fn a_shell_runs_only_where_it_was_switched_on_and_something_holds_it() {
    let mut world = every_combination().remove(0);
    for confinement in [
        ShellConfinement::Full,
        ShellConfinement::Degraded,
        ShellConfinement::Theirs,
        ShellConfinement::Nothing,
    ] {
        for allow_bash in [true, false] {
            for interaction in [Interaction::Interactive, Interaction::Headless] {
                for access in [Access::ReadWrite, Access::ReadOnly] {
                    world.scope.allow_bash = allow_bash;
                    (world.interaction, world.access) = (interaction, access);
                    let facts = Facts {
                        paths: Vec::new(),
                        shell: Some(ShellFact { confinement, open_network: false }),
                        ..Facts::default()
                    };
                    let verdict = verdict(&world, &facts);
                    let allowed = allow_bash && confinement != ShellConfinement::Nothing;
                    assert_eq!(verdict.decision, if allowed { Decision::Allow } else { Decision::Deny });
                    if !allow_bash {
                        assert_eq!(verdict.deciding().unwrap().opinion.reason, Reason::BashNotAllowed);
                    }
                }
            }
        }
    }
}

fn rule(effect: Effect, text: &str) -> SourcedRule {
    SourcedRule { effect, rule: Rule::parse(text).unwrap(), source: Source::plain(Layer::User) }
}

/// The specification of the whole table, as one expression over what each step sees.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "what each step sees, one by one")]
struct SessionReads {
    operation: Operation,
    denied: bool,
    asked: bool,
    allowed: bool,
    granted: bool,
    sensitive: bool,
    outside: bool,
    held_asks: bool,
    mode: Mode,
}

fn table(s: SessionReads) -> Decision {
    let write = s.operation.writes();
    let no_question = matches!(s.mode, Mode::DontAsk);
    let ask = if no_question { Decision::Deny } else { Decision::Ask };
    let beyond = s.sensitive || write && s.outside;
    let refuses = matches!(s.mode, Mode::DontAsk | Mode::Explore);
    if s.denied {
        Decision::Deny
    } else if write && s.sensitive || s.held_asks && s.asked {
        ask
    } else if s.mode == Mode::BypassPermissions || s.granted && !beyond {
        Decision::Allow
    } else if s.asked {
        ask
    } else if s.allowed && !beyond {
        Decision::Allow
    } else if beyond {
        if refuses { Decision::Deny } else { Decision::Ask }
    } else if !write || matches!(s.mode, Mode::AcceptEdits | Mode::Auto) {
        Decision::Allow
    } else if refuses {
        Decision::Deny
    } else {
        Decision::Ask
    }
}

fn modes() -> [Mode; 6] {
    use Mode::{AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Explore};
    [Default, AcceptEdits, DontAsk, BypassPermissions, Auto, Explore]
}

fn seen_world(s: SessionReads) -> JudgeWorld {
    let tool = if s.operation.writes() { "Write" } else { "Read" };
    let rules = [(s.denied, Effect::Deny), (s.asked, Effect::Ask), (s.allowed, Effect::Allow)];
    let rules = rules.into_iter().filter(|(given, _)| *given).map(|(_, effect)| rule(effect, tool));
    let bases = Bases::default();
    let mut policy = Policy::default();
    (policy.mode, policy.ask_rules_in_bypass) = (s.mode, s.held_asks);
    let grants = if s.granted { vec![rule(Effect::Allow, tool).into()] } else { Vec::new() };
    let guard = || GuardHit { pattern: ".git".into(), why: "hooks".into(), sensitive: true };
    JudgeWorld {
        fact: PathFact {
            shown: "p".into(),
            operation: s.operation,
            asked: "/w/a/p".into(),
            real: Some("/w/a/p".into()),
            path_status: if s.outside { PathStatus::Outside { disguise: None } } else { PathStatus::Inside },
            kind: PathKind::File,
            names: 1,
            guarded: s.sensitive.then(guard),
            other_mount: false,
            path_scopes: None,
            line_itself: false,
            matched: Vec::new(),
            guarded_below: None,
            denied_below: None,
        },
        scope: Scope {
            root: "/w/a".into(),
            display_root: "/w".into(),
            enforce_write: false,
            allow_bash: false,
        },
        access: Access::ReadWrite,
        interaction: Interaction::Interactive,
        policy: policy.with_rules(rules, &bases),
        grants: Grants::compile(grants.into_iter().map(Grant::Rule), &bases),
    }
}

#[test]
fn the_table_agrees_with_its_specification_on_every_combination() {
    for operation in [Operation::Read, Operation::Write] {
        for mode in modes() {
            for bits in 0u8..128 {
                let bit = |n: u8| bits & (1 << n) != 0;
                let seen = SessionReads {
                    operation,
                    denied: bit(0),
                    asked: bit(1),
                    allowed: bit(2),
                    granted: bit(3),
                    sensitive: bit(4),
                    outside: bit(5),
                    held_asks: bit(6),
                    mode,
                };
                assert_eq!(decide(&seen_world(seen)), table(seen), "{seen:?}");
            }
        }
    }
}

/// `bash: sandboxed` waives only the question that nothing else wants.
#[test]
fn a_held_shell_waives_only_the_question_of_the_mode() {
    let mut world = every_combination().swap_remove(0);
    world.policy = Policy::default();
    world.policy.bash = BashMode::Sandboxed;
    world.scope.allow_bash = true;
    let facts = Facts {
        paths: Vec::new(),
        shell: Some(ShellFact { confinement: ShellConfinement::Full, open_network: false }),
        ..Facts::default()
    };
    assert_eq!(verdict(&world, &facts).decision, Decision::Allow);
}

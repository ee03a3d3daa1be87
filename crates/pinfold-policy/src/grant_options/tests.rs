//! Offers for commands, as data, and laws of every offer.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;
use crate::call::{RawCall, ToolCall};
use crate::claim::Claims;
use crate::fact::{Facts, PathFact, PathKind, PathStatus, ShellConfinement, ShellFact};
use crate::grant::Grants;
use crate::judge::judge;
use crate::mode::Mode;
use crate::policy::Policy;
use crate::scope::{Access, Interaction, Scope};

const CASES: &str = include_str!("cases.txt");

fn bases() -> Bases {
    Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] }
}

/// A call with all that is known about it, in a project without links.
#[derive(Clone)]
struct World {
    call: ToolCall,
    claims: Claims,
    facts: Facts,
    scope: Scope,
    policy: Policy,
    grants: Grants,
}

impl World {
    fn new(tool: &str, input: Value, policy: Policy) -> Self {
        let call = ToolCall::parse_for_verdict(&RawCall::new(tool, input)).unwrap();
        let claims = Claims::from_call(&call);
        let fact = |claim: &pinfold_commands::PathClaim| {
            let words = claim.path.as_ref().map_or_else(Default::default, |path| path.as_os_str().to_owned());
            let path = std::path::Path::new("/w").join(words);
            let inside = path.starts_with("/w");
            let path_status =
                if inside { PathStatus::Inside } else { PathStatus::Outside { disguise: None } };
            PathFact {
                shown: path.display().to_string(),
                operation: claim.operation,
                asked: path.clone(),
                path_status,
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
        };
        let facts = Facts {
            paths: claims.paths.iter().map(fact).collect(),
            shell: claims
                .shell
                .as_ref()
                .map(|_| ShellFact { confinement: ShellConfinement::Full, open_network: false }),
            ..Facts::default()
        };
        let scope =
            Scope { root: "/w".into(), display_root: "/w".into(), enforce_write: false, allow_bash: true };
        Self { call, claims, facts, scope, policy, grants: Grants::default() }
    }

    fn bash(command: &str) -> Self {
        Self::new("Bash", json!({"command": command}), Policy::default())
    }

    fn case(&self) -> Case<'_> {
        Case {
            call: &self.call,
            claims: &self.claims,
            facts: &self.facts,
            scope: &self.scope,
            access: Access::ReadWrite,
            interaction: Interaction::Interactive,
            policy: &self.policy,
            grants: &self.grants,
            hook: None,
        }
    }

    fn offer(&self) -> GrantOptions {
        GrantOptions::compute(&self.case(), &judge(&self.case()), &bases())
    }

    /// Decides with more granted.
    fn decide_with(&self, grants: &[Grant], rules: &[Rule]) -> Decision {
        let grants = self.grants.and(grants, &bases());
        let local = |rule: &Rule| SourcedRule {
            effect: Effect::Allow,
            rule: rule.clone(),
            source: Source::plain(Layer::Local),
        };
        let policy = rules.iter().fold(self.policy.clone(), |p, rule| p.and_allowing(local(rule), &bases()));
        judge(&Case { policy: &policy, grants: &grants, ..self.case() }).decision
    }
}

fn grant(grant: &Grant) -> String {
    match grant {
        Grant::PlainCommands => "plain".to_owned(),
        Grant::Folder(path, class) => format!("folder {} {}", class.as_str(), path.display()),
        Grant::Rule(_) | Grant::Place(..) | Grant::Host(_) => grant.to_string(),
    }
}

/// An offer as it stands in the file.
fn offer_lines(offer: &GrantOptions) -> Vec<String> {
    let part = |part: &PartOptions| {
        let scope = |(at, scope): (usize, &GrantScope)| {
            let mark = if at == part.usual { "+ " } else { "" };
            format!("{mark}{}", scope.says)
        };
        part.scopes.iter().enumerate().map(scope).collect::<Vec<_>>().join(" | ")
    };
    let mut lines: Vec<String> = offer.always.iter().map(part).collect();
    if lines.is_empty() {
        lines.push("-".to_owned());
    }
    let scope = |scope: &GrantScope| scope.grants.iter().map(grant).collect::<Vec<_>>().join(" & ");
    if !offer.session.is_empty() {
        lines.push(offer.session.iter().map(scope).collect::<Vec<_>>().join(", "));
    }
    lines
}

fn cases() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut cases: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), cases.last_mut()) {
            (Some(expected), Some((_, lines))) => lines.push(expected),
            _ => cases.push((line, Vec::new())),
        }
    }
    cases
}

#[test]
fn commands_are_offered_what_the_table_says() {
    let mut wrong = String::new();
    for (command, expected) in cases() {
        let offer = World::bash(command).offer();
        let told = offer_lines(&offer);
        if told != expected {
            let _ = write!(wrong, "{command}\n    {}\n", told.join("\n    "));
        }
    }
    assert!(wrong.is_empty(), "offered otherwise:\n{wrong}");
}

/// Commands and calls of other tools.
fn worlds() -> impl Iterator<Item = World> {
    let commands: Vec<World> = cases().into_iter().map(|(command, _)| World::bash(command)).collect();
    let file = |tool: &'static str, path: &str| World::new(tool, json!({"path": path}), Policy::default());
    let paths = [
        "src/main.rs",
        "a.txt",
        "/w/deep/er/x",
        "/srv/data/x",
        "/etc/motd",
        "/home/u/notes/a.md",
        "/home/u/x",
    ];
    let tools = ["Write", "Edit", "Delete", "MakeDir", "NotebookEdit", "Read"];
    let files: Vec<World> = tools.iter().flat_map(|tool| paths.map(|path| file(tool, path))).collect();
    let others = [
        ("mcp__github__get_issue", json!({"number": 1})),
        ("mcp__fs__write_file", json!({"path": "/srv/data/x"})),
        ("Skill", json!({"skill": "git-log"})),
        ("Agent", json!({"subagent_type": "Explore"})),
        ("CronCreate", json!({})),
        ("code_execution", json!({"code": "1"})),
        ("MoveFile", json!({"source": "a", "destination": "/srv/data/b"})),
        ("CopyFile", json!({"source": "a", "destination": "/srv/data/b"})),
    ];
    let others = others.map(|(tool, input)| World::new(tool, input, Policy::default()));
    let modes = |mut world: World| {
        [Mode::Default, Mode::AcceptEdits].map(|mode| {
            world.policy.mode = mode;
            world.clone()
        })
    };
    commands.into_iter().chain(files).chain(others).flat_map(modes)
}

#[test]
fn a_name_that_is_none_of_a_tool_is_granted_nothing_beyond_the_call() {
    let offer = |tool: &str| World::new(tool, json!({}), Policy::default()).offer();
    let plain = offer("mcp__q__read-file.v2_x");
    assert!(!plain.session.is_empty() && !plain.always.is_empty(), "the control");
    for tool in [
        "mcp__q__*",
        "mcp__q__a)(b",
        "mcp__q__a*",
        "mcp__q__?",
        "mcp__q__a b",
        "mcp__q__ä",
        "mcp__q__a/b",
        "mcp__*__x",
    ] {
        let offer = offer(tool);
        assert!(offer.session.is_empty() && offer.always.is_empty(), "{tool}");
    }
}

#[test]
fn what_is_offered_lets_the_very_call_through() {
    let mut tried = 0;
    for world in worlds() {
        let offer = world.offer();
        for scope in &offer.session {
            tried += 1;
            assert_eq!(
                world.decide_with(&scope.grants, &[]),
                Decision::Allow,
                "{:?} by {}",
                world.call,
                scope.says
            );
        }
        for widest in [false, true] {
            let chosen = |part: &PartOptions| {
                let scope = if widest { part.scopes.last() } else { part.scopes.first() };
                scope.and_then(|scope| scope.rule.clone())
            };
            let rules: Vec<Rule> = offer.always.iter().filter_map(chosen).collect();
            if !rules.is_empty() {
                tried += 1;
                assert_eq!(world.decide_with(&[], &rules), Decision::Allow, "{:?} by {rules:?}", world.call);
            }
        }
    }
    assert!(tried > 200, "{tried} offers are too few to say something");
}

/// The first scope of a call that has nothing but plain commands is all of them; nothing else is let through by it.
#[test]
fn plain_commands_are_those_that_are_offered_as_such() {
    for (command, expected) in cases() {
        let first = expected.get(1..).and_then(<[_]>::last).and_then(|line| line.split(", ").next());
        let plain = World::bash(command).decide_with(&[Grant::PlainCommands], &[]) == Decision::Allow;
        assert_eq!(plain, first == Some("plain"), "{command}");
    }
}

#[test]
fn examples_come_out_as_they_are_told() {
    let mut told = 0;
    for world in worlds() {
        let offer = world.offer();
        let lasting = offer.always.iter().flat_map(|part| &part.scopes);
        for scope in offer.session.iter().chain(lasting) {
            let rules: Vec<Rule> = scope.rule.iter().cloned().collect();
            let decides = |example: &String| {
                let raw = match world.call {
                    ToolCall::Bash(_) => RawCall::new("Bash", json!({"command": example})),
                    _ => RawCall::from_text(example).unwrap(),
                };
                let mut other = World::new(&raw.tool, raw.input, world.policy.clone());
                other.grants = world.grants.clone();
                other.decide_with(&scope.grants, &rules)
            };
            told += scope.also.len() + scope.still_asks.len();
            assert!(scope.also.len() <= 3 && scope.still_asks.len() <= 3);
            for example in &scope.also {
                assert_eq!(decides(example), Decision::Allow, "{example} by {}", scope.says);
            }
            for example in &scope.still_asks {
                assert_eq!(decides(example), Decision::Ask, "{example} by {}", scope.says);
            }
        }
    }
    assert!(told > 500, "{told} examples");
}

#[test]
fn places_are_offered_as_they_can_be_said() {
    for (tool, path, rules, session) in [
        (
            "Edit",
            "src/main.go",
            "Edit(/src/main.go) | + Edit(/src/*) | Edit(/src/**)",
            "Edit, folder write /w/src, write /w/src/main.go",
        ),
        ("Write", "a", "Write(/a) | + Write(/*)", "Edit, write /w/a"),
        (
            "Write",
            "/srv/data/a",
            "+ Write(//srv/data/a) | Write(//srv/data/*)",
            "write /srv/data/a, folder write /srv/data",
        ),
        (
            "Write",
            "/home/u/notes/a",
            "+ Write(~/notes/a) | Write(~/notes/*)",
            "write /home/u/notes/a, folder write /home/u/notes",
        ),
        ("Write", "/home/u/a", "+ Write(~/a)", "write /home/u/a"),
        ("Write", "/etc/motd", "+ Write(//etc/motd)", "write /etc/motd"),
        (
            "Write",
            "src/a*b",
            "+ Write(/src/*) | Write(/src/**)",
            "Edit, folder write /w/src, write /w/src/a*b",
        ),
        ("Write", "s*c/a", "-", "Edit, folder write /w/s*c, write /w/s*c/a"),
        ("Delete", "src/a", "-", "folder remove /w/src"),
        ("Delete", "/srv/data/a", "-", ""),
        (
            "MakeDir",
            "src/new",
            "MakeDir(/src/new) | + MakeDir(/src/*) | MakeDir(/src/**)",
            "Edit, folder write /w/src, write /w/src/new",
        ),
    ] {
        let offer = World::new(tool, json!({"path": path}), Policy::default()).offer();
        let mut expected = vec![rules];
        expected.extend(Some(session).filter(|session| !session.is_empty()));
        assert_eq!(offer_lines(&offer), expected, "{tool} {path}");
    }
}

#[test]
fn a_plain_yes_keeps_the_place_outside_and_nothing_else() {
    let kept =
        |tool: &str, path: &str| World::new(tool, json!({"path": path}), Policy::default()).offer().kept;
    assert_eq!(kept("Write", "/srv/a"), [Grant::Place("/srv/a".into(), crate::grant::Class::Write)]);
    assert_eq!(kept("Write", "a"), []);
    assert_eq!(kept("Delete", "/srv/a"), []);
    assert_eq!(World::bash("cp a /srv/a").offer().kept, []);
}

#[test]
fn nothing_standing_is_offered_where_only_an_organisation_writes_rules() {
    let mut world = World::bash("make");
    world.policy.managed_rules_only = true;
    assert!(world.offer().always.is_empty() && !world.offer().session.is_empty());
}

#[test]
fn a_narrow_rule_names_what_it_is_about() {
    for (rule, narrow) in [
        ("Bash", false),
        ("Bash(*)", false),
        ("Bash(git*)", false),
        ("Bash(git *)", false),
        ("Bash(git commit *)", true),
        ("Bash(git commit*)", false),
        ("Bash(git push)", true),
        ("Bash(git push *)", false),
        ("Bash(npm test)", true),
        ("Bash(npm run *)", false),
        ("Bash(npm run build *)", true),
        ("Bash(npm run build:*)", true),
        ("Bash(npm exec x)", false),
        ("Bash(python3 x.py)", false),
        ("Bash(/usr/bin/python3 *)", false),
        ("Bash(ls *)", true),
        ("Bash(make)", true),
        ("Bash(make *)", false),
        ("Bash(some-tool --fast)", true),
        ("Bash(some-tool *)", false),
        ("Bash(rm x)", false),
        ("Bash(docker run:*)", false),
        ("Bash(docker ps:*)", true),
        ("Edit", false),
        ("Edit(/src/*)", true),
        ("Edit(/**)", false),
        ("Edit(**)", false),
        ("Write(//etc/nginx/*)", true),
        ("WebFetch(domain:example.org)", true),
        ("WebFetch(domain:*.example.org)", true),
        ("WebFetch(domain:*)", false),
        ("MCP(mcp__github__*)", true),
        ("MCP(*)", false),
        ("MCP", false),
        ("mcp__github__get_issue", true),
        ("mcp__*", false),
        ("Skill(git-log)", true),
        ("Agent", false),
        ("Agent(*)", false),
    ] {
        assert_eq!(is_narrow(&Rule::parse(rule).unwrap()), narrow, "{rule}");
    }
}

/// With the safeguards against it switched off, a line of very many parts costs no more than reading it.
#[test]
fn very_many_parts_are_offered_little_and_fast() {
    let long: String = (0..900).map(|n| format!("make step-{n};")).collect();
    let mut world = World::bash(&long);
    world.policy.always_ask = crate::mode::MinSeverity::Critical;
    let verdict = judge(&world.case());
    assert!(verdict.decision == Decision::Ask && !always_asks(&verdict));
    let began = std::time::Instant::now();
    let offer = world.offer();
    assert_eq!((offer.always.len(), offer.session.len()), (0, 1));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

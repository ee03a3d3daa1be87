//! Laws of judging, over random rules and commands: a deny only takes away, an allow never silences a safeguard, a
//! whole is never freer than its parts, an agent never freer than who started it, and nothing is too much.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use pinfold_policy::{
    Access, Bases, BashMode, Case, Claims, Class, Decision, Effect, Facts, Grant, Grants, Interaction, Layer,
    Mode, PathFact, PathKind, PathStatus, Policy, RawCall, Reason, Rule, Scope, ShellConfinement, ShellFact,
    Source, SourcedRule, ToolCall, Verdict, judge,
};
use proptest::prelude::*;

#[path = "kit/command_laws.rs"]
mod command_laws;
use serde_json::json;

/// Commands whose parts are judged: plain ones, ones that write, reach out, hide, and ones that are guarded.
const COMMANDS: &[&str] = &[
    "git status",
    "git push origin main",
    "git push --force",
    "npm run build",
    "npm test",
    "make all",
    "echo hi > notes.txt",
    "cat src/a.rs",
    "rm -rf build",
    "rm old.txt",
    "curl https://example.org/x",
    "sudo make install",
    "timeout 5 npm test",
    "X=1 make",
    "PATH=/tmp/evil make",
    "echo $(git status)",
    "for f in *; do echo $f; done",
    "$CMD x",
    "cp a b",
    r"find . -name x -exec rm {} \;",
    "echo 'unclosed",
    "cat /proc/self/environ",
];

/// Commands that need a person.
const GUARDED: [&str; 4] =
    ["git push --force", "rm -rf build", "cat /proc/self/environ", "sudo rm -rf / --no-preserve-root"];

const RULES: &[&str] = &[
    "Bash",
    "Bash(git:*)",
    "Bash(git push *)",
    "Bash(git status)",
    "Bash(npm *)",
    "Bash(npm test)",
    "Bash(* *)",
    "Bash(make*)",
    "Bash(echo *)",
    "Bash(rm *)",
    "Bash(cat *)",
    "Bash(curl *)",
    "Edit",
    "Edit(./**)",
    "Write(./notes.txt)",
    "Read(./src/**)",
    "WebFetch(domain:example.org)",
];

const MODES: [Mode; 6] =
    [Mode::Default, Mode::AcceptEdits, Mode::DontAsk, Mode::BypassPermissions, Mode::Auto, Mode::Explore];

type Given = Vec<(Effect, &'static str)>;

fn policy(mode: Mode, rules: &Given) -> Policy {
    let bases = Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] };
    let sourced = |(effect, text): &(Effect, &str)| SourcedRule {
        effect: *effect,
        rule: Rule::parse(text).unwrap(),
        source: Source::plain(Layer::User),
    };
    let mut policy = Policy::default().with_rules(rules.iter().map(sourced), &bases);
    policy.mode = mode;
    policy
}

fn verdict(command: &str, policy: &Policy, interaction: Interaction) -> Verdict {
    granted(command, policy, interaction, &Grants::default())
}

fn granted(command: &str, policy: &Policy, interaction: Interaction, grants: &Grants) -> Verdict {
    let call = ToolCall::parse_for_verdict(&RawCall::new("Bash", json!({"command": command}))).unwrap();
    let claims = Claims::from_call(&call);
    let fact = |claim: &pinfold_policy::PathClaim| {
        let words = claim.path.as_ref().map_or_else(Default::default, |path| path.as_os_str().to_owned());
        let path = std::path::Path::new("/w").join(words);
        PathFact {
            shown: path.display().to_string(),
            operation: claim.operation,
            asked: path.clone(),
            path_status: if path.starts_with("/w") {
                PathStatus::Inside
            } else {
                PathStatus::Outside { disguise: None }
            },
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
        shell: Some(ShellFact { confinement: ShellConfinement::Full, open_network: false }),
        ..Facts::default()
    };
    judge(&Case {
        call: &call,
        claims: &claims,
        facts: &facts,
        scope: &Scope {
            root: "/w".into(),
            display_root: "/w".into(),
            enforce_write: false,
            allow_bash: true,
        },
        access: Access::ReadWrite,
        interaction,
        policy,
        grants,
        hook: None,
    })
}

fn decide(command: &str, mode: Mode, rules: &Given) -> Decision {
    verdict(command, &policy(mode, rules), Interaction::Interactive).decision
}

/// An open quote takes what follows into itself: the line is another one then, not one of these parts.
fn whole_ones() -> Vec<&'static str> {
    COMMANDS.iter().copied().filter(|command| *command != "echo 'unclosed").collect()
}

fn some_rules() -> impl Strategy<Value = Given> {
    let effect = prop_oneof![Just(Effect::Allow), Just(Effect::Ask), Just(Effect::Deny)];
    proptest::collection::vec((effect, proptest::sample::select(RULES)), 0..6)
}

/// What a person could grant for the session, the widest things among it.
fn some_grants() -> impl Strategy<Value = Vec<Grant>> {
    let rule = |text: &str| {
        let source = Source::plain(Layer::Session);
        Grant::Rule(SourcedRule { effect: Effect::Allow, rule: Rule::parse(text).unwrap(), source }.into())
    };
    let mut all: Vec<Grant> = RULES.iter().map(|text| rule(text)).collect();
    for class in [Class::Read, Class::Write, Class::Remove] {
        all.push(Grant::Place("/w/notes.txt".into(), class));
        all.push(Grant::Folder("/".into(), class));
    }
    all.push(Grant::PlainCommands);
    proptest::collection::vec(proptest::sample::select(all), 1..5)
}

/// Steps whose word no grant can change: a no of somebody, and what needs a person each time.
const ABOVE_GRANTS: [&str; 6] = ["deny-rule", "unresolved", "hook-deny", "safeguard", "doubt", "hook-ask"];

fn a_line() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(COMMANDS);
    let operator = proptest::sample::select(&[" && ", " ; ", " | ", " || ", "\n", " & "][..]);
    (part.clone(), proptest::collection::vec((operator, part), 0..3)).prop_map(|(first, rest)| {
        rest.iter().fold(first.to_owned(), |line, (operator, part)| line + operator + part)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_deny_that_is_added_only_takes_away(
        line in a_line(), rules in some_rules(), mode in proptest::sample::select(&MODES[..]),
        denied in proptest::sample::select(RULES),
    ) {
        let before = decide(&line, mode, &rules);
        let more: Given = rules.iter().copied().chain([(Effect::Deny, denied)]).collect();
        prop_assert!(decide(&line, mode, &more) >= before, "{line}");
    }

    #[test]
    fn an_allow_that_is_added_silences_no_safeguard(
        guarded in proptest::sample::select(&GUARDED[..]), line in a_line(), rules in some_rules(),
        mode in proptest::sample::select(&MODES[..]), allowed in proptest::sample::select(RULES),
    ) {
        let line = format!("{guarded} && {line}");
        let before = verdict(&line, &policy(mode, &rules), Interaction::Interactive);
        prop_assert!(before.decision >= Decision::Ask, "{line}");
        let more: Given = rules.iter().copied().chain([(Effect::Allow, allowed)]).collect();
        prop_assert!(decide(&line, mode, &more) >= Decision::Ask, "{line}");
    }

    #[test]
    fn a_line_is_never_freer_than_its_parts(
        first in proptest::sample::select(whole_ones()), second in proptest::sample::select(whole_ones()),
        operator in proptest::sample::select(&["&&", ";", "|", "||", "&"][..]), rules in some_rules(),
        mode in proptest::sample::select(&MODES[..]),
    ) {
        let whole = decide(&format!("{first} {operator} {second}"), mode, &rules);
        prop_assert!(whole >= decide(first, mode, &rules), "{first} {operator} {second}");
        prop_assert!(whole >= decide(second, mode, &rules), "{first} {operator} {second}");
    }

    /// Deny rules and modes are inherited, allow rules and grants are not, and nobody is asked.
    #[test]
    fn an_agent_is_never_freer_than_who_started_it(
        line in a_line(), rules in some_rules(), parent in proptest::sample::select(&MODES[..]),
        own in proptest::sample::select(&MODES[..]),
    ) {
        let above = decide(&line, parent, &rules);
        let inherited: Given = rules.iter().copied().filter(|(effect, _)| *effect == Effect::Deny).collect();
        let child = policy(own.clamped_to(parent), &inherited);
        let below = verdict(&line, &child, Interaction::Headless).decision;
        prop_assert!(below != Decision::Ask);
        // Ask rules of the session are the one thing that does not reach a child.
        let asked = rules.iter().any(|(effect, _)| *effect == Effect::Ask);
        prop_assert!(below >= above || asked, "{line}: {above:?} above, {below:?} below");
    }

    /// A grant takes questions away, those of the steps below it, and nothing else: what is denied by somebody stays
    /// denied, what needs a person each time still does, and nothing becomes stricter.
    #[test]
    fn a_grant_that_is_added_takes_questions_away_and_nothing_else(
        line in a_line(), rules in some_rules(), mode in proptest::sample::select(&MODES[..]), grants in some_grants(),
        headless in any::<bool>(),
    ) {
        let interaction = if headless { Interaction::Headless } else { Interaction::Interactive };
        let policy = policy(mode, &rules);
        let bases = Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] };
        let before = verdict(&line, &policy, interaction);
        let after = granted(&line, &policy, interaction, &Grants::compile(grants, &bases));
        prop_assert!(after.decision <= before.decision);
        prop_assert_eq!(before.trail.len(), after.trail.len());
        for (was, is) in before.trail.iter().zip(&after.trail) {
            prop_assert!(is.opinion.decision <= was.opinion.decision, "{line}: {was:?}, then {is:?}");
            let doubt = matches!(was.opinion.reason, Reason::MayBeDenied(_));
            let guarded = matches!(was.opinion.reason, Reason::Safeguard(_) | Reason::Sensitive(_));
            if ABOVE_GRANTS.contains(&was.step) && !doubt || guarded {
                prop_assert_eq!(was, is, "{}", line);
            }
        }
    }

    #[test]
    fn a_read_that_is_known_only_by_running_is_never_let_through(
        reader in proptest::sample::select(READERS), open in proptest::sample::select(OPEN_WORDS),
        front in proptest::sample::select(&["", "./", "src/", "~/", "/home/"][..]),
        behind in proptest::sample::select(&["", "/x", "/.ssh/id_rsa", ".rs"][..]), rules in some_rules(),
    ) {
        let line = format!("{reader} {front}{open}{behind}");
        let mut policy = policy(Mode::AcceptEdits, &rules);
        policy.bash = BashMode::ReadOnly;
        let rule = format!("Bash({} *)", reader.split(' ').next().unwrap());
        let wide = SourcedRule {
            effect: Effect::Allow,
            rule: Rule::parse(&rule).unwrap(),
            source: Source::plain(Layer::User),
        };
        let bases = Bases { cwd: "/w".into(), project: "/w".into(), home: vec!["/home/u".into()] };
        let mut allowed = Policy::default().with_rules(std::iter::once(wide), &bases);
        allowed.bash = BashMode::ReadOnly;
        for policy in [&policy, &allowed] {
            let decision = verdict(&line, policy, Interaction::Interactive).decision;
            prop_assert!(decision >= Decision::Ask, "{} by {}", line, rule);
        }
    }

    #[test]
    fn any_text_has_its_claims(text in "\\PC{0,200}") {
        command_laws::a_line_holds(&text);
    }

    #[test]
    fn any_mixture_of_words_has_its_claims(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..30)) {
        command_laws::a_line_holds(&words.concat());
    }

    #[test]
    fn any_text_is_a_rule_or_an_error(text in "\\PC{0,60}") {
        command_laws::a_rule_holds(&text);
    }
}

/// Programs that read what their last words name.
const READERS: &[&str] =
    &["cat", "head -n 3", "tail", "wc -l", "grep x", "sort", "cut -c1", "diff a", "od", "sed -n p", "base64"];

/// Words of which it is not known what they become.
const OPEN_WORDS: &[&str] = &[
    "$X",
    "\"$X\"",
    "${X:-a}",
    "${X%/*}",
    "$(echo a)",
    "`echo a`",
    "\"$(echo a)\"",
    "$((1))",
    "${!X}",
    "$@",
    "$1",
];

/// Pieces from which lines are mixed that mean something.
const WORDS: &[&str] = &[
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "|",
    "&",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    "`",
    "'",
    "\"",
    "$x",
    "${x:-y}",
    "*",
    "> f",
    "< f",
    "<<EOF\n",
    "EOF\n",
    "cd ..",
    "sudo",
    "env A=1",
    "xargs",
    "git",
    "-C",
    "../x",
    "push",
    "find .",
    "-exec",
    "sh -c",
    "rm",
    "-rf",
    "--",
    "curl",
    "-o",
    "=",
    "export PATH",
    "f() ",
    "if true; then ",
    "; fi",
    "\\",
];

#[test]
fn nothing_is_too_much() {
    let all = policy(Mode::Default, &vec![(Effect::Allow, "Bash(echo *)")]);
    for (name, text) in [
        ("long word", format!("echo {}", "a".repeat(120_000))),
        ("many words", format!("echo {}", "a ".repeat(60_000))),
        ("many commands", "echo a;".repeat(15_000)),
        ("open brackets", "(".repeat(100_000)),
        ("open substitutions", "$(".repeat(50_000)),
        ("open quotes", "echo \"$(".repeat(14_000)),
        ("braces", format!("echo {}", "{a,".repeat(30_000))),
        ("redirects", format!("echo {}", "> a ".repeat(30_000))),
        ("launchers", "sudo ".repeat(20_000) + "echo"),
        ("shells in shells", "sh -c ".repeat(15_000) + "x"),
        ("assignments", "A=1 ".repeat(30_000) + "echo"),
    ] {
        let decision = verdict(&text, &all, Interaction::Interactive).decision;
        assert!(decision >= Decision::Ask, "{name}");
    }
}

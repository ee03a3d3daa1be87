//! The parser beside a real bash.
//!
//! Two promises, over a list of snippets and over random changes to them: what is understood, bash takes as well;
//! and every program that bash starts is one of the listed commands. What is not understood still lists the names
//! of the programs that bash starts. `PINFOLD_SEED` and `PINFOLD_ROUNDS` choose
//! other changes and more of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

#[path = "kit/change.rs"]
mod change;
#[path = "kit/cover.rs"]
mod cover;
#[path = "kit/shells.rs"]
mod shells;

use crate::escapes;
use crate::kit;
use change::Random;
use pinfold_shell::{OpaqueReason, parse};
use std::sync::atomic::{AtomicUsize, Ordering};

const SNIPPETS: &str = include_str!("cases/snippets.txt");

/// Builtins through which a command is hidden from every parser, or that stop the counting.
const UNSEEN: &[&str] = &[
    "alias", "trap", "let", "eval", "exec", "command", "builtin", "source", "declare", "typeset", "export",
    "local", "readonly", "test", "read", "unset", "printf", "enable", "hash", "shopt", "kill", "set", ".",
];

fn snippets() -> Vec<String> {
    let lines = SNIPPETS.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(escapes::read).collect()
}

/// What is wrong with what we say about a snippet, if anything.
fn fault(snippet: &str) -> Option<String> {
    let script = parse(snippet);
    // What arithmetic may run is found by no list; the commands in it are, all the same.
    let arithmetic =
        |why: &OpaqueReason| matches!(why, OpaqueReason::Construct(text) if text.contains("may run as code"));
    if !script.opaque.iter().all(|opaque| arithmetic(&opaque.why)) {
        let names = |argv: &&Vec<String>| argv.first().is_some_and(|name| !cover::covers_name(&script, name));
        let ran = kit::run(snippet).commands;
        return ran.iter().find(names).map(|argv| format!("{snippet:?}: opaque, and bash ran {argv:?}"));
    }
    let ran = kit::run(snippet);
    if let Some(missed) = ran.commands.iter().find(|argv| !cover::covers(&script, argv)) {
        return Some(format!("{snippet:?}: bash ran {missed:?}"));
    }
    if let Some(missed) = ran.files.iter().find(|file| !cover::covers_file(&script, file)) {
        return Some(format!("{snippet:?}: bash made {missed:?}"));
    }
    (!kit::accepts(snippet)).then(|| format!("{snippet:?}: bash does not take it"))
}

fn hidden(snippet: &str) -> bool {
    let words = snippet.split(|c: char| !(c.is_alphanumeric() || c == '.'));
    words.into_iter().any(|word| UNSEEN.contains(&word))
}

/// Runs over all snippets with a few threads; gives the faults.
fn faults(snippets: &[String], fault: fn(&str) -> Option<String>) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some(snippet) = snippets.get(next.fetch_add(1, Ordering::Relaxed)) {
            faults.extend(fault(snippet));
        }
        faults
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
    })
}

#[test]
fn every_program_that_bash_starts_is_listed() {
    let snippets: Vec<_> = snippets().into_iter().filter(|snippet| !snippet.contains('/')).collect();
    let faults = faults(&snippets, fault);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_share_a_shell_where_we_say_so() {
    let snippets: Vec<_> = snippets().into_iter().filter(|snippet| !snippet.contains('/')).collect();
    let faults = faults(&snippets, shells::fault);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_bed_sees_what_runs() {
    let ran = kit::run("t1 'a b' | f2 $(t3)");
    let mut commands = ran.commands;
    commands.sort();
    assert_eq!(commands, [vec!["f2"], vec!["t1", "a b"], vec!["t3"]]);
    let missed = vec!["t4".to_owned()];
    assert!(!cover::covers(&parse("t1 t4"), &missed));
    let processes = kit::processes("t1; (t2); t3");
    assert_eq!(processes.len(), 3);
    assert!(processes[0].1 == processes[2].1 && processes[0].1 != processes[1].1);
    assert_eq!(kit::run("t1 >f").files, ["f"]);
    assert!(!cover::covers_file(&parse("t1 f <f >g"), "f"));
}

#[test]
fn every_program_that_bash_starts_from_a_changed_snippet_is_listed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let mut random = Random(number("PINFOLD_SEED").unwrap_or(4711));
    let rounds = number("PINFOLD_ROUNDS").unwrap_or(1000);
    let snippets: Vec<_> = snippets().into_iter().filter(|snippet| !hidden(snippet)).collect();
    let mut changed: Vec<_> = (0..rounds).map(|_| random.change(&snippets)).collect();
    changed.retain(|snippet| !hidden(snippet) && !snippet.contains('/'));
    let mut faults = self::faults(&changed, fault);
    changed.truncate(changed.len() / 3);
    faults.extend(self::faults(&changed, shells::fault));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

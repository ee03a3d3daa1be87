//! The containment corpus down the whole road, by every tool that can do the act, over both ways of resolving.
//!
//! `PINFOLD_CORPUS` names another folder with `paths/cases.jsonl`.

#![expect(clippy::expect_used, reason = "a test stops where it fails")]
#![expect(clippy::print_stdout, reason = "what was not run is never silent")]

use pinfold::paths::Strategy;
use pinfold_tests::Who;
use pinfold_tests::ground::new_place;
use pinfold_tests::paths::case::{Answer, Case, load, source};
use pinfold_tests::paths::run::{Ran, run, would_escape};

fn check(strategy: Strategy) {
    let cases = load().expect("the corpus can be read");
    let (mut passed, mut not_run, mut failed) = (0, Vec::new(), Vec::new());
    for case in &cases {
        if case.needs_rules() {
            not_run.push((case.id.as_str(), "not yet: needs rules".to_owned()));
            continue;
        }
        match run(case, strategy) {
            Ran::Passed => passed += 1,
            Ran::NotRun(why) => not_run.push((case.id.as_str(), why)),
            Ran::Failed(why) => failed.push((case.id.as_str(), why)),
        }
    }
    for (id, why) in &not_run {
        println!("not run  {id:<24} {why}");
    }
    for (id, why) in &failed {
        println!("FAILED   {id:<24} {why}");
    }
    println!("paths: {passed} passed, {} failed, {} not run ({strategy:?})", failed.len(), not_run.len());
    assert!(passed > 0, "an empty corpus proves nothing");
    assert!(failed.is_empty(), "{} cases failed", failed.len());
}

#[test]
fn every_case_comes_out_as_it_has_to_with_the_kernels_best_resolution() {
    check(Strategy::probed());
}

#[test]
fn every_case_comes_out_as_it_has_to_when_resolved_by_hand() {
    check(Strategy::ByHand);
}

/// The same once more without the rights of the superuser, where those hide what a user would meet.
#[test]
fn an_ordinary_user_gets_the_same_answers() {
    if Who::Ordinary.other_uid().is_none() {
        // The tests above were run by one.
        return;
    }
    let place = new_place("pinfold-corpus.");
    let (program, corpus) = (place.path().join("paths_corpus"), place.path().join("paths"));
    // Copied by another program: a descriptor of ours could live on in a child that a test beside this one forks, and
    // what is open for writing cannot be started.
    let own = std::env::current_exe().expect("own place");
    let copied =
        std::process::Command::new("cp").arg(own).arg(&program).status().expect("a copy of this program");
    assert!(copied.success());
    std::fs::create_dir(&corpus).expect("a folder for the cases");
    std::fs::write(corpus.join("cases.jsonl"), source().expect("the corpus can be read")).expect("the cases");
    Who::Ordinary.give(place.path());
    let mut command = Who::Ordinary.command(&program, place.path());
    command
        .args(["paths_corpus::every_case", "--nocapture"])
        .env("PINFOLD_CORPUS", place.path())
        .current_dir(place.path());
    let output = command.output().expect("the copy can be started");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stdout).contains(" 0 passed"), "the cases were tried");
}

/// The control: without the line the same acts do change things outside.
#[test]
fn the_refused_acts_would_escape_from_a_tool_without_a_line() {
    const CLASSES: [&str; 5] = ["outside", "dotdot", "prefix", "symlink", "grants"];
    let cases = load().expect("the corpus can be read");
    let refused = |case: &&Case| {
        case.expect != Answer::Allow
            && CLASSES.contains(&case.class.as_str())
            && !case.verdict_only
            && case.requires.is_empty()
    };
    let (mut escapes, mut harmless) = (0, Vec::new());
    for case in cases.iter().filter(refused) {
        match would_escape(case) {
            Some(true) => escapes += 1,
            Some(false) | None => harmless.push(case.id.as_str()),
        }
    }
    println!("control: {escapes} refused acts escape when free; harmless even then: {}", harmless.join(", "));
    assert!(escapes > harmless.len(), "most refusals have to prevent something");
}

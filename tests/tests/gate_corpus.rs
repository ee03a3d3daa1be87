//! The corpus of decisions, each case in the world that it describes.
//!
//! `PINFOLD_CORPUS` names another folder with `gate/*.jsonl` and `bash-gate/cases.jsonl`. What fails must stand in
//! `docs/dev/corpus-disputes.md`, with the reason.

#![expect(clippy::print_stdout, reason = "what was not run is never silent")]

use std::collections::BTreeSet;
use std::process::ExitStatus;

use pinfold_tests::gate::case::{Case, folder, load};
use pinfold_tests::gate::disputes::disputes;
use pinfold_tests::gate::ran::{Ran, Report};
use pinfold_tests::gate::{dialog, hooked, lines, tracker, world};
use pinfold_tests::missing::left_out;

/// Runs a test of this file in the world of the cases.
fn enter(test: &str) -> Option<ExitStatus> {
    world::enter(&format!("gate_corpus::{test}"), &folder())
}

#[test]
fn every_case_comes_out_as_it_has_to() {
    if !world::is_inside() {
        match enter("every_case_comes_out_as_it_has_to") {
            Some(ended) => assert!(ended.success(), "see above"),
            None => left_out("the corpus of decisions", "no mount namespace can be made here"),
        }
        return;
    }
    let (mut report, mut seen) = (Report::default(), BTreeSet::new());
    for case in load(&folder()) {
        seen.extend(case.as_ref().map(|case| case.id.clone()));
        match case {
            Ok(case) => report.note(&case.area, &case.id, ran(&case)),
            Err(bad) => {
                report.note(&bad.area, "?", Ran::Failed(format!("        unknown shape: {}\n", bad.what)));
            }
        }
    }
    print!("{}", report.told());
    let disputed = disputes();
    let undisputed: Vec<&str> = report.failed().filter(|id| !disputed.contains_key(id)).collect();
    let failed = report.failed().count();
    println!("{} passed, {failed} failed, {} of them disputed", report.passed(), failed - undisputed.len());
    let settled: Vec<&str> = disputed
        .keys()
        .copied()
        .filter(|id| seen.contains(*id) && report.failed().all(|bad| bad != *id))
        .collect();
    assert!(report.passed() > 0, "an empty corpus proves nothing");
    assert!(settled.is_empty(), "disputed, and yet as expected; take them off the list: {settled:?}");
    assert!(undisputed.is_empty(), "{} cases fail without a reason", undisputed.len());
}

fn ran(case: &Case) -> Ran {
    if case.area != "read-tracker"
        && let Some(why) = lines::missing(case)
    {
        return Ran::NotRun(why.to_owned());
    }
    if let Err(shape) = world::build(case) {
        return Ran::Failed(format!("        unknown shape: {shape}\n"));
    }
    match case.area.as_str() {
        "read-tracker" => tracker::run(case),
        _ if dialog::is_about(case) => dialog::run(case),
        _ if hooked::is_about(case) => hooked::run(case),
        _ => lines::run(case),
    }
}

/// The control for questions: another decision, another rule, another choice than what comes out does not pass.
#[test]
fn another_answer_and_another_offer_fail() {
    const NAME: &str = "another_answer_and_another_offer_fail";
    if !world::is_inside() {
        match enter(NAME) {
            Some(ended) => assert!(ended.success(), "see above"),
            None => left_out("the control of the dialog", "no mount namespace can be made here"),
        }
        return;
    }
    let case = |setup: &str, expect: &str, detail: &str| -> Case {
        let call = r#"{"tool":"Bash","input":{"command":"make"}}"#;
        let text = format!(
            r#"{{"id":"1","area":"dialog","setup":{setup},"call":{call},"expect":"{expect}","detail":{detail}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    let always = r#"{"dialog":"always"}"#;
    let earlier = r#"{"history":[{"call":"make","answer":"yes"}]}"#;
    for (case, passes) in [
        (case(always, "allow", r#"{"rules":["Bash(make)"]}"#), true),
        (case(always, "allow", r#"{"rules":["Bash(make *)"]}"#), false),
        (case(always, "deny", "{}"), false),
        (case(earlier, "ask", r#"{"options":["yes","session","always","no"]}"#), true),
        (case(earlier, "ask", r#"{"options":["yes","no"]}"#), false),
        (case(earlier, "ask", r#"{"options_without":"always"}"#), false),
        (case(earlier, "allow", "{}"), false),
        (case(r#"{"dialog":"perhaps"}"#, "allow", "{}"), false),
        (case(r#"{"dialog":"yes","moon":"full"}"#, "allow", "{}"), false),
    ] {
        world::build(&case).unwrap();
        let ran = dialog::run(&case);
        assert_eq!(matches!(ran, Ran::Passed), passes, "{case:?}: {ran:?}");
    }
}

/// The control for hooks: what they say is what comes out, and nothing is made up where they say nothing.
#[test]
fn another_word_of_a_hook_fails() {
    const NAME: &str = "another_word_of_a_hook_fails";
    if !world::is_inside() {
        match enter(NAME) {
            Some(ended) => assert!(ended.success(), "see above"),
            None => left_out("the control of hooks", "no mount namespace can be made here"),
        }
        return;
    }
    let case = |setup: &str, expect: &str| -> Case {
        let call = r#"{"tool":"Bash","input":{"command":"make"}}"#;
        let text =
            format!(r#"{{"id":"1","area":"hooks","setup":{{{setup}}},"call":{call},"expect":"{expect}"}}"#);
        serde_json::from_str(&text).unwrap()
    };
    let says = |word: &str| format!(r#""hooks":{{"PreToolUse":{{"permissionDecision":"{word}"}}}}"#);
    let elsewhere = r#""hooks":{"PreToolUse":{"matcher":"Write","permissionDecision":"deny"}}"#;
    let answers = r#""hooks":{"PermissionRequest":{"decision":{"behavior":"allow"}}}"#;
    for (setup, comes_to) in [
        (says("allow"), "allow"),
        (says("deny"), "deny"),
        (says("ask"), "ask"),
        (says("perhaps"), "ask"),
        (elsewhere.to_owned(), "ask"),
        (answers.to_owned(), "allow"),
        (format!(r#"{answers},"second_call":true"#), "ask"),
        (format!(r#"{},"hook_scope":"project","trusted":false"#, says("deny")), "ask"),
        (r#""hooks":{"BeforeTool":{"permissionDecision":"allow"}}"#.to_owned(), "deny"),
    ] {
        for expect in ["allow", "ask", "deny"] {
            let case = case(&setup, expect);
            world::build(&case).unwrap();
            let ran = hooked::run(&case);
            assert_eq!(matches!(ran, Ran::Passed), expect == comes_to, "{case:?}: {ran:?}");
        }
    }
    assert!(matches!(hooked::run(&case(r#""hooks":{"PreToolUse":5}"#, "ask")), Ran::Failed(_)));
}

/// The control: what is wrong or not understood does not pass.
#[test]
fn a_wrong_answer_and_an_unknown_shape_fail() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("gate")).unwrap();
    let cases = r#"{"id":"1","area":"x","call":{"tool":"Read","input":{"file_path":"a"}},"expect":"allow"}
{"id":"2","area":"x","call":{"tool":"Read","input":{"file_path":"a"}},"expect":"deny"}
{"id":"3","area":"x","setup":{"moon":"full"},"call":{"tool":"Read","input":{"file_path":"a"}},"expect":"allow"}
{"id":"4","area":"x","setup":{"judge":"yes"},"call":{"tool":"Read","input":{"file_path":"a"}},"expect":"allow"}
{"id":"5","area":"x","call":{"tool":"Read","input":{"file_path":"a"}},"expect":"allow","unless":"it rains"}
{"id":"6","area":"x","call":{"tool":"Read","input":{"file_path":"a"}},"expect":"maybe"}
"#;
    std::fs::write(place.path().join("gate/x.jsonl"), cases).unwrap();
    let outcome = |case: Result<Case, _>| match case {
        Err(_) => "unreadable",
        Ok(case) if lines::missing(&case).is_some() => "not run",
        Ok(case) => match lines::run(&case) {
            Ran::Passed => "passed",
            Ran::Failed(_) => "failed",
            Ran::NotRun(_) => "not run",
        },
    };
    let outcomes: Vec<&str> = load(place.path()).into_iter().map(outcome).collect();
    assert_eq!(outcomes, ["passed", "failed", "failed", "not run", "unreadable", "unreadable"]);
}

//! Command lines that attack rules, and everyday ones beside them: `tests/corpus/command-lines`. What is allowed and what is
//! not is compared; the share that comes out as expected is printed by class.

#![expect(clippy::print_stdout, reason = "the shares are a figure that is read")]
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold::Ambient;
use pinfold::check::CheckService;
use pinfold::policy::Decision;
use serde_json::{Value, json};

const HOME: &str = "/home/ana";
const PROJECT: &str = "/home/ana/proj";

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/command-lines")
}

/// The call of a case, as a line for `pinfold check`.
fn line(case: &Value, rules: &Value) -> Value {
    let mut line = json!({
        "tool": "Bash", "input": {"command": case["command"]}, "cwd": PROJECT, "home": HOME,
        "project_root": PROJECT, "scope": {"root": PROJECT, "display_root": PROJECT},
    });
    for field in ["mode", "bash"] {
        line[field] = case[field].clone();
    }
    if let Some(set) = case["rules"].as_str() {
        line["rules"] = rules[set].clone();
        assert!(line["rules"].is_object(), "there is no set of rules `{set}`");
    }
    line
}

fn is_allowed(case: &Value, rules: &Value) -> bool {
    let mut desk = CheckService::new(Ambient::claim(), PROJECT.into()).with_home(Some(HOME.into()));
    let answer = desk.answer(line(case, rules).to_string().as_bytes());
    answer.map_err(|bad| bad.to_string()).unwrap().decision == Decision::Allow
}

#[test]
fn every_command_line_is_allowed_or_not_as_it_has_to_be() {
    let rules: Value =
        serde_json::from_str(&fs::read_to_string(corpus().join("rules.json")).unwrap()).unwrap();
    let text = fs::read_to_string(corpus().join("cases.jsonl")).unwrap();
    let mut shares: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut wrong, mut settled) = (Vec::new(), Vec::new());
    for case in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let as_expected = match case["expect"].as_str() {
            Some("allow") => is_allowed(&case, &rules),
            Some("not-allow") => !is_allowed(&case, &rules),
            other => panic!("{}: `{other:?}` is no expectation", case["id"]),
        };
        let share = shares.entry(case["class"].as_str().unwrap().to_owned()).or_default();
        share.0 += usize::from(as_expected);
        share.1 += 1;
        let what = format!("{} {}", case["id"], case["command"]);
        match (as_expected, case["open"].is_string()) {
            (true, true) => settled.push(what),
            (false, false) => wrong.push(what),
            (true, false) | (false, true) => {}
        }
    }
    for (class, (held, all)) in &shares {
        println!("{class}: {held} of {all}");
    }
    let (held, all) = shares.values().fold((0, 0), |(held, all), share| (held + share.0, all + share.1));
    println!("{held} of {all} command lines come out as expected");
    assert!(all > 1000, "a corpus of {all} lines proves little");
    assert!(settled.is_empty(), "open, and yet as expected; take the mark off: {settled:#?}");
    assert!(wrong.is_empty(), "{} lines come out otherwise: {wrong:#?}", wrong.len());
}

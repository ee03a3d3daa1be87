//! Behaviour as data: files, calls, what they answer, what is there afterwards. One line a behaviour.
//!
//! `files` and `after`: text, `hex:…` for bytes, `null` for nothing there. A call gives `ends` (done, failed,
//! refused), and where it matters `error` and pieces of the text that must (`has`) or must not (`lacks`) be there.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::path::Path;

use crate::kit::Bed;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    calls: Vec<Step>,
    #[serde(default)]
    after: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    tool: String,
    input: Value,
    ends: String,
    error: Option<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
}

fn bytes(text: &str) -> Vec<u8> {
    let Some(hex) = text.strip_prefix("hex:") else { return text.as_bytes().to_vec() };
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn run(case: &Case) {
    let name = &case.name;
    let bed = Bed::new();
    for (path, content) in &case.files {
        if path.ends_with('/') {
            std::fs::create_dir_all(bed.root.join(path)).unwrap();
        } else {
            bed.put(path, bytes(content));
        }
    }
    for (path, target) in &case.links {
        std::os::unix::fs::symlink(target, bed.root.join(path)).unwrap();
    }
    for (index, step) in case.calls.iter().enumerate() {
        let reply = bed.call(&step.tool, step.input.clone());
        let text = reply.text();
        let ended = serde_json::to_value(reply.ended).unwrap();
        assert_eq!(ended, step.ends.as_str(), "{name}, call {index}: {text}");
        if let Some(error) = &step.error {
            assert_eq!(reply.structured["error"], error.as_str(), "{name}, call {index}: {text}");
        }
        for piece in &step.has {
            assert!(text.contains(piece), "{name}, call {index}: {piece:?} is not in {text:?}");
        }
        for piece in &step.lacks {
            assert!(!text.contains(piece), "{name}, call {index}: {piece:?} is in {text:?}");
        }
    }
    for (path, content) in &case.after {
        let there = std::fs::read(bed.root.join(path)).ok();
        assert_eq!(
            there.as_deref().map(String::from_utf8_lossy),
            content.as_deref().map(bytes).as_deref().map(String::from_utf8_lossy),
            "{name}: {path}"
        );
        assert_eq!(there, content.as_deref().map(bytes), "{name}: {path}");
    }
    assert!(
        !std::fs::read_dir(&bed.root)
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().ends_with(".tmp") }),
        "{name}: a temp file was left behind"
    );
}

#[test]
fn every_behaviour_in_the_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        for (number, line) in std::fs::read_to_string(&file).unwrap().lines().enumerate() {
            let case = serde_json::from_str(line)
                .unwrap_or_else(|e| panic!("{}:{}: {e}", file.display(), number + 1));
            run(&case);
            cases += 1;
        }
    }
    assert!(cases > 50, "only {cases} cases were found");
}

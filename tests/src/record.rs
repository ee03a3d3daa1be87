//! The record of a bed beside its published schema.

use std::path::Path;
use std::sync::LazyLock;

use pinfold::Ambient;
use pinfold::audit::LogReader;
use pinfold::audit::read::Read;
use serde_json::Value;

static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/record.schema.json");
    let text = std::fs::read_to_string(path).expect("the published schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
});

/// Sessions of agents that begin and end, in order: their names, and `start` with the program or `end`. Those of runs are
/// left out.
///
/// # Panics
/// When there is no record.
pub fn sessions(home: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(home.join(".local/state/pinfold/record/record.jsonl"));
    let lines = text.expect("a record");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let told = |line: Value| match (word(&line, "kind").as_str(), word(&line, "tier"), word(&line, "end")) {
        ("start", tier, _) if tier == "none" => {
            Some((word(&line, "session"), format!("start {}", word(&line, "program"))))
        }
        ("end", _, end) if end == "closed" => Some((word(&line, "session"), "end".to_owned())),
        _ => None,
    };
    lines.filter_map(told).collect()
}

/// What is wrong with lines of a record: where it stands, what it is, and the line. Nothing where there is no record.
pub fn wrong_lines(directory: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    // A record that cannot be read, or not in full, is what some tests are about.
    let _ = LogReader::open_record(&Ambient::claim(), directory).for_each(|read| {
        let Read::Line(_, text) = read else { return Ok(()) };
        let Ok(line) = serde_json::from_str::<Value>(text) else { return Ok(()) };
        wrong.extend(
            SCHEMA.iter_errors(&line).map(|error| format!("{}: {error}: {text}", error.instance_path())),
        );
        Ok::<(), std::io::Error>(())
    });
    wrong
}

//! One call, every way in: cases as data, and what each way says about them.
//!
//! A case says what is decided about a call, and by which step. Each way in has to say the same; where one may say otherwise,
//! `tests/ways_in/differences.txt` says which and why, and the case names that difference.

mod difference;
mod drive;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

pub use difference::Difference;
pub use drive::{Seen, Way, person};

/// One call in one setup, as it stands in the data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is held, as a sentence.
    pub name: String,
    /// The call. `FOLDER`, `OUTSIDE` and `HOME` stand for the places of the bed.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// Files of the folder beside those that each bed has.
    #[serde(default)]
    pub files: Vec<String>,
    /// A script for `sh` that sets up the rest, in the folder.
    #[serde(default)]
    pub setup: Option<String>,
    /// The person's own settings.
    #[serde(default)]
    pub settings: Option<Value>,
    /// `--permission-mode`.
    #[serde(default)]
    pub mode: Option<String>,
    /// The rest of the flags that all ways share.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The Bash tool is switched on where it is off.
    #[serde(default = "yes")]
    pub allow_bash: bool,
    /// What is decided.
    pub decision: String,
    /// The step that decides.
    pub step: String,
    /// What the hook answers to what is allowed: `allow`, or `silence` where the agent's own rules are to decide.
    #[serde(default)]
    pub hook: Option<String>,
    /// The judge answers the question with yes.
    #[serde(default)]
    pub judged: bool,
    /// Ways that differ, each with the difference that says why.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
    /// What a process of a run does instead of the call.
    #[serde(default)]
    pub run: Option<InRun>,
}

fn yes() -> bool {
    true
}

/// What a process does that stands for the call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InRun {
    /// A script for `sh`.
    pub sh: String,
    /// Whether it can do it: what is allowed can be done, what is not cannot, unless the case names a difference.
    pub done: bool,
}

/// Where the data lies.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ways_in").join(name)
}

/// Every case; `ONLY` in the environment picks those whose name has it.
///
/// # Panics
/// When the data cannot be read.
pub fn cases() -> Vec<Case> {
    let text = fs::read_to_string(data("cases.jsonl")).expect("the cases");
    let only = std::env::var("ONLY").unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//"));
    let read = |line: &str| -> Case { serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")) };
    lines.map(read).filter(|case| case.name.contains(&only)).collect()
}

//! One line of the corpus, of either shape. An unknown field is an error: a condition that is not understood is not
//! passed over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One case of `gate/AREA.jsonl`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// The document it comes from.
    #[serde(default)]
    pub seed: String,
    /// What it is about.
    pub area: String,
    /// The world and the session.
    #[serde(default)]
    pub setup: Map<String, Value>,
    /// The call.
    pub call: CaseCall,
    /// What has to come of it.
    pub expect: Expected,
    /// What may come of it besides.
    #[serde(default)]
    pub alt: Vec<Expected>,
    /// Why.
    #[serde(default)]
    pub why: String,
    /// How it was found.
    #[serde(default)]
    pub source: Value,
    /// Whether the documents leave it open.
    #[serde(default)]
    pub ambiguous: bool,
    /// Requirements it rests on.
    #[serde(default)]
    pub depends_on: Value,
    /// What else is expected.
    #[serde(default)]
    pub detail: Value,
    /// Only told.
    #[serde(default, rename = "ref", alias = "note", alias = "notes", alias = "tags", alias = "verified")]
    pub told: Value,
}

/// The call of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseCall {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// What comes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// It needs no question.
    Allow,
    /// Approval is requested.
    Ask,
    /// No.
    Deny,
    /// Either of the last two.
    NotAllow,
}

impl Expected {
    fn covers(self, decision: &str) -> bool {
        match self {
            Self::Allow => decision == "allow",
            Self::Ask => decision == "ask",
            Self::Deny => decision == "deny",
            Self::NotAllow => decision != "allow",
        }
    }
}

impl Case {
    /// Whether a decision is right.
    pub fn accepts(&self, decision: &str) -> bool {
        self.expect.covers(decision) || self.alt.iter().any(|also| also.covers(decision))
    }
}

/// One case of `bash-gate/cases.jsonl`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandCase {
    id: String,
    class: String,
    command: String,
    #[serde(default)]
    rules: BTreeMap<String, Vec<String>>,
    mode: Option<String>,
    expect: Expected,
    alt: Option<Vec<Expected>>,
    #[serde(default)]
    why: String,
    #[serde(default, rename = "ref")]
    _reference: Value,
    #[serde(default, rename = "note", alias = "notes")]
    _note: Value,
    #[serde(default)]
    basis: String,
    #[serde(default, rename = "benign")]
    _benign: Value,
    #[serde(default, rename = "parser_trap")]
    _parser_trap: Value,
    #[serde(default, rename = "verified")]
    _verified: Value,
    #[serde(default, rename = "seed_literal")]
    _seed_literal: Value,
}

/// The area that the commands are told under.
pub const COMMANDS: &str = "bash-gate";

impl From<CommandCase> for Case {
    fn from(case: CommandCase) -> Self {
        let mut setup = Map::new();
        for (effect, rules) in case.rules {
            setup.insert(effect, json!(rules));
        }
        setup.insert("mode".to_owned(), json!(case.mode.unwrap_or_else(|| "default".to_owned())));
        setup.insert("home".to_owned(), json!("/home/dev"));
        setup.insert("cwd".to_owned(), json!("/home/dev/proj"));
        setup.insert("project_root".to_owned(), json!("/home/dev/proj"));
        Self {
            id: case.id,
            seed: case.class,
            area: COMMANDS.to_owned(),
            setup,
            call: CaseCall { tool: "Bash".to_owned(), input: json!({"command": case.command}) },
            expect: case.expect,
            alt: case.alt.unwrap_or_default(),
            why: case.why,
            source: json!(case.basis),
            ambiguous: false,
            depends_on: Value::Null,
            detail: Value::Null,
            told: Value::Null,
        }
    }
}

/// A line that could not be read, with the area it stands in.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// Where.
    pub area: String,
    /// Which line, and why.
    pub what: String,
}

/// The folder with the cases: `PINFOLD_CORPUS`, or the one of the repository.
pub fn folder() -> PathBuf {
    std::env::var_os("PINFOLD_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"), PathBuf::from)
}

/// Every case below a folder, by the order of files and lines.
///
/// # Panics
/// When a file cannot be read.
pub fn load(folder: &Path) -> Vec<Result<Case, Unreadable>> {
    let listed = fs::read_dir(folder.join("gate")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let area = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        cases.extend(read(&file, &area, |line| serde_json::from_str::<Case>(line)));
    }
    let commands = folder.join(COMMANDS).join("cases.jsonl");
    if commands.exists() {
        let parse = |line: &str| serde_json::from_str::<CommandCase>(line).map(Case::from);
        cases.extend(read(&commands, COMMANDS, parse));
    }
    cases
}

fn read(
    file: &Path,
    area: &str,
    parse: impl Fn(&str) -> serde_json::Result<Case>,
) -> Vec<Result<Case, Unreadable>> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let case = |(number, line): (usize, &str)| {
        let what = |error| format!("{}:{}: {error}", file.display(), number + 1);
        parse(line).map_err(|error| Unreadable { area: area.to_owned(), what: what(error) })
    };
    lines.map(case).collect()
}

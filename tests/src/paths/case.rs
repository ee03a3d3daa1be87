//! One line of the corpus. An unknown field is an error: a condition that is not understood is not passed over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub class: String,
    /// Shell lines that build the tree.
    pub setup: String,
    /// What is done.
    pub op: Op,
    /// To what.
    #[serde(default)]
    pub path: String,
    /// The same as bytes, when it is not Unicode.
    pub path_b64: Option<String>,
    /// Where to.
    pub dest: Option<String>,
    /// What has to come of it.
    pub expect: Answer,
    /// What may come of it besides.
    #[serde(default)]
    pub alt: Vec<Answer>,
    /// What has to carry the change when it is allowed.
    pub effect: Option<String>,
    /// How the line is drawn.
    #[serde(default)]
    pub policy: CasePolicy,
    /// The folder that the caller says it is in.
    pub cwd: Option<String>,
    /// Shell lines that run over and over beside the act.
    pub race: Option<String>,
    /// How often the act is tried then.
    #[serde(default)]
    pub iterations: u32,
    /// What the machine must have.
    #[serde(default)]
    pub requires: Vec<String>,
    /// A real place of the system: only judged, never touched.
    #[serde(default)]
    pub verdict_only: bool,
    /// Shell lines that take the tree down.
    pub teardown: Option<String>,
    /// Why.
    pub why: String,
    /// Where it comes from.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Read a file.
    Read,
    /// Write a file that may be there.
    Write,
    /// Create a file.
    Create,
    /// Change a part of a file.
    Edit,
    /// Delete.
    Delete,
    /// Move.
    Move,
    /// Copy.
    Copy,
    /// List a folder.
    List,
}

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It is done.
    Allow,
    /// A person would be asked.
    Approval,
    /// No.
    Deny,
}

/// How the line is drawn.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CasePolicy {
    /// The folders that may be written; the first is the scope.
    pub write_roots: Option<Vec<String>>,
    /// The workspace, when it is another folder than the scope: then the scope is a subagent's.
    pub display_root: Option<String>,
    /// Nothing may be written.
    #[serde(default, alias = "read-only")]
    pub read_only: bool,
    /// Files that keep their content unless a person says otherwise.
    #[serde(default)]
    pub protected_unchanged: Vec<String>,
    /// Deny rules.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Allow rules.
    #[serde(default)]
    pub allow: Vec<String>,
    /// A mode.
    pub mode: Option<String>,
}

impl Case {
    /// Whether rules or modes have a part in it.
    pub fn needs_rules(&self) -> bool {
        let mode = self.policy.mode.as_deref().is_some_and(|mode| mode != "read-only");
        mode || !self.policy.deny.is_empty() || !self.policy.allow.is_empty()
    }

    /// Whether `answer` is right.
    pub fn accepts(&self, answer: Answer) -> bool {
        answer == self.expect || self.alt.contains(&answer)
    }
}

/// The text of the cases in `PINFOLD_CORPUS`, or in the repository.
///
/// # Errors
/// The file that cannot be read.
pub fn source() -> Result<String, String> {
    let folder = std::env::var_os("PINFOLD_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"), PathBuf::from);
    let file = folder.join("paths/cases.jsonl");
    std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The cases of [`source`].
///
/// # Errors
/// The line that cannot be read.
pub fn load() -> Result<Vec<Case>, String> {
    let text = source()?;
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

/// Puts the folders of a bed in place of `$NAME`.
pub fn expand(text: &str, names: &BTreeMap<&'static str, PathBuf>) -> String {
    // Longer names first: `$ROOT` before `$T` would matter if one began with the other.
    let mut names: Vec<_> = names.iter().collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    names.into_iter().fold(text.to_owned(), |text, (name, path)| {
        text.replace(&format!("${{{name}}}"), &path.display().to_string())
            .replace(&format!("${name}"), &path.display().to_string())
    })
}

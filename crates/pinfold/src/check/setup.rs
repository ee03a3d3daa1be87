//! The setup of a line: principal, folder and rules.

use std::path::{Path, PathBuf};

use pinfold_policy::settings::SandboxMode;
use pinfold_policy::{BashMode, MinSeverity, Mode, Reads};
use serde_json::Value;
use serde_json::value::RawValue;

use super::agent::AgentDefinition;
use super::bad_line::BadLine;
use super::fields::CheckField;

/// The setup of a line. A field that it leaves out is `None`, or the usual.
#[derive(Debug, Clone, Default)]
pub(super) struct Setup {
    pub(super) cwd: Option<PathBuf>,
    pub(super) project_root: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
    pub(super) mode: Option<String>,
    pub(super) headless: bool,
    pub(super) agent: Option<String>,
    pub(super) agent_def: Option<AgentDefinition>,
    pub(super) rules: RuleTexts,
    pub(super) grants: Vec<String>,
    pub(super) scope: ScopeSaid,
    pub(super) tools: Option<Value>,
    pub(super) always_ask: Option<MinSeverity>,
    pub(super) bash: Option<BashMode>,
    pub(super) reads: Option<Reads>,
    pub(super) sandbox: SandboxSaid,
    pub(super) additional_directories: Vec<String>,
    pub(super) not_trusted: bool,
    pub(super) ask_rules_in_bypass: Option<bool>,
}

/// Rules as they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleTexts {
    pub(super) allow: Vec<String>,
    pub(super) ask: Vec<String>,
    pub(super) deny: Vec<String>,
}

/// The four fields of a scope.
#[derive(Debug, Clone, Default)]
pub(super) struct ScopeSaid {
    pub(super) root: Option<PathBuf>,
    pub(super) display_root: Option<PathBuf>,
    pub(super) enforce_write: Option<bool>,
    pub(super) allow_bash: Option<bool>,
}

/// The sandbox as the line describes it.
#[derive(Debug, Clone, Default)]
pub(super) struct SandboxSaid {
    pub(super) mode: Option<SandboxMode>,
    /// The whole writable set.
    pub(super) writable: Option<Vec<String>>,
    pub(super) deny_write: Vec<String>,
    pub(super) deny_read: Vec<String>,
}

impl Setup {
    pub(super) fn read<'a>(
        fields: impl Iterator<Item = (&'static str, &'a RawValue)>,
    ) -> Result<Self, BadLine> {
        let mut setup = Self::default();
        for (name, raw) in fields {
            let value: Value = serde_json::from_str(raw.get())
                .map_err(|error| BadLine(format!("`{name}` cannot be read: {error}")))?;
            setup.field(name, &CheckField(name, &value))?;
        }
        Ok(setup)
    }

    fn field(&mut self, name: &str, at: &CheckField<'_>) -> Result<(), BadLine> {
        match name {
            "cwd" => self.cwd = Some(at.path()?),
            "project_root" => self.project_root = Some(at.path()?),
            "home" => self.home = Some(at.path()?),
            "mode" => self.mode = Some(at.text()?.to_owned()),
            "headless" => self.headless = at.flag()?,
            "agent" => self.agent = Some(at.text()?.to_owned()),
            "agent_def" => self.agent_def = Some(AgentDefinition::read(at)?),
            "rules" => self.rules = rules(at)?,
            "session" => self.grants = grants(at)?,
            "scope" => self.scope = scope(at)?,
            "tools" => self.tools = Some(at.1.clone()),
            "always_ask" | "immune" if self.always_ask.is_some() => {
                return Err(BadLine(
                    "`immune` is the former name of `always_ask`: give one of them".to_owned(),
                ));
            }
            "always_ask" | "immune" => self.always_ask = Some(at.choice(MinSeverity::parse)?),
            "bash" => self.bash = Some(at.choice(BashMode::parse)?),
            "reads" => self.reads = Some(at.choice(Reads::parse)?),
            "sandbox" => self.sandbox = sandbox(at)?,
            "additional_directories" => self.additional_directories = at.texts()?,
            "trusted" => self.not_trusted = !at.flag()?,
            "ask_rules_in_bypass" => self.ask_rules_in_bypass = Some(at.flag()?),
            // `FIELDS` has no others.
            other => return Err(BadLine(format!("nothing is known about `{other}`"))),
        }
        Ok(())
    }

    /// The root of the project; `folder` when the line names no place at all.
    pub(super) fn project(&self, folder: &Path) -> PathBuf {
        let named = [&self.project_root, &self.scope.display_root, &self.cwd, &self.scope.root];
        named.into_iter().flatten().next().map_or_else(|| folder.to_owned(), Clone::clone)
    }

    /// Returns true if a subagent makes the call.
    pub(super) fn is_subagent(&self) -> bool {
        self.agent_def.is_some() || self.agent.as_deref().is_some_and(|name| !is_main(name))
    }

    /// The mode that the line names.
    pub(super) fn mode(&self) -> Result<Option<Mode>, BadLine> {
        // Nothing in the place of a mode is the usual one.
        let Some(word) = self.mode.as_deref().filter(|word| !word.is_empty()) else { return Ok(None) };
        let bad = |why: String| BadLine(format!("`mode`: {why}"));
        if self.is_subagent() {
            return Mode::parse(word).map(Some).map_err(|why| bad(why.to_string()));
        }
        Mode::parse_chosen(word).map(Some).map_err(bad)
    }
}

/// The names of the agent that a person started.
fn is_main(name: &str) -> bool {
    name.is_empty() || name == "main"
}

fn rules(at: &CheckField<'_>) -> Result<RuleTexts, BadLine> {
    let mut rules = RuleTexts::default();
    for (at, name, value) in at.entries(&["allow", "ask", "deny"])? {
        let texts = CheckField(&at, value).texts()?;
        match name {
            "allow" => rules.allow = texts,
            "ask" => rules.ask = texts,
            _ => rules.deny = texts,
        }
    }
    Ok(rules)
}

fn grants(at: &CheckField<'_>) -> Result<Vec<String>, BadLine> {
    let mut granted = Vec::new();
    for (at, _, value) in at.entries(&["allow"])? {
        granted = CheckField(&at, value).texts()?;
    }
    Ok(granted)
}

fn scope(at: &CheckField<'_>) -> Result<ScopeSaid, BadLine> {
    let mut scope = ScopeSaid::default();
    for (at, name, value) in at.entries(&["root", "display_root", "enforce_write", "allow_bash"])? {
        let at = CheckField(&at, value);
        match name {
            "root" => scope.root = Some(at.path()?),
            "display_root" => scope.display_root = Some(at.path()?),
            "enforce_write" => scope.enforce_write = Some(at.flag()?),
            _ => scope.allow_bash = Some(at.flag()?),
        }
    }
    Ok(scope)
}

fn sandbox(at: &CheckField<'_>) -> Result<SandboxSaid, BadLine> {
    let mut sandbox = SandboxSaid::default();
    for (at, name, value) in at.entries(&["mode", "writable", "deny_write_globs", "deny_read_globs"])? {
        let at = CheckField(&at, value);
        match name {
            // 003 writes them with underscores.
            "mode" => sandbox.mode = Some(at.choice(|word| SandboxMode::parse(&word.replace('_', "-")))?),
            "writable" => sandbox.writable = Some(at.texts()?),
            "deny_write_globs" => sandbox.deny_write = at.texts()?,
            _ => sandbox.deny_read = at.texts()?,
        }
    }
    Ok(sandbox)
}

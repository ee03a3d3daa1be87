//! Calls of the past, judged once more: by the settings as they are, or as they would be.
//!
//! Promise: nothing is done, no approver is asked, nothing is recorded, and the same record with the same settings and
//! folders gives the same answers. What the record does not hold is told, never guessed.
//!
//! Traps: the world is looked at as it is now, so a link that leads elsewhere since can make a difference that no rule
//! made ([`ReplayedCall::moved`] says so). Hooks are not asked; what they said then is taken for what they would say.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pinfold_paths::show;
use pinfold_policy::merge::Merged;
use pinfold_policy::{
    BashMode, Decision, GrantOptions, HookDecision, HookDecisionOrigin, Layer, Located, Mode, RawCall,
    ToolCall,
};
use serde_json::{Value, json};

use crate::audit::read::RecordedCall;
use crate::audit::{DecisionEvent, RecordedHook};
use crate::check::{BadLine, CheckAnswer, CheckService};
use crate::settings::project_root;

/// The basis of the judgement, beside the settings.
#[derive(Debug, Clone, Default)]
pub struct Changed {
    /// In which mode.
    pub mode: ModeNow,
    /// Rules that would stand in settings too: `allow`, `ask`, `deny`.
    pub allow: Vec<String>,
    /// Rules that ask.
    pub ask: Vec<String>,
    /// Rules that deny.
    pub deny: Vec<String>,
    /// Folders that could be written too.
    pub add: Vec<String>,
    /// No approver could be asked, though one was there then.
    pub headless: bool,
    /// Shells are on, also where they were off.
    pub allow_bash: bool,
}

/// In which mode calls are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModeNow {
    /// The mode of the settings; where they choose none, the one that the call was made in.
    #[default]
    Settings,
    /// The one that the call was made in.
    AsThen,
    /// This one.
    Chosen(Mode),
}

/// A call, judged once more.
#[derive(Debug, Clone)]
pub struct ReplayedCall {
    /// The answer now.
    pub answer: CheckAnswer,
    /// The comparison with the decision then.
    pub compared: Comparison,
    /// True if the call would touch another place than then.
    pub moved: bool,
}

/// The comparison of an answer with the one that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same is decided by the same step and rule.
    Same,
    /// The same is decided, by another step or rule.
    Otherwise,
    /// Something else is decided.
    Differs,
}

/// Reason why a call cannot be judged once more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReplayable {
    /// The record does not hold all of it.
    #[error("{0}")]
    NotWhole(&'static str),
    /// The line names no folder: it is of version 1.
    #[error("the record does not say in which folder it was made")]
    NoFolder,
    /// The folder is not there.
    #[error("its folder is gone")]
    FolderGone(PathBuf),
    /// A subagent made it.
    #[error("an agent made it whose definition is not in the record")]
    OfAnAgent,
    /// A grant of its session let it through, or may have.
    #[error("what was granted in its session let it through, or may have")]
    Granted,
    /// The call was not understood then, and is not now.
    #[error("it is not understood: {0}")]
    NotUnderstood(String),
    /// The call cannot be judged here.
    #[error("{0}")]
    Unjudged(String),
}

impl NotReplayable {
    /// A short name for counting.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotWhole(_) => "not-whole",
            Self::NoFolder => "no-folder",
            Self::FolderGone(_) => "folder-gone",
            Self::OfAnAgent => "agent",
            Self::Granted => "granted",
            Self::NotUnderstood(_) => "not-understood",
            Self::Unjudged(_) => "unjudged",
        }
    }
}

/// Judges calls of the past. They are handed in in the order of the record.
#[derive(Debug)]
pub struct Replay {
    service: CheckService,
    changed: Changed,
    home: Option<PathBuf>,
    /// The folder that counts instead of the recorded one.
    folder: Option<PathBuf>,
    projects: HashMap<PathBuf, ChosenSettings>,
    /// Sessions in which something was granted.
    granted: HashSet<String>,
}

/// The choices of a project's settings.
#[derive(Debug, Clone, Copy)]
struct ChosenSettings {
    mode: bool,
    bash: Option<BashMode>,
    allow_bash: bool,
}

impl Replay {
    /// By the settings behind this service. `home`: where projects end.
    pub fn new(service: CheckService, home: Option<PathBuf>, changed: Changed) -> Self {
        Self { service, changed, home, folder: None, projects: HashMap::new(), granted: HashSet::new() }
    }

    /// The same as if all calls were made in this folder.
    #[must_use]
    pub fn in_folder(self, folder: Option<PathBuf>) -> Self {
        Self { folder, ..self }
    }

    /// Judges a call once more.
    ///
    /// # Errors
    /// [`NotReplayable`].
    pub fn judge(&mut self, call: &RecordedCall) -> Result<ReplayedCall, NotReplayable> {
        let line = self.line(call)?;
        let answer = self
            .service
            .answer_after(line.as_bytes(), recorded_hook_word(&call.judged))
            .map_err(|bad| unjudged(&bad))?;
        self.compare(call, answer)
    }

    /// Passes over a call: what was granted with it counts for those that follow.
    pub fn pass(&mut self, call: &RecordedCall) {
        if call.answers.iter().any(|answer| !answer.grants.is_empty()) {
            self.granted.insert(call.session.clone());
        }
    }

    /// The same, with what a person could grant for it now.
    ///
    /// # Errors
    /// [`NotReplayable`].
    pub fn judge_with_offer(
        &mut self,
        call: &RecordedCall,
    ) -> Result<(ReplayedCall, GrantOptions), NotReplayable> {
        let line = self.line(call)?;
        let judged = self.service.answer_with_offer(line.as_bytes(), recorded_hook_word(&call.judged));
        let (answer, offer) = judged.map_err(|bad| unjudged(&bad))?;
        Ok((self.compare(call, answer)?, offer))
    }

    fn compare(&mut self, call: &RecordedCall, answer: CheckAnswer) -> Result<ReplayedCall, NotReplayable> {
        let granted = self.granted.contains(&call.session);
        self.pass(call);
        let was = &call.judged;
        let (decision, step) = decided(was);
        let by_grant = step == GRANT || granted;
        if decision == Decision::Allow.as_str()
            && answer.decision == Decision::Ask
            && by_grant
            && after_grants(&answer)
        {
            return Err(NotReplayable::Granted);
        }
        let rule = answer.rule.as_deref().or(answer.safeguard);
        let compared = if decision != answer.decision.as_str() {
            Comparison::Differs
        } else if step != answer.step || was.rule.as_deref() != rule {
            Comparison::Otherwise
        } else {
            Comparison::Same
        };
        let moved = moved(was, &answer);
        Ok(ReplayedCall { answer, compared, moved })
    }

    /// The call as a line for the service.
    fn line(&mut self, call: &RecordedCall) -> Result<String, NotReplayable> {
        let was = &call.judged;
        if call.agents.len() > 1 || was.enforce_write {
            return Err(NotReplayable::OfAnAgent);
        }
        let raw = was.call(&call.tool).map_err(NotReplayable::NotWhole)?;
        if was.decision.is_none() {
            ToolCall::parse(&raw).map_err(|bad| NotReplayable::NotUnderstood(bad.to_string()))?;
        }
        let RawCall { tool, input, cwd, shape, .. } = raw;
        let folder = self.folder.clone().unwrap_or_else(|| PathBuf::from(&was.folder));
        if !folder.is_absolute() {
            return Err(NotReplayable::NoFolder);
        }
        if !folder.is_dir() {
            return Err(NotReplayable::FolderGone(folder));
        }
        let project = project_root(&folder, self.home.as_deref());
        let chosen = self.chosen(&project)?;
        let root = was
            .root
            .as_deref()
            .filter(|_| self.folder.is_none())
            .map_or_else(|| folder.clone(), PathBuf::from);
        let cwd = cwd.filter(|_| self.folder.is_none());
        let cwd = cwd.map_or_else(|| folder.clone(), |cwd| PathBuf::from(cwd.as_os_str()));
        let Changed { allow, ask, deny, add, headless, .. } = &self.changed;
        // What was off stays off, unless settings have switched it on since.
        let was_off = was.code.as_deref() == Some("BashNotAllowed");
        let mut line = json!({
            "tool": tool, "input": input, "shape": shape, "cwd": cwd, "project_root": project,
            "scope": {
                "root": root, "display_root": folder, "enforce_write": false,
                "allow_bash": !was_off || self.changed.allow_bash || chosen.allow_bash,
            },
            "headless": was.headless || *headless,
            "mode": self.mode(was, chosen),
            "bash": bash(was, chosen),
            "additional_directories": was.added.iter().chain(add).collect::<Vec<_>>(),
            "rules": {"allow": allow, "ask": ask, "deny": deny},
        });
        if let (true, Some(line)) = (was.read_only, line.as_object_mut()) {
            line.insert("sandbox".to_owned(), json!({"mode": "read-only"}));
        }
        Ok(line.to_string())
    }

    fn mode(&self, was: &DecisionEvent, chosen: ChosenSettings) -> Value {
        match self.changed.mode {
            ModeNow::Chosen(mode) => json!(mode.as_str()),
            ModeNow::Settings if chosen.mode => Value::Null,
            ModeNow::Settings | ModeNow::AsThen => json!(was.mode),
        }
    }

    fn chosen(&mut self, project: &Path) -> Result<ChosenSettings, NotReplayable> {
        fn is_said<T>(setting: &Located<T>) -> bool {
            setting.source.layer != Layer::BuiltIn
        }
        if let Some(known) = self.projects.get(project) {
            return Ok(*known);
        }
        let merged: Merged = self.service.settings(project).map_err(|bad| unjudged(&bad))?;
        let chosen = ChosenSettings {
            mode: is_said(&merged.mode),
            bash: is_said(&merged.bash).then_some(merged.bash.value),
            allow_bash: merged.allows_bash() == Some(true),
        };
        self.projects.insert(project.to_owned(), chosen);
        Ok(chosen)
    }
}

/// Which commands need no question, where that is not for the settings to say. Nothing of ours holds what an agent runs
/// itself, so that it being held excuses no question; that it only reads does.
fn bash(was: &DecisionEvent, chosen: ChosenSettings) -> Option<&str> {
    match chosen.bash {
        Some(BashMode::Sandboxed) if was.external => Some(BashMode::ReadOnly.as_str()),
        Some(_) => None,
        None if was.external && was.bash.as_deref() == Some(BashMode::Sandboxed.as_str()) => {
            Some(BashMode::ReadOnly.as_str())
        }
        None => was.bash.as_deref(),
    }
}

fn unjudged(bad: &BadLine) -> NotReplayable {
    NotReplayable::Unjudged(bad.to_string())
}

/// The decision and its step; a call that was not understood was denied.
pub fn decided(was: &DecisionEvent) -> (&str, &str) {
    let step = was.step.as_deref().unwrap_or("unresolved");
    (was.decision.as_deref().unwrap_or(Decision::Deny.as_str()), step)
}

const GRANT: &str = "session-grant";

/// Returns true if a grant would have spoken before the step that asks.
fn after_grants(answer: &CheckAnswer) -> bool {
    let steps = pinfold_policy::judge::step_names(false);
    let at = |name: &str| steps.iter().position(|step| *step == name);
    at(answer.step).is_none_or(|step| Some(step) > at(GRANT))
}

/// The decision of hooks then.
fn recorded_hook_word(was: &DecisionEvent) -> Option<HookDecision> {
    let RecordedHook { decision, by, reason, doubt } = was.hook.as_ref()?;
    let decisions = [Decision::Allow, Decision::Ask, Decision::Deny];
    let decision = decisions.into_iter().find(|known| known.as_str() == *decision)?;
    let origin = if *doubt { HookDecisionOrigin::Doubt(None) } else { HookDecisionOrigin::Hook };
    Some(HookDecision { decision, reason: reason.clone(), by: by.clone(), only: Vec::new(), origin })
}

/// Returns true if the call would touch other places now.
fn moved(was: &DecisionEvent, answer: &CheckAnswer) -> bool {
    let Some(considered) = &answer.considered else { return false };
    let facts = &considered.facts.paths;
    if was.omitted_count > 0 || was.paths.len() != facts.len() {
        // It was understood in another way, or too long to be told whole.
        return false;
    }
    let shown = |real: &Path| match real.strip_prefix(&was.folder) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => show(below.as_os_str()),
        Err(_) => show(real.as_os_str()),
    };
    let differs = |(then, now): (&crate::audit::RecordedPath, &pinfold_policy::PathFact)| {
        let real = now.real.as_deref().map(shown).filter(|real| *real != now.shown);
        then.asked != now.shown || then.real != real
    };
    was.paths.iter().zip(facts).any(differs)
}

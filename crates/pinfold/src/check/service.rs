//! The service that answers lines, one after the other.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_paths::Ambient;
use pinfold_policy::merge::{Layered, Merged, merge};
use pinfold_policy::{Decision, GrantOptions, Guards, HookDecision, is_visible};

use super::answer::CheckAnswer;
use super::bad_line::BadLine;
use super::line::CheckLine;
use super::opened::{CheckEnvironment, MakeHooks, OpenedSetup};
use super::setup::Setup;
use crate::guard_search::GuardSearch;
use crate::pipeline::GateResult;
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::settings::closing_rules;

/// The settings behind the lines of a project: asked for each line, so that a file that changes counts at once. The
/// error is what is wrong in them; no line is then answered.
pub type Backing = Box<dyn Fn(&Path) -> Result<Vec<Layered>, String> + Send>;

/// The answer to a line where hooks are asked too.
#[derive(Debug, Clone, PartialEq)]
pub struct HookedCheck {
    /// The decision. Ask: hooks have left it to a person.
    pub decision: Decision,
    /// The no in words, unless it is a yes.
    pub refusal: Option<Refusal>,
    /// Text of hooks for the model.
    pub context: Vec<String>,
    /// A hook wants the agent to stop, and why.
    pub stop: Option<String>,
}

/// Answers lines, and keeps what it opened for the next ones of the same setup.
pub struct CheckService {
    ambient: Ambient,
    surroundings: CheckEnvironment,
    backing: Option<Backing>,
    hooks: Option<MakeHooks>,
    kept: HashMap<String, OpenedSetup>,
    /// The bytes of their setups.
    kept_bytes: usize,
    /// Counts the lines that were waited for: what was looked at for one of them holds for those that came with it.
    burst: u64,
    key: String,
}

/// The most setups that are kept open: each holds a few folders.
const MAX_KEPT: usize = 32;
/// The most bytes of their setups together: each is kept as text and compiled.
const MAX_KEPT_BYTES: usize = 8 << 20;

impl CheckService {
    /// A service for lines that are all there is. A line that names no folder means `folder`.
    pub fn new(ambient: Ambient, folder: PathBuf) -> Self {
        let surroundings = CheckEnvironment {
            folder,
            home: None,
            variables: BTreeMap::new(),
            profile: None,
            guard_search: None,
            guards: Guards::default(),
            closed: Vec::new(),
        };
        Self {
            ambient,
            surroundings,
            backing: None,
            hooks: None,
            kept: HashMap::new(),
            kept_bytes: 0,
            burst: 0,
            key: String::new(),
        }
    }

    /// With what `~` stands for in lines that do not say.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.surroundings.home = home;
        self
    }

    /// With the variables that declared path scopes may name.
    #[must_use]
    pub fn with_variables(mut self, variables: BTreeMap<String, String>) -> Self {
        self.surroundings.variables = variables;
        self
    }

    /// With a profile that holds tools to places.
    #[must_use]
    pub fn with_profile(mut self, profile: Option<Profile>) -> Self {
        self.surroundings.profile = profile;
        self
    }

    /// With the look for guarded places that no name tells.
    #[must_use]
    pub fn with_guard_search(mut self, search: Arc<dyn GuardSearch>) -> Self {
        self.surroundings.guard_search = Some(search);
        self
    }

    /// With guards beside those of settings, as a plan has them.
    #[must_use]
    pub fn with_guards(mut self, guards: Guards) -> Self {
        self.surroundings.guards = guards;
        self
    }

    /// With directories in which approval requests are answered, closed as [`SessionSetup::closed`] closes them.
    ///
    /// [`SessionSetup::closed`]: crate::settings::SessionSetup::closed
    #[must_use]
    pub fn with_closed(mut self, places: &[PathBuf]) -> Self {
        self.surroundings.closed = closing_rules(places);
        self
    }

    /// With settings behind the lines.
    #[must_use]
    pub fn backed_by(mut self, backing: Backing) -> Self {
        self.backing = Some(backing);
        self
    }

    /// With hooks of the settings behind the lines. A line that is answered asks none of them: they are programs that
    /// do something. [`CheckService::consult`] asks them.
    #[must_use]
    pub fn with_hooks(mut self, make: MakeHooks) -> Self {
        self.hooks = Some(make);
        self
    }

    /// Takes the call of a line down the whole road, with its hooks and without the deed. What hooks change holds for
    /// the next line of the same setup.
    ///
    /// # Errors
    /// As [`CheckService::answer`].
    pub fn consult(&mut self, line: &[u8]) -> Result<HookedCheck, BadLine> {
        self.burst += 1;
        let line = CheckLine::read(line)?;
        let opened = self.open(&line)?;
        let call = opened.call(line.tool, line.input, line.shape);
        let GateResult { outcome, context, stop, .. } = opened.session.decide(&call);
        let refusal = outcome.err().map(|refusal| *refusal);
        let decision = match &refusal {
            None => Decision::Allow,
            Some(refusal) if refusal.approvable => Decision::Ask,
            Some(_) => Decision::Deny,
        };
        Ok(HookedCheck { decision, refusal, context, stop })
    }

    /// Answers one line.
    ///
    /// # Errors
    /// When the line cannot be read, its folders cannot be looked at, or the settings behind it cannot be used.
    pub fn answer(&mut self, line: &[u8]) -> Result<CheckAnswer, BadLine> {
        self.burst += 1;
        self.answer_with_last(line)
    }

    /// Answers a line that was there together with the one before: whether the folders and settings of its setup are
    /// still the same is not asked again.
    ///
    /// # Errors
    /// As [`CheckService::answer`].
    pub fn answer_with_last(&mut self, line: &[u8]) -> Result<CheckAnswer, BadLine> {
        self.answer_after(line, None)
    }

    /// The same as if hooks had spoken.
    ///
    /// # Errors
    /// As [`CheckService::answer`].
    pub fn answer_after(&mut self, line: &[u8], hook: Option<HookDecision>) -> Result<CheckAnswer, BadLine> {
        let line = CheckLine::read(line)?;
        let opened = self.open(&line)?;
        let considered = opened.check(line.tool, line.input, line.shape, hook);
        Ok(opened.answer(line.id, considered))
    }

    /// Answers one line as if hooks had spoken, and says what a person could grant for its call.
    ///
    /// # Errors
    /// As [`CheckService::answer`].
    pub fn answer_with_offer(
        &mut self,
        line: &[u8],
        hook: Option<HookDecision>,
    ) -> Result<(CheckAnswer, GrantOptions), BadLine> {
        self.burst += 1;
        let line = CheckLine::read(line)?;
        let opened = self.open(&line)?;
        let considered = opened.check(line.tool, line.input, line.shape, hook);
        let offer = considered.as_ref().map(|considered| opened.session.offer(considered));
        let offer = offer.unwrap_or_default();
        Ok((opened.answer(line.id, considered), offer))
    }

    /// The settings behind the lines of a project, merged.
    ///
    /// # Errors
    /// What is wrong in them.
    pub fn settings(&self, project: &Path) -> Result<Merged, BadLine> {
        Ok(merge(&self.layers(project)?))
    }

    /// Which of `all` tools the agent of a line is shown.
    ///
    /// # Errors
    /// As [`CheckService::answer`].
    pub fn visible_tools(&mut self, line: &[u8], all: &[String]) -> Result<Vec<String>, BadLine> {
        self.burst += 1;
        let session = &self.open(&CheckLine::read(line)?)?.session;
        let (policy, scope, interaction) = (session.policy(), session.scope(), session.interaction());
        let shown = all.iter().filter(|tool| is_visible(&policy, scope, interaction, tool));
        Ok(shown.cloned().collect())
    }

    /// The setup of a line, opened: as it was kept, if neither the folders nor the settings have changed since.
    fn open(&mut self, line: &CheckLine<'_>) -> Result<&OpenedSetup, BadLine> {
        line.setup_key(&mut self.key);
        let usable = match self.kept.get(&self.key) {
            Some(kept) if kept.burst == self.burst => true,
            Some(kept) => {
                let is_current = !kept.session.has_searched() && kept.session.writable_roots().is_current();
                is_current && self.layers(&kept.project)? == kept.layers
            }
            None => false,
        };
        if !usable {
            let opened = self.open_anew(line)?;
            self.keep(opened);
        }
        let kept = self.kept.get_mut(&self.key).ok_or_else(|| BadLine("nothing was opened".to_owned()))?;
        kept.burst = self.burst;
        Ok(kept)
    }

    fn keep(&mut self, opened: OpenedSetup) {
        if self.kept.len() >= MAX_KEPT || self.kept_bytes + self.key.len() > MAX_KEPT_BYTES {
            self.kept.clear();
            self.kept_bytes = 0;
        }
        if self.kept.insert(self.key.clone(), opened).is_none() {
            self.kept_bytes += self.key.len();
        }
    }

    fn open_anew(&self, line: &CheckLine<'_>) -> Result<OpenedSetup, BadLine> {
        let setup = Setup::read(line.setup())?;
        let layers = self.layers(&setup.project(&self.surroundings.folder))?;
        OpenedSetup::open(&self.ambient, &setup, &self.surroundings, self.hooks.as_ref(), layers)
    }

    fn layers(&self, project: &Path) -> Result<Vec<Layered>, BadLine> {
        self.backing.as_ref().map_or_else(|| Ok(Vec::new()), |backing| backing(project).map_err(BadLine))
    }
}

impl std::fmt::Debug for CheckService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckService").field("surroundings", &self.surroundings).finish_non_exhaustive()
    }
}

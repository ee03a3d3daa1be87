//! The policy of a session: the rules of all layers compiled, the mode, and the switches beside it.

use std::path::Path;
use std::sync::Arc;

use crate::denied::DeniedPaths;
use crate::hosts::Hosts;
use crate::mode::{BashMode, MinSeverity, Mode, Reads};
use crate::path_scopes::{ExpandContext, PathScopes, ScopedTool};
use crate::pattern::Bases;
use crate::rule::{Effect, SourcedRule};
use crate::rules::RuleSet;
use crate::scope::Principal;
use crate::settings::FetchBudget;
use crate::tool::ToolName;
use crate::way_in::WayIn;

/// The policy of a session. One decision sees one policy, whatever changes meanwhile.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The decision when no rule has an opinion.
    pub mode: Mode,
    /// The conditions under which a command needs no question.
    pub bash: BashMode,
    /// `bash` was chosen by a person, so that a mode which is chosen later leaves it as it is.
    pub bash_chosen: bool,
    /// The safeguards in force.
    pub always_ask: MinSeverity,
    /// The range of the agent's reads.
    pub reads: Reads,
    /// Ask rules hold in `bypassPermissions` and against session grants.
    pub ask_rules_in_bypass: bool,
    /// Rules that a person adds do not count: an organisation's alone do.
    pub managed_rules_only: bool,
    allow: Arc<RuleSet>,
    ask: Arc<RuleSet>,
    deny: Arc<RuleSet>,
    /// Tools that the definitions of the agent, and of its ancestors, list; every tool that changes something is held
    /// to each of them.
    lists: Vec<Arc<RuleSet>>,
    /// The places that settings hold each tool to.
    pub path_scopes: PathScopes,
    /// Values of `~` and variables in command lines, where declared scopes audit them.
    pub around: ExpandContext,
    /// Hosts that may be reached, by name and address: settings and rules in one list.
    pub hosts: Arc<Hosts>,
    /// Limit of fetched bytes.
    pub fetches: FetchBudget,
    /// Rules that could not be read and would have taken something away.
    pub unparsed_rules: Vec<String>,
}

impl Policy {
    /// The policy of an agent that was given a folder: it works there without a question, its commands in a line
    /// that the kernel holds.
    pub fn folder_is_granted() -> Self {
        Self::default().entered(WayIn::OwnTools, None, None)
    }

    /// Returns the policy with the mode and `bash` that hold in a way in, given those that were chosen.
    #[must_use]
    pub fn entered(self, way: WayIn, mode: Option<Mode>, bash: Option<BashMode>) -> Self {
        let (mode, settled) = way.settle(mode, bash);
        Self { mode, bash: settled, bash_chosen: bash.is_some(), ..self }
    }

    /// Switches to a mode that was chosen meanwhile. It reaches commands too, unless `bash` was chosen.
    pub fn choose_mode(&mut self, mode: Mode) {
        self.mode = mode;
        if !self.bash_chosen {
            self.bash = BashMode::default();
        }
    }

    /// Adds these rules, their patterns relative to `bases`.
    #[must_use]
    pub fn with_rules(self, rules: impl IntoIterator<Item = SourcedRule>, bases: &Bases) -> Self {
        let (mut allow, mut ask, mut deny) = (Vec::new(), Vec::new(), Vec::new());
        for rule in rules {
            match rule.effect {
                Effect::Allow => allow.push(Arc::new(rule)),
                Effect::Ask => ask.push(Arc::new(rule)),
                Effect::Deny => deny.push(Arc::new(rule)),
            }
        }
        let compile = |rules| Arc::new(RuleSet::compile(rules, bases));
        Self { allow: compile(allow), ask: compile(ask), deny: compile(deny), ..self }
    }

    /// Adds one more allow rule.
    #[must_use]
    pub fn and_allowing(&self, rule: SourcedRule, bases: &Bases) -> Self {
        let more = SourcedRule { effect: Effect::Allow, ..rule };
        let mut policy = self.clone();
        Arc::make_mut(&mut policy.allow).add(Arc::new(more), bases);
        policy
    }

    /// Held to what the definition of an agent lists, too. A list of which nothing could be read lists nothing; only
    /// where there is none nothing is left out.
    #[must_use]
    pub fn held_to(mut self, listed: Option<Vec<SourcedRule>>, bases: &Bases) -> Self {
        let compile = |rules: Vec<SourcedRule>| RuleSet::compile(rules.into_iter().map(Arc::new), bases);
        self.lists.extend(listed.map(compile).map(Arc::new));
        self
    }

    /// The rules of one effect.
    pub fn rules(&self, effect: Effect) -> &RuleSet {
        match effect {
            Effect::Allow => &self.allow,
            Effect::Ask => &self.ask,
            Effect::Deny => &self.deny,
        }
    }

    /// Returns the paths that deny rules close to every process.
    pub fn denied_paths(&self) -> DeniedPaths {
        DeniedPaths::new(Arc::clone(&self.deny))
    }

    /// Returns `true` if a search passes over a resolved path that it meets: a rule denies reading it, or a declared scope
    /// denies it. No folder is asked whether it folds case: leaving out too much is the safe side.
    pub fn leaves_out(&self, real: &Path) -> bool {
        let reads = |tool| matches!(tool, ToolName::Read | ToolName::Grep | ToolName::Glob);
        self.deny.path(real, true).iter().any(|found| reads(found.tool))
            || self.path_scopes.denies(ScopedTool::File, real, true)
    }

    /// Returns the lists of the definitions of the agent and of its ancestors, each by itself.
    pub fn lists(&self) -> &[Arc<RuleSet>] {
        &self.lists
    }
}

impl Mode {
    /// Returns the mode of an agent whose definition says `self` below a parent in `parent`: never a looser one.
    #[must_use]
    pub fn clamped_to(self, parent: Self) -> Self {
        if self.looseness() <= parent.looseness() { self } else { parent }
    }

    /// Returns the mode of `principal`: `explore` is for subagents, and means `dontAsk` for others.
    #[must_use]
    pub fn for_principal(self, principal: &Principal) -> Self {
        match (self, principal) {
            (Self::Explore, Principal::Main) => Self::DontAsk,
            (mode, _) => mode,
        }
    }
}

//! From settings to the plan of a session: rules, mode and switches, the places that may be written and those that
//! are guarded, the scopes that tools are held to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_paths::Ambient;
use pinfold_policy::merge::Merged;
use pinfold_policy::path_scopes::{BadScope, ExpandContext, PathScopes, ToolScopes};
use pinfold_policy::settings::{FetchBudget, SandboxMode};
use pinfold_policy::{Access, Bases, GuardKind, Guards, Hosts, Layer, Located, Policy, Principal, WayIn};

use super::hook_files;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::scope_resolution;

/// The situation of a session when settings are applied to it.
#[derive(Debug, Clone, Default)]
pub struct Situation {
    /// The root of the project: where `/` in a rule starts.
    pub project: PathBuf,
    /// The folder the agent works in: where `./` in a rule starts. Without it, the display root of the plan.
    pub cwd: Option<PathBuf>,
    /// The environment that declared scopes are expanded by.
    pub variables: BTreeMap<String, String>,
    /// The profile that was asked for.
    pub profile: Option<Profile>,
}

/// A setting that cannot be carried out, with the place it stands at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}; {mend}")]
pub struct NotApplied {
    /// The source.
    pub at: String,
    /// The error, in one clause.
    pub what: String,
    /// The remedy.
    pub mend: String,
}

impl NotApplied {
    fn scope(at: &impl ToString, bad: BadScope) -> Self {
        Self { at: at.to_string(), what: bad.to_string(), mend: bad.hint }
    }
}

impl Plan {
    /// The plan with what settings say. Nothing here widens the folder of the plan but directories that the
    /// settings name.
    ///
    /// # Errors
    /// [`NotApplied`] when a declared scope cannot be read or resolved: a line that is not known is not drawn.
    pub fn with_settings(
        self,
        ambient: &Ambient,
        merged: &Merged,
        situation: &Situation,
    ) -> Result<Self, NotApplied> {
        let bases = bases(&self, situation);
        let around = ExpandContext {
            home: self.home.clone(),
            folder: situation.project.clone(),
            variables: situation.variables.clone(),
        };
        let mut policy = Policy::default().with_rules(merged.rules.iter().cloned(), &bases);
        policy = entered(policy, WayIn::Check, merged, &self.principal);
        policy.always_ask = merged.always_ask.value;
        policy.reads = merged.reads.value;
        policy.managed_rules_only = merged.managed_rules_only.is_some();
        policy.ask_rules_in_bypass = merged.ask_rules_in_bypass.value;
        policy.path_scopes = all_declared(ambient, merged, situation, &around)?;
        policy.around = around;
        policy.hosts = Arc::new(Hosts::new(&merged.network, &merged.rules).map_err(|e| NotApplied {
            at: "network".to_owned(),
            what: e.to_string(),
            mend: "name fewer".to_owned(),
        })?);
        policy.fetches = FetchBudget::from_settings(&merged.network);
        let named = merged.additional_directories.iter().chain(&merged.sandbox.writable);
        let places = named.filter_map(|named| {
            let place = place_of(&named.value, &self, situation);
            // A flag means a folder that is there; settings are shared by machines that do not have all of them.
            (named.source.layer == Layer::CommandLine || place.exists()).then_some(place)
        });
        Ok(Self {
            also_writable: self.also_writable.iter().cloned().chain(places).collect(),
            access: access(merged, self.access),
            guards: guarded(&self, merged, &situation.project),
            policy,
            bases,
            bypass_locked: merged.bypass_locked.is_some(),
            rules_locked: merged.managed_rules_only.is_some(),
            headless_hooks: merged.headless_permission_request.value,
            ..self
        })
    }

    /// The plan as [`Plan::for_folder`] means it, as far as settings choose nothing else: what is in the folder needs
    /// no question, and neither does a command that is held to it.
    pub fn where_the_folder_is_granted(self, merged: &Merged) -> Self {
        self.entered(WayIn::OwnTools, merged)
    }

    /// Returns the plan with the defaults of a way in for what settings and flags leave open. [`Plan::with_settings`]
    /// alone decides as [`WayIn::Check`].
    pub fn entered(self, way: WayIn, merged: &Merged) -> Self {
        let policy = entered(self.policy, way, merged, &self.principal);
        Self { policy, ..self }
    }
}

fn entered(policy: Policy, way: WayIn, merged: &Merged, principal: &Principal) -> Policy {
    let mut policy = policy.entered(way, chosen(&merged.mode), chosen(&merged.bash));
    policy.mode = policy.mode.for_principal(principal);
    policy
}

/// The value of a setting, where settings or flags chose one.
fn chosen<T: Copy>(setting: &Located<T>) -> Option<T> {
    (setting.source.layer != Layer::BuiltIn).then_some(setting.value)
}

/// Rules are written with the names that a person uses; paths are compared resolved. Both count.
fn bases(plan: &Plan, situation: &Situation) -> Bases {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut home: Vec<PathBuf> = plan.home.iter().flat_map(|home| [home.clone(), real(home)]).collect();
    home.dedup();
    let cwd = situation.cwd.as_ref().unwrap_or(&plan.scope.display_root);
    Bases { cwd: real(cwd), project: real(&situation.project), home }
}

fn all_declared(
    ambient: &Ambient,
    merged: &Merged,
    situation: &Situation,
    around: &ExpandContext,
) -> Result<PathScopes, NotApplied> {
    let mut all = PathScopes::default();
    for tools in &merged.tools {
        let scopes = ToolScopes::parse(&tools.value).map_err(|bad| NotApplied::scope(&tools.source, bad))?;
        let drawn = scope_resolution::draw(ambient, &scopes, &tools.source, around)
            .map_err(|bad| NotApplied::scope(&tools.source, bad))?;
        all = all.and(drawn);
    }
    if let Some(profile) = &situation.profile {
        let drawn = scope_resolution::draw(ambient, &profile.scopes, &profile.source, around)
            .map_err(|bad| NotApplied::scope(&profile.source, bad))?;
        all = all.and(drawn);
    }
    Ok(all)
}

/// `~/x` below home, the rest relative to the project.
fn place_of(text: &str, plan: &Plan, situation: &Situation) -> PathBuf {
    match (text.strip_prefix("~/"), &plan.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if text == "~" => plan.home.clone().unwrap_or_else(|| situation.project.join(text)),
        _ => situation.project.join(text),
    }
}

/// The access that settings give: what they say about the sandbox holds for file tools as for processes. `off` takes
/// the sandbox away and nothing else.
fn access(merged: &Merged, own: Access) -> Access {
    match (own, merged.sandbox.mode.as_ref().map(|mode| mode.value)) {
        (Access::ReadOnly, _) | (_, Some(SandboxMode::ReadOnly)) => Access::ReadOnly,
        (Access::ReadWrite | Access::DefaultWrite, Some(SandboxMode::DefaultWrite)) => Access::DefaultWrite,
        (own, Some(SandboxMode::WorkspaceWrite | SandboxMode::Off) | None) => own,
    }
}

fn guarded(plan: &Plan, merged: &Merged, project: &Path) -> Guards {
    const WHY: &str = "settings guard it";
    const RUN: &str = "a hook or the judge of your settings runs it, outside the sandbox";
    let programs = hook_files::programs(merged, &plan.scope.display_root, project);
    let guards = programs.iter().fold(plan.guards.clone(), |guards, program| guards.with_run(program, RUN));
    let pattern = |own: &Located<String>| match own.value.strip_prefix("./") {
        Some(below) => project.join(below).display().to_string(),
        None => own.value.clone(),
    };
    let write = merged.guards.write.iter().chain(&merged.sandbox.deny_write);
    let read = merged.guards.read.iter().chain(&merged.sandbox.deny_read);
    let guards = write.fold(guards, |guards, own| guards.with_write(&pattern(own), GuardKind::Place, WHY));
    let guards = read.fold(guards, |guards, own| guards.with_read(&pattern(own), GuardKind::Place, WHY));
    merged.guards.except.iter().fold(guards, |guards, own| guards.with_except(&pattern(own)))
}

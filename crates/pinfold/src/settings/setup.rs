//! Assembly of a session from flags, settings files and folder: one for every way in.

use std::path::{Path, PathBuf};

use pinfold_paths::Ambient;
use pinfold_policy::merge::Merged;
use pinfold_policy::rule::{Effect, Rule, SourcedRule};
use pinfold_policy::settings::Flags;
use pinfold_policy::source::{Layer, Source};
use pinfold_policy::{Policy, WayIn};

use super::layers::{LoadedSettings, SettingsError, load};
use super::locations::Locations;
use super::plan::{NotApplied, Situation};
use super::reload::Watched;
use crate::plan::Plan;

/// The sources of what a session is judged by.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionSetup {
    /// Places of the settings files.
    pub locations: Locations,
    /// Flags, as the strongest layer but managed settings.
    pub flags: Flags,
    /// Folder, variables and profile that settings are applied with.
    pub situation: Situation,
    /// Directories in which approval requests are answered. They are closed to every tool, in every mode: none reads the secret
    /// of a socket, or writes beside it.
    pub closed: Vec<PathBuf>,
}

impl SessionSetup {
    /// Returns the setup of a session in `folder`, which is its project where the locations name none.
    pub fn new(folder: &Path, locations: Locations, flags: Flags) -> Self {
        let project = locations.project.clone().unwrap_or_else(|| folder.to_owned());
        let situation = Situation { project, ..Situation::default() };
        Self { locations, flags, situation, closed: Vec::new() }
    }

    /// Reads the settings files.
    ///
    /// # Errors
    /// [`SettingsError`], as [`load`].
    pub fn load(&self, ambient: &Ambient) -> Result<ResolvedSettings, SettingsError> {
        Ok(self.resolve(load(ambient, &self.locations, &self.flags)?))
    }

    /// Resolves settings that were read from the same locations with the same flags.
    pub fn resolve(&self, loaded: LoadedSettings) -> ResolvedSettings {
        self.resolve_merged(loaded.merged)
    }

    fn resolve_merged(&self, merged: Merged) -> ResolvedSettings {
        let Self { locations, situation, closed, .. } = self;
        ResolvedSettings {
            merged,
            closed: closing_rules(closed),
            situation: situation.clone(),
            locations: locations.clone(),
        }
    }

    /// Follows the policy of a plan: it is made anew when a settings file changes. What cannot be applied any more denies, and
    /// its refusals say so.
    ///
    /// # Errors
    /// [`SettingsError`], when the files cannot be read at first.
    pub fn follow(self, ambient: Ambient, plan: Plan, way: WayIn) -> Result<Watched<Policy>, SettingsError> {
        let (locations, flags) = (self.locations.clone(), self.flags.clone());
        let make = move |merged: &Merged| {
            let resolved = self.resolve_merged(merged.clone());
            match resolved.plan(&Ambient::claim(), plan.clone(), way) {
                Ok(plan) => plan.policy,
                Err(error) => {
                    let mut nothing = Policy::default();
                    nothing.unparsed_rules.push(error.to_string());
                    nothing
                }
            }
        };
        Watched::start(ambient, locations, flags, make)
    }
}

/// The settings of one session, read and merged.
#[derive(Debug, Clone)]
pub struct ResolvedSettings {
    /// Flags and files, merged.
    pub merged: Merged,
    /// Folder, variables and profile that they are applied with.
    pub situation: Situation,
    closed: Vec<SourcedRule>,
    locations: Locations,
}

impl ResolvedSettings {
    /// Returns the settings of a subagent, which inherits of rules those that deny.
    #[must_use]
    pub fn for_subagent(mut self) -> Self {
        self.merged.rules.retain(|rule| rule.effect == Effect::Deny);
        self
    }

    /// Returns the plan with what settings say, and the defaults of a way in for what they leave open.
    ///
    /// # Errors
    /// [`NotApplied`], as [`Plan::with_settings`].
    pub fn plan(&self, ambient: &Ambient, plan: Plan, way: WayIn) -> Result<Plan, NotApplied> {
        let rules = self.merged.rules.iter().chain(&self.closed).cloned().collect();
        let merged = Merged { rules, ..self.merged.clone() };
        let guards = self.locations.guard(plan.guards.clone());
        let plan = plan.with_guards(guards);
        Ok(plan.with_settings(ambient, &merged, &self.situation)?.entered(way, &merged))
    }

    /// Returns where a rule for good is written; `None` where managed settings allow no rules of others, and none is offered.
    pub fn rules_to(&self) -> Option<Locations> {
        self.merged.managed_rules_only.is_none().then(|| self.locations.clone())
    }
}

/// Returns the rules that close directories to every tool, whether they are there already or not. Of one that no rule can name
/// (it is not UTF-8) the nearest directory above is closed.
pub(crate) fn closing_rules(places: &[PathBuf]) -> Vec<SourcedRule> {
    places.iter().flat_map(|place| rules_that_close(place)).collect()
}

fn rules_that_close(place: &Path) -> Vec<SourcedRule> {
    let place = place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let rule = |tool: &str, at: &Path| {
        let text = at.to_str()?.trim_end_matches('/');
        let rule = Rule::parse(&format!("{tool}(/{text}/**)")).ok()?;
        Some(SourcedRule { effect: Effect::Deny, rule, source: Source::plain(Layer::BuiltIn) })
    };
    ["Read", "Edit"].into_iter().filter_map(|tool| place.ancestors().find_map(|at| rule(tool, at))).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn is_closed(closed: &Path) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let mut setup = SessionSetup::new(folder.path(), Locations::default(), Flags::default());
        setup.closed = vec![closed.to_owned()];
        let ambient = Ambient::claim();
        let resolved = setup.load(&ambient).unwrap();
        let secret = closed.canonicalize().unwrap().join("secret");
        [resolved.clone(), resolved.for_subagent()].iter().all(|resolved| {
            [WayIn::Check, WayIn::OwnTools, WayIn::Hook].into_iter().all(|way| {
                let plan = resolved.plan(&ambient, Plan::for_folder(folder.path()), way).unwrap();
                plan.policy.denied_paths().reading(&secret).is_some()
            })
        })
    }

    #[test]
    fn places_of_approvals_are_closed_in_every_plan_whatever_their_names() {
        let top = tempfile::tempdir().unwrap();
        for name in [&b"plain"[..], b"a (b)", b"[x]*?", b" ", b"a\nb", b"\xff\xfe"] {
            let closed = top.path().join(OsStr::from_bytes(name)).join("approvals");
            std::fs::create_dir_all(&closed).unwrap();
            assert!(is_closed(&closed), "{}", closed.display());
        }
    }
}

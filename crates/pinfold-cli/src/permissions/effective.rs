//! All that holds at a moment.

use pinfold::Ambient;
use pinfold::policy::merge::Merged;
use pinfold::policy::settings::Flags;
use pinfold::settings::{LoadedSettings, Locations, Trust, TrustedFolder};

use super::counts::RuleCounter;
use super::running::{RunningGrant, RunningSessions};
use crate::exit::Failure;
use crate::settings;

/// Rules and settings, grants, trust.
pub(crate) struct EffectivePermissions {
    pub(crate) merged: Merged,
    /// Number of decisions of each of its rules, in their order; `None` where no audit log can be read.
    pub(crate) decided: Option<Vec<u64>>,
    pub(crate) grants: Vec<RunningGrant>,
    /// Why some sessions that run could not be asked.
    pub(crate) unreached: Vec<String>,
    /// Folders that the record of trust names.
    pub(crate) trusted: Vec<TrustedFolder>,
    pub(crate) trust: Option<String>,
    /// Why it cannot be read.
    pub(crate) no_trust: Option<String>,
}

impl EffectivePermissions {
    /// Loads all that holds now. `counter` has read the audit log as far as it was at the last look.
    pub(crate) fn load(locations: &Locations, counter: Option<&mut RuleCounter>) -> Result<Self, Failure> {
        let LoadedSettings { merged, no_trust, .. } = settings::read_quietly(locations, &Flags::default())?;
        let ambient = Ambient::claim();
        let (grants, unreached) = RunningSessions::all().grants();
        let trust = Trust::load(&ambient, locations).unwrap_or_default();
        let counts = counter.and_then(|counter| counter.counts().ok());
        Ok(Self {
            decided: counts.map(|counts| merged.rules.iter().map(|rule| counts.get(rule)).collect()),
            grants,
            unreached,
            trusted: trust.folders(&ambient),
            trust: locations.trust.as_deref().map(|path| path.display().to_string()),
            no_trust,
            merged,
        })
    }

    /// Returns the number of decisions of a rule, by its index in the list.
    pub(crate) fn decided(&self, rule: usize) -> Option<u64> {
        self.decided.as_ref().and_then(|counts| counts.get(rule)).copied()
    }
}

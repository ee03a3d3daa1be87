//! The hooks that settings name.

use std::sync::Arc;

use pinfold::Plan;
use pinfold::consent::Hooks;
use pinfold::policy::merge::Merged;
use pinfold::settings::Situation;
use pinfold_hooks::{HookEnvironment, Notice};

use crate::exit::{Failure, USAGE};
use crate::{env, output};

/// The hooks that settings name, for the session of a plan that settings were applied to.
pub(crate) fn from_settings(
    merged: &Merged,
    plan: &Plan,
    situation: &Situation,
) -> Result<Option<Arc<dyn Hooks>>, Failure> {
    if merged.hooks.is_empty() {
        return Ok(None);
    }
    let around = HookEnvironment {
        folder: plan.scope.display_root.clone(),
        project: situation.project.clone(),
        bases: plan.bases.clone(),
        environment: env::environment(),
        transcript: None,
        listener: Arc::new(|notice: &Notice| output::warn(output::lines(&notice.to_string()))),
    };
    pinfold_hooks::from_settings(merged, around)
        .map_err(|e| Failure::new(USAGE, output::lines(&e.to_string())))
}

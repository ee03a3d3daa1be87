//! Hooks of settings around the calls of a command: the session starts and ends, and what that says is told.

use std::sync::Arc;

use pinfold::consent::Hooks;
use pinfold::policy::HookEvent;
use pinfold::policy::merge::Merged;
use pinfold::settings::Situation;
use pinfold::{Plan, RawCall, Session};
use pinfold_hooks::{Notice, Surroundings};
use pinfold_tools::{Content, Reply, Scrubbing};
use serde_json::json;

use crate::exit::{Failure, USAGE};
use crate::{say, surroundings};

/// The hooks that settings name, for the session of a plan that settings were applied to.
pub(crate) fn of_settings(
    merged: &Merged,
    plan: &Plan,
    situation: &Situation,
) -> Result<Option<Arc<dyn Hooks>>, Failure> {
    if merged.hooks.is_empty() {
        return Ok(None);
    }
    let around = Surroundings {
        folder: plan.scope.display_root.clone(),
        project: situation.project.clone(),
        bases: plan.bases.clone(),
        environment: surroundings::environment(),
        transcript: None,
        listener: Arc::new(|notice: &Notice| say::warn(say::lines(&notice.to_string()))),
    };
    pinfold_hooks::of_settings(merged, around).map_err(|e| Failure::new(USAGE, say::lines(&e.to_string())))
}

/// A session that hooks are told the beginning and the end of.
pub(crate) struct Attended {
    session: Session,
    /// What was said at the beginning: it goes to the model with the first reply.
    context: Vec<String>,
}

impl Attended {
    pub(crate) fn begin(session: Session) -> Self {
        let context = session.event(HookEvent::SessionStart, &json!({"source": "startup"})).context;
        Self { session, context }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// One call, down the whole road.
    pub(crate) fn call(&mut self, raw: &RawCall) -> Reply {
        let mut reply = pinfold_tools::call(&self.session, raw);
        let said = self.context.drain(..).map(|text| Content::Text { text: Scrubbing::On.text(text).0 });
        reply.content.extend(said);
        reply
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        // Nobody is left to be told what is said to it.
        let _ = self.session.event(HookEvent::SessionEnd, &json!({"reason": "other"}));
    }
}

//! The calls of one session from its beginning to its end, both of which are reported to hooks.

use std::sync::{Mutex, PoisonError};

use pinfold::policy::HookEvent;
use pinfold::{CallRequest, Session};
use serde_json::json;

use crate::reply::{Content, Reply};
use crate::secrets::Scrubbing;

/// A session whose beginning and end are reported to hooks.
#[derive(Debug)]
pub struct HookedSession {
    session: Session,
    /// Text of hooks from the beginning: it goes to the model with the first reply.
    context: Mutex<Vec<String>>,
}

impl HookedSession {
    /// Reports to hooks that it begins.
    pub fn begin(session: Session) -> Self {
        let said = session.event(HookEvent::SessionStart, &json!({"source": "startup"}));
        Self { session, context: Mutex::new(said.context) }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Takes one call through the whole pipeline.
    pub fn call<'a>(&self, request: impl Into<CallRequest<'a>>) -> Reply {
        let mut reply = crate::call(&self.session, request.into());
        reply.content.extend(self.take_context().into_iter().map(|text| Content::Text { text }));
        reply
    }

    /// Takes the text that hooks had for the model at the beginning. It is returned once.
    pub fn take_context(&self) -> Vec<String> {
        let said = std::mem::take(&mut *self.context.lock().unwrap_or_else(PoisonError::into_inner));
        said.into_iter().map(|text| Scrubbing::On.text(text).0).collect()
    }
}

impl Drop for HookedSession {
    fn drop(&mut self) {
        // No reply follows that their text could go with.
        let _ = self.session.event(HookEvent::SessionEnd, &json!({"reason": "other"}));
    }
}

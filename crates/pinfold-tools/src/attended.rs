//! The calls of one session from its beginning to its end, both of which hooks are told.

use std::sync::{Mutex, PoisonError};

use pinfold::consent::Caller;
use pinfold::policy::HookEvent;
use pinfold::{RawCall, Session};
use serde_json::json;

use crate::reply::{Content, Reply};
use crate::secrets::Scrubbing;

/// A session that hooks are told the beginning and the end of.
#[derive(Debug)]
pub struct Attended {
    session: Session,
    /// What was said at the beginning: it goes to the model with the first reply.
    context: Mutex<Vec<String>>,
}

impl Attended {
    /// Tells hooks that it begins.
    pub fn begin(session: Session) -> Self {
        let said = session.event(HookEvent::SessionStart, &json!({"source": "startup"}));
        Self { session, context: Mutex::new(said.context) }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// One call, down the whole road.
    pub fn call(&self, raw: &RawCall) -> Reply {
        self.call_for(raw, Caller::default())
    }

    /// The same for a caller who can be asked, or may give up.
    pub fn call_for(&self, raw: &RawCall, caller: Caller<'_>) -> Reply {
        let mut reply = crate::call_for(&self.session, raw, Scrubbing::On, caller);
        reply.content.extend(self.said().into_iter().map(|text| Content::Text { text }));
        reply
    }

    /// What hooks said at the beginning, once.
    pub fn said(&self) -> Vec<String> {
        let said = std::mem::take(&mut *self.context.lock().unwrap_or_else(PoisonError::into_inner));
        said.into_iter().map(|text| Scrubbing::On.text(text).0).collect()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        // Nobody is left to be told what is said to it.
        let _ = self.session.event(HookEvent::SessionEnd, &json!({"reason": "other"}));
    }
}

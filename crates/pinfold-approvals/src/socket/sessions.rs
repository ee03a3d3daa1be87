//! The sessions of this process, so that what was granted in them can be seen and taken back from elsewhere.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::{Session, WeakSession};

use super::protocol::GrantShown;

/// The sessions of one process, as long as they last.
#[derive(Clone, Default)]
pub struct Sessions(Arc<Mutex<Vec<WeakSession>>>);

impl Sessions {
    /// Makes a session known.
    pub fn know(&self, session: &Session) {
        // Each use is one step, so what a panic leaves is whole.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.upgrade().is_some());
        known.push(session.downgrade());
    }

    fn all(&self) -> Vec<Session> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter_map(WeakSession::upgrade).collect()
    }

    pub(super) fn grants(&self) -> Vec<GrantShown> {
        let of = |session: &Session| {
            let name = session.id().to_owned();
            session.grants().into_iter().map(move |kept| GrantShown {
                session: name.clone(),
                number: kept.number,
                grant: kept.grant.to_string(),
                by: kept.by,
                given_at: kept.given_at,
                lasts: kept.lasts.into(),
                used: kept.used,
            })
        };
        self.all().iter().flat_map(of).collect()
    }

    /// Takes a grant back. `false` when there is none like that.
    pub(super) fn revoke(&self, session: &str, number: u64) -> bool {
        self.all().iter().filter(|known| known.id() == session).any(|known| known.revoke(number))
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("known", &self.all().len()).finish()
    }
}

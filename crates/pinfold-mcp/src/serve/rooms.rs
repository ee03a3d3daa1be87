//! The sessions that are open: one for each folder and kind of client, opened with its first call.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::Session;
use pinfold_tools::HookedSession;

use super::{Opened, Opener, Wish};

/// More sessions than any client needs: each time its roots change there is another.
const MOST: usize = 32;

/// An open session.
pub(crate) struct Room {
    attended: HookedSession,
    follow: Box<dyn Fn(&Session) + Send + Sync>,
    /// Dropped last.
    _span: Box<dyn Any + Send + Sync>,
}

impl Room {
    /// The session, as it is.
    pub(crate) fn attended(&self) -> &HookedSession {
        &self.attended
    }

    /// The session, with rules as they are now.
    pub(crate) fn now(&self) -> &HookedSession {
        (self.follow)(self.attended.session());
        &self.attended
    }
}

/// All of them.
pub(crate) struct Rooms {
    opener: Arc<dyn Opener>,
    open: Mutex<BTreeMap<(usize, Wish), Arc<Room>>>,
}

impl Rooms {
    pub(crate) fn new(opener: Arc<dyn Opener>) -> Self {
        Self { opener, open: Mutex::default() }
    }

    /// The session for a call, if it is open and nothing has to be waited for.
    pub(crate) fn known(&self, folder: usize, wish: &Wish) -> Option<Arc<Room>> {
        self.open.try_lock().ok()?.get(&(folder, wish.clone())).map(Arc::clone)
    }

    /// The session for a call, opened if it is the first.
    pub(crate) fn enter(&self, folder: usize, wish: Wish) -> Result<Arc<Room>, String> {
        // Held while it opens: of calls that come at once one opens.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = open.get(&(folder, wish.clone())) {
            return Ok(Arc::clone(room));
        }
        if open.len() >= MOST {
            return Err(format!("there are {MOST} sessions already: start the server anew"));
        }
        let Opened { session, follow, span } = self.opener.open(folder, &wish)?;
        let room = Arc::new(Room { attended: HookedSession::begin(session), follow, _span: span });
        open.insert((folder, wish), Arc::clone(&room));
        Ok(room)
    }

    /// Closes those that nobody is in; the others close with their last call.
    pub(crate) fn close(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        drop(open);
    }
}

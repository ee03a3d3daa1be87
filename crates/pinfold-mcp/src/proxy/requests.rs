//! Who has asked whom, and still waits: only what was asked is answered, and once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::Value;

use super::calls::Sent;
use crate::wire::frame::Id;

/// Requests that wait at one time, in each direction. More are turned away: somebody floods us.
const MOST: usize = 1024;

/// All requests that wait.
#[derive(Default)]
pub(crate) struct Requests {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    of_client: HashMap<Id, Waiting>,
    of_server: HashSet<Id>,
    ours: HashMap<Id, Sender<Value>>,
}

/// A request of the client, or one of ours, that waits for the server.
pub(crate) enum Waiting {
    /// A call that is not let through yet.
    Judged(Judged),
    /// It was passed on; the answer goes back as it comes.
    Plain,
    /// A handshake: it asks what the server says about itself.
    Greeting,
    /// It asks for tools.
    List,
    /// It asks for what a call came to.
    Later,
    /// A call that was let through.
    Call(Box<Sent>),
    /// Ours: the client hears nothing of it.
    Ours(Sender<Result<Value, String>>),
}

/// A call that is not let through yet.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// Nobody waits for it any more.
    pub(crate) gone: Arc<AtomicBool>,
    /// What progress is told under.
    pub(crate) token: Option<Value>,
}

/// Why a request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// One of this number waits already.
    Twice,
    TooMany,
}

impl Requests {
    /// A number for a request of our own. Nobody can know the next one: a server that asks the client under our number
    /// would have its person answer our question with the answer to another. `None` without random numbers.
    pub(crate) fn our_id() -> Option<Id> {
        let mut bytes = [0; 16];
        let filled = getrandom(&mut bytes[..], GetRandomFlags::empty()).ok()?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        (filled == bytes.len()).then(|| Id::ours(&format!("pinfold-{digits}")))
    }

    /// The client asks.
    pub(crate) fn client_asks(&self, id: &Id, waiting: Waiting) -> Result<(), NotTaken> {
        let mut inner = self.inner();
        if inner.of_client.contains_key(id) {
            return Err(NotTaken::Twice);
        }
        if inner.of_client.len() >= MOST {
            return Err(NotTaken::TooMany);
        }
        inner.of_client.insert(id.clone(), waiting);
        Ok(())
    }

    /// Whether a request of this number waits.
    pub(crate) fn waits(&self, id: &Id) -> bool {
        self.inner().of_client.contains_key(id)
    }

    /// A call is let through. `Err`: nobody waits for it any more.
    pub(crate) fn let_through(&self, id: &Id, sent: Box<Sent>) -> Result<(), Box<Sent>> {
        match self.inner().of_client.get_mut(id) {
            Some(waiting @ Waiting::Judged(_)) => {
                *waiting = Waiting::Call(sent);
                Ok(())
            }
            _ => Err(sent),
        }
    }

    /// The server answers. `None`: it was not asked, or has answered already.
    pub(crate) fn server_answers(&self, id: &Id) -> Option<Waiting> {
        let mut inner = self.inner();
        match inner.of_client.get(id)? {
            Waiting::Judged(_) => None,
            _ => inner.of_client.remove(id),
        }
    }

    /// Nobody waits for a request any more, or we answer it.
    pub(crate) fn is_over(&self, id: &Id) -> Option<Waiting> {
        self.inner().of_client.remove(id)
    }

    /// The calls that are not let through yet.
    pub(crate) fn judged(&self) -> Vec<Judged> {
        let inner = self.inner();
        let judged = inner.of_client.values().filter_map(|waiting| match waiting {
            Waiting::Judged(judged) => Some(judged.clone()),
            _ => None,
        });
        judged.collect()
    }

    /// The server asks the client.
    pub(crate) fn server_asks(&self, id: &Id) -> Result<(), NotTaken> {
        let mut inner = self.inner();
        if inner.ours.contains_key(id) || inner.of_server.contains(id) {
            return Err(NotTaken::Twice);
        }
        if inner.of_server.len() >= MOST {
            return Err(NotTaken::TooMany);
        }
        inner.of_server.insert(id.clone());
        Ok(())
    }

    /// The client has answered the server, or needs not any more. `false`: nobody asked.
    pub(crate) fn server_is_answered(&self, id: &Id) -> bool {
        self.inner().of_server.remove(id)
    }

    /// We ask the client.
    pub(crate) fn we_ask(&self, id: &Id, answer: Sender<Value>) {
        self.inner().ours.insert(id.clone(), answer);
    }

    /// The client has answered us, or needs not any more.
    pub(crate) fn we_are_answered(&self, id: &Id) -> Option<Sender<Value>> {
        self.inner().ours.remove(id)
    }

    /// All that waited for the server, once it has gone.
    pub(crate) fn take_all(&self) -> Vec<(Id, Waiting)> {
        std::mem::take(&mut self.inner().of_client).into_iter().collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

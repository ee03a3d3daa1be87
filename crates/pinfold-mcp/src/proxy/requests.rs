//! Pending requests in both directions: only a pending request is answered, and once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::Value;

use super::calls::ForwardedCall;
use crate::wire::frame::Id;

/// The most pending requests in each direction. More are rejected.
const MAX_PENDING: usize = 1024;

/// All pending requests.
#[derive(Default)]
pub(crate) struct Requests {
    inner: Mutex<RequestsState>,
}

#[derive(Default)]
struct RequestsState {
    of_client: HashMap<Id, PendingKind>,
    of_server: HashSet<Id>,
    ours: HashMap<Id, Sender<Value>>,
}

/// A request of the client or the proxy that waits for the server.
pub(crate) enum PendingKind {
    /// A call that is not forwarded yet.
    Judging(JudgedCall),
    /// A forwarded request whose response is forwarded unchanged.
    Plain,
    /// A handshake.
    Handshake,
    /// A list of tools.
    List,
    /// The result of an earlier call.
    Later,
    /// A forwarded call.
    Call(Box<ForwardedCall>),
    /// A request of the proxy: the client does not see its response.
    Ours(Sender<Result<Value, String>>),
}

/// A call that is not forwarded yet.
#[derive(Debug, Clone)]
pub(crate) struct JudgedCall {
    /// Cancelled.
    pub(crate) gone: Arc<AtomicBool>,
    /// Its progress token.
    pub(crate) token: Option<Value>,
}

/// Reason why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestRejected {
    /// Its identifier is pending already.
    Twice,
    TooMany,
}

impl Requests {
    /// A new identifier for a request of the proxy. It is random: a server that used the next one for its own request
    /// would receive the user's answer to it. `None` without randomness.
    pub(crate) fn new_id() -> Option<Id> {
        let mut bytes = [0; 16];
        let filled = getrandom(&mut bytes[..], GetRandomFlags::empty()).ok()?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        (filled == bytes.len()).then(|| Id::new_own(&format!("pinfold-{digits}")))
    }

    /// Registers a client request.
    pub(crate) fn register_client_request(
        &self,
        id: &Id,
        waiting: PendingKind,
    ) -> Result<(), RequestRejected> {
        let mut inner = self.lock();
        if inner.of_client.contains_key(id) {
            return Err(RequestRejected::Twice);
        }
        if inner.of_client.len() >= MAX_PENDING {
            return Err(RequestRejected::TooMany);
        }
        inner.of_client.insert(id.clone(), waiting);
        Ok(())
    }

    /// Returns whether an identifier is pending.
    pub(crate) fn waits(&self, id: &Id) -> bool {
        self.lock().of_client.contains_key(id)
    }

    /// Marks a call as forwarded. `Err`: it was cancelled.
    pub(crate) fn mark_forwarded(&self, id: &Id, sent: Box<ForwardedCall>) -> Result<(), Box<ForwardedCall>> {
        match self.lock().of_client.get_mut(id) {
            Some(waiting @ PendingKind::Judging(_)) => {
                *waiting = PendingKind::Call(sent);
                Ok(())
            }
            _ => Err(sent),
        }
    }

    /// Takes the request of a response. `None`: it is not pending, or was answered already.
    pub(crate) fn take_client_request(&self, id: &Id) -> Option<PendingKind> {
        let mut inner = self.lock();
        match inner.of_client.get(id)? {
            PendingKind::Judging(_) => None,
            _ => inner.of_client.remove(id),
        }
    }

    /// Takes a request that was cancelled, or is answered here.
    pub(crate) fn is_over(&self, id: &Id) -> Option<PendingKind> {
        self.lock().of_client.remove(id)
    }

    /// The calls that are not forwarded yet.
    pub(crate) fn unforwarded_calls(&self) -> Vec<JudgedCall> {
        let inner = self.lock();
        let judged = inner.of_client.values().filter_map(|waiting| match waiting {
            PendingKind::Judging(judged) => Some(judged.clone()),
            _ => None,
        });
        judged.collect()
    }

    /// Registers a server request.
    pub(crate) fn register_server_request(&self, id: &Id) -> Result<(), RequestRejected> {
        let mut inner = self.lock();
        if inner.ours.contains_key(id) || inner.of_server.contains(id) {
            return Err(RequestRejected::Twice);
        }
        if inner.of_server.len() >= MAX_PENDING {
            return Err(RequestRejected::TooMany);
        }
        inner.of_server.insert(id.clone());
        Ok(())
    }

    /// Takes the server request of a client response or a cancellation. `false`: it is not pending.
    pub(crate) fn take_server_request(&self, id: &Id) -> bool {
        self.lock().of_server.remove(id)
    }

    /// Registers an elicitation request of the proxy.
    pub(crate) fn register_elicitation(&self, id: &Id, answer: Sender<Value>) {
        self.lock().ours.insert(id.clone(), answer);
    }

    /// Takes it when the client has responded, or it is withdrawn.
    pub(crate) fn take_elicitation(&self, id: &Id) -> Option<Sender<Value>> {
        self.lock().ours.remove(id)
    }

    /// Takes everything that waits for the server, once it is gone.
    pub(crate) fn take_all(&self) -> Vec<(Id, PendingKind)> {
        std::mem::take(&mut self.lock().of_client).into_iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, RequestsState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

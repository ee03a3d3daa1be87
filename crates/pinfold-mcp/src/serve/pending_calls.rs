//! Calls that wait for an answer between two requests of a client.
//!
//! Since 2026-07-28 a server sends no requests: it responds that input is required, and the client repeats the call
//! with the input and the state that it was given. The call itself is parked here meanwhile. The state identifies it;
//! it is sealed with a key of this process together with the tool and the arguments, so that it cannot be forged,
//! replayed for another call, or used with other arguments than those that were shown.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value};

/// The most parked calls. Further ones are not asked about here.
const MAX_PENDING: usize = 64;

/// The validity of a state: longer than any approval request waits.
const GOOD_FOR: Duration = Duration::from_hours(24);

/// The length of the key, in bytes.
const KEY: usize = 32;

/// A call that can be parked.
pub(crate) trait Parkable {
    /// Returns whether the call has ended by itself.
    fn is_over(&self) -> bool;
}

/// A state that this process did not issue, or that is for another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidState;

/// All parked calls.
pub(crate) struct PendingCalls<W> {
    inner: Mutex<PendingState<W>>,
}

struct PendingState<W> {
    codec: Option<RequestStateCodec>,
    last: u64,
    waiting: HashMap<u64, W>,
}

impl<W> Default for PendingCalls<W> {
    fn default() -> Self {
        Self { inner: Mutex::new(PendingState { codec: None, last: 0, waiting: HashMap::new() }) }
    }
}

impl<W: Parkable> PendingCalls<W> {
    /// Parks a call, and returns the state that identifies it. `Err`: it cannot be parked.
    pub(crate) fn park(&self, about: &[u8], waiting: W) -> Result<String, Box<W>> {
        let mut inner = self.lock();
        // Calls that no longer wait have ended by themselves.
        inner.waiting.retain(|_, waiting| !waiting.is_over());
        if inner.waiting.len() >= MAX_PENDING {
            return Err(Box::new(waiting));
        }
        inner.last += 1;
        let number = inner.last;
        let Some(codec) = inner.codec() else { return Err(Box::new(waiting)) };
        let options = SealOptions::default().associated_data(about).ttl(GOOD_FOR);
        let state = codec.seal_with(&number.to_be_bytes(), &options);
        inner.waiting.insert(number, waiting);
        Ok(state)
    }

    /// Takes the call of a state; `None` when it has ended meanwhile.
    ///
    /// # Errors
    /// When the state is not valid for this call.
    pub(crate) fn take(&self, about: &[u8], state: &str) -> Result<Option<W>, InvalidState> {
        let mut inner = self.lock();
        let opened = inner.codec().and_then(|codec| codec.open_with(state, about).ok());
        let number = opened.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(u64::from_be_bytes);
        let number = number.ok_or(InvalidState)?;
        Ok(inner.waiting.remove(&number).filter(|waiting| !waiting.is_over()))
    }

    /// Drops all parked calls.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        drop(waiting);
    }

    fn lock(&self) -> MutexGuard<'_, PendingState<W>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> PendingState<W> {
    /// Generated when it is first needed; `None` without randomness.
    fn codec(&mut self) -> Option<&RequestStateCodec> {
        if self.codec.is_none() {
            let mut key = [0; KEY];
            let filled = rustix::rand::getrandom(&mut key[..], rustix::rand::GetRandomFlags::empty()).ok()?;
            self.codec = (filled == KEY).then(|| RequestStateCodec::try_new(key).ok()).flatten();
        }
        self.codec.as_ref()
    }
}

/// The context that a state is bound to: the tool and its arguments, in canonical form.
pub(crate) fn state_context(tool: &str, arguments: Option<&Map<String, Value>>) -> Vec<u8> {
    // Keys are sorted: a client may keep another order.
    let arguments = arguments.map(|arguments| sorted(Value::Object(arguments.clone())));
    serde_json::to_vec(&(tool, arguments)).unwrap_or_default()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

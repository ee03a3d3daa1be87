//! Calls that wait for an answer between two requests of a client.
//!
//! Since 2026-07-28 a server asks nothing by itself: it answers that input is required, and the client makes the call
//! again with the input and with the state that it was given. The call itself waits here meanwhile. The state names it; it
//! is sealed with a key of this process, together with the tool and the arguments, so that nobody makes one up, answers
//! for another call, or is let through with other arguments than those that were shown.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value};

/// Calls that wait at one time. More are not asked about here.
const MOST: usize = 64;

/// How long a state is good: longer than any question waits.
const GOOD_FOR: Duration = Duration::from_hours(24);

/// Bytes of the key.
const KEY: usize = 32;

/// A call that waits for its answer.
pub(crate) trait Waits {
    /// Nobody waits for the answer any more: it has ended by itself.
    fn is_over(&self) -> bool;
}

/// A state that is none of ours, or is about another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotOurs;

/// All that wait.
pub(crate) struct Parked<W> {
    inner: Mutex<Inner<W>>,
}

struct Inner<W> {
    codec: Option<RequestStateCodec>,
    last: u64,
    waiting: HashMap<u64, W>,
}

impl<W> Default for Parked<W> {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner { codec: None, last: 0, waiting: HashMap::new() }) }
    }
}

impl<W: Waits> Parked<W> {
    /// Lets a call wait, and gives the state by which it is found again. `Err`: it cannot wait here.
    pub(crate) fn park(&self, about: &[u8], waiting: W) -> Result<String, Box<W>> {
        let mut inner = self.inner();
        // Those that nobody waits for any more have ended by themselves.
        inner.waiting.retain(|_, waiting| !waiting.is_over());
        if inner.waiting.len() >= MOST {
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

    /// The call that a state is about; `None` when it has ended meanwhile.
    ///
    /// # Errors
    /// When the state is none of ours, or is about another call.
    pub(crate) fn take(&self, about: &[u8], state: &str) -> Result<Option<W>, NotOurs> {
        let mut inner = self.inner();
        let opened = inner.codec().and_then(|codec| codec.open_with(state, about).ok());
        let number = opened.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(u64::from_be_bytes);
        let number = number.ok_or(NotOurs)?;
        Ok(inner.waiting.remove(&number).filter(|waiting| !waiting.is_over()))
    }

    /// Nobody waits any more.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut self.inner().waiting);
        drop(waiting);
    }

    fn inner(&self) -> MutexGuard<'_, Inner<W>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Inner<W> {
    /// Made when it is needed; none without random numbers.
    fn codec(&mut self) -> Option<&RequestStateCodec> {
        if self.codec.is_none() {
            let mut key = [0; KEY];
            let filled = rustix::rand::getrandom(&mut key[..], rustix::rand::GetRandomFlags::empty()).ok()?;
            self.codec = (filled == KEY).then(|| RequestStateCodec::try_new(key).ok()).flatten();
        }
        self.codec.as_ref()
    }
}

/// What a state is bound to: the tool and its arguments, however they are written.
pub(crate) fn about(tool: &str, arguments: Option<&Map<String, Value>>) -> Vec<u8> {
    // Keys in the order of their names: a client may keep another one.
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

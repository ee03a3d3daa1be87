//! Calls that wait for an answer between two requests of a client.
//!
//! Since 2026-07-28 a server asks nothing by itself: it answers that input is required, and the client makes the call
//! again with the input and with the state that it was given. The call itself waits here meanwhile. The state names it; it
//! is sealed with a key of this process, together with the tool and the arguments, so that nobody makes one up, answers
//! for another call, or is let through with other arguments than those that were shown.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, RequestStateCodec, SealOptions};
use tokio::sync::oneshot;

use super::call::Underway;
use crate::form::{Form, Said};

/// Calls that wait at one time. More are not asked about here.
const MOST: usize = 64;

/// How long a state is good: longer than any question waits.
const GOOD_FOR: Duration = Duration::from_hours(24);

/// Bytes of the key.
const KEY: usize = 32;

/// A call that waits for its answer.
pub(crate) struct Waiting {
    pub(crate) underway: Underway,
    pub(crate) form: Form,
    pub(crate) answer: oneshot::Sender<Said>,
}

/// All that wait.
#[derive(Default)]
pub(crate) struct Parked {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    codec: Option<RequestStateCodec>,
    last: u64,
    waiting: HashMap<u64, Waiting>,
}

impl Parked {
    /// Lets a call wait, and gives the state by which it is found again. `Err`: it cannot wait here.
    pub(crate) fn park(
        &self,
        call: &CallToolRequestParams,
        waiting: Waiting,
    ) -> Result<String, Box<Waiting>> {
        let mut inner = self.inner();
        // Those that nobody waits for any more have ended by themselves.
        inner.waiting.retain(|_, waiting| !waiting.answer.is_closed());
        if inner.waiting.len() >= MOST {
            return Err(Box::new(waiting));
        }
        inner.last += 1;
        let number = inner.last;
        let Some(codec) = inner.codec() else { return Err(Box::new(waiting)) };
        let about = about(call);
        let options = SealOptions::default().associated_data(&about).ttl(GOOD_FOR);
        let state = codec.seal_with(&number.to_be_bytes(), &options);
        inner.waiting.insert(number, waiting);
        Ok(state)
    }

    /// The call that a state is about; `None` when it has ended meanwhile.
    ///
    /// # Errors
    /// When the state is none of ours, or is about another call.
    pub(crate) fn take(
        &self,
        call: &CallToolRequestParams,
        state: &str,
    ) -> Result<Option<Waiting>, ErrorData> {
        let mut inner = self.inner();
        let about = about(call);
        let opened = inner.codec().and_then(|codec| codec.open_with(state, &about).ok());
        let number = opened.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(u64::from_be_bytes);
        let Some(number) = number else {
            return Err(ErrorData::invalid_params(
                "requestState is not one that was given for this call",
                None,
            ));
        };
        Ok(inner.waiting.remove(&number).filter(|waiting| !waiting.answer.is_closed()))
    }

    /// Nobody waits any more.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut self.inner().waiting);
        drop(waiting);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
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
fn about(call: &CallToolRequestParams) -> Vec<u8> {
    // Keys in the order of their names: a client may keep another one.
    let arguments = call.arguments.clone().map(|arguments| sorted(serde_json::Value::Object(arguments)));
    serde_json::to_vec(&(&call.name, arguments)).unwrap_or_default()
}

fn sorted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
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

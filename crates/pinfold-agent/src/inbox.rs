//! Messages to an agent while it works.

use std::sync::{Mutex, PoisonError};

/// Messages that an agent has not read yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// `None`: the agent has ended, and hears nothing more.
    waiting: Mutex<Option<Vec<String>>>,
}

/// More than this at one time is a model that talks to itself.
const MAX_MESSAGES: usize = 64;

impl Inbox {
    pub(crate) fn open() -> Self {
        Self { waiting: Mutex::new(Some(Vec::new())) }
    }

    /// Leaves a message. `Err`: why it will not be heard.
    pub(crate) fn put(&self, text: String) -> Result<(), &'static str> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.as_mut() {
            None => Err("it has ended"),
            Some(messages) if messages.len() >= MAX_MESSAGES => Err("it has not heard what was said before"),
            Some(messages) => {
                messages.push(text);
                Ok(())
            }
        }
    }

    /// All that waits.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns `true` if no message waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(Vec::is_empty)
    }

    /// Takes nothing more, unless something waits.
    pub(crate) fn close(&self) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = waiting.as_ref().is_none_or(Vec::is_empty);
        if empty {
            *waiting = None;
        }
        empty
    }
}

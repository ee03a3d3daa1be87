//! Concurrency limit. An agent that waits for others gives its slot away meanwhile.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Interval at which a waiting agent looks whether it may still go on.
const LOOKS: Duration = Duration::from_millis(100);

/// The places of a run.
#[derive(Debug)]
pub(crate) struct AgentSlots {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct AgentSlot(Arc<AgentSlots>);

impl AgentSlots {
    /// So many, one at least.
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(places.max(1)), freed: Condvar::new() })
    }

    /// Waits for a place, as long as `goes_on` says so.
    pub(crate) fn take(self: &Arc<Self>, goes_on: impl Fn() -> bool) -> Option<AgentSlot> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if !goes_on() {
                return None;
            }
            free = self.freed.wait_timeout(free, LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(AgentSlot(Arc::clone(self)))
    }
}

impl Drop for AgentSlot {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

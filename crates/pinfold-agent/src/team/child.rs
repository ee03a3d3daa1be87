//! An agent that another one started, as that one knows it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::event::{AgentResult, End};
use crate::inbox::Inbox;
use crate::model::AgentIdentity;

/// An agent that another one started.
pub(crate) struct Child {
    pub(crate) who: AgentIdentity,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) result: Arc<Slot>,
    pub(crate) thread: Option<JoinHandle<()>>,
    /// Set once its parent has its summary.
    pub(crate) told: bool,
}

impl Child {
    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> AgentResult {
        let ending = self.result.wait();
        if let Some(thread) = self.thread.take() {
            // It has said how it ended; what is left of it is freed.
            let _ = thread.join();
        }
        ending
    }
}

/// Slot for the end of an agent.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    ending: Mutex<Option<AgentResult>>,
    filled: Condvar,
}

impl Slot {
    fn fill(&self, ending: AgentResult) {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(ending);
        self.filled.notify_all();
    }

    fn wait(&self) -> AgentResult {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(ending) = &*ending {
                return ending.clone();
            }
            ending = self.filled.wait(ending).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Fills a slot, whatever happens to the thread that was to do it.
pub(crate) struct SlotGuard(pub(crate) Arc<Slot>);

impl SlotGuard {
    pub(crate) fn fill(self, ending: AgentResult) {
        self.0.fill(ending);
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let why = "it broke off; what it did up to then stands".to_owned();
        let (summary, deferred) = (String::new(), Vec::new());
        self.0.fill(AgentResult { how: End::Failed, why, summary, deferred, denied: 0 });
    }
}

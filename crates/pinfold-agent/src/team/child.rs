//! An agent that another one started, as that one knows it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::event::{End, Ending};
use crate::inbox::Inbox;
use crate::model::Who;

/// An agent that another one started.
pub(crate) struct Child {
    pub(crate) who: Who,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) result: Arc<Slot>,
    pub(crate) thread: Option<JoinHandle<()>>,
    /// Set once its parent has its summary.
    pub(crate) told: bool,
}

impl Child {
    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> Ending {
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
    ending: Mutex<Option<Ending>>,
    filled: Condvar,
}

impl Slot {
    fn fill(&self, ending: Ending) {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(ending);
        self.filled.notify_all();
    }

    fn wait(&self) -> Ending {
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
pub(crate) struct Fills(pub(crate) Arc<Slot>);

impl Fills {
    pub(crate) fn fill(self, ending: Ending) {
        self.0.fill(ending);
    }
}

impl Drop for Fills {
    fn drop(&mut self) {
        let why = "it broke off; what it did up to then stands".to_owned();
        let (summary, deferred) = (String::new(), Vec::new());
        self.0.fill(Ending { how: End::Failed, why, summary, deferred, denied: 0 });
    }
}

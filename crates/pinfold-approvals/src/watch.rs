//! Watching requests and resolutions: as states, not as a stream of events, so that a slow watcher misses intermediate
//! steps only.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinfold::consent::Request;

use crate::broker::BrokerState;
use crate::resolution::{ApproverNote, ResolvedRequest};

/// Watches requests and resolutions.
pub struct QueueWatch {
    shared: Arc<BrokerState>,
    /// The number of the latest request that was reported.
    reported: u64,
    /// The number of resolutions that were reported, or were there before.
    ends: u64,
    noted: u64,
}

/// Changes since the last call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueChanges {
    /// New requests.
    pub asked: Vec<Arc<Request>>,
    /// Resolutions.
    pub over: Vec<ResolvedRequest>,
    /// Messages for approvers.
    pub notes: Vec<ApproverNote>,
    /// The broker is gone: there will be no more changes.
    pub closed: bool,
}

impl QueueChanges {
    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.over.is_empty() && self.notes.is_empty() && !self.closed
    }
}

impl QueueWatch {
    pub(crate) fn new(shared: Arc<BrokerState>) -> Self {
        let queue = shared.queue();
        let (ends, noted) = (queue.ends, queue.noted);
        drop(queue);
        Self { shared, reported: 0, ends, noted }
    }

    /// Waits for changes, no longer than `most`. Requests that are pending at first count as new.
    pub fn next(&mut self, most: Duration) -> QueueChanges {
        let until = Instant::now().checked_add(most);
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue();
        loop {
            let asked = queue.open().filter(|entry| entry.number > self.reported);
            let news = QueueChanges {
                asked: asked.map(|entry| Arc::clone(&entry.request)).collect(),
                over: queue.resolutions_after(self.ends).cloned().collect(),
                notes: queue.notes_after(self.noted).cloned().collect(),
                closed: queue.closed,
            };
            self.reported = queue.waiting.iter().map(|entry| entry.number).fold(self.reported, u64::max);
            (self.ends, self.noted) = (queue.ends, queue.noted);
            let left = until.map_or(most, |until| until.saturating_duration_since(Instant::now()));
            if !news.is_empty() || left.is_zero() {
                return news;
            }
            queue = BrokerState::wait(&shared.changed, queue, left);
        }
    }
}

impl fmt::Debug for QueueWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueWatch").field("reported", &self.reported).finish_non_exhaustive()
    }
}

//! Following what waits: as states, not as a line of events, so that whoever is slow misses steps and nothing else.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinfold::consent::Request;

use crate::broker::Shared;
use crate::over::{Note, Over};

/// Follows what waits and what is over.
pub struct Watch {
    shared: Arc<Shared>,
    /// The number of the latest request that was told.
    told: u64,
    /// How many ends were told, or were there before.
    ends: u64,
    noted: u64,
}

/// What is new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// What is asked, and was not told before.
    pub asked: Vec<Arc<Request>>,
    /// What is over.
    pub over: Vec<Over>,
    /// What whoever answered should know.
    pub notes: Vec<Note>,
    /// There will be nothing new: the broker is gone.
    pub closed: bool,
}

impl News {
    /// Whether there is nothing new.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.over.is_empty() && self.notes.is_empty() && !self.closed
    }
}

impl Watch {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let queue = shared.queue();
        let (ends, noted) = (queue.ends, queue.noted);
        drop(queue);
        Self { shared, told: 0, ends, noted }
    }

    /// Waits for something new, no longer than `most`. What waits already is new the first time.
    pub fn next(&mut self, most: Duration) -> News {
        let until = Instant::now().checked_add(most);
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue();
        loop {
            let asked = queue.open().filter(|entry| entry.number > self.told);
            let news = News {
                asked: asked.map(|entry| Arc::clone(&entry.request)).collect(),
                over: queue.ends_after(self.ends).cloned().collect(),
                notes: queue.notes_after(self.noted).cloned().collect(),
                closed: queue.closed,
            };
            self.told = queue.waiting.iter().map(|entry| entry.number).fold(self.told, u64::max);
            (self.ends, self.noted) = (queue.ends, queue.noted);
            let left = until.map_or(most, |until| until.saturating_duration_since(Instant::now()));
            if !news.is_empty() || left.is_zero() {
                return news;
            }
            queue = Shared::wait(&shared.changed, queue, left);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("told", &self.told).finish_non_exhaustive()
    }
}

//! Threads on which calls are judged: somebody may be asked about each, and the others go on meanwhile.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls that are judged at one time. More wait their turn.
const AT_ONCE: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// The threads. They are made when they are needed, and stay.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
}

impl Pool {
    /// Has a thread do it. `false`: there is none, and none can be made.
    pub(crate) fn give(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state();
        if state.idle <= state.jobs.len() && state.threads < AT_ONCE {
            let pool = Arc::clone(self);
            let made = thread::Builder::new().name("pinfold-judge".into()).spawn(move || pool.work());
            state.threads += usize::from(made.is_ok());
        }
        if state.threads == 0 {
            return false;
        }
        state.jobs.push_back(Box::new(job));
        drop(state);
        self.changed.notify_one();
        true
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state();
            } else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

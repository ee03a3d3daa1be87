//! Threads on which calls are judged: somebody may be asked about each, and the others go on meanwhile. One of them listens
//! to the client; it judges what it hears, and another one listens where that takes its time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls that are judged at one time, and one thread that listens. More wait their turn.
const AT_ONCE: usize = 65;
/// Whoever found out only while judging that it takes its time has one thread more to hand over to.
const SPARE: usize = 1;

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
    /// Has a thread do it, in its turn. `false`: there is none, and none can be made.
    pub(crate) fn give(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state();
        let is_done = self.has_free(&mut state, AT_ONCE) || state.threads > 0;
        if is_done {
            self.push(state, Box::new(job));
        }
        is_done
    }

    /// Hands something over to a thread that takes it now. Gives it back where none is free, and none can be made.
    pub(crate) fn hand_over<T: Send + 'static>(
        self: &Arc<Self>,
        what: T,
        job: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), T> {
        let mut state = self.state();
        if !self.has_free(&mut state, AT_ONCE + SPARE) {
            return Err(what);
        }
        self.push(state, Box::new(move || job(what)));
        Ok(())
    }

    /// Whether something could be handed over now. Nothing is made for it yet.
    pub(crate) fn could_take(&self) -> bool {
        let state = self.state();
        state.idle > state.jobs.len() || state.threads < AT_ONCE
    }

    /// Whether there is a thread that nothing waits for; it is made where it can be.
    fn has_free(self: &Arc<Self>, state: &mut State, most: usize) -> bool {
        if state.idle > state.jobs.len() {
            return true;
        }
        let pool = Arc::clone(self);
        let named = thread::Builder::new().name("pinfold-judge".into());
        let made = state.threads < most && named.spawn(move || pool.work()).is_ok();
        state.threads += usize::from(made);
        made
    }

    fn push(&self, mut state: MutexGuard<'_, State>, job: Job) {
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
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

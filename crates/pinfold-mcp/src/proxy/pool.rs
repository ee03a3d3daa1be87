//! Threads that judge calls: each may wait for approval while the others continue. One of them reads the client; it
//! judges what it reads, and another one reads where that takes time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most calls that are judged at a time, and one reader. More wait for a thread.
const AT_ONCE: usize = 65;
/// A thread that finds out while judging that it takes time has one spare thread to hand over to.
const SPARE: usize = 1;

type Job = Box<dyn FnOnce() + Send>;

/// The threads, started when they are needed.
#[derive(Default)]
pub(crate) struct ThreadPool {
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
}

impl ThreadPool {
    /// Queues a job. `false`: there is no thread, and none can be started.
    pub(crate) fn queue(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state();
        let is_done = self.has_free(&mut state, AT_ONCE) || state.threads > 0;
        if is_done {
            self.push(state, Box::new(job));
        }
        is_done
    }

    /// Hands a job to a thread that runs it at once. Returns it where none is free, and none can be started.
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

    /// Returns whether a job could be handed over now. No thread is started for it yet.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.state();
        state.idle > state.jobs.len() || state.threads < AT_ONCE
    }

    /// Returns whether there is a free thread; one is started where it can be.
    fn has_free(self: &Arc<Self>, state: &mut PoolState, most: usize) -> bool {
        if state.idle > state.jobs.len() {
            return true;
        }
        let pool = Arc::clone(self);
        let named = thread::Builder::new().name("pinfold-judge".into());
        let made = state.threads < most && named.spawn(move || pool.work()).is_ok();
        state.threads += usize::from(made);
        made
    }

    fn push(&self, mut state: MutexGuard<'_, PoolState>, job: Job) {
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

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

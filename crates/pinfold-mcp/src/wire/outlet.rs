//! One end of a pipe that is written to: one thread owns it, and nobody who sends waits for a reader that has gone.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes that wait for a slow reader. Whoever sends more waits with them.
const WAITING: usize = 16 << 20;

/// Bytes that wait where nobody can wait with them: the reader has stopped reading.
const TOO_MUCH: usize = 160 << 20;

/// Bytes written at once: what a pipe that can be written takes without waiting.
/// [pipe(7)](https://man7.org/linux/man-pages/man7/pipe.7.html)
const PIECE: usize = 4096;

/// How long it is waited until it is looked again whether all is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What is written to.
#[derive(Debug)]
pub(crate) struct Outlet {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// No more is taken; what is there is written until then.
    Closing(Instant),
    /// Nobody reads any more, or everything is written.
    Closed,
}

/// Nobody reads it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

impl Outlet {
    /// Starts the thread that owns the end. `gone` is called once, when nobody reads any more.
    pub(crate) fn start(end: OwnedFd, gone: impl FnOnce() + Send + 'static) -> io::Result<Arc<Self>> {
        let state = State { lines: VecDeque::new(), bytes: 0, stage: Stage::Open };
        let outlet = Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() });
        let of_thread = Arc::clone(&outlet);
        thread::Builder::new().name("pinfold-outlet".into()).spawn(move || {
            if of_thread.write_all(&end).is_err() {
                gone();
            }
            drop(end);
            of_thread.shut();
        })?;
        Ok(outlet)
    }

    /// Sends a line. Waits while the reader is slow.
    pub(crate) fn send(&self, line: Vec<u8>) -> Result<(), Gone> {
        let mut state = self.state();
        while state.bytes > WAITING && state.stage == Stage::Open {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.push(state, line)
    }

    /// Sends a line without ever waiting: a reader that lets too much lie is as good as gone.
    pub(crate) fn offer(&self, line: Vec<u8>) -> Result<(), Gone> {
        let state = self.state();
        if state.bytes > TOO_MUCH {
            return Err(Gone);
        }
        self.push(state, line)
    }

    fn push(&self, mut state: MutexGuard<'_, State>, mut line: Vec<u8>) -> Result<(), Gone> {
        if state.stage != Stage::Open {
            return Err(Gone);
        }
        line.push(b'\n');
        state.bytes += line.len();
        state.lines.push_back(line);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// More waits than anybody lets lie who reads.
    pub(crate) fn is_too_much(&self) -> bool {
        self.state().bytes > TOO_MUCH
    }

    /// Takes no more, writes what is there for at most this long, and closes.
    pub(crate) fn close(&self, within: Duration) {
        let mut state = self.state();
        if state.stage == Stage::Open {
            state.stage = Stage::Closing(Instant::now() + within);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The same, and waits until it is closed.
    pub(crate) fn finish(&self, within: Duration) {
        self.close(within);
        let over = Instant::now() + within + Duration::from_secs(1);
        let mut state = self.state();
        while state.stage != Stage::Closed && Instant::now() < over {
            let left = over.saturating_duration_since(Instant::now());
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread: lines in their order, until no more will come.
    fn write_all(&self, end: &OwnedFd) -> io::Result<()> {
        while let Some(line) = self.next() {
            self.write(end, &line)?;
        }
        Ok(())
    }

    /// The next line, once there is one.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.len();
                drop(state);
                self.changed.notify_all();
                return Some(line);
            }
            if state.stage != Stage::Open {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, end: &OwnedFd, line: &[u8]) -> io::Result<()> {
        let mut rest = line;
        while !rest.is_empty() {
            let mut fds = [PollFd::new(end, PollFlags::OUT)];
            match poll(&mut fds, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) if self.is_late() => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let piece = rest.get(..PIECE).unwrap_or(rest);
            match rustix::io::write(end, piece) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_late(&self) -> bool {
        matches!(self.state().stage, Stage::Closing(until) if Instant::now() >= until)
    }

    fn shut(&self) {
        let mut state = self.state();
        state.stage = Stage::Closed;
        state.lines.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

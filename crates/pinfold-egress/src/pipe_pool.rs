//! Kernel pipes for `splice(2)`, through which bytes pass from one socket to the other without being copied to user
//! space. A connection holds a pipe only while bytes are in it, so that an idle one costs none. Their number is
//! bounded: a receiver that does not read keeps its pipe, and descriptors are needed for connections.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// A pipe.
pub(crate) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

/// The capacity of a pipe, in bytes: as much as a socket's buffer returns at once.
const PIPE_BYTES: usize = 256 * 1024;

/// The most pipes at a time.
const MAX_PIPES: usize = 32;

thread_local! {
    static IDLE: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
    static ALL: Cell<usize> = const { Cell::new(0) };
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // At the end of the thread the count is gone already.
        let _ = ALL.try_with(|all| all.set(all.get().saturating_sub(1)));
    }
}

impl Pipe {
    /// Returns an empty pipe; `None` while all are in use, or no descriptors are left.
    pub(crate) fn acquire() -> Option<Self> {
        if let Some(pipe) = IDLE.with_borrow_mut(Vec::pop) {
            return Some(pipe);
        }
        let all = ALL.get();
        if all >= MAX_PIPES {
            return None;
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // Beyond `pipe-user-pages-soft` (pipe(7)) pipes of ordinary users stay small.
        let _ = fcntl_setpipe_size(&into, PIPE_BYTES);
        ALL.set(all + 1);
        Some(Self { out, into })
    }

    /// Returns an empty pipe to the pool.
    pub(crate) fn put_back(self) {
        IDLE.with_borrow_mut(|idle| idle.push(self));
    }

    /// Moves what the socket has into the pipe; 0 at its end.
    pub(crate) fn fill(&self, from: impl AsFd) -> io::Result<usize> {
        Ok(splice(from, None, &self.into, None, PIPE_BYTES, FLAGS)?)
    }

    /// Moves up to `len` bytes out of the pipe.
    pub(crate) fn drain(&self, to: impl AsFd, len: usize) -> io::Result<usize> {
        Ok(splice(&self.out, None, to, None, len, FLAGS)?)
    }
}

const FLAGS: SpliceFlags = SpliceFlags::NONBLOCK.union(SpliceFlags::MOVE);

//! Pipes in the kernel through which bytes pass from one socket to the next without being copied into this process.
//! A pipe is taken for as long as bytes are in it: a connection that says nothing costs none. There are only so many: a
//! receiver that does not read keeps its pipe, and descriptors are for connections.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// Both ends of a pipe.
pub(crate) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

/// What a pipe holds at most: as much as a socket's buffer gives at once.
const SIZE: usize = 256 * 1024;

/// How many pipes there are at most.
const MOST: usize = 32;

thread_local! {
    static IDLE: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
    static ALL: Cell<usize> = const { Cell::new(0) };
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // At the end of the thread nobody counts any more.
        let _ = ALL.try_with(|all| all.set(all.get().saturating_sub(1)));
    }
}

impl Pipe {
    /// An empty pipe; `None` while all are in use, or no descriptors are left.
    pub(crate) fn take() -> Option<Self> {
        if let Some(pipe) = IDLE.with_borrow_mut(Vec::pop) {
            return Some(pipe);
        }
        let all = ALL.get();
        if all >= MOST {
            return None;
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // Ordinary users have so many large pipes and then small ones.
        let _ = fcntl_setpipe_size(&into, SIZE);
        ALL.set(all + 1);
        Some(Self { out, into })
    }

    /// Puts an empty pipe back.
    pub(crate) fn give_back(self) {
        IDLE.with_borrow_mut(|idle| idle.push(self));
    }

    /// Takes what the socket has; 0 at its end.
    pub(crate) fn fill(&self, from: impl AsFd) -> io::Result<usize> {
        Ok(splice(from, None, &self.into, None, SIZE, FLAGS)?)
    }

    /// Passes on up to `len` bytes.
    pub(crate) fn drain(&self, to: impl AsFd, len: usize) -> io::Result<usize> {
        Ok(splice(&self.out, None, to, None, len, FLAGS)?)
    }
}

const FLAGS: SpliceFlags = SpliceFlags::NONBLOCK.union(SpliceFlags::MOVE);

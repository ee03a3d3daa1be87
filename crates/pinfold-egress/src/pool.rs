//! Pipes in the kernel through which bytes pass from one socket to the next without being copied into this process.
//! A pipe is taken for as long as bytes are in it: a connection that says nothing costs none.

use std::cell::RefCell;
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

/// How many empty pipes wait to be used again.
const MOST_IDLE: usize = 64;

thread_local! {
    static IDLE: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
}

impl Pipe {
    /// An empty pipe.
    pub(crate) fn take() -> io::Result<Self> {
        if let Some(pipe) = IDLE.with_borrow_mut(Vec::pop) {
            return Ok(pipe);
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Ordinary users have so many large pipes and then small ones.
        let _ = fcntl_setpipe_size(&into, SIZE);
        Ok(Self { out, into })
    }

    /// Puts an empty pipe back.
    pub(crate) fn give_back(self) {
        IDLE.with_borrow_mut(|idle| {
            if idle.len() < MOST_IDLE {
                idle.push(self);
            }
        });
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

//! Signals to a confined process from another thread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::linux::init;
use crate::strength::Tier;
use crate::sys;

/// Signals a confined command from another thread.
#[derive(Debug)]
pub struct Remote {
    pub(super) process: OwnedFd,
    pub(super) tier: Tier,
}

/// Ends the first process, and with it everything: the kernel sees to that where there is a process namespace,
/// else it has to be asked.
pub(super) fn end_all(process: &OwnedFd, tier: Tier) -> io::Result<()> {
    let signal = match tier {
        Tier::Full => libc::SIGKILL,
        Tier::Landlock => init::END_ALL,
    };
    sys::signal(process.as_fd(), signal)
}

impl Remote {
    /// Sends a signal to the command.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn signal(&self, number: i32) -> io::Result<()> {
        sys::signal(self.process.as_fd(), number)
    }

    /// Ends the command and everything it started, at once.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn kill(&self) -> io::Result<()> {
        end_all(&self.process, self.tier)
    }
}

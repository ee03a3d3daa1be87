//! A terminal that hands over every byte as it is typed, and takes every byte as it is written.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// How a terminal was before it was made raw.
#[derive(Clone, Debug)]
pub(crate) struct Before(Termios);

impl Before {
    /// Looks, and changes nothing.
    pub(crate) fn of(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self(tcgetattr(terminal)?))
    }

    /// Makes the terminal raw.
    pub(crate) fn make_raw(&self, terminal: BorrowedFd<'_>) -> io::Result<()> {
        let mut raw = self.0.clone();
        raw.make_raw();
        // What was typed before stays.
        Ok(tcsetattr(terminal, OptionalActions::Now, &raw)?)
    }

    /// Makes it as it was. What was written before is not changed by that. There is nobody to tell when that fails: the terminal is gone then.
    pub(crate) fn restore(&self, terminal: BorrowedFd<'_>) {
        let _ = tcsetattr(terminal, OptionalActions::Now, &self.0);
    }
}

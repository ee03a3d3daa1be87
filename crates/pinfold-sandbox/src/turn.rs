//! Turns: of all supervisors that share a file one at a time judges and does what another could undo the judgement of.
//!
//! Two runs in one folder have a supervisor each. What one has looked at, a file that is about to be moved or a directory with
//! all in it, the other could exchange before it is done.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// Time that a turn is waited for: the longest look at a directory that is moved as a whole takes about a second.
const PATIENCE: Duration = Duration::from_secs(3);

const STEP: Duration = Duration::from_micros(500);

/// A file whose lock gives turns.
#[derive(Clone)]
pub struct Turns(Arc<OwnedFd>);

/// A turn. It ends when it is dropped.
pub struct Turn(Arc<OwnedFd>);

impl Turns {
    /// Opens the file, and makes it if need be. Its mode allows no reading: a confined process, which cannot
    /// write there, gets no descriptor through which it could keep others waiting.
    ///
    /// # Errors
    /// When it can be neither opened nor made.
    pub fn open(file: &Path) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(Self(Arc::new(rustix::fs::open(file, flags, Mode::WUSR)?)))
    }

    /// Waits for a turn, some seconds at most.
    ///
    /// # Errors
    /// `EBUSY` when another has not ended its own by then.
    pub fn take(&self) -> io::Result<Turn> {
        let until = Instant::now() + PATIENCE;
        loop {
            match flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Turn(Arc::clone(&self.0))),
                Err(Errno::WOULDBLOCK) if Instant::now() < until => sleep(STEP),
                Err(Errno::WOULDBLOCK) => return Err(Errno::BUSY.into()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // By word: a child that is being started may hold a copy of the descriptor.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_at_a_time_has_a_turn() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("turn");
        let (ours, theirs) = (Turns::open(&file).unwrap(), Turns::open(&file).unwrap());
        let turn = ours.take().unwrap();
        assert_eq!(flock(&theirs.0, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
        let waits = std::thread::spawn(move || theirs.take().map(drop));
        sleep(Duration::from_millis(20));
        drop(turn);
        waits.join().unwrap().unwrap();
        drop(ours.take().unwrap());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o577, 0, "a reader could lock it");
    }
}

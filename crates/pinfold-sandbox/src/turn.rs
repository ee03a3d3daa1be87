//! Turns: supervisors that share a file keep each other from undoing what one has judged.
//!
//! Two runs in one folder have a supervisor each. What one has looked at, a file that is about to be moved or a directory with
//! all in it, the other could exchange before it is done; and where one makes a plain name, the other could move the directory around
//! it to where that name is judged in another way. So what moves or depends on what is there is done in a turn of its own, and
//! everything else in a turn that others share.
//!
//! Each passes a turnstile before it takes its turn, and the one that wants a turn of its own stays in it until it has that: those that
//! share follow each other closely, and would never all be gone at once (readers and writers without starvation,
//! <https://greenteapress.com/wp/semaphores/>, 4.2.3). Who has passed it goes on without for a moment: passing costs as much as the turn
//! itself, and a thread that stays in it waits that moment longer at most. The turn alone excludes others.
//!
//! The file counts the moves of directories, and the changes that close one. While the count is the same, each path leads to the directory to which
//! it was walked.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps, flock, fstat, futimens};
use rustix::io::Errno;

/// Time that a turn is waited for: the longest look at a directory that is moved as a whole takes about a second.
const TURN_TIMEOUT: Duration = Duration::from_secs(3);

const STEP: Duration = Duration::from_micros(500);

/// Time for which the turnstile need not be passed again.
const PASSAGE: Duration = Duration::from_millis(1);

/// Tries without a pause before the first: shared turns are short.
const QUICK_TRIES: u32 = 32;

/// A file whose lock gives turns.
#[derive(Clone)]
pub struct Turns {
    file: Arc<OwnedFd>,
    turnstile: Arc<OwnedFd>,
    /// Time at which the turnstile was passed last.
    passed: Option<Instant>,
}

/// A turn. It ends when it is dropped.
pub struct Turn {
    lock: Lock,
    is_shared: bool,
}

/// A number that is another one after each move of a directory, and after each change that closes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MoveCount {
    seconds: i64,
    nanoseconds: i64,
}

impl Turns {
    /// Opens the file, and makes it if need be. Its mode allows no reading: a confined process, which cannot
    /// write there, gets no descriptor through which it could keep others waiting.
    ///
    /// # Errors
    /// When it can be neither opened nor made.
    pub fn open(file: &Path) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = |file: &Path| rustix::fs::open(file, flags, Mode::WUSR).map(Arc::new);
        Ok(Self { file: open(file)?, turnstile: open(&file.with_extension("turnstile"))?, passed: None })
    }

    /// Waits for a turn that no other supervisor has meanwhile, some seconds at most.
    ///
    /// # Errors
    /// `EBUSY` when another has not ended its own by then.
    pub fn take(&mut self) -> io::Result<Turn> {
        self.pass(FlockOperation::NonBlockingLockExclusive)
    }

    /// Waits for a turn beside others that are shared, some seconds at most. No directory is moved meanwhile.
    ///
    /// # Errors
    /// `EBUSY` when another has not ended its own by then.
    pub fn share(&mut self) -> io::Result<Turn> {
        self.pass(FlockOperation::NonBlockingLockShared)
    }

    fn pass(&mut self, operation: FlockOperation) -> io::Result<Turn> {
        let is_shared = operation == FlockOperation::NonBlockingLockShared;
        if self.passed.is_some_and(|passed| passed.elapsed() < PASSAGE)
            && let Some(lock) = Lock::take(&self.file, operation)?
        {
            return Ok(Turn { lock, is_shared });
        }
        let _passing = Lock::wait(&self.turnstile, operation)?;
        self.passed = Some(Instant::now());
        Ok(Turn { lock: Lock::wait(&self.file, operation)?, is_shared })
    }
}

/// A lock of a file. It ends when it is dropped.
struct Lock(Arc<OwnedFd>);

impl Lock {
    /// Waits for the lock, some seconds at most.
    fn wait(file: &Arc<OwnedFd>, operation: FlockOperation) -> io::Result<Self> {
        let mut quick_tries = 0..QUICK_TRIES;
        let mut until = None;
        loop {
            if let Some(lock) = Self::take(file, operation)? {
                return Ok(lock);
            }
            if quick_tries.next().is_some() {
                yield_now();
                continue;
            }
            if Instant::now() >= *until.get_or_insert_with(|| Instant::now() + TURN_TIMEOUT) {
                return Err(Errno::BUSY.into());
            }
            sleep(STEP);
        }
    }

    /// Takes the lock, unless another has it.
    fn take(file: &Arc<OwnedFd>, operation: FlockOperation) -> io::Result<Option<Self>> {
        loop {
            return match flock(file, operation) {
                Ok(()) => Ok(Some(Self(Arc::clone(file)))),
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // By word: a child that is being started may hold a copy of the descriptor.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Turn {
    /// Returns whether other supervisors may have one beside it.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns the count of moves. No other supervisor changes it during the turn.
    ///
    /// # Errors
    /// When the file cannot be looked at.
    #[allow(clippy::useless_conversion, reason = "the types differ between machines")]
    pub(crate) fn moves(&self) -> io::Result<MoveCount> {
        let found = fstat(&self.lock.0)?;
        Ok(MoveCount {
            seconds: found.st_mtime.into(),
            nanoseconds: i64::from(found.st_mtime_nsec.cast_signed()),
        })
    }

    /// Counts a move or a closing that is about to be made, in a turn that is not shared. Returns the new count.
    ///
    /// The count is the time of the last change of the file, which nothing else sets: unlike a content it can be read and written by a
    /// descriptor that reads nothing, and has no limit that a person could meet.
    ///
    /// # Errors
    /// When it cannot be written. Others would take the directory for one that has not been moved.
    pub(crate) fn count_move(&self) -> io::Result<MoveCount> {
        let before = self.moves()?;
        let next = MoveCount { nanoseconds: before.nanoseconds + 1, ..before };
        // A file system that stores no nanoseconds gets seconds.
        let later = MoveCount { seconds: before.seconds.saturating_add(1), nanoseconds: 0 };
        let tries = if next.nanoseconds < NANOSECONDS { [next, later] } else { [later, later] };
        for count in tries {
            let time = Timespec { tv_sec: count.seconds, tv_nsec: count.nanoseconds };
            futimens(&self.lock.0, &Timestamps { last_access: time, last_modification: time })?;
            if self.moves()? == count {
                return Ok(count);
            }
        }
        Err(Errno::OVERFLOW.into())
    }
}

/// In a second.
const NANOSECONDS: i64 = 1_000_000_000;

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
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time_has_a_turn() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("turn");
        let (mut ours, mut theirs) = (Turns::open(&file).unwrap(), Turns::open(&file).unwrap());
        let turn = ours.take().unwrap();
        assert_eq!(flock(&theirs.file, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
        let waits = std::thread::spawn(move || theirs.take().map(drop));
        sleep(Duration::from_millis(20));
        drop(turn);
        waits.join().unwrap().unwrap();
        drop(ours.take().unwrap());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o577, 0, "a reader could lock it");
    }

    #[test]
    fn shared_turns_are_had_beside_each_other_and_not_beside_another() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("turn");
        let (mut ours, mut theirs) = (Turns::open(&file).unwrap(), Turns::open(&file).unwrap());
        let shared = (ours.share().unwrap(), theirs.share().unwrap());
        let mut third = Turns::open(&file).unwrap();
        assert_eq!(flock(&third.file, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
        drop(shared);
        let alone = third.take().unwrap();
        assert_eq!(flock(&ours.file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK));
        drop(alone);
    }

    #[test]
    fn a_turn_is_had_however_many_share_theirs_without_a_pause() {
        // Some pass the turnstile for each turn, others have passed it a moment ago.
        for lasts in [PASSAGE * 2, PASSAGE / 10] {
            let place = tempfile::tempdir().unwrap();
            let file = place.path().join("turn");
            let mut ours = Turns::open(&file).unwrap();
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let shares = || {
                    let mut theirs = Turns::open(&file).unwrap();
                    while !is_over.load(Ordering::Relaxed) {
                        let _turn = theirs.share().unwrap();
                        sleep(lasts);
                    }
                };
                (0..8).for_each(|_| drop(scope.spawn(shares)));
                sleep(Duration::from_millis(20));
                let had = (0..20).map(|_| ours.take().map(drop)).collect::<io::Result<Vec<()>>>();
                is_over.store(true, Ordering::Relaxed);
                had.unwrap();
            });
        }
    }

    #[test]
    fn whoever_waits_in_the_turnstile_has_the_next_turn() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("turn");
        let (mut ours, mut theirs) = (Turns::open(&file).unwrap(), Turns::open(&file).unwrap());
        drop(ours.share().unwrap());
        let inside = Lock::wait(&theirs.turnstile, FlockOperation::NonBlockingLockExclusive).unwrap();
        sleep(PASSAGE);
        let waits = std::thread::spawn(move || ours.share().map(drop));
        sleep(Duration::from_millis(20));
        assert!(!waits.is_finished(), "it goes on without passing the turnstile again");
        drop(inside);
        waits.join().unwrap().unwrap();
        drop(theirs.take().unwrap());
    }

    #[test]
    fn each_move_is_counted_for_all() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("turn");
        let (mut ours, mut theirs) = (Turns::open(&file).unwrap(), Turns::open(&file).unwrap());
        let count = |turns: &mut Turns| turns.share().unwrap().moves().unwrap();
        let mut seen = vec![count(&mut ours)];
        for _ in 0..100 {
            assert_eq!(Some(&count(&mut theirs)), seen.last());
            let counted = ours.take().unwrap().count_move().unwrap();
            assert!(!seen.contains(&counted) && count(&mut theirs) == counted);
            seen.push(counted);
        }
        let last = Timespec { tv_sec: 7, tv_nsec: NANOSECONDS - 1 };
        futimens(&ours.file, &Timestamps { last_access: last, last_modification: last }).unwrap();
        let carried = ours.take().unwrap().count_move().unwrap();
        assert_eq!(carried, MoveCount { seconds: 8, nanoseconds: 0 });
    }
}

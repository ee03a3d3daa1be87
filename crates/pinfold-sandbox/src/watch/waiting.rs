//! Opens that would wait in the kernel: for the other end of a pipe, for a lease that another process holds.
//!
//! The supervisor waits for none of them. It tries again and again, beside everything else, until the open succeeds or its
//! caller is gone.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, SyscallHandler};
use super::carry_out::OpenOutcome;
use super::file_call::FileCall;
use super::file_question::FileQuestion;
use super::rights::Rights;
use super::{carry_out, report_done};
use crate::sys::{self, NotifyResponse};

/// Opens that wait at one time. Each is a process or thread that does nothing else.
const MOST: usize = 256;

/// Shortest and longest pause before an open is retried.
const SOONEST: Duration = Duration::from_millis(1);
const LATEST: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct WaitingOpens {
    opens: Vec<WaitingOpen>,
    pause: Option<(Instant, Duration)>,
}

struct WaitingOpen {
    id: u64,
    found: FileQuestion,
    attempts: Vec<Attempt>,
}

impl WaitingOpens {
    /// Takes an open that would wait.
    ///
    /// # Errors
    /// `ENFILE` when too many wait already.
    pub(super) fn take(
        &mut self,
        id: u64,
        mut found: FileQuestion,
        attempts: Vec<Attempt>,
    ) -> Result<(), i32> {
        if self.opens.len() >= MOST {
            return Err(libc::ENFILE);
        }
        if let FileCall::Open(open) = &mut found.call {
            // It was judged with something there. When that is gone, what would be made has not been judged.
            open.make_nothing();
        }
        self.opens.push(WaitingOpen { id, found, attempts });
        self.pause = Some((Instant::now() + SOONEST, SOONEST));
        Ok(())
    }

    /// Milliseconds until the next try.
    pub(super) fn next_try(&self) -> Option<i32> {
        let (at, _) = self.pause.filter(|_| !self.opens.is_empty())?;
        let left = at.saturating_duration_since(Instant::now());
        Some(i32::try_from(left.as_millis()).unwrap_or(i32::MAX - 1) + 1)
    }

    /// Tries all of them again, if it is time.
    pub(super) fn retry(
        &mut self,
        listener: BorrowedFd<'_>,
        rights: &mut Rights,
        handler: &mut dyn SyscallHandler,
    ) {
        let Some((at, pause)) = self.pause.filter(|_| !self.opens.is_empty()) else { return };
        if Instant::now() < at {
            return;
        }
        self.opens.retain_mut(|open| open.still_waits(listener, rights, handler));
        let pause = (pause * 2).min(LATEST);
        self.pause = Some((Instant::now() + pause, pause));
    }
}

impl WaitingOpen {
    fn still_waits(
        &mut self,
        listener: BorrowedFd<'_>,
        rights: &mut Rights,
        handler: &mut dyn SyscallHandler,
    ) -> bool {
        let (FileCall::Open(open), [place]) = (&self.found.call, self.found.places.as_slice()) else {
            return false;
        };
        if !sys::still_asking(listener, self.id) {
            return false;
        }
        // Nothing is made any more, so that no umask counts.
        let mut may = |file| handler.can_change_linked(&self.attempts, file);
        let opened =
            rights.as_caller(None, || carry_out::open(place, open, &mut may)).and_then(|opened| opened);
        let failed = match opened {
            Ok(OpenOutcome::Waits) => return true,
            Ok(OpenOutcome::File(file)) => {
                report_done(handler, &self.found, std::mem::take(&mut self.attempts), None);
                sys::answer_with(listener, self.id, file.as_fd(), open.closes_on_exec()).err()
            }
            Err(error) => Some(error),
        };
        if let Some(error) = failed {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            // An error says that the caller is gone.
            let _ = sys::answer(listener, self.id, NotifyResponse::Fail(errno));
        }
        false
    }
}

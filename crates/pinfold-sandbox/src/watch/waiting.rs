//! Calls that would wait in the kernel: an open for the other end of a pipe or for a lease that another process holds, an exclusive
//! lock for the end of another.
//!
//! The supervisor waits for none of them. It tries again and again, beside everything else, until the call succeeds or its
//! caller is gone.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, SyscallHandler};
use super::carry_out;
use super::carry_out::OpenOutcome;
use super::file_answer::report_done;
use super::file_call::{FileCall, OpenCall};
use super::file_question::FileQuestion;
use super::rights::Rights;
use crate::sys::{self, NotifyResponse, Pid};

/// Calls that wait at one time. Each is a process or thread that does nothing else.
const MAX_WAITING: usize = 256;

/// Shortest and longest pause before a call is retried.
const SOONEST: Duration = Duration::from_millis(1);
const LATEST: Duration = Duration::from_millis(50);

/// `ERESTARTSYS` of `linux/errno.h`: the kernel lets a signal that waits be handled, and then makes the call anew or says `EINTR`, as the
/// handler was set up.
const RESTART: i32 = 512;

#[derive(Default)]
pub(super) struct WaitingCalls {
    calls: Vec<WaitingCall>,
    pause: Option<(Instant, Duration)>,
}

struct WaitingCall {
    id: u64,
    pid: Pid,
    found: FileQuestion,
    attempts: Vec<Attempt>,
}

impl WaitingCalls {
    /// Takes a call that would wait. `asker`: the number of the question, and its thread.
    ///
    /// # Errors
    /// `ENFILE` when too many wait already.
    pub(super) fn take(
        &mut self,
        (id, pid): (u64, Pid),
        mut found: FileQuestion,
        attempts: Vec<Attempt>,
    ) -> Result<(), i32> {
        if self.calls.len() >= MAX_WAITING {
            return Err(libc::ENFILE);
        }
        if let FileCall::Open(open) = &mut found.call {
            // It was judged with something there. When that is gone, what would be made has not been judged.
            open.make_nothing();
        }
        self.calls.push(WaitingCall { id, pid, found, attempts });
        self.pause = Some((Instant::now() + SOONEST, SOONEST));
        Ok(())
    }

    /// Milliseconds until the next try.
    pub(super) fn next_try(&self) -> Option<i32> {
        let (at, _) = self.pause.filter(|_| !self.calls.is_empty())?;
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
        let Some((at, pause)) = self.pause.filter(|_| !self.calls.is_empty()) else { return };
        if Instant::now() < at {
            return;
        }
        self.calls.retain_mut(|call| call.still_waits(listener, rights, handler));
        let pause = (pause * 2).min(LATEST);
        self.pause = Some((Instant::now() + pause, pause));
    }
}

impl WaitingCall {
    fn still_waits(
        &mut self,
        listener: BorrowedFd<'_>,
        rights: &mut Rights,
        handler: &mut dyn SyscallHandler,
    ) -> bool {
        if !sys::is_notification_valid(listener, self.id) {
            return false;
        }
        let answered = match &self.found.call {
            FileCall::Open(open) => self.open(open, listener, rights, handler),
            FileCall::Lock { .. } => self.lock(listener, rights),
            _ => return false,
        };
        match answered {
            Ok(true) => return false,
            Ok(false) => return true,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                // An error says that the caller is gone.
                let _ = sys::answer(listener, self.id, NotifyResponse::Fail(errno));
            }
        }
        false
    }

    /// Returns whether the file was opened and handed over.
    fn open(
        &self,
        open: &OpenCall,
        listener: BorrowedFd<'_>,
        rights: &mut Rights,
        handler: &mut dyn SyscallHandler,
    ) -> io::Result<bool> {
        let [place] = self.found.places.as_slice() else { return Err(io::ErrorKind::InvalidInput.into()) };
        // Nothing is made any more, so that no umask counts.
        let mut may = |file| handler.can_change_linked(&self.attempts, file);
        match rights.as_caller(None, || carry_out::open(place, open, &mut may))?? {
            OpenOutcome::Waits => Ok(false),
            OpenOutcome::File(file) => {
                report_done(handler, &self.found, self.attempts.clone(), None);
                sys::answer_with(listener, self.id, file.as_fd(), open.closes_on_exec())?;
                Ok(true)
            }
        }
    }

    /// Returns whether the file was locked, and its process told so. Of one that was killed meanwhile the lock is as if it had been so a
    /// moment later.
    fn lock(&self, listener: BorrowedFd<'_>, rights: &mut Rights) -> io::Result<bool> {
        let [place] = self.found.places.as_slice() else { return Err(io::ErrorKind::InvalidInput.into()) };
        if rights.as_caller(None, || carry_out::lock(place))?? {
            let _ = sys::answer(listener, self.id, NotifyResponse::Done);
            return Ok(true);
        }
        // No signal wakes what waits for a supervisor, and programs wait for a lock until an alarm.
        if has_signal(self.pid) { Err(io::Error::from_raw_os_error(RESTART)) } else { Ok(false) }
    }
}

/// Returns whether a signal waits that a thread would take: its own, or where there is no other thread one of its process.
fn has_signal(pid: Pid) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let signals = |name| field(name).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or_default();
    let of_process = if field("Threads") == Some("1") { signals("ShdPnd") } else { 0 };
    (signals("SigPnd") | of_process) & !signals("SigBlk") & !signals("SigIgn") != 0
}

//! Supervision of a confined process until its end.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use super::remote::end_all;
use super::{End, RunningSandbox};
use crate::linux::init::{Report, Stage};
use crate::sys::{self, Alarm, ChildExit};
use crate::watch::SyscallHandler;

/// Time that a command has to end after its time limit.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq)]
enum EndingCause {
    ByItself,
    Late,
}

impl RunningSandbox {
    /// Accompanies the command to its end: shows attempts to `handler`, passes signals on, keeps the time.
    ///
    /// # Errors
    /// When the kernel stops telling what happens inside. The whole tree is ended then.
    pub fn supervise(mut self, handler: &mut dyn SyscallHandler) -> io::Result<End> {
        let ended = self.accompany(handler);
        if ended.is_err() {
            let _ = end_all(&self.process, self.tier);
        }
        let (_, how) =
            sys::reap(self.init, true)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ECHILD))?;
        std::mem::take(&mut self.flowing).finish();
        if self.signals.is_some() && sys::foreground().is_some_and(sys::is_gone) {
            // The process that had the terminal to itself inside has ended with the rest.
            sys::group_of(0).into_iter().for_each(sys::set_foreground);
        }
        match (ended?, how) {
            (EndingCause::Late, _) => Ok(End::TimedOut),
            (EndingCause::ByItself, ChildExit::Exited(code)) => Ok(End::Code(code)),
            (EndingCause::ByItself, ChildExit::Signalled(signal)) => Ok(End::Code(128 + signal)),
        }
    }

    fn accompany(&mut self, handler: &mut dyn SyscallHandler) -> io::Result<EndingCause> {
        let mut ending = EndingCause::ByItself;
        let mut limits = None;
        loop {
            let asked = self.is_asking().then(Instant::now);
            let [question, end, signal, stop] = self.wait(self.remaining(asked.is_some()))?;
            if let Some(notifier) = &mut self.notifier {
                notifier.0.wake(handler);
            }
            if let (Some(asked), Some(deadline), EndingCause::ByItself) = (asked, &mut self.deadline, ending)
            {
                // The time of the person is not the command's.
                *deadline += asked.elapsed();
            }
            if question & libc::POLLIN != 0 {
                if let Some(notifier) = &mut self.notifier {
                    notifier.0.handle_notification(handler)?;
                }
            } else if end != 0 {
                if let Some(mut limits) = limits.or_else(|| self.notifier.take()?.0.into_limits()) {
                    limits.tell_of_killed(handler);
                }
                return Ok(ending);
            } else if question != 0 {
                // No process is left that could notify, though not all may have been reaped.
                limits = self.notifier.take().and_then(|notifier| notifier.0.into_limits());
            }
            if signal != 0 {
                self.pass_on(stop != 0);
            }
            if stop != 0 {
                self.follow_stop()?;
            }
            if self.deadline.is_some_and(|at| Instant::now() >= at) {
                // First politely, then not.
                match ending {
                    EndingCause::ByItself => sys::signal(self.process.as_fd(), libc::SIGTERM)?,
                    EndingCause::Late => end_all(&self.process, self.tier)?,
                }
                self.deadline = (ending == EndingCause::ByItself).then(|| Instant::now() + GRACE);
                ending = EndingCause::Late;
            }
        }
    }

    /// Waits for a notification, the end of the command, a signal or a stop, in this order; returns the events of each. Nearly all that
    /// comes are notifications, and each descriptor that is waited for costs them.
    fn wait(&mut self, timeout: Option<i32>) -> io::Result<[i16; 4]> {
        let notifier = self.notifier.as_ref().map_or(-1, |w| w.0.fd().as_raw_fd());
        let signals = self.signals.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let stops = self.stops.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let others = [self.process.as_raw_fd(), signals, stops];
        let beside = match &mut self.beside {
            Some(beside) => beside,
            none => none.insert(sys::ready_with(others)?),
        };
        let [question, other] = sys::poll([notifier, beside.as_raw_fd()], timeout)?;
        if other == 0 {
            return Ok([question, 0, 0, 0]);
        }
        let [process, signals, stops] = others;
        sys::poll([notifier, process, signals, stops], Some(0))
    }

    /// Stops when the command has stopped. Not before: the shell behind us takes the terminal back then, and
    /// a command that still reads would take what is typed next.
    fn follow_stop(&mut self) -> io::Result<()> {
        let Some(stops) = &self.stops else { return Ok(()) };
        let mut bytes = [0u8; 6];
        if sys::receive(stops.as_fd(), &mut bytes)?.0 == 0 {
            // The first process is ending, which takes it a while.
            self.stops = None;
            self.beside = None;
            return Ok(());
        }
        let Some(Report { stage: Stage::Stopped, index, errno: signal }) = Report::decode(bytes) else {
            return Ok(());
        };
        // Stop signals of a terminal have no effect where no shell would continue us.
        let by_key = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal);
        let signal = if [libc::SIGTTIN, libc::SIGTTOU].contains(&signal) { signal } else { libc::SIGTSTP };
        if self.own_terminal {
            return self.stop_with_terminal(signal, by_key);
        }
        let had_terminal = (index == 1).then(sys::foreground).flatten();
        self.stop(signal, false)?;
        if let Some(group) = had_terminal
            && sys::foreground() == sys::group_of(0)
        {
            // A shell continues the job, which is us, and gives us the terminal when it comes to the foreground.
            sys::set_foreground(group);
        }
        Ok(())
    }

    /// Stops as the key would have stopped us, had it been pressed at our terminal: with all who are in the foreground
    /// there, else the shell behind us would go on waiting for them.
    fn stop_with_terminal(&mut self, signal: libc::c_int, by_key: bool) -> io::Result<()> {
        if let Some(job_control) = &mut self.job_control {
            job_control.stopping();
        }
        let asked = std::mem::take(&mut self.asked_to_stop);
        self.stop(signal, by_key && !asked)?;
        if let Some(job_control) = &mut self.job_control {
            job_control.continued();
        }
        // No other process can continue the command. When we have not stopped at all, since no shell would have continued us,
        // the key has no effect on it either.
        if !self.pass_on(false) && by_key {
            sys::signal(self.process.as_fd(), libc::SIGCONT)?;
        }
        Ok(())
    }

    fn stop(&self, signal: libc::c_int, group: bool) -> io::Result<()> {
        // Stopped we would not keep the time.
        let left = self.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let _alarm = left.map(Alarm::arm).transpose()?;
        sys::stop(signal, group)
    }

    /// Returns whether a call waits for a decision.
    fn is_asking(&self) -> bool {
        self.deadline.is_some() && self.notifier.as_ref().is_some_and(|notifier| notifier.0.holds())
    }

    /// Milliseconds until something is to be done: until an open is tried again, or the deadline, rounded up; while an approver is asked, until that is looked at again: answers are
    /// given elsewhere.
    fn remaining(&self, asking: bool) -> Option<i32> {
        const LOOK_AGAIN: Duration = Duration::from_millis(200);
        let retries = self.notifier.as_ref().and_then(|notifier| notifier.0.next_timeout_ms());
        let ends = self.deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = if asking { left.min(LOOK_AGAIN) } else { left };
            i32::try_from(left.as_millis()).unwrap_or(i32::MAX - 1) + 1
        });
        retries.into_iter().chain(ends).min()
    }

    /// `stopped`: the command has stopped since, and stays so although the supervisor was continued before. Returns whether the
    /// command was continued.
    fn pass_on(&mut self, stopped: bool) -> bool {
        let Some(signals) = &self.signals else { return false };
        let mut continued = false;
        while let Some(signal) = sys::read_signal(signals.as_fd()) {
            let number = signal.number;
            match (&mut self.job_control, number) {
                (Some(job_control), libc::SIGWINCH) => job_control.resized(),
                (Some(job_control), libc::SIGCONT) if !stopped => job_control.continued(),
                _ => {}
            }
            // What the terminal sends, it sends to the command too, unless that has another one; but that it is gone it
            // tells only the leader of the session, which may be us.
            let by_terminal = !signal.sent_by_process && number != libc::SIGHUP;
            let hers_too =
                by_terminal && (!self.own_terminal || [libc::SIGTTIN, libc::SIGTTOU].contains(&number));
            let outdated = stopped && number == libc::SIGCONT;
            if outdated || hers_too || number == libc::SIGWINCH {
                continue;
            }
            self.asked_to_stop |= number == libc::SIGTSTP && signal.sent_by_process;
            continued |= number == libc::SIGCONT;
            let _ = sys::signal(self.process.as_fd(), number);
        }
        continued
    }
}

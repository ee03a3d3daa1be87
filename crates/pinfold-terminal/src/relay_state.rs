//! State shared by the relay, dialogs and the supervisor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::write;

use crate::host_tty::HostTty;
use crate::tty_reach::{Device, TtyReach, who_has_open};

/// Keys for the command wait here up to this length: a person, or a paste, that is far ahead of it.
pub(crate) const MAX_EARLY: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct RelayShared {
    pub(crate) person: Arc<HostTty>,
    wake: OwnedFd,
    reach: OnceLock<TtyReach>,
    state: Mutex<PtyRelayState>,
    changed: Condvar,
    /// Held by who writes to the person's terminal while a dialog has it.
    ink: Mutex<()>,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "wishes and facts that are independent of each other")]
pub(crate) struct PtyRelayState {
    pub(crate) phase: RelayPhase,
    /// A dialog has the terminal, or is going to.
    pub(crate) dialog: bool,
    /// Number of dialogs so far.
    pub(crate) turn: u64,
    /// This process is going to stop, or has.
    pub(crate) stopping: bool,
    /// This process was continued: whose the terminal is, is to be looked at.
    pub(crate) continued: bool,
    /// The command has ended.
    pub(crate) finishing: bool,
    /// The size is to be looked at.
    pub(crate) resized: bool,
    /// A dialog is no longer alone on the terminal.
    pub(crate) spoilt: bool,
    /// Another program had the terminal while a dialog was shown.
    pub(crate) disturbed: bool,
    /// This process does not have the foreground of the terminal.
    pub(crate) in_background: bool,
    /// Keys for the command that came while a dialog had the terminal.
    pub(crate) early: Vec<u8>,
    /// Time of the last key for the command.
    pub(crate) typed: Option<Instant>,
}

/// The phase of the relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RelayPhase {
    /// Passes bytes on.
    #[default]
    Running,
    /// Holds them back: a dialog has the terminal.
    Held,
    /// The terminal was put back, for this process to stop.
    Parked,
    /// Nothing is passed on any more.
    Ended,
}

impl RelayShared {
    pub(crate) fn new(person: Arc<HostTty>, wake: OwnedFd) -> Self {
        let (state, changed, ink) = (Mutex::default(), Condvar::new(), Mutex::new(()));
        Self { person, wake, reach: OnceLock::new(), state, changed, ink }
    }

    /// Says what the command can reach. Once.
    pub(crate) fn set_reach(&self, reach: TtyReach) {
        let _ = self.reach.set(reach);
    }

    /// Keeps other processes from opening the host terminal.
    pub(crate) fn keep_others_out(&self) -> io::Result<()> {
        let first = match self.reach.get() {
            Some(TtyReach::ByName { first }) => *first,
            Some(TtyReach::Apart) | None => return Ok(()),
        };
        self.person.set_exclusive(true)?;
        // No other process opens it from here on.
        let Some(process) = who_has_open(first, Device::own()?)? else { return Ok(()) };
        self.let_others_in();
        let why = format!("process {process} of the run has this terminal open, and could draw on it");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Takes that back.
    pub(crate) fn let_others_in(&self) {
        if let Some(TtyReach::ByName { .. }) = self.reach.get() {
            let _ = self.person.set_exclusive(false);
        }
    }

    /// Returns the state. A thread that panicked has left nothing half changed.
    pub(crate) fn state(&self) -> MutexGuard<'_, PtyRelayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes every waiting thread.
    pub(crate) fn change(&self, change: impl FnOnce(&mut PtyRelayState)) {
        change(&mut self.state());
        self.changed.notify_all();
        // Full means that the relay was woken often enough.
        let _ = write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Waits until something is so, or `timeout` is over.
    pub(crate) fn wait(
        &self,
        timeout: Duration,
        so: impl Fn(&PtyRelayState) -> bool,
    ) -> MutexGuard<'_, PtyRelayState> {
        let waiting = self.changed.wait_timeout_while(self.state(), timeout, |state| !so(state));
        waiting.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The relay tells something.
    pub(crate) fn update(&self, tell: impl FnOnce(&mut PtyRelayState)) {
        tell(&mut self.state());
        self.changed.notify_all();
    }

    /// Returns the descriptor that the relay waits for beside the terminals.
    pub(crate) fn waker(&self) -> &OwnedFd {
        &self.wake
    }

    /// Keys for the command that a dialog has heard.
    pub(crate) fn give_early(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.change(|state| {
                let room = MAX_EARLY.saturating_sub(state.early.len());
                state.early.extend(bytes.iter().take(room));
            });
        }
    }

    /// Gives the command keys that were typed just now.
    pub(crate) fn give_new(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.state().typed = Some(Instant::now());
            self.give_early(bytes);
        }
    }

    /// Writes to the person's terminal while a dialog has it.
    pub(crate) fn show(&self, bytes: &[u8], timeout: Duration) -> io::Result<()> {
        let _ink = self.ink.lock().unwrap_or_else(PoisonError::into_inner);
        self.person.write(bytes, timeout)
    }
}

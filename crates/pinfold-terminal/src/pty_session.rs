//! A terminal beside the person's, which a command believes to be the person's.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetwinsize};

use crate::host_tty::HostTty;
use crate::pty_dialog::PtyDialog;
use crate::pty_relay::PtyRelay;
use crate::relay_state::{PtyRelayState, RelayPhase, RelayShared};
use crate::tty_reach::TtyReach;

/// Time a stop waits for the terminal to be put back.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A pseudo-terminal for a command, and the relay between it and the host terminal.
///
/// [`open`](Self::open) changes nothing visible; [`start`](Self::start) makes the person's terminal raw
/// and begins to pass bytes on; [`finish`](Self::finish), or dropping it, passes the last ones on and puts the person's
/// terminal back.
#[derive(Debug)]
pub struct PtySession {
    handle: PtyHandle,
    sides: Option<Sides>,
    relay: Option<JoinHandle<()>>,
}

/// Both sides of the terminal beside. The one for programs stays open as long as the relay runs: a command may close
/// its streams and open its terminal again.
#[derive(Debug)]
struct Sides {
    ours: OwnedFd,
    programs: OwnedFd,
}

/// The command's side of the terminal.
#[derive(Debug)]
pub struct CommandTty {
    /// The terminal that is to control its session.
    pub terminal: OwnedFd,
    /// Standard input, output and error, as far as those of this process lead to the person's terminal.
    pub streams: [Option<OwnedFd>; 3],
}

/// Speaks with a [`PtySession`] from any thread.
#[derive(Clone, Debug)]
pub struct PtyHandle {
    shared: Arc<RelayShared>,
}

impl PtySession {
    /// Opens a terminal with the settings and the size of the person's, by which this process is controlled; `None` when
    /// there is none, or this process is not in its foreground: then a dialog would be invisible.
    ///
    /// # Errors
    /// When no terminal is to be had.
    pub fn open() -> io::Result<Option<(Self, CommandTty)>> {
        let Some(person) = HostTty::open()? else { return Ok(None) };
        let sides = Sides::open()?;
        tcsetattr(&sides.programs, OptionalActions::Now, person.settings())?;
        tcsetwinsize(&sides.programs, tcgetwinsize(person.as_ref())?)?;
        let own = CommandTty { terminal: sides.programs.try_clone()?, streams: sides.streams()? };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let handle = PtyHandle { shared: Arc::new(RelayShared::new(person, wake)) };
        Ok(Some((Self { handle, sides: Some(sides), relay: None }, own)))
    }

    /// Begins: the person's terminal becomes raw. `reach` says what the command can do there beside us. Once, after the command was started, on a thread whose signals are as
    /// they should be for the one that passes bytes on.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn start(&mut self, reach: TtyReach) -> io::Result<()> {
        let Some(Sides { ours, programs }) = self.sides.take() else { return Ok(()) };
        self.handle.shared.set_reach(reach);
        let relay = PtyRelay::new(Arc::clone(&self.handle.shared), ours, programs);
        let thread = thread::Builder::new().name("terminal".into());
        self.relay = Some(thread.spawn(move || relay.run())?);
        Ok(())
    }

    /// Returns a handle for approvers, and for observers of the host terminal.
    pub fn handle(&self) -> PtyHandle {
        self.handle.clone()
    }

    /// Passes on what the command has written last, now that it has ended, and puts the person's terminal back. Waits
    /// for a dialog that is open, which is told.
    pub fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(relay) = self.relay.take() {
            self.handle.shared.change(|state| state.finishing = true);
            // What went wrong there was said there.
            let _ = relay.join();
        }
    }
}

impl Drop for PtySession {
    fn drop(&mut self) {
        self.end();
    }
}

impl Sides {
    fn open() -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        // By the other side, not by a name, which may mean something else where we are.
        let programs = ioctl_tiocgptpeer(&ours, flags)?;
        fcntl_setfl(&ours, OFlags::RDWR | OFlags::NONBLOCK)?;
        Ok(Self { ours, programs })
    }

    /// The side for programs in place of each stream of ours that leads to the person's terminal.
    fn streams(&self) -> io::Result<[Option<OwnedFd>; 3]> {
        let [input, output, error] = [
            tcgetpgrp(io::stdin()).is_ok(),
            tcgetpgrp(io::stdout()).is_ok(),
            tcgetpgrp(io::stderr()).is_ok(),
        ];
        let other = |leads_there: bool| leads_there.then(|| self.programs.try_clone()).transpose();
        Ok([other(input)?, other(output)?, other(error)?])
    }
}

impl PtyHandle {
    /// Takes the person's terminal for a dialog. Waits while another dialog has it. Output of the command is held
    /// back, and typed keys are the dialog's, until the surface is dropped.
    ///
    /// # Errors
    /// When the terminal cannot be used for a question: it is gone, or does not take what is written to it; the command has
    /// ended; this process is in the background (`WouldBlock`); or a process of the run has this terminal open and could
    /// draw on it (`PermissionDenied`), where [`TtyReach`] says that this is possible.
    pub fn pause(&self) -> io::Result<PtyDialog> {
        PtyDialog::new(Arc::clone(&self.shared))
    }

    /// The person's terminal may have another size.
    pub fn resized(&self) {
        self.shared.change(|state| state.resized = true);
    }

    /// This process is going to stop: the person's terminal is put back. Returns when it was.
    pub fn stopping(&self) {
        self.shared.change(|state| state.stopping = true);
        let parked = |state: &PtyRelayState| matches!(state.phase, RelayPhase::Parked | RelayPhase::Ended);
        drop(self.shared.wait(STOP_TIMEOUT, parked));
    }

    /// This process goes on. Returns when the person's terminal is raw again, if it has the foreground.
    pub fn continued(&self) {
        self.shared.change(|state| {
            state.stopping = false;
            state.continued = true;
            state.resized = true;
        });
        let going = |state: &PtyRelayState| match state.phase {
            RelayPhase::Running | RelayPhase::Held => !state.continued,
            RelayPhase::Parked => false,
            RelayPhase::Ended => true,
        };
        drop(self.shared.wait(STOP_TIMEOUT, going));
    }
}

//! Runs at a terminal: the command gets one of its own, and this process passes bytes on between the two.

use std::io::{self, IsTerminal};

use pinfold_boundary::Run as SandboxedRun;
use pinfold_sandbox::{JobControl, Tier};
use pinfold_terminal::{CommandTty, PtyHandle, PtySession, TtyReach};

use crate::args::{Ask, RunArgs};
use crate::exit::{Failure, NO_SANDBOX, USAGE};

/// A terminal for the command, in the foreground of ours: where questions are asked there, and where a person uses the
/// command. Else the command would share ours: its settings, its answers to escape sequences and its process group.
///
/// One that only reads or only writes there may be part of a pipeline, whose other programs read what is typed.
pub(super) fn open(run: &RunArgs, asks: bool) -> Result<Option<(PtySession, CommandTty)>, Failure> {
    let is_used_here = || io::stdin().is_terminal() && io::stdout().is_terminal();
    if !(asks || is_used_here()) {
        return Ok(None);
    }
    match PtySession::open() {
        Ok(None) if asks && run.asking.ask == Ask::Terminal => {
            let message = "cannot ask at a terminal: there is none here";
            Err(Failure::new(USAGE, message).mend("leave --ask out, or say --ask none"))
        }
        Ok(opened) => Ok(opened),
        Err(error) if asks => {
            Err(Failure::new(NO_SANDBOX, format!("cannot allocate a terminal for the command: {error}")))
        }
        Err(_) => Ok(None),
    }
}

/// Returns whether a command can open our terminal by its name: where it has mounts of its own it sees only terminals of its
/// own.
fn reach(run: &SandboxedRun) -> TtyReach {
    match run.tier() {
        Tier::Full => TtyReach::Apart,
        Tier::Landlock => TtyReach::ByName { first: run.pid() },
    }
}

/// Begins to pass bytes on, for a command that was given the terminal.
pub(super) fn start(beside: &mut PtySession, run: &mut SandboxedRun) -> io::Result<()> {
    run.set_job_control(Box::new(PtyJobControl(beside.handle())));
    beside.start(reach(run))
}

/// Tells the one who passes bytes on what the supervisor notices.
struct PtyJobControl(PtyHandle);

impl JobControl for PtyJobControl {
    fn resized(&mut self) {
        self.0.resized();
    }

    fn stopping(&mut self) {
        self.0.stopping();
    }

    fn continued(&mut self) {
        self.0.continued();
    }
}

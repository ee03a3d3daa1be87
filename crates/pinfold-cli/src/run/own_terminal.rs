//! Runs that can ask at the terminal: the command gets one of its own, and we stand between it and the person.

use pinfold_sandbox::Attendant;
use pinfold_terminal::{Beside, Handle, Own};

use crate::args::Run;
use crate::exit::{Failure, NO_WALLS};

/// A terminal for the command, if questions are to be asked at ours and somebody sits there.
pub(super) fn open(run: &Run, asks: bool) -> Result<Option<(Beside, Own)>, Failure> {
    if !asks && !run.own_terminal {
        return Ok(None);
    }
    Beside::open().map_err(|e| Failure::new(NO_WALLS, format!("no terminal for the command can be had: {e}")))
}

/// Tells the one who passes bytes on what the supervisor notices.
pub(super) struct Attending(pub(super) Handle);

impl Attendant for Attending {
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

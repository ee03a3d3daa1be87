//! Runs that can ask at the terminal: the command gets one of its own, and we stand between it and the person.

use pinfold_sandbox::Attendant;
use pinfold_terminal::{Beside, Handle, Own};

use crate::args::{Ask, Run};
use crate::exit::{Failure, NO_WALLS, USAGE};

/// A terminal for the command, if questions are to be asked at ours and somebody sits there.
pub(super) fn open(run: &Run, asks: bool) -> Result<Option<(Beside, Own)>, Failure> {
    if !asks {
        return Ok(None);
    }
    let opened = Beside::open()
        .map_err(|e| Failure::new(NO_WALLS, format!("no terminal for the command can be had: {e}")))?;
    if opened.is_none() && run.asking.ask == Ask::Terminal {
        let message = "nobody can be asked at a terminal: there is none here";
        return Err(Failure::new(USAGE, message).mend("leave --ask away, or say --ask nobody"));
    }
    Ok(opened)
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

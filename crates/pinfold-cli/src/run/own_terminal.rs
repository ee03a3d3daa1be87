//! Runs that can ask at the terminal: the command gets one of its own, and we stand between it and the person.

use pinfold_sandbox::{Attendant, Confined, Tier};
use pinfold_terminal::{Beside, Handle, Own, Reach};

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

/// Whether a command can open our terminal by its name: where it has mounts of its own it sees only terminals of its
/// own.
fn reach(confined: &Confined) -> Reach {
    match confined.tier() {
        Tier::Full => Reach::Apart,
        Tier::Landlock => Reach::ByName { first: confined.pid() },
    }
}

/// Begins to pass bytes on, for a command that was given the terminal.
pub(super) fn start(beside: &mut Beside, confined: &mut Confined) -> std::io::Result<()> {
    confined.attended_by(Box::new(Attending(beside.handle())));
    beside.start(reach(confined))
}

/// Tells the one who passes bytes on what the supervisor notices.
struct Attending(Handle);

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

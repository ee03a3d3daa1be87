//! A dialog on the terminal of a command that runs.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::key_input::{KeyInput, KeySource, LOOK, is_ready};
use crate::relay_state::{PtyRelayState, RelayPhase, RelayShared};
use crate::screen::PLAIN;
use crate::surface::{DialogSurface, SurfaceEvent, TerminalSize};

/// Time limit for a terminal to accept output, before a question cannot be asked there.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);

/// The person's terminal while a command that runs there waits, made by [`PtyHandle::pause`](crate::PtyHandle::pause).
///
/// What was typed before the dialog could be read goes to the command, as it would have without one.
#[derive(Debug)]
pub struct PtyDialog {
    shared: Arc<RelayShared>,
    turn: u64,
    ears: KeyInput,
    picture: Vec<u8>,
}

impl PtyDialog {
    pub(crate) fn new(shared: Arc<RelayShared>) -> io::Result<Self> {
        let turn = claim(&shared)?;
        if let Err(error) = shared.keep_others_out() {
            shared.change(|state| state.dialog = false);
            return Err(error);
        }
        let settled = |state: &PtyRelayState| match state.phase {
            RelayPhase::Held | RelayPhase::Ended => true,
            RelayPhase::Running | RelayPhase::Parked => state.in_background || state.finishing,
        };
        let why_not = {
            let state = shared.wait(OUTPUT_TIMEOUT, settled);
            match state.phase {
                RelayPhase::Held => None,
                RelayPhase::Ended => Some(ended()),
                RelayPhase::Running | RelayPhase::Parked if state.finishing => Some(ended()),
                RelayPhase::Running | RelayPhase::Parked if state.in_background => Some(background()),
                RelayPhase::Running | RelayPhase::Parked => Some(io::ErrorKind::TimedOut.into()),
            }
        };
        let ears = KeyInput::new(shared.person.size());
        let paused = Self { shared, turn, ears, picture: Vec::new() };
        if let Some(why_not) = why_not {
            return Err(why_not);
        }
        // Another dialog may have had it a moment ago.
        paused.shared.show(PLAIN.as_bytes(), OUTPUT_TIMEOUT)?;
        Ok(paused)
    }
}

/// Waits for the turn, and returns which it is.
fn claim(shared: &RelayShared) -> io::Result<u64> {
    let mut state = shared.wait(Duration::MAX, |state| !state.dialog || is_over(state));
    if is_over(&state) {
        return Err(ended());
    }
    if state.in_background {
        return Err(background());
    }
    state.dialog = true;
    state.turn += 1;
    let turn = state.turn;
    drop(state);
    shared.change(|_| ());
    Ok(turn)
}

fn is_over(state: &PtyRelayState) -> bool {
    state.finishing || state.phase == RelayPhase::Ended
}

fn background() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "in the background of the terminal")
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the command has ended, or its terminal is gone")
}

/// Events beside typed keys.
enum DialogEvent {
    Gone,
    /// Another program has the terminal.
    Away,
    /// Another program had it.
    Disturbed,
    Nothing,
}

impl PtyDialog {
    fn news(&self) -> DialogEvent {
        let mut state = self.shared.state();
        if is_over(&state) || std::mem::take(&mut state.spoilt) {
            DialogEvent::Gone
        } else if state.phase != RelayPhase::Held {
            DialogEvent::Away
        } else if std::mem::take(&mut state.disturbed) {
            DialogEvent::Disturbed
        } else {
            DialogEvent::Nothing
        }
    }
}

impl KeySource for RelayShared {
    fn size(&self) -> TerminalSize {
        self.person.size()
    }

    fn wait(&self, wait: Duration) -> io::Result<bool> {
        is_ready(self.person.as_fd(), None, wait)
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        // In one breath: when this process is stopped, what is typed is not ours until a dialog was painted anew.
        let state = self.state();
        if state.phase == RelayPhase::Held && !state.disturbed { self.person.read() } else { Ok(None) }
    }

    fn early(&self, bytes: &[u8]) {
        self.give_new(bytes);
    }

    fn typed_before(&self) -> Option<Instant> {
        self.state().typed
    }
}

impl Drop for PtyDialog {
    fn drop(&mut self) {
        self.shared.give_new(&self.ears.take());
        self.shared.change(|state| {
            if state.turn == self.turn {
                self.shared.let_others_in();
            }
            state.dialog = false;
        });
        // The next output goes to the screen of the command.
        drop(
            self.shared
                .wait(OUTPUT_TIMEOUT, |state| state.phase != RelayPhase::Held || state.turn != self.turn),
        );
    }
}

impl Write for PtyDialog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.picture.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let picture = std::mem::take(&mut self.picture);
        self.shared.show(&picture, OUTPUT_TIMEOUT)?;
        self.ears.painted(self.shared.as_ref());
        Ok(())
    }
}

impl DialogSurface for PtyDialog {
    fn size(&self) -> TerminalSize {
        self.ears.size()
    }

    fn read_event(&mut self, timeout: Duration) -> io::Result<Option<SurfaceEvent>> {
        let end = Instant::now() + timeout;
        loop {
            match self.news() {
                DialogEvent::Gone => return Ok(Some(SurfaceEvent::Gone)),
                DialogEvent::Disturbed => {
                    // What is typed now was perhaps typed at another program.
                    self.renew();
                    return Ok(Some(SurfaceEvent::Resized(self.ears.size())));
                }
                DialogEvent::Away => {
                    let left = end.saturating_duration_since(Instant::now());
                    let back = |state: &PtyRelayState| state.phase == RelayPhase::Held || is_over(state);
                    if !back(&self.shared.wait(left, back)) {
                        return Ok(None);
                    }
                    continue;
                }
                DialogEvent::Nothing => {}
            }
            let left = end.saturating_duration_since(Instant::now());
            let heard = self.ears.next(self.shared.as_ref(), left.min(LOOK))?;
            if heard.is_some() || left.is_zero() {
                return Ok(heard);
            }
        }
    }

    fn renew(&mut self) {
        self.shared.give_new(&self.ears.take());
        self.ears.renew();
    }

    fn give_back(&mut self, bytes: &[u8]) {
        self.shared.give_early(bytes);
    }

    fn delivered_until(&self) -> Option<Instant> {
        self.ears.delivered_until()
    }
}

//! The thread that passes bytes on between the terminal of a command and that of the person.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};

use crate::relay_state::{RelayPhase, RelayShared};
use crate::vt_state::VtState;

/// Most output that waits for the user's terminal; then the command waits.
const MAX_OUTPUT: usize = 64 << 10;

/// Most output that is taken at once: more would let keys wait.
const CHUNK: usize = 16 << 10;

/// Most output of the command that is taken while a dialog is open; then the command waits.
const MAX_HELD: usize = 256 << 10;

/// Most typed input that waits for the command; then the host terminal keeps it.
const MAX_INPUT: usize = 64 << 10;

/// Time a dialog waits for the end of an unfinished sequence. Programs write a sequence at once.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(50);

/// Time limit for the terminal to accept the last output, or the bytes between two pictures.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the last output of a command that has ended, when another process still holds its terminal.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Silence after which nothing more is expected of a command that has ended, while another process still holds its terminal.
const DRAIN_SILENCE: Duration = Duration::from_millis(50);

/// Interval at which a background process looks whether it has come to the foreground: there is no signal for that.
const FOREGROUND_POLL: Duration = Duration::from_millis(200);

/// Time limit for a program to begin to draw, in a window that seems smaller for it.
const REDRAW_START_TIMEOUT: Duration = Duration::from_millis(400);

/// Silence after which a program has drawn. One that is told of a size while it still draws for the last one may
/// miss it, as a trap of a shell does.
const REDRAW_SILENCE: Duration = Duration::from_millis(80);

/// Time limit for a program to draw.
const REDRAW_TIMEOUT: Duration = Duration::from_secs(1);

/// Passes bytes on.
pub(crate) struct PtyRelay {
    shared: Arc<RelayShared>,
    pty_master: OwnedFd,
    /// The end of the command, kept open so that one which has closed its streams can open its terminal again.
    pty_slave: Option<OwnedFd>,
    track: VtState,
    /// Output for the user's terminal, which `track` has seen already.
    output: Vec<u8>,
    /// Output that came while a dialog was open.
    held: Vec<u8>,
    /// Input for the command.
    input: Vec<u8>,
    phase: RelayPhase,
    in_foreground: bool,
    /// Time since which a dialog waits for its turn.
    asked: Option<Instant>,
    /// The smaller size that the window seems to have for a moment.
    nudged: Option<ResizeNudge>,
    /// Set while the rest of a sequence that is too long to be repeated is dropped.
    dropping: bool,
}

/// A window that seems smaller for a moment.
#[derive(Clone, Copy)]
struct ResizeNudge {
    /// Time at which it has its own size again.
    until: Instant,
    /// The latest such time.
    at_most: Instant,
}

impl ResizeNudge {
    fn begin(now: Instant) -> Self {
        Self { until: now + REDRAW_START_TIMEOUT, at_most: now + REDRAW_TIMEOUT }
    }

    /// Waits for the rest of what the program draws.
    fn extend(&mut self, now: Instant) {
        self.until = self.at_most.min(now + REDRAW_SILENCE);
    }
}

/// Requests of other threads to the relay: they are cleared when they are taken.
#[expect(clippy::struct_excessive_bools, reason = "wishes that are independent of each other")]
struct RelayRequests {
    dialog: bool,
    stopping: bool,
    finishing: bool,
    resized: bool,
    continued: bool,
    early: Vec<u8>,
}

/// The next step of the relay.
enum RelayStep {
    /// Look again: something has changed, and there may be more to do.
    Follow,
    Wait,
    End,
}

/// The end of the relay since the other side is gone.
struct PeerGone;

impl From<io::Error> for PeerGone {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl From<Errno> for PeerGone {
    fn from(_: Errno) -> Self {
        Self
    }
}

impl PtyRelay {
    pub(crate) fn new(shared: Arc<RelayShared>, pty_master: OwnedFd, pty_slave: OwnedFd) -> Self {
        let track = VtState::new(shared.person.size());
        Self {
            shared,
            pty_master,
            pty_slave: Some(pty_slave),
            track,
            output: Vec::new(),
            held: Vec::new(),
            input: Vec::new(),
            phase: RelayPhase::Running,
            in_foreground: false,
            asked: None,
            nudged: None,
            dropping: false,
        }
    }

    /// Relays until the command has ended or a terminal is gone.
    pub(crate) fn run(mut self) {
        self.come_to_front();
        // A window that is closed takes the command's with it: that happens when `pty_master` is dropped.
        let _ = self.pass_on().and_then(|()| self.drain());
    }

    fn pass_on(&mut self) -> Result<(), PeerGone> {
        loop {
            match self.follow()? {
                RelayStep::Follow => {}
                RelayStep::Wait => self.wait()?,
                RelayStep::End => return Ok(()),
            }
        }
    }

    /// Does what is wished.
    fn follow(&mut self) -> Result<RelayStep, PeerGone> {
        let RelayRequests { dialog, stopping, finishing, resized, continued, early } = self.take_requests();
        self.input.extend(self.track.as_typed(&early));
        if resized {
            self.resize();
        }
        if continued && self.phase == RelayPhase::Running {
            self.look_in_front()?;
        }
        match self.phase {
            RelayPhase::Running if stopping => self.park()?,
            RelayPhase::Running if dialog && self.in_foreground && !finishing => return self.try_hold(),
            RelayPhase::Running => {
                self.asked = None;
                return Ok(if finishing { RelayStep::End } else { RelayStep::Wait });
            }
            RelayPhase::Held if stopping => {
                self.shared.show(&self.track.come_back(), OUTPUT_TIMEOUT)?;
                self.shared.let_others_in();
                self.park()?;
            }
            RelayPhase::Held if !dialog => self.resume()?,
            RelayPhase::Parked if !stopping => self.unpark(dialog)?,
            RelayPhase::Held | RelayPhase::Parked => return Ok(RelayStep::Wait),
            RelayPhase::Ended => return Ok(RelayStep::End),
        }
        Ok(RelayStep::Follow)
    }

    /// Takes the requests of other threads.
    fn take_requests(&self) -> RelayRequests {
        let mut state = self.shared.state();
        RelayRequests {
            dialog: state.dialog,
            stopping: state.stopping,
            finishing: state.finishing,
            resized: self.phase == RelayPhase::Running && std::mem::take(&mut state.resized),
            continued: self.phase != RelayPhase::Parked && std::mem::take(&mut state.continued),
            early: std::mem::take(&mut state.early),
        }
    }

    fn set_phase(&mut self, phase: RelayPhase) {
        self.phase = phase;
        self.shared.person.set_aside(phase == RelayPhase::Held);
        self.shared.update(|state| state.phase = phase);
    }

    /// Gives the terminal to a dialog, at a good moment or after a while.
    fn try_hold(&mut self) -> Result<RelayStep, PeerGone> {
        let asked = *self.asked.get_or_insert_with(Instant::now);
        // What is half said and still here is as good as not said: it is said again afterwards.
        let unfinished = self.track.unfinished();
        let late = asked.elapsed() >= SEQUENCE_TIMEOUT;
        let at_rest = unfinished <= self.output.len() && !self.track.is_together();
        if !(at_rest || late) {
            return Ok(RelayStep::Wait);
        }
        let ready = self.output.len().saturating_sub(unfinished);
        self.output.truncate(ready);
        self.flush(OUTPUT_TIMEOUT)?;
        self.shared.person.set_aside(true);
        self.shared.show(self.track.give_way().as_bytes(), OUTPUT_TIMEOUT)?;
        self.asked = None;
        self.set_phase(RelayPhase::Held);
        Ok(RelayStep::Follow)
    }

    /// Takes the terminal back from a dialog.
    fn resume(&mut self) -> Result<(), PeerGone> {
        if std::mem::take(&mut self.shared.state().resized) || self.shared.person.size() != self.track.size()
        {
            self.resize();
        }
        self.dropping = self.track.is_too_long();
        self.shared.show(&self.track.come_back(), OUTPUT_TIMEOUT)?;
        self.nudge();
        self.set_phase(RelayPhase::Running);
        let held = std::mem::take(&mut self.held);
        self.feed(&held);
        Ok(())
    }

    /// Puts the terminal back for this process to stop.
    fn park(&mut self) -> Result<(), PeerGone> {
        // What a program says when it is stopped, it has said by now.
        while self.phase == RelayPhase::Running && self.output.len() < MAX_OUTPUT && self.read_output()? {}
        let _ = self.flush(DRAIN_TIMEOUT);
        self.leave_front();
        self.set_phase(RelayPhase::Parked);
        Ok(())
    }

    /// Goes on after a stop of this process.
    fn unpark(&mut self, dialog: bool) -> Result<(), PeerGone> {
        if dialog {
            // Before it can be read.
            self.shared.update(|state| state.disturbed = true);
        }
        self.look_in_front()?;
        if dialog && self.in_foreground {
            if self.shared.keep_others_out().is_err() {
                self.shared.update(|state| state.spoilt = true);
            }
            self.shared.show(self.track.give_way().as_bytes(), OUTPUT_TIMEOUT)?;
            self.set_phase(RelayPhase::Held);
            return Ok(());
        }
        if self.in_foreground {
            self.shared.person.write(&self.track.redraw(), OUTPUT_TIMEOUT)?;
        }
        self.set_phase(RelayPhase::Running);
        Ok(())
    }

    /// Takes the foreground, with the terminal in raw mode.
    fn come_to_front(&mut self) {
        self.in_foreground = self.shared.person.make_raw().is_ok();
        self.publish_front();
    }

    /// Leaves the foreground, with the terminal as it was.
    fn leave_front(&mut self) {
        if self.in_foreground && self.shared.person.is_in_foreground().unwrap_or(false) {
            self.shared.person.restore();
        }
        self.shared.person.forget();
        self.in_foreground = false;
        self.publish_front();
    }

    /// Looks who has the foreground, after another process may have had it.
    fn look_in_front(&mut self) -> Result<(), PeerGone> {
        if self.shared.person.is_in_foreground()? {
            self.come_to_front();
        } else {
            self.leave_front();
        }
        Ok(())
    }

    fn publish_front(&self) {
        self.shared.update(|state| state.in_background = !self.in_foreground);
    }

    fn resize(&mut self) {
        self.track.resize(self.shared.person.size());
        self.nudged = None;
        if let Ok(size) = tcgetwinsize(self.shared.person.as_fd()) {
            let _ = tcsetwinsize(&self.pty_master, size);
        }
    }

    /// Has the command draw what only it can: by a window that changes its size and changes it back.
    fn nudge(&mut self) {
        if self.track.is_incomplete()
            && let Ok(size) = tcgetwinsize(self.shared.person.as_fd())
        {
            let smaller = Winsize { ws_row: size.ws_row.saturating_sub(1).max(1), ..size };
            let _ = tcsetwinsize(&self.pty_master, smaller);
            self.nudged = Some(ResizeNudge::begin(Instant::now()));
        }
    }

    /// Waits until there is something to do, and moves bytes.
    fn wait(&mut self) -> Result<(), PeerGone> {
        let running = self.phase == RelayPhase::Running;
        let room = if running { self.output.len() < MAX_OUTPUT } else { self.held.len() < MAX_HELD };
        let listens = running && self.in_foreground && self.input.len() < MAX_INPUT;
        let flag = |on: bool, flag: PollFlags| if on { flag } else { PollFlags::empty() };
        let person = flag(listens, PollFlags::IN) | flag(running && !self.output.is_empty(), PollFlags::OUT);
        let parked = self.phase == RelayPhase::Parked;
        let events = flag(room && !parked, PollFlags::IN) | flag(!self.input.is_empty(), PollFlags::OUT);
        let timeout = self.timeout().and_then(|wait| Timespec::try_from(wait).ok());
        let [person, command, wake] = {
            let mut fds = [
                PollFd::from_borrowed_fd(self.shared.person.as_fd(), person),
                PollFd::from_borrowed_fd(self.pty_master.as_fd(), events),
                PollFd::from_borrowed_fd(self.shared.waker().as_fd(), PollFlags::IN),
            ];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) => fds.map(|fd| fd.revents()),
                Err(Errno::INTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        };
        if !wake.is_empty() {
            let mut count = [0u8; 8];
            let _ = read(self.shared.waker(), &mut count);
        }
        self.tick()?;
        if person.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(PeerGone);
        }
        if person.contains(PollFlags::OUT) {
            self.write_output()?;
        }
        if person.contains(PollFlags::IN) {
            self.read_input()?;
        }
        if command.contains(PollFlags::OUT) {
            self.write_input()?;
        }
        if command.contains(PollFlags::IN) {
            let before = self.output.len() + self.held.len();
            // The kernel hands over a page at a time.
            while self.output.len() + self.held.len() < before + CHUNK && self.read_output()? {}
            // At once: most of the time there is room.
            if self.phase == RelayPhase::Running && self.asked.is_none() {
                self.write_output()?;
            }
        }
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        let now = Instant::now();
        let rest = self.asked.map(|asked| (asked + SEQUENCE_TIMEOUT).saturating_duration_since(now));
        let nudge = self.nudged.map(|nudge| nudge.until.saturating_duration_since(now));
        let look = (!self.in_foreground && self.phase == RelayPhase::Running).then_some(FOREGROUND_POLL);
        [rest, nudge, look].into_iter().flatten().min()
    }

    /// Does the work that is due by the clock.
    fn tick(&mut self) -> Result<(), PeerGone> {
        if self.nudged.is_some_and(|nudge| Instant::now() >= nudge.until) {
            self.resize();
        }
        if !self.in_foreground && self.phase == RelayPhase::Running {
            self.look_in_front()?;
            if self.in_foreground {
                self.shared.person.write(&self.track.redraw(), OUTPUT_TIMEOUT)?;
            }
        }
        Ok(())
    }

    fn read_input(&mut self) -> Result<(), PeerGone> {
        if !self.shared.person.is_in_foreground()? {
            // We were stopped and continued from outside, and the terminal is not ours to read.
            self.leave_front();
            return Ok(());
        }
        match self.shared.person.read()? {
            None => Ok(()),
            Some(bytes) if bytes.is_empty() => Err(PeerGone),
            Some(bytes) => {
                self.shared.state().typed = Some(Instant::now());
                self.input.extend(bytes);
                self.write_input()
            }
        }
    }

    fn write_input(&mut self) -> Result<(), PeerGone> {
        match write(&self.pty_master, &self.input) {
            Ok(count) => drop(self.input.drain(..count.min(self.input.len()))),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Takes what the command has written. False when there is nothing.
    fn read_output(&mut self) -> Result<bool, PeerGone> {
        let mut bytes = [0u8; 4096];
        match read(&self.pty_master, &mut bytes) {
            Ok(0) => Err(PeerGone),
            Ok(count) => {
                let came = bytes.get(..count).unwrap_or_default();
                if let Some(nudge) = &mut self.nudged {
                    nudge.extend(Instant::now());
                }
                if self.phase == RelayPhase::Running {
                    self.feed(came);
                } else {
                    self.held.extend(came);
                }
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        while self.dropping && !bytes.is_empty() {
            let (one, rest) = bytes.split_at(1);
            self.track.feed(one);
            self.dropping = self.track.unfinished() > 0;
            bytes = rest;
        }
        self.track.feed(bytes);
        self.output.extend_from_slice(bytes);
    }

    fn write_output(&mut self) -> io::Result<()> {
        let count = self.shared.person.write_some(&self.output)?;
        drop(self.output.drain(..count.min(self.output.len())));
        Ok(())
    }

    /// Writes all that waits, for as long as that takes.
    fn flush(&mut self, timeout: Duration) -> io::Result<()> {
        let end = Instant::now() + timeout;
        while !self.output.is_empty() {
            self.write_output()?;
            if !self.output.is_empty() && !self.shared.person.await_room(end)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Passes on the last output of a command that has ended.
    fn drain(&mut self) -> Result<(), PeerGone> {
        self.pty_slave = None;
        let end = Instant::now() + DRAIN_TIMEOUT;
        while Instant::now() < end {
            self.flush(OUTPUT_TIMEOUT)?;
            match self.read_output() {
                Ok(true) => {}
                // The other side is closed, and nothing is left.
                Err(PeerGone) => break,
                Ok(false) => {
                    let wait = Timespec::try_from(DRAIN_SILENCE).ok();
                    let mut fds = [PollFd::from_borrowed_fd(self.pty_master.as_fd(), PollFlags::IN)];
                    if poll(&mut fds, wait.as_ref())? == 0 {
                        break;
                    }
                }
            }
        }
        let tidy = self.track.tidy();
        self.output.extend_from_slice(tidy.as_bytes());
        self.flush(OUTPUT_TIMEOUT)?;
        Ok(())
    }
}

impl Drop for PtyRelay {
    fn drop(&mut self) {
        self.leave_front();
        self.shared.person.set_aside(false);
        self.shared.update(|state| state.phase = RelayPhase::Ended);
    }
}

//! A dialog on a stage.

use std::io;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pinfold::consent::{Choice, Request};

use super::model::{Dialog, DialogContext, DrawState};
use crate::sheet::Painter;
use crate::surface::{DialogSurface, SurfaceEvent, TerminalSize};

/// Interval of looks at the external state.
const LOOK: Duration = Duration::from_millis(200);

/// Time for reading the result of an answer from elsewhere.
const OVER: Duration = Duration::from_millis(1500);

/// The style in which a dialog is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialogStyle {
    /// Set if the terminal has colours, and `NO_COLOR` is unset.
    pub colours: bool,
}

/// Events elsewhere while a dialog is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalState {
    /// Number of waiting requests, this one included.
    pub waiting: usize,
    /// The request is over; what came of it, in one clause.
    pub over: Option<String>,
}

/// The outcome of a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogOutcome {
    /// The person at the terminal chose.
    Chosen(Choice),
    /// No answer in time: a denial.
    Silence,
    /// Ended by an event elsewhere, as [`ExternalState`] said.
    Over,
    /// The terminal is gone: a denial, as far as it goes.
    Gone,
}

/// Shows a request until it is answered, here or elsewhere, or its deadline is over. `meanwhile` is asked again and
/// again, so it is quick. However it ends, typed keys that were no answer are given back to the program.
///
/// The surface stays as it is: for the next request, [renew](DialogSurface::renew) it and call this again.
///
/// # Errors
/// When the terminal cannot be read or written. There is no answer then.
pub fn show(
    stage: &mut dyn DialogSurface,
    request: &Request,
    look: DialogStyle,
    meanwhile: &dyn Fn() -> ExternalState,
) -> io::Result<DialogOutcome> {
    let painter = Painter::new(look.colours);
    let mut open = OpenDialog { dialog: Dialog::new(request), painter, stage, painted: None };
    let shown = open.run(request, meanwhile);
    let text = open.dialog.take_text(open.stage.now());
    open.stage.give_back(&text);
    shown
}

/// A dialog that is open.
struct OpenDialog<'a> {
    dialog: Dialog<'a>,
    painter: Painter,
    stage: &'a mut dyn DialogSurface,
    /// State of the picture that is on the screen.
    painted: Option<(TerminalSize, u64, usize, DrawState)>,
}

impl OpenDialog<'_> {
    fn run(&mut self, request: &Request, meanwhile: &dyn Fn() -> ExternalState) -> io::Result<DialogOutcome> {
        loop {
            let elsewhere = meanwhile();
            let left = left(request);
            let moment = DialogContext { now: self.stage.now(), left, waiting: elsewhere.waiting };
            self.paint(&moment)?;
            if let Some(words) = elsewhere.over {
                self.dialog.close(&words);
                return self.linger(moment).map(|()| DialogOutcome::Over);
            }
            if left.is_zero() {
                return Ok(DialogOutcome::Silence);
            }
            let event = self.stage.read_event(self.wait(moment.now).min(left))?;
            let choice = match event {
                Some(SurfaceEvent::Gone) => return Ok(DialogOutcome::Gone),
                Some(event) => self.take(event),
                None => self.quiet(),
            };
            if let Some(choice) = choice {
                return Ok(DialogOutcome::Chosen(choice));
            }
        }
    }

    fn take(&mut self, event: SurfaceEvent) -> Option<Choice> {
        match event {
            SurfaceEvent::Ready { painted, typed } => self.dialog.ready(painted, typed),
            SurfaceEvent::Key(key, typed) => return self.dialog.key(key, &typed),
            SurfaceEvent::Paste(text, typed) => self.dialog.paste(&text, &typed),
            SurfaceEvent::Report(typed) => self.dialog.report(&typed),
            SurfaceEvent::Resized(_) | SurfaceEvent::Gone => {}
        }
        None
    }

    fn quiet(&mut self) -> Option<Choice> {
        self.dialog.quiet(self.stage.delivered_until()?)
    }

    /// Returns the time to wait for a key.
    fn wait(&self, now: Instant) -> Duration {
        let due = self.dialog.due().map(|due| due.saturating_duration_since(now));
        // What was due a moment ago has been told, or waits for a key.
        due.filter(|due| !due.is_zero()).map_or(LOOK, |due| due.min(LOOK))
    }

    fn paint(&mut self, moment: &DialogContext) -> io::Result<()> {
        let size = self.stage.size();
        let looks = (size, moment.left.as_secs(), moment.waiting, self.dialog.looks(moment.now));
        if self.painted.replace(looks) == Some(looks) {
            return Ok(());
        }
        let picture = self.dialog.view(size, moment);
        self.painter.paint(picture, &mut self.stage)
    }

    /// Leaves the last picture for a moment, or until a key.
    fn linger(&mut self, moment: DialogContext) -> io::Result<()> {
        let end = self.stage.now() + OVER;
        loop {
            self.paint(&moment)?;
            let left = end.saturating_duration_since(self.stage.now());
            if left.is_zero() {
                return Ok(());
            }
            match self.stage.read_event(left)? {
                Some(SurfaceEvent::Gone) => return Ok(()),
                Some(event @ (SurfaceEvent::Key(..) | SurfaceEvent::Paste(..) | SurfaceEvent::Report(_))) => {
                    self.take(event);
                    return Ok(());
                }
                Some(SurfaceEvent::Ready { .. } | SurfaceEvent::Resized(_)) | None => {}
            }
        }
    }
}

fn left(request: &Request) -> Duration {
    Duration::try_from(request.deadline.duration_since(Timestamp::now())).unwrap_or_default()
}

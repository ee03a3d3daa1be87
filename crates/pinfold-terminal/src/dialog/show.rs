//! A dialog on a stage.

use std::io;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pinfold::consent::{Choice, Request};

use super::model::{Dialog, Moment};
use crate::sheet::Painter;
use crate::stage::{Event, Stage};

/// How often it is looked what happens elsewhere.
const LOOK: Duration = Duration::from_millis(200);

/// How long it can be read what came of it elsewhere.
const OVER: Duration = Duration::from_millis(1500);

/// How a dialog is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The terminal has colours, and nobody asked for none (`NO_COLOR`).
    pub colours: bool,
}

/// What happens elsewhere while a dialog is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meanwhile {
    /// How many requests wait, this one included.
    pub waiting: usize,
    /// The request is over; what came of it, in one clause.
    pub over: Option<String>,
}

/// What came of a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The person at the terminal chose.
    Chosen(Choice),
    /// Nobody chose in time: a no.
    Silence,
    /// It is over without this dialog, as [`Meanwhile`] said.
    Over,
    /// Nobody can answer at this terminal any more: a no, as far as it goes.
    Gone,
}

/// Shows a request until it is answered, here or elsewhere, or its deadline is over. `meanwhile` is asked again and
/// again, so it is quick.
///
/// The stage stays as it is: for the next request, [renew](Stage::renew) it and call this again.
///
/// # Errors
/// When the terminal cannot be read or written. Nobody has answered then.
pub fn show(
    stage: &mut dyn Stage,
    request: &Request,
    look: Look,
    meanwhile: &dyn Fn() -> Meanwhile,
) -> io::Result<Shown> {
    let mut dialog = Dialog::new(request);
    let mut painter = Painter::new(look.colours);
    loop {
        let now = meanwhile();
        let left = left(request);
        paint(&mut painter, &mut dialog, stage, &Moment { left, waiting: now.waiting })?;
        if let Some(words) = now.over {
            dialog.close(&words);
            let moment = Moment { left, waiting: now.waiting };
            return linger(&mut painter, &mut dialog, stage, moment).map(|()| Shown::Over);
        }
        if left.is_zero() {
            return Ok(Shown::Silence);
        }
        match stage.read_event(LOOK.min(left))? {
            Some(Event::Ready) => dialog.heard(),
            Some(Event::Key(key)) => {
                if let Some(choice) = dialog.key(key) {
                    return Ok(Shown::Chosen(choice));
                }
            }
            Some(Event::Paste(text)) => dialog.paste(&text),
            Some(Event::Gone) => return Ok(Shown::Gone),
            Some(Event::Resized(_)) | None => {}
        }
    }
}

fn left(request: &Request) -> Duration {
    Duration::try_from(request.deadline.duration_since(Timestamp::now())).unwrap_or_default()
}

fn paint(
    painter: &mut Painter,
    dialog: &mut Dialog<'_>,
    mut stage: &mut dyn Stage,
    moment: &Moment,
) -> io::Result<()> {
    let picture = dialog.view(stage.size(), moment);
    painter.paint(picture, &mut stage)
}

/// Leaves the last picture for a moment, or until a key.
fn linger(
    painter: &mut Painter,
    dialog: &mut Dialog<'_>,
    stage: &mut dyn Stage,
    moment: Moment,
) -> io::Result<()> {
    let end = Instant::now() + OVER;
    loop {
        paint(painter, dialog, stage, &moment)?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        match stage.read_event(left)? {
            Some(Event::Key(_) | Event::Gone) => return Ok(()),
            Some(Event::Ready | Event::Paste(_) | Event::Resized(_)) | None => {}
        }
    }
}

//! Listening for keys that are meant for a dialog, and only those.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::decoder::Decoder;
use crate::person::Person;
use crate::stage::{Event, QUIET, Size};

/// How long an escape character waits for what belongs to it. Terminals send both at once; networks may part them.
const ESCAPE_ALONE: Duration = Duration::from_millis(50);

/// How often the size of the window is looked at while a dialog is open: quicker than anybody sees.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Whether keys are answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    /// Nothing was painted yet.
    NotYet,
    /// Since then nothing was typed.
    QuietSince(Instant),
    Yes,
}

/// Where keys come from.
pub(crate) trait Source {
    /// The terminal at which they are typed.
    fn person(&self) -> &Person;

    /// What else ends the waiting.
    fn wake(&self) -> Option<BorrowedFd<'_>>;

    /// What was typed and nobody has read, without waiting. `None` when there is nothing, or what there is is not meant
    /// for us; nothing at all when the terminal is gone.
    fn read(&self) -> io::Result<Option<Vec<u8>>>;

    /// Takes what was typed before a dialog was seen.
    fn early(&self, bytes: &[u8]);
}

/// Who listens to a terminal for a dialog.
#[derive(Debug)]
pub(crate) struct Ears {
    decoder: Decoder,
    /// What has come and was not yet decoded.
    heard: Vec<u8>,
    counting: Counting,
    size: Size,
    /// When the escape character came that waits.
    escape_at: Option<Instant>,
}

impl Ears {
    pub(crate) fn new(size: Size) -> Self {
        Self {
            decoder: Decoder::default(),
            heard: Vec::new(),
            counting: Counting::NotYet,
            size,
            escape_at: None,
        }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Something was painted. What was typed before goes elsewhere.
    pub(crate) fn painted(&mut self, source: &dyn Source) {
        if self.counting == Counting::NotYet {
            source.early(&self.take());
            while let Ok(Some(1..)) = self.read(source) {}
            self.counting = Counting::QuietSince(Instant::now());
        }
    }

    /// Keys do not count until something new was painted.
    pub(crate) fn renew(&mut self) {
        self.counting = Counting::NotYet;
    }

    /// What was typed and has answered nothing.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.decoder = Decoder::default();
        self.escape_at = None;
        std::mem::take(&mut self.heard)
    }

    /// The next event. What is typed while keys do not count goes elsewhere.
    pub(crate) fn next(&mut self, source: &dyn Source, timeout: Duration) -> io::Result<Option<Event>> {
        let end = Instant::now() + timeout;
        loop {
            if let Some(event) =
                self.ready(source)?.or_else(|| self.decoded()).or_else(|| self.resized(source))
            {
                return Ok(Some(event));
            }
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            let wait = self.patience(now).min(end - now);
            if is_ready(source.person().as_fd(), source.wake(), wait)? {
                match self.read(source)? {
                    Some(0) => return Ok(Some(Event::Gone)),
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
        }
    }

    /// Reads what there is, and returns how much that was. Whether it counts was settled when it came.
    fn read(&mut self, source: &dyn Source) -> io::Result<Option<usize>> {
        let Some(bytes) = source.read()? else { return Ok(None) };
        match &mut self.counting {
            Counting::Yes => self.heard.extend_from_slice(&bytes),
            Counting::QuietSince(since) => {
                *since = Instant::now();
                source.early(&bytes);
            }
            Counting::NotYet => source.early(&bytes),
        }
        Ok(Some(bytes.len()))
    }

    /// How long there is nothing to do but wait.
    fn patience(&self, now: Instant) -> Duration {
        let left = |since: Instant, wait: Duration| wait.saturating_sub(now.duration_since(since));
        let quiet = match self.counting {
            Counting::QuietSince(since) => left(since, QUIET),
            Counting::NotYet | Counting::Yes => LOOK,
        };
        let escape = self.escape_at.map_or(LOOK, |at| left(at, ESCAPE_ALONE));
        quiet.min(escape).min(LOOK)
    }

    /// Whether a quiet moment has passed. It has not when something was typed that nobody has read yet.
    fn ready(&mut self, source: &dyn Source) -> io::Result<Option<Event>> {
        match self.counting {
            Counting::QuietSince(since) if since.elapsed() >= QUIET => match self.read(source)? {
                None => {
                    self.counting = Counting::Yes;
                    Ok(Some(Event::Ready))
                }
                Some(0) => Ok(Some(Event::Gone)),
                Some(_) => Ok(None),
            },
            Counting::QuietSince(_) | Counting::NotYet | Counting::Yes => Ok(None),
        }
    }

    fn decoded(&mut self) -> Option<Event> {
        if self.counting != Counting::Yes {
            return None;
        }
        if self.heard.is_empty() {
            let waited = self.escape_at.is_some_and(|at| at.elapsed() >= ESCAPE_ALONE);
            return waited.then(|| self.escape_at = None).and_then(|()| self.decoder.give_up_waiting());
        }
        let (count, event) = self.decoder.decode(&self.heard);
        self.heard.drain(..count.min(self.heard.len()));
        self.escape_at = self.decoder.is_waiting().then(Instant::now);
        event
    }

    fn resized(&mut self, source: &dyn Source) -> Option<Event> {
        let size = source.person().size();
        (size != self.size).then(|| {
            self.size = size;
            Event::Resized(size)
        })
    }
}

/// Waits until one of both has something, or has ended.
fn is_ready(fd: BorrowedFd<'_>, other: Option<BorrowedFd<'_>>, wait: Duration) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).ok();
    let [one, other] = [fd, other.unwrap_or(fd)].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut [one, other], wait.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

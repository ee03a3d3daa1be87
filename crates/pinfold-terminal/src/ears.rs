//! Listening for keys that are meant for a dialog, and only those.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

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

    /// Something was painted. What was typed before is handed over.
    pub(crate) fn painted(&mut self, person: &Person) -> Vec<u8> {
        if self.counting != Counting::NotYet {
            return Vec::new();
        }
        let mut early = self.take();
        while let Ok(true) = is_readable(person.as_fd(), Duration::ZERO, None) {
            match read_some(person) {
                Ok(bytes) if !bytes.is_empty() => early.extend(bytes),
                Ok(_) | Err(_) => break,
            }
        }
        self.counting = Counting::QuietSince(Instant::now());
        early
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

    /// The next event. What is typed while keys do not count goes to `early`; `wake` ends the waiting.
    pub(crate) fn next(
        &mut self,
        person: &Person,
        wake: Option<BorrowedFd<'_>>,
        timeout: Duration,
        early: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Option<Event>> {
        let end = Instant::now() + timeout;
        loop {
            if let Some(event) = self.ready().or_else(|| self.decoded()).or_else(|| self.resized(person)) {
                return Ok(Some(event));
            }
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            if !is_readable(person.as_fd(), self.patience(now).min(end - now), wake)? {
                if wake.is_some_and(|wake| is_readable(wake, Duration::ZERO, None).unwrap_or(true)) {
                    return Ok(None);
                }
                continue;
            }
            let bytes = read_some(person)?;
            if bytes.is_empty() {
                return Ok(Some(Event::Gone));
            }
            match self.counting {
                Counting::Yes => self.heard.extend(bytes),
                Counting::QuietSince(_) => {
                    self.counting = Counting::QuietSince(Instant::now());
                    early(&bytes);
                }
                Counting::NotYet => early(&bytes),
            }
        }
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

    /// A quiet moment has passed.
    fn ready(&mut self) -> Option<Event> {
        match self.counting {
            Counting::QuietSince(since) if since.elapsed() >= QUIET => {
                self.counting = Counting::Yes;
                Some(Event::Ready)
            }
            Counting::QuietSince(_) | Counting::NotYet | Counting::Yes => None,
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

    fn resized(&mut self, person: &Person) -> Option<Event> {
        let size = person.size();
        (size != self.size).then(|| {
            self.size = size;
            Event::Resized(size)
        })
    }
}

/// Waits until there is something to read, or the end of it, or `wake` has something.
pub(crate) fn is_readable(
    fd: BorrowedFd<'_>,
    wait: Duration,
    wake: Option<BorrowedFd<'_>>,
) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).ok();
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN), PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    if let Some(wake) = wake {
        fds[1] = PollFd::from_borrowed_fd(wake, PollFlags::IN);
    }
    match poll(&mut fds, wait.as_ref()) {
        Ok(_) => Ok(!fds[0].revents().is_empty()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What there is; nothing at the end, which for a terminal may be an error.
pub(crate) fn read_some(fd: impl AsFd) -> io::Result<Vec<u8>> {
    let mut bytes = [0u8; 4096];
    loop {
        match read(&fd, &mut bytes) {
            Ok(count) => return Ok(bytes.iter().copied().take(count).collect()),
            Err(Errno::INTR) => {}
            Err(Errno::IO) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
    }
}

//! Listening for what is typed while a dialog is up: from reads of a terminal to events.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::decoder::{Decoded, Decoder};
use crate::surface::{Key, KeyCode, KeyTiming, QUIET, SurfaceEvent, TerminalSize};

/// Time an escape character waits for its sequence. Terminals send both at once; networks may part them.
const ESCAPE_ALONE: Duration = Duration::from_millis(50);

/// Time for the rest of a sequence whose beginning may be keys of a person.
const REST_OF_SEQUENCE: Duration = Duration::from_millis(500);

/// Begin strings, which no person types and a command may have chosen words of: they are read to their end.
const STRINGS: [u8; 5] = *b"]P_^X";

/// Interval at which the size of the window is looked at while a dialog is open: quicker than an eye. Also the precision with
/// which the time of a key is known.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// State of the decision whether keys are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyCounting {
    /// Nothing was painted yet.
    NotYet,
    /// Painted at the first moment; since the second nothing was typed.
    Quiet {
        painted: Instant,
        since: Instant,
    },
    Yes,
}

/// A source of keys, with its clock.
pub(crate) trait KeySource {
    /// The size of the window.
    fn size(&self) -> TerminalSize;

    /// Waits until something can be read, or has ended; false when nothing has within `wait`.
    fn wait(&self, wait: Duration) -> io::Result<bool>;

    /// Reads typed bytes, without waiting. `None` when there are none, or they are not meant for us; an empty list when
    /// the terminal is gone.
    fn read(&self) -> io::Result<Option<Vec<u8>>>;

    /// Takes what was typed before a dialog was seen.
    fn early(&self, bytes: &[u8]);

    /// Returns the time of the last key before this dialog.
    fn typed_before(&self) -> Option<Instant> {
        None
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// Listens to a terminal for a dialog.
#[derive(Debug)]
pub(crate) struct KeyInput {
    decoder: Decoder,
    /// Events that were read and not delivered yet.
    events: VecDeque<SurfaceEvent>,
    /// Bytes that were read and belong to no event yet.
    begun: Vec<u8>,
    counting: KeyCounting,
    size: TerminalSize,
    /// The escape character that waits for what belongs to it.
    escape: Option<Escape>,
    /// Last time at which there was nothing to be read.
    empty_at: Option<Instant>,
    /// Time of the last read.
    read_at: Option<Instant>,
    /// Time of the last key that was not delivered.
    typed: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Escape {
    since: Instant,
    at: Instant,
    alone: bool,
}

impl KeyInput {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self {
            decoder: Decoder::default(),
            events: VecDeque::new(),
            begun: Vec::new(),
            counting: KeyCounting::NotYet,
            size,
            escape: None,
            empty_at: None,
            read_at: None,
            typed: None,
        }
    }

    pub(crate) fn size(&self) -> TerminalSize {
        self.size
    }

    /// Something was painted. What was typed before goes elsewhere.
    pub(crate) fn painted(&mut self, source: &dyn KeySource) {
        if self.counting == KeyCounting::NotYet {
            source.early(&self.take());
            while let Ok(Some(1..)) = self.read(source) {}
            let now = source.now();
            self.counting = KeyCounting::Quiet { painted: now, since: now };
        }
    }

    /// Keys are not told until something new was painted.
    pub(crate) fn renew(&mut self) {
        self.counting = KeyCounting::NotYet;
    }

    /// Takes the keys that were not delivered.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.decoder = Decoder::default();
        self.escape = None;
        let mut bytes: Vec<u8> = self.events.drain(..).flat_map(bytes_of).collect();
        bytes.append(&mut self.begun);
        bytes
    }

    /// The moment up to which all that was typed has been told.
    pub(crate) fn delivered_until(&self) -> Option<Instant> {
        self.empty_at.filter(|_| self.events.is_empty() && self.begun.is_empty())
    }

    /// The next event. What is typed while keys are not told goes elsewhere.
    pub(crate) fn next(
        &mut self,
        source: &dyn KeySource,
        timeout: Duration,
    ) -> io::Result<Option<SurfaceEvent>> {
        let end = source.now() + timeout;
        loop {
            if let Some(event) = self.take_event(source)? {
                return Ok(Some(event));
            }
            let now = source.now();
            let wait = self.timeout(now).min(end.saturating_duration_since(now));
            if source.wait(wait)? {
                match self.read(source)? {
                    Some(0) => return Ok(Some(SurfaceEvent::Gone)),
                    Some(_) => continue,
                    None => return Ok(None),
                }
            }
            self.empty_at = Some(now);
            if now >= end {
                return self.take_event(source);
            }
        }
    }

    fn take_event(&mut self, source: &dyn KeySource) -> io::Result<Option<SurfaceEvent>> {
        if let Some(event) = self.ready(source)? {
            return Ok(Some(event));
        }
        self.give_up_waiting(source.now());
        Ok(self.events.pop_front().or_else(|| self.resized(source)))
    }

    /// Reads what there is, and returns how much that was. Whether it is told was settled when it came.
    fn read(&mut self, source: &dyn KeySource) -> io::Result<Option<usize>> {
        let before = self.empty_at;
        let Some(bytes) = source.read()? else { return Ok(None) };
        let at = source.now();
        (self.empty_at, self.read_at) = (Some(at), Some(at));
        match &mut self.counting {
            KeyCounting::Yes => self.decode(&bytes, before.unwrap_or(at), at),
            KeyCounting::Quiet { since, .. } => {
                *since = at;
                self.typed = Some(at);
                source.early(&bytes);
            }
            KeyCounting::NotYet => {
                self.typed = Some(at);
                source.early(&bytes);
            }
        }
        Ok(Some(bytes.len()))
    }

    /// Turns one read into events.
    fn decode(&mut self, read: &[u8], since: Instant, at: Instant) {
        let is_whole = self.begun.is_empty();
        let mut rest = read;
        while !rest.is_empty() {
            let (count, decoded) = self.decoder.decode(rest);
            let (ours, further) = rest.split_at(count.clamp(1, rest.len()));
            self.begun.extend_from_slice(ours);
            rest = further;
            if let Some(decoded) = decoded {
                let bytes = std::mem::take(&mut self.begun);
                let alone = is_whole && bytes.len() == read.len();
                self.push(decoded, KeyTiming { bytes, since, at, alone });
            }
        }
        let alone = is_whole && self.begun.len() == read.len();
        self.escape = self.decoder.is_waiting().then_some(Escape { since, at, alone });
    }

    fn push(&mut self, decoded: Decoded, typed: KeyTiming) {
        self.events.push_back(match decoded {
            Decoded::Key(key) => SurfaceEvent::Key(key, typed),
            Decoded::Paste(text) => SurfaceEvent::Paste(text, typed),
            Decoded::Report => SurfaceEvent::Report(typed),
        });
    }

    /// An escape character that nothing has followed was the key, and the beginning of a sequence was two keys.
    fn give_up_waiting(&mut self, now: Instant) {
        let rested = |since: Instant| now.saturating_duration_since(since) >= REST_OF_SEQUENCE;
        if let Some(at) = self.read_at.filter(|at| rested(*at) && self.is_perhaps_typed()) {
            self.decoder.forget();
            let bytes = std::mem::take(&mut self.begun);
            self.push(Decoded::Report, KeyTiming { bytes, since: at, at, alone: false });
        }
        let over = |escape: &Escape| now.saturating_duration_since(escape.at) >= ESCAPE_ALONE;
        let Some(Escape { since, at, alone }) = self.escape.filter(over) else { return };
        self.escape = None;
        if self.decoder.give_up_waiting() {
            let bytes = std::mem::take(&mut self.begun);
            let key = Decoded::Key(Key::plain(KeyCode::Escape));
            self.push(key, KeyTiming { bytes, since, at, alone });
        }
    }

    /// Returns `true` if a begun sequence may be keys that look like one.
    fn is_perhaps_typed(&self) -> bool {
        let is_string = self.begun.get(1).is_some_and(|second| STRINGS.contains(second));
        !self.begun.is_empty() && !is_string && !self.decoder.is_pasting()
    }

    /// Returns the time to wait.
    fn timeout(&self, now: Instant) -> Duration {
        let left = |since: Instant, wait: Duration| wait.saturating_sub(now.saturating_duration_since(since));
        let quiet = match self.counting {
            KeyCounting::Quiet { since, .. } => left(since, QUIET),
            KeyCounting::NotYet | KeyCounting::Yes => LOOK,
        };
        let escape = self.escape.map_or(LOOK, |escape| left(escape.at, ESCAPE_ALONE));
        quiet.min(escape).min(LOOK)
    }

    /// Returns the event of a quiet moment that has passed. None has while typed bytes are unread.
    fn ready(&mut self, source: &dyn KeySource) -> io::Result<Option<SurfaceEvent>> {
        let KeyCounting::Quiet { painted, since } = self.counting else { return Ok(None) };
        if source.now().saturating_duration_since(since) < QUIET {
            return Ok(None);
        }
        match self.read(source)? {
            None => {
                self.counting = KeyCounting::Yes;
                let typed = self.typed.max(source.typed_before());
                Ok(Some(SurfaceEvent::Ready { painted, typed }))
            }
            Some(0) => Ok(Some(SurfaceEvent::Gone)),
            Some(_) => Ok(None),
        }
    }

    fn resized(&mut self, source: &dyn KeySource) -> Option<SurfaceEvent> {
        let size = source.size();
        (size != self.size).then(|| {
            self.size = size;
            SurfaceEvent::Resized(size)
        })
    }
}

fn bytes_of(event: SurfaceEvent) -> Vec<u8> {
    match event {
        SurfaceEvent::Key(_, typed) | SurfaceEvent::Paste(_, typed) | SurfaceEvent::Report(typed) => {
            typed.bytes
        }
        SurfaceEvent::Ready { .. } | SurfaceEvent::Resized(_) | SurfaceEvent::Gone => Vec::new(),
    }
}

/// Waits until one of both has something, or has ended.
pub(crate) fn is_ready(
    fd: BorrowedFd<'_>,
    other: Option<BorrowedFd<'_>>,
    wait: Duration,
) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).ok();
    let [one, other] = [fd, other.unwrap_or(fd)].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut [one, other], wait.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

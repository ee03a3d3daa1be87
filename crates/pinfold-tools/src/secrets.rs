//! Secrets in what tools answer, and in what they are told to write.
//!
//! What a model reads has `[REDACTED:kind]` in place of each secret. The trap: a model writes back what it has read,
//! and would put these words where the secret was. So no file gets a marker that it did not have.

use std::io::{self, Read};

use pinfold::{Failure, RefusalCode};
use pinfold_scrub::{Counts, Scrubber, Stream, markers};
use serde_json::Value;

use crate::reply::{Content, Reply, ToolResult};
use crate::text::diff;

/// The switch for taking secrets out of replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scrubbing {
    /// Each is replaced by `[REDACTED:kind]`, and no such words are written into a file.
    #[default]
    On,
    /// Everything is given and written as it stands.
    Off,
}

impl Scrubbing {
    /// A text without its secrets, and what they were.
    pub fn text(self, text: String) -> (String, Counts) {
        match self {
            Self::Off => (text, Counts::default()),
            Self::On => {
                let clean = Scrubber::default().scrub(&text);
                if clean.found.is_empty() {
                    return (text, Counts::default());
                }
                (clean.text.into_owned(), clean.found)
            }
        }
    }

    /// Returns a scrubber for a text that comes in pieces.
    pub(crate) fn stream(self) -> Option<Stream> {
        match self {
            Self::On => Some(Scrubber::default().stream()),
            Self::Off => None,
        }
    }

    /// Turns the result of a tool into a reply without secrets.
    pub(crate) fn done(self, mut done: ToolResult) -> Reply {
        let (found, is_clean) = (std::mem::take(&mut done.found), done.text_is_clean);
        let reply = done.into();
        if is_clean { self.with_clean_data(reply, found) } else { self.reply_after(reply, found) }
    }

    /// A reply without secrets, and a word about those that are missing.
    pub(crate) fn reply(self, reply: Reply) -> Reply {
        self.reply_after(reply, Counts::default())
    }

    /// Scrubs a reply, and counts the secrets `found` before as well.
    fn reply_after(self, mut reply: Reply, mut found: Counts) -> Reply {
        for piece in &mut reply.content {
            match piece {
                Content::Text { text } => {
                    let (clean, counts) = self.text(std::mem::take(text));
                    *text = clean;
                    found += &counts;
                }
                Content::Image { .. } => {}
            }
        }
        self.with_clean_data(reply, found)
    }

    fn with_clean_data(self, mut reply: Reply, mut found: Counts) -> Reply {
        match self {
            Self::Off => return reply,
            Self::On => {}
        }
        let in_data = Scrubber::default().scrub_json(&mut reply.structured);
        if found.is_empty() {
            // Text and data say the same; what only the data says counts too.
            found = in_data;
        }
        if !found.is_empty() {
            reply.content.push(Content::Text { text: redaction_note(&found) });
            if let Value::Object(fields) = &mut reply.structured {
                fields.insert("redacted".into(), serde_json::to_value(&found).unwrap_or_default());
            }
        }
        reply
    }

    /// Shows a change without secrets. Made from texts without them, since a piece of a key cannot be known
    /// for one.
    pub(crate) fn diff(self, shown: &str, before: &str, after: &str) -> String {
        match self {
            Self::Off => diff::unified(shown, before, after),
            Self::On => {
                let scrubber = Scrubber::default();
                let (old, new) = (scrubber.scrub(before), scrubber.scrub(after));
                if old.text == new.text && before != after {
                    return "[the change is within a secret and not shown]\n".to_owned();
                }
                diff::unified(shown, &old.text, &new.text)
            }
        }
    }

    /// Checks that a file may become this: not when it gets a marker that was not there.
    ///
    /// # Errors
    /// When it does.
    pub(crate) fn may_become(self, shown: &str, before: &str, after: &str) -> Result<(), Failure> {
        let new = match self {
            Self::Off => None,
            Self::On => new_marker(before, after),
        };
        match new {
            None => Ok(()),
            Some(kind) => Err(would_destroy(shown, &kind)),
        }
    }

    /// Why a text cannot be found in a file: it has a marker, and the file a secret.
    pub(crate) fn why_missing(self, shown: &str, content: &str, wanted: &str) -> Option<Failure> {
        match self {
            Self::Off => None,
            Self::On => new_marker(content, wanted).map(|kind| cannot_match(shown, &kind)),
        }
    }
}

/// A text that is read, without its secrets.
pub(crate) struct Scrubbed<R> {
    source: R,
    stream: Option<Stream>,
    piece: Vec<u8>,
    /// The text that was read and not given yet, from `given` on.
    ready: Vec<u8>,
    given: usize,
    taken: u64,
}

/// Bytes read at once.
const PIECE: usize = 64 * 1024;

impl<R: Read> Scrubbed<R> {
    pub(crate) fn new(source: R, scrubbing: Scrubbing) -> Self {
        let (piece, ready) = (vec![0; PIECE], Vec::new());
        Self { source, stream: scrubbing.stream(), piece, ready, given: 0, taken: 0 }
    }

    /// Bytes that were read from the source.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Secrets that were taken out since this was asked last.
    pub(crate) fn take_found(&mut self) -> Counts {
        self.stream.as_mut().map(Stream::take_found).unwrap_or_default()
    }

    /// Reads the next piece. `false` at the end.
    fn next(&mut self) -> io::Result<bool> {
        let len = self.source.read(&mut self.piece)?;
        self.taken += len as u64;
        let piece = self.piece.get(..len).unwrap_or_default();
        self.given = 0;
        self.ready = match &mut self.stream {
            Some(stream) if len == 0 => stream.finish(),
            Some(stream) => stream.push(piece),
            None => piece.to_vec(),
        };
        Ok(len > 0)
    }
}

impl<R: Read> Read for Scrubbed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if !self.next()? && self.ready.is_empty() {
                return Ok(0);
            }
        }
        let ready = self.ready.get(self.given..).unwrap_or_default();
        let len = ready.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), ready.get(..len)) {
            to.copy_from_slice(from);
        }
        self.given += len;
        Ok(len)
    }
}

/// The words about what is not shown.
fn redaction_note(found: &Counts) -> String {
    format!(
        "[secrets are not shown: {found}. REDACTED stands in their place; the places themselves are unchanged]"
    )
}

/// A kind of which `after` has more markers than `before`. Words that only look like one are text like any other.
fn new_marker(before: &str, after: &str) -> Option<String> {
    let known = Scrubber::default().kinds();
    let kinds =
        || markers(after).map(|marker| marker.kind).filter(|kind| known.iter().any(|k| k.name() == *kind));
    let often = |text: &str, kind: &str| markers(text).filter(|marker| marker.kind == kind).count();
    kinds().find(|kind| often(after, kind) > often(before, kind)).map(str::to_owned)
}

fn would_destroy(shown: &str, kind: &str) -> Failure {
    let message = format!(
        "{shown} was not changed: the new text has `[REDACTED:{kind}]`, which stands for a secret that you were not shown; \
         written down it would be lost"
    );
    let hint = "edit only the lines around the secret and leave its line as it is; to have the same content elsewhere use \
                CopyFile; only the user can put in a new value";
    Failure::with_path(RefusalCode::Redacted, shown, message, hint)
}

fn cannot_match(shown: &str, kind: &str) -> Failure {
    let message = format!(
        "{shown} was not changed: `[REDACTED:{kind}]` stands for a secret that you were not shown; the file does not have \
         these words"
    );
    let hint = "choose a text without it: the lines before or behind the secret";
    Failure::with_path(RefusalCode::Redacted, shown, message, hint)
}

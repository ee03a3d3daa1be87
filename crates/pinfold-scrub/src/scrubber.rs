//! Whole texts.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::counts::Counts;
use crate::json;
use crate::kind::SecretKind;
use crate::marker_writer::MarkerWriter;
use crate::run::ScannedText;
use crate::scan::Scan;
use crate::stream::Stream;
use crate::table::Table;

/// Finds secrets. Costs nothing to make: what is needed is read and compiled once, when it is needed first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scrubber(());

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<'a> {
    /// The text, with `[REDACTED:kind]` in place of each secret. Borrowed when nothing was found.
    pub text: Cow<'a, str>,
    /// Counts by kind.
    pub found: Counts,
}

/// Position and kind of a secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: &'static str,
}

impl Scrubber {
    /// Replaces each secret of a text.
    pub fn scrub<'a>(&self, text: &'a str) -> Scrubbed<'a> {
        match replaced(text.as_bytes()) {
            None => Scrubbed { text: Cow::Borrowed(text), found: Counts::default() },
            Some((bytes, found)) => {
                // No pattern ends inside a character; if one did, its rest would be shown as no text.
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                Scrubbed { text: Cow::Owned(text), found }
            }
        }
    }

    /// Scrubs bytes that need not be text.
    pub fn scrub_bytes<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, [u8]>, Counts) {
        match replaced(bytes) {
            None => (Cow::Borrowed(bytes), Counts::default()),
            Some((bytes, found)) => (Cow::Owned(bytes), found),
        }
    }

    /// Scrubs every string of a value, and whole values behind keys such as `password`. Keys stay.
    pub fn scrub_json(&self, value: &mut Value) -> Counts {
        let mut found = Counts::default();
        json::scrub(*self, value, &mut found);
        found
    }

    /// A text that comes in chunks.
    pub fn stream(&self) -> Stream {
        Stream::new()
    }

    /// Returns the positions of the secrets of a text, in their order. Those that overlap are one.
    pub fn hits(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut spans = spans(bytes);
        spans.sort_by_key(|span| (span.range.start, span.kind));
        let mut hits: Vec<Hit> = Vec::new();
        for span in spans {
            match hits.last_mut() {
                Some(last) if span.is_more(last.range.end) => {
                    last.range.end = last.range.end.max(span.range.end);
                }
                Some(_) | None => {
                    let kind = Table::get().kinds.get(span.kind).map_or("secret", |kind| kind.name);
                    hits.push(Hit { range: span.range, kind });
                }
            }
        }
        hits
    }

    /// Every kind that is known.
    pub fn kinds(&self) -> &'static [SecretKind] {
        &Table::get().kinds
    }
}

fn spans(bytes: &[u8]) -> Vec<crate::scan::SecretSpan> {
    let mut scan = Scan::new();
    scan.go_on(&ScannedText { bytes, base: 0, last: true });
    scan.spans
}

/// `None` when there is nothing to replace.
fn replaced(bytes: &[u8]) -> Option<(Vec<u8>, Counts)> {
    let mut spans = spans(bytes);
    if spans.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut mend = MarkerWriter::default();
    mend.write(&mut spans, &ScannedText { bytes, base: 0, last: true }, bytes.len(), &mut out);
    Some((out, mend.found))
}

//! Texts that come in chunks.

use crate::counts::Counts;
use crate::marker_writer::MarkerWriter;
use crate::run::ScannedText;
use crate::scan::Scan;

/// Scrubs a text chunk by chunk, and gives exactly what [`crate::Scrubber::scrub`] gives for the whole.
///
/// Held back are only bytes that may belong to a secret: what begins like a token, and what stands behind `password=`
/// until its end has come. That is never more than [`crate::MAX_HELD_BACK`] bytes. Bytes that are no text go through
/// untouched.
#[derive(Debug)]
pub struct Stream {
    scan: Scan,
    mend: MarkerWriter,
    /// Bytes at hand: those not written yet, and those still needed of the ones that were.
    bytes: Vec<u8>,
    base: usize,
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self { scan: Scan::new(), mend: MarkerWriter::default(), bytes: Vec::new(), base: 0 }
    }

    /// Takes the next chunk, and gives what is certain by now.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.bytes.extend_from_slice(chunk);
        self.go_on(false)
    }

    /// Gives the rest, since nothing follows. What is pushed afterwards begins a new text.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = self.go_on(true);
        let found = std::mem::take(&mut self.mend.found);
        *self = Self::new();
        self.mend.found = found;
        rest
    }

    /// Returns the counts of everything that was pushed so far.
    pub fn found(&self) -> &Counts {
        &self.mend.found
    }

    /// Returns the counts since the last call.
    pub fn take_found(&mut self) -> Counts {
        std::mem::take(&mut self.mend.found)
    }

    /// Returns how many bytes were pushed and not given back yet, without those that are known to be secret.
    pub fn held_back(&self) -> usize {
        (self.base + self.bytes.len()).saturating_sub(self.mend.written())
    }

    fn go_on(&mut self, last: bool) -> Vec<u8> {
        let text = ScannedText { bytes: &self.bytes, base: self.base, last };
        self.scan.go_on(&text);
        let to = self.scan.holds_from(&text);
        let mut out = Vec::new();
        self.mend.write(&mut self.scan.spans, &text, to, &mut out);
        let keep_from = self.scan.needs_from(&text).min(self.mend.written()).max(self.base);
        self.bytes.drain(..(keep_from - self.base).min(self.bytes.len()));
        self.base = keep_from;
        out
    }
}

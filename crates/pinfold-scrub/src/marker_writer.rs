//! Spans in, text with markers out. Spans that overlap are one secret, with the name of the one that begins first.

use crate::counts::Counts;
use crate::marker;
use crate::run::ScannedText;
use crate::scan::SecretSpan;
use crate::table::Table;

/// The writing of one text, between two of its pieces.
#[derive(Debug, Default)]
pub(crate) struct MarkerWriter {
    /// End of the text that was written.
    written: usize,
    /// End of the current secret, as far as it is known.
    cut_to: usize,
    pub(crate) found: Counts,
}

impl MarkerWriter {
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Writes everything up to a place behind which nothing is certain. Spans that begin later stay.
    pub(crate) fn write(
        &mut self,
        spans: &mut Vec<SecretSpan>,
        text: &ScannedText<'_>,
        to: usize,
        out: &mut Vec<u8>,
    ) {
        // More of the current secret comes before another that begins where it went on: that one lies within.
        spans.sort_by_key(|span| (span.range.start, !span.goes_on, span.kind));
        let certain = spans.partition_point(|span| span.range.start < to);
        for span in spans.drain(..certain) {
            if span.is_more(self.cut_to) {
                self.cut_to = self.cut_to.max(span.range.end);
                continue;
            }
            self.copy(text, span.range.start, out);
            let name = Table::get().kinds.get(span.kind).map_or("secret", |kind| kind.name);
            marker::write(name, out);
            self.found.add(name);
            self.cut_to = span.range.end;
        }
        self.copy(text, to, out);
    }

    /// Of a secret only its line breaks are copied, so that lines stay where they are.
    fn copy(&mut self, text: &ScannedText<'_>, to: usize, out: &mut Vec<u8>) {
        let cut_to = self.cut_to.min(to);
        if self.written < cut_to {
            let secret = text.get(self.written..cut_to);
            out.extend(secret.iter().filter(|byte| matches!(byte, b'\n' | b'\r')));
            self.written = cut_to;
        }
        if self.written < to {
            out.extend_from_slice(text.get(self.written..to));
            self.written = to;
        }
    }
}

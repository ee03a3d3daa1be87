//! Bounded capture of a shell's output: the beginning, the end, and the number of bytes left out.
//!
//! Secrets are taken out before anything is cut, since the rest of a secret is not known for one.

use std::collections::VecDeque;

use pinfold_boundary::{Amount, LimitKind, LimitReached};
use pinfold_scrub::{Counts, Stream};

/// Bytes kept from the beginning: what a command says first tells what it does.
pub(crate) const HEAD: usize = 20 * 1024;

/// Bytes kept from the end, where results and errors stand. With the head as much as a model reads with profit.
pub(crate) const TAIL: usize = 12 * 1024;

/// Output that was said and not read yet.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    /// Filter that takes secrets out, if they are taken out. It may hold back the end of the output.
    stream: Option<Stream>,
    kept: KeptOutput,
}

/// Part of it that is kept. Never larger than [`HEAD`] and [`TAIL`] together.
#[derive(Debug, Default)]
struct KeptOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// A piece of output, ready to be read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// Text that is shown: with a mark where something was left out, and `U+FFFD` for bytes that are no text.
    pub(crate) text: String,
    /// Bytes that were said, with what stands in place of secrets.
    pub(crate) bytes: u64,
    /// Bytes that are not shown.
    pub(crate) left_out: u64,
    /// Secrets that were taken out.
    pub(crate) found: Counts,
}

impl Output {
    /// The limit on what is shown, where there was more.
    pub(crate) fn limit(&self) -> Option<LimitReached> {
        let shown = Amount::Bytes((HEAD + TAIL) as u64);
        (self.left_out > 0).then(|| LimitReached::once(LimitKind::Output, shown))
    }
}

impl Capture {
    pub(crate) fn new(stream: Option<Stream>) -> Self {
        Self { stream, kept: KeptOutput::default() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match &mut self.stream {
            Some(stream) => self.kept.push(&stream.push(bytes)),
            None => self.kept.push(bytes),
        }
    }

    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.total == 0
    }

    /// Takes what was said since the last time. What may be the beginning of a secret or of a character stays for the
    /// next one, unless this is the `last`.
    pub(crate) fn take(&mut self, last: bool) -> Output {
        let Some(stream) = &mut self.stream else { return self.kept.take(last) };
        if last {
            self.kept.push(&stream.finish());
        }
        let found = stream.take_found();
        Output { found, ..self.kept.take(last) }
    }
}

impl KeptOutput {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD - self.head.len().min(HEAD);
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        // Once something follows in the tail, the head is closed.
        self.head.extend_from_slice(first);
        let last = rest.get(rest.len().saturating_sub(TAIL)..).unwrap_or_default();
        let over = (self.tail.len() + last.len()).saturating_sub(TAIL);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(last);
    }

    fn take(&mut self, last: bool) -> Output {
        let Self { mut head, tail, total } = std::mem::take(self);
        let mut tail = Vec::from(tail);
        let cut = total - (head.len() + tail.len()) as u64;
        if cut == 0 {
            head.append(&mut tail);
        }
        let end = if cut == 0 { &mut head } else { &mut tail };
        if !last {
            let held_back = end.split_off(end.len() - incomplete(end));
            self.push(&held_back);
        }
        let bytes = total - self.total;
        if cut == 0 {
            return Output { text: lossy(&head), bytes, ..Output::default() };
        }
        let (before, after) = (head.len() - incomplete(&head), orphaned(&tail));
        let left_out = cut + (head.len() - before + after) as u64;
        head.truncate(before);
        tail.drain(..after);
        let text = format!("{}\n[… {left_out} bytes left out …]\n{}", lossy(&head), lossy(&tail));
        Output { text, bytes, left_out, found: Counts::default() }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the number of bytes at the end that begin a character.
fn incomplete(bytes: &[u8]) -> usize {
    for (count, byte) in (1..=3).zip(bytes.iter().rev()) {
        let needs = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => 1,
        };
        return if count < needs { count } else { 0 };
    }
    0
}

/// Returns the number of bytes at the beginning that belong to a character that was cut.
fn orphaned(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xBF)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        for piece in pieces {
            capture.push(piece);
        }
        capture
    }

    #[test]
    fn little_is_kept_whole_in_order() {
        let out = captured(&[b"one\n", b"two\n"]).take(true);
        assert_eq!(out, Output { text: "one\ntwo\n".into(), bytes: 8, ..Output::default() });
    }

    #[test]
    fn much_keeps_its_head_and_its_tail_and_counts_the_rest() {
        for size in [1, 7, 4096, 100_000] {
            let mut capture = Capture::default();
            let all: Vec<u8> = (0..200_000u32).map(|i| b'a' + (i % 23) as u8).collect();
            all.chunks(size).for_each(|chunk| capture.push(chunk));
            let out = capture.take(true);
            assert_eq!(out.left_out, 200_000 - (HEAD + TAIL) as u64, "in pieces of {size}");
            assert!(out.text.as_bytes().starts_with(&all[..HEAD]));
            assert!(out.text.as_bytes().ends_with(&all[all.len() - TAIL..]));
        }
    }

    #[test]
    fn exactly_what_fits_is_not_cut() {
        let all = vec![b'x'; HEAD + TAIL];
        assert_eq!(captured(&[&all]).take(true).left_out, 0);
        assert_eq!(captured(&[&all, b"y"]).take(true).left_out, 1);
    }

    #[test]
    fn a_character_in_two_pieces_is_whole_in_the_second() {
        let mut capture = captured(&["a€".as_bytes().split_at(2).0]);
        assert_eq!(capture.take(false).text, "a");
        capture.push(&"€".as_bytes()[1..]);
        assert_eq!(capture.take(false).text, "€");
        assert!(capture.is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such_and_never_held_back_for_good() {
        let mut capture = captured(&[b"a\xFF\xC0b\xE2"]);
        assert_eq!(capture.take(false).text, "a\u{FFFD}\u{FFFD}b");
        assert_eq!(capture.take(true).text, "\u{FFFD}");
    }

    #[test]
    fn the_cut_does_not_break_characters() {
        let euros = "€".repeat(HEAD);
        let out = captured(&[euros.as_bytes()]).take(true);
        assert!(!out.text.contains('\u{FFFD}'));
        let shown = out.text.matches('€').count() as u64 * 3;
        assert_eq!(shown + out.left_out, out.bytes);
    }
}

//! Position in a stream of output: between characters, or in the middle of a sequence.
//!
//! [A parser for DEC's ANSI-compatible video terminals](https://vt100.net/emu/dec_ansi_parser), as far as it concerns
//! where things begin and end. What they mean is for [`modes`](crate::modes).

use memchr::memchr;

/// A sequence is kept whole up to this length: longer ones are pictures and texts for the clipboard. What is shown of a
/// longer one is its beginning.
const MAX_SEQUENCE_LEN: usize = 16 << 10;

/// A part of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputPiece<'a> {
    /// Characters, and control characters that stand alone. Whole ones, as far as they are characters at all.
    Text(&'a [u8]),
    /// `ESC …`, of two characters or a few more.
    Escape(&'a [u8]),
    /// `ESC [ …`, with its last character.
    Control(&'a [u8]),
    /// `ESC ]`, `ESC P` and the like, up to and without what ends them, or the beginning of that.
    String(&'a [u8]),
}

/// Cuts a stream into pieces.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: ScanState,
    /// Bytes of a sequence, or of a character, that has not ended.
    begun: Vec<u8>,
    /// Number of its bytes, kept or not.
    length: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScanState {
    #[default]
    Between,
    Escape,
    /// `ESC` and a character that announces more.
    Longer,
    Control,
    /// A string that a bell ends too.
    Command,
    String,
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

impl Scanner {
    /// Reads on. Pieces that end within `bytes` are shown in their order.
    pub(crate) fn scan(&mut self, bytes: &[u8], show: &mut dyn FnMut(OutputPiece<'_>)) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if self.state == ScanState::Between {
                let length = memchr(ESCAPE, rest).unwrap_or(rest.len());
                let (text, next) = rest.split_at(length);
                self.read_text(text, show);
                if next.is_empty() {
                    return;
                }
                if !self.begun.is_empty() {
                    show(OutputPiece::Text(&self.begun));
                    self.end();
                }
                if let Some((control, after)) = whole_control(next) {
                    show(OutputPiece::Control(control));
                    rest = after;
                } else {
                    self.begin();
                    rest = next.get(1..).unwrap_or_default();
                }
                continue;
            }
            self.advance(*first, show);
            rest = after;
        }
    }

    /// Returns how many of the last bytes belong to an unfinished sequence or character.
    pub(crate) fn unfinished(&self) -> usize {
        self.length
    }

    /// Returns the bytes of an unfinished sequence, to be sent again; `None` when it is too long.
    pub(crate) fn begun(&self) -> Option<&[u8]> {
        (self.length == self.begun.len()).then_some(&self.begun)
    }

    fn begin(&mut self) {
        self.state = ScanState::Escape;
        self.begun.clear();
        self.begun.push(ESCAPE);
        self.length = 1;
    }

    fn end(&mut self) {
        self.state = ScanState::Between;
        self.begun.clear();
        self.length = 0;
    }

    fn advance(&mut self, byte: u8, show: &mut dyn FnMut(OutputPiece<'_>)) {
        // Cancelled, in every state.
        if byte == 0x18 || byte == 0x1a {
            return self.end();
        }
        if byte == ESCAPE {
            if matches!(self.state, ScanState::Command | ScanState::String) {
                show(OutputPiece::String(&self.begun));
            }
            return self.begin();
        }
        self.length += 1;
        if self.begun.len() < MAX_SEQUENCE_LEN {
            self.begun.push(byte);
        }
        match self.state {
            ScanState::Between | ScanState::String => {}
            ScanState::Escape => match byte {
                b'[' => self.state = ScanState::Control,
                b']' => self.state = ScanState::Command,
                b'P' | b'X' | b'^' | b'_' => self.state = ScanState::String,
                0x20..=0x2f => self.state = ScanState::Longer,
                // Control characters act at once, and what was begun goes on.
                0x00..=0x1f | 0x7f.. => {}
                0x30..=0x7e => {
                    show(OutputPiece::Escape(&self.begun));
                    self.end();
                }
            },
            ScanState::Longer => {
                if let 0x30..=0x7e = byte {
                    show(OutputPiece::Escape(&self.begun));
                    self.end();
                }
            }
            ScanState::Control => {
                if let 0x40..=0x7e = byte {
                    show(OutputPiece::Control(&self.begun));
                    self.end();
                }
            }
            ScanState::Command => {
                if byte == BELL {
                    let text = self.begun.strip_suffix(&[BELL]).unwrap_or(&self.begun);
                    show(OutputPiece::String(text));
                    self.end();
                }
            }
        }
    }

    /// Shows a text, and keeps what has come of its last character.
    fn read_text(&mut self, mut text: &[u8], show: &mut dyn FnMut(OutputPiece<'_>)) {
        while let (false, Some((first, after))) = (self.begun.is_empty(), text.split_first()) {
            if first & 0xc0 == 0x80 {
                self.begun.push(*first);
                text = after;
            }
            match incomplete(&self.begun) {
                length if length == self.begun.len() && first & 0xc0 == 0x80 => {}
                _ => {
                    show(OutputPiece::Text(&self.begun));
                    self.begun.clear();
                }
            }
        }
        let (whole, part) = text.split_at(text.len() - incomplete(text));
        if !whole.is_empty() {
            show(OutputPiece::Text(whole));
        }
        self.begun.extend_from_slice(part);
        self.length = self.begun.len();
    }
}

/// A control sequence at the beginning that is there to its end, with nothing odd in it: nearly all of them.
fn whole_control(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = bytes.strip_prefix(b"\x1b[")?;
    let length = inside.iter().position(|byte| !(0x20..=0x3f).contains(byte))?;
    matches!(inside.get(length)?, 0x40..=0x7e).then(|| bytes.split_at(length + 3))
}

/// Returns how many of the last bytes of a text are the beginning of a character.
fn incomplete(text: &[u8]) -> usize {
    let tail = text.get(text.len().saturating_sub(3)..).unwrap_or(text);
    let lead = tail.iter().rposition(|byte| byte & 0xc0 != 0x80);
    let begun = lead.and_then(|at| tail.get(at..)).unwrap_or_default();
    match std::str::from_utf8(begun) {
        Err(error) if error.error_len().is_none() => begun.len(),
        Ok(_) | Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(chunks: &[&[u8]]) -> (Vec<String>, usize) {
        let (mut scanner, mut found) = (Scanner::default(), Vec::new());
        for chunk in chunks {
            scanner.scan(chunk, &mut |piece| {
                found.push(match piece {
                    OutputPiece::Text(text) => format!("text {}", text.escape_ascii()),
                    OutputPiece::Escape(text) => format!("escape {}", text.escape_ascii()),
                    OutputPiece::Control(text) => format!("control {}", text.escape_ascii()),
                    OutputPiece::String(text) => format!("string {}", text.escape_ascii()),
                });
            });
        }
        (found, scanner.unfinished())
    }

    #[test]
    fn a_stream_is_cut_where_things_end() {
        #[expect(clippy::type_complexity, reason = "a table")]
        let cases: [(&[&[u8]], &[&str], usize); 18] = [
            (&[b"a\r\nb"], &[r"text a\r\nb"], 0),
            (&[b"a\x1b[1;2Hb"], &["text a", r"control \x1b[1;2H", "text b"], 0),
            (&[b"\x1b[1", b";2H"], &[r"control \x1b[1;2H"], 0),
            (&[b"a\x1b[1;"], &["text a"], 4),
            (&[b"\x1b7\x1b(0\x1b="], &[r"escape \x1b7", r"escape \x1b(0", r"escape \x1b="], 0),
            (&[b"\x1b]2;title\x07a"], &[r"string \x1b]2;title", "text a"], 0),
            (&[b"\x1b]2;title\x1b\\a"], &[r"string \x1b]2;title", r"escape \x1b\\", "text a"], 0),
            (&[b"\x1bPq#0\x07!\x1b\\"], &[r"string \x1bPq#0\x07!", r"escape \x1b\\"], 0),
            (&[b"\x1b]52;c;"], &[], 7),
            (&[b"\x1b]52;c;\x18a"], &["text a"], 0),
            (&[b"\x1b[1\x1b[m"], &[r"control \x1b[m"], 0),
            (&[b"\x1b[1\n2m"], &[r"control \x1b[1\n2m"], 0),
            (&["ä".as_bytes()], &[r"text \xc3\xa4"], 0),
            (&[b"a\xc3"], &["text a"], 1),
            (&[b"\xf0\x9f", b"\x98"], &[], 3),
            (&[b"\xf0\x9f", b"\x98\x80\tb"], &[r"text \xf0\x9f\x98\x80", r"text \tb"], 0),
            (&[b"\xf0\x9f", b"a\x98"], &[r"text \xf0\x9f", r"text a\x98"], 0),
            (&[b"\xf0\x9f", b"\x1b[m"], &[r"text \xf0\x9f", r"control \x1b[m"], 0),
        ];
        for (chunks, expected, unfinished) in cases {
            let (found, left) = pieces(chunks);
            assert_eq!(found, expected, "{chunks:?}");
            assert_eq!(left, unfinished, "{chunks:?}");
        }
    }

    #[test]
    fn what_never_ends_needs_no_memory() {
        let mut scanner = Scanner::default();
        scanner.scan(b"\x1b]52;c;", &mut |_| {});
        for _ in 0..100 {
            scanner.scan(&[b'A'; 10_000], &mut |_| {});
        }
        assert!(scanner.begun.capacity() <= 2 * MAX_SEQUENCE_LEN);
        assert_eq!((scanner.unfinished(), scanner.begun()), (1_000_007, None));
        let mut shown = 0;
        scanner.scan(b"\x07", &mut |piece| shown += usize::from(matches!(piece, OutputPiece::String(_))));
        assert_eq!((shown, scanner.unfinished()), (1, 0));
    }

    /// A parser that is known to be good stands between things when the next character is printed.
    struct Printed(bool);

    impl vte::Perform for Printed {
        fn print(&mut self, _: char) {
            self.0 = true;
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(2000))]
        #[test]
        fn a_known_parser_sees_the_same_ends(
            pieces in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::strategy::Just("\x1b".to_owned()), proptest::strategy::Just("\x1b[".to_owned()),
                    proptest::strategy::Just("\x1b]".to_owned()), proptest::strategy::Just("\x1bP".to_owned()),
                    proptest::strategy::Just("\x1b_".to_owned()), proptest::strategy::Just("\x1b\\".to_owned()),
                    "[ -~]{0,3}", "[\x00-\x1f]", "[0-9;?>]{1,4}", "[äß😀]",
                ], 0..12),
            cut in 0usize..40,
        ) {
            let bytes = pieces.concat().into_bytes();
            let mut scanner = Scanner::default();
            let (mut parser, mut printed) = (vte::Parser::<1024>::default(), Printed(false));
            let (one, two) = bytes.split_at(cut.min(bytes.len()));
            for part in [one, two] {
                scanner.scan(part, &mut |_| {});
                parser.advance(&mut printed, part);
            }
            printed.0 = false;
            parser.advance(&mut printed, b"x");
            proptest::prop_assert_eq!(scanner.unfinished() == 0, printed.0, "{}", bytes.escape_ascii());
        }
    }
}

//! From the bytes of a terminal to keys, pasted texts and reports.
//!
//! Reports are what a terminal sends by itself: of the mouse, and answers to questions that a command had asked (its
//! title, its colours, the clipboard). Some of these carry words that the command has chosen, so they must not be taken
//! for keys: they are read to their end.

use std::fmt;

use vte::{Params, Parser, Perform};

use crate::surface::{Key, KeyCode};

/// Longest pasted text that is kept; a longer one is not meant for a dialog.
const MAX_PASTE_LEN: usize = 64 << 10;

/// The meaning of input bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    Key(Key),
    /// A pasted text, whole.
    Paste(String),
    /// Nothing that a person typed.
    Report,
}

/// Turns bytes into what they stand for, one thing at a time.
#[derive(Default)]
pub(crate) struct Decoder {
    parser: Parser,
    heard: DecoderOutput,
    /// An escape character was the last that came: the key by itself, or the beginning of something.
    escape: bool,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("heard", &self.heard).finish_non_exhaustive()
    }
}

/// Events that the parser found.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
struct DecoderOutput {
    event: Option<Decoded>,
    paste: Option<String>,
    /// A sequence has ended.
    ended: bool,
    /// The event is a control character, which may stand in the middle of a sequence.
    control: bool,
    /// The next character belongs to `ESC O`.
    function: bool,
    /// So many characters belong to a report of the mouse in its oldest form.
    report: u8,
    /// A string has ended by the escape character that belongs to its end.
    string_ended: bool,
}

impl Decoder {
    /// Reads on to the end of the next thing; returns it and how many bytes were read. Nothing: all were read.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> (usize, Option<Decoded>) {
        // One at a time, since the parser takes plain characters all at once.
        for (count, byte) in (1..).zip(bytes) {
            (self.heard.string_ended, self.heard.ended) = (false, false);
            self.parser.advance(&mut self.heard, &[*byte]);
            let alone = !self.heard.string_ended && self.heard.paste.is_none();
            self.escape = *byte == ESCAPE && alone;
            if let Some(decoded) = self.heard.event.take() {
                if std::mem::take(&mut self.heard.control) {
                    // A key in the middle of something that was begun: that has no end any more.
                    self.parser = Parser::default();
                }
                return (count, Some(decoded));
            }
            let goes_on = self.heard.paste.is_some() || self.heard.function || self.heard.report > 0;
            if self.heard.ended && !goes_on {
                return (count, Some(Decoded::Report));
            }
        }
        (bytes.len(), None)
    }

    /// Returns `true` while an escape character waits for the rest of a sequence.
    pub(crate) fn is_waiting(&self) -> bool {
        self.escape
    }

    /// Returns `true` if a pasted text has begun and not ended.
    pub(crate) fn is_pasting(&self) -> bool {
        self.heard.paste.is_some()
    }

    /// Forgets what was begun.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Nothing has followed. Whether it was the key.
    pub(crate) fn give_up_waiting(&mut self) -> bool {
        std::mem::take(self).escape
    }
}

const ESCAPE: u8 = 0x1b;

impl DecoderOutput {
    fn key(&mut self, key: Key) {
        self.event = Some(Decoded::Key(key));
    }

    fn character(&mut self, c: char) {
        if let Some(paste) = &mut self.paste {
            if paste.len() < MAX_PASTE_LEN {
                paste.push(c);
            }
        } else if let Some(key) = control(c) {
            self.key(key);
        } else {
            self.key(Key::plain(KeyCode::Char(c)));
        }
    }
}

/// Returns the key of a control character.
fn control(c: char) -> Option<Key> {
    Some(match c {
        '\r' => Key::plain(KeyCode::Enter),
        '\t' => Key::plain(KeyCode::Tab),
        '\u{7f}' | '\u{8}' => Key::plain(KeyCode::Backspace),
        '\0' => Key::ctrl(' '),
        '\u{1}'..='\u{1a}' => Key::ctrl(char::from(u8::try_from(c).ok()? - 1 + b'a')),
        '\u{1c}'..='\u{1f}' => Key::ctrl(char::from(u8::try_from(c).ok()? - 0x1c + b'\\')),
        _ => return None,
    })
}

impl Perform for DecoderOutput {
    fn print(&mut self, c: char) {
        if self.report > 0 {
            self.report -= 1;
            self.ended = true;
        } else if std::mem::take(&mut self.function) {
            let code = match c {
                'P'..='S' => Some(KeyCode::Function(u8::try_from(c).unwrap_or(b'P') - b'P' + 1)),
                'M' => Some(KeyCode::Enter),
                c => cursor(c),
            };
            self.event = code.map(|code| Decoded::Key(Key::plain(code)));
            self.ended = true;
        } else {
            self.character(c);
        }
    }

    fn execute(&mut self, byte: u8) {
        // Bytes of the upper half stand for themselves only in encodings that are not in use here.
        if byte < 0x80 {
            self.function = false;
            self.character(char::from(byte));
            self.control = self.event.is_some();
        }
        self.ended = true;
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        self.ended = true;
        match (intermediates, byte) {
            // The end of a string, which a key never is in this form.
            ([], b'\\') => {}
            ([], b'O') => self.function = true,
            ([], _) if self.paste.is_none() => {
                let plain = Key::plain(KeyCode::Char(char::from(byte)));
                self.key(Key { alt: true, ..plain });
            }
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, c: char) {
        self.ended = true;
        let mut numbers = params.iter().map(|part| part.first().copied().unwrap_or(0));
        let (first, second) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let third = numbers.next().unwrap_or(0);
        if ignore || !intermediates.is_empty() {
            return;
        }
        if self.paste.is_some() {
            if (c, first) == ('~', 201) {
                self.event = self.paste.take().map(Decoded::Paste);
            }
            return;
        }
        let code = match (c, first) {
            ('~', 200) => {
                self.paste = Some(String::new());
                return;
            }
            // The mouse, in the form that is followed by three characters.
            ('M', _) if params.len() <= 1 && first == 0 => {
                self.report = 3;
                return;
            }
            ('Z', _) => return self.key(Key { shift: true, ..Key::plain(KeyCode::Tab) }),
            // Other keys in the form for terminals that tell more: modifyOtherKeys.
            ('~', 27) => return self.coded(third, second),
            ('u', code) => return self.coded(code, second),
            ('~', number) => numbered(number),
            ('P' | 'Q' | 'S', _) => Some(KeyCode::Function(u8::try_from(c).unwrap_or(b'P') - b'P' + 1)),
            (c, _) => cursor(c),
        };
        self.event = code.map(|code| Decoded::Key(held(code, second)));
    }

    fn osc_dispatch(&mut self, _params: &[&[u8]], _bell_terminated: bool) {
        (self.string_ended, self.ended) = (true, true);
    }

    fn unhook(&mut self) {
        (self.string_ended, self.ended) = (true, true);
    }
}

impl DecoderOutput {
    /// A key told by its character.
    fn coded(&mut self, code: u16, modifiers: u16) {
        let Some(c) = char::from_u32(code.into()) else { return };
        let code = match c {
            '\u{1b}' => KeyCode::Escape,
            '\r' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{7f}' | '\u{8}' => KeyCode::Backspace,
            // Keys that are none, in the private area of Unicode, and the like.
            c if c.is_control() || ('\u{e000}'..='\u{f8ff}').contains(&c) => return,
            c => KeyCode::Char(c),
        };
        self.key(held(code, modifiers));
    }
}

/// With what was held down, as terminals count it.
fn held(code: KeyCode, modifiers: u16) -> Key {
    let bits = modifiers.saturating_sub(1);
    Key { code, shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 }
}

fn cursor(c: char) -> Option<KeyCode> {
    Some(match c {
        'A' => KeyCode::Up,
        'B' => KeyCode::Down,
        'C' => KeyCode::Right,
        'D' => KeyCode::Left,
        'F' => KeyCode::End,
        'H' => KeyCode::Home,
        _ => return None,
    })
}

fn numbered(number: u16) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::Function(u8::try_from(number - 10).ok()?),
        17..=21 => KeyCode::Function(u8::try_from(number - 11).ok()?),
        23..=24 => KeyCode::Function(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys and pasted texts.
    fn all(bytes: &[u8]) -> Vec<Decoded> {
        let (mut decoder, mut at, mut found) = (Decoder::default(), 0, Vec::new());
        while at < bytes.len() {
            let (count, event) = decoder.decode(&bytes[at..]);
            assert!(count > 0);
            at += count;
            found.extend(event.filter(|event| *event != Decoded::Report));
        }
        found.extend(decoder.give_up_waiting().then_some(plain(KeyCode::Escape)));
        found
    }

    fn plain(code: KeyCode) -> Decoded {
        Decoded::Key(Key::plain(code))
    }

    fn typed(text: &str) -> Vec<Decoded> {
        text.chars().map(|c| plain(KeyCode::Char(c))).collect()
    }

    #[test]
    fn keys_are_known() {
        let alt = |c| Decoded::Key(Key { alt: true, ..Key::plain(KeyCode::Char(c)) });
        let cases: [(&[u8], Decoded); 24] = [
            (b"y", plain(KeyCode::Char('y'))),
            ("ß".as_bytes(), plain(KeyCode::Char('ß'))),
            ("😀".as_bytes(), plain(KeyCode::Char('😀'))),
            (b"\r", plain(KeyCode::Enter)),
            (b"\t", plain(KeyCode::Tab)),
            (b"\x7f", plain(KeyCode::Backspace)),
            (b"\x1b", plain(KeyCode::Escape)),
            (b"\x03", Decoded::Key(Key::ctrl('c'))),
            (b"\x1c", Decoded::Key(Key::ctrl('\\'))),
            (b"\0", Decoded::Key(Key::ctrl(' '))),
            (b"\x1b[A", plain(KeyCode::Up)),
            (b"\x1bOB", plain(KeyCode::Down)),
            (b"\x1b[H", plain(KeyCode::Home)),
            (b"\x1b[1~", plain(KeyCode::Home)),
            (b"\x1b[3~", plain(KeyCode::Delete)),
            (b"\x1b[6~", plain(KeyCode::PageDown)),
            (b"\x1bOP", plain(KeyCode::Function(1))),
            (b"\x1b[15~", plain(KeyCode::Function(5))),
            (b"\x1b[24~", plain(KeyCode::Function(12))),
            (b"\x1b[Z", Decoded::Key(Key { shift: true, ..Key::plain(KeyCode::Tab) })),
            (b"\x1b[1;5C", Decoded::Key(Key { ctrl: true, ..Key::plain(KeyCode::Right) })),
            (b"\x1ba", alt('a')),
            (b"\x1b[121u", plain(KeyCode::Char('y'))),
            (b"\x1b[27;5;99~", Decoded::Key(Key::ctrl('c'))),
        ];
        for (bytes, event) in cases {
            assert_eq!(all(bytes), [event], "{bytes:?}");
        }
        let after_escape = [Decoded::Key(Key::ctrl('c')), plain(KeyCode::Char('y'))];
        assert_eq!(all(b"\x1b\x03y"), after_escape, "no sequence goes on behind another key");
        assert_eq!(all(b"ab\rc"), [typed("ab"), vec![plain(KeyCode::Enter)], typed("c")].concat());
    }

    #[test]
    fn what_a_terminal_says_by_itself_is_no_key() {
        let cases: [&[u8]; 13] = [
            b"\x1b[24;80R",
            b"\x1b[?62;22c",
            b"\x1b[0n",
            b"\x1b]ly\r\x1b\\",
            b"\x1b]l yes\x1b\\",
            b"\x1b]52;c;eXlld\x07",
            b"\x1bP1$ry\r\x1b\\",
            b"\x1bP>|y\x1b\\",
            b"\x1b_Gi=1;y\r\x1b\\",
            b"\x1b[<0;10;10M",
            b"\x1b[M y\x7f",
            b"\x1b[I\x1b[O",
            b"\x1b[?1;2y",
        ];
        for bytes in cases {
            assert_eq!(all(bytes), [], "{bytes:?}");
            let (mut decoder, mut ends, mut at) = (Decoder::default(), 0, 0);
            while at < bytes.len() {
                let (count, event) = decoder.decode(&bytes[at..]);
                at += count;
                ends = if event.is_some() { at } else { ends };
            }
            assert_eq!(ends, bytes.len(), "{bytes:?}: what comes next is not part of it");
            let after = [bytes, b"n"].concat();
            assert_eq!(all(&after), typed("n"), "{bytes:?}, followed by a key");
        }
    }

    #[test]
    fn a_pasted_text_is_one_event() {
        let pasted = "y\r\ny\u{3}\t ä";
        let bytes = format!("a\x1b[200~{pasted}\x1b[201~b");
        let expected = [typed("a"), vec![Decoded::Paste(pasted.into())], typed("b")].concat();
        assert_eq!(all(bytes.as_bytes()), expected);
        let endless = [b"\x1b[200~".as_slice(), &vec![b'y'; 1 << 20], b"\x1b[201~"].concat();
        let [Decoded::Paste(text)] = &all(&endless)[..] else { panic!("one event") };
        assert_eq!(text.len(), MAX_PASTE_LEN);
    }

    #[test]
    fn keys_in_pieces_are_whole() {
        let text = "\x1b[1;5Cä\x1bOP\x1b[200~y\r\x1b[201~y";
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for byte in text.bytes() {
            let (count, event) = decoder.decode(&[byte]);
            assert_eq!(count, 1);
            events.extend(event);
        }
        assert_eq!(events, all(text.as_bytes()));
        assert_eq!(events.len(), 5);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes: Vec<u8>) {
            all(&bytes);
        }
    }
}

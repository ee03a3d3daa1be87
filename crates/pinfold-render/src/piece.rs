//! Text in which every character can be seen.
//!
//! Two different texts never look the same: what stands for something else stands between `‹` and `›`, or is `⇥` or
//! `↵`, and these four stand for themselves nowhere.

use std::fmt::{self, Display, Formatter, Write as _};

use unicode_width::UnicodeWidthChar;

/// A piece of a text, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A character that stands for itself, and how many cells it takes.
    Plain(char, u8),
    /// A tabulator.
    Tab,
    /// The end of a line; more than one where the lines between are empty and too many to be shown.
    Breaks(usize),
    /// Spaces that could be neither seen nor counted.
    Spaces(usize),
    /// A character that cannot be seen, or not for what it is, so many times.
    Hidden(char, usize),
}

/// Spaces up to this number are shown as such, unless a line ends with them.
const MAX_SPACES: usize = 32;

/// Line breaks in a row up to this number are shown as such.
const MAX_BREAKS: usize = 4;

/// The cells of a tabulator: the mark, and blanks that are always as many.
const TAB: &str = "⇥   ";

/// The mark at the end of a line.
const BREAK: &str = "↵";

/// Characters that mark a replacement.
const RESERVED: [char; 4] = ['‹', '›', '⇥', '↵'];

impl Piece {
    /// The piece that a text begins with, and its length in bytes; `None` at the end.
    pub fn first(text: &str) -> Option<(Self, usize)> {
        let bytes = text.as_bytes();
        Some(match *bytes.first()? {
            byte @ b'!'..=b'~' => (Self::Plain(char::from(byte), 1), 1),
            b' ' => spaces(bytes),
            b'\t' => (Self::Tab, 1),
            b'\n' => match run(bytes, b'\n') {
                count if count > MAX_BREAKS => (Self::Breaks(count), count),
                _ => (Self::Breaks(1), 1),
            },
            _ => other(text)?,
        })
    }

    /// The pieces of a text, one after the other.
    pub fn all(text: &str) -> impl Iterator<Item = Self> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let (piece, bytes) = Self::first(rest)?;
            rest = rest.get(bytes..).unwrap_or_default();
            Some(piece)
        })
    }

    /// Returns the number of terminal cells that it takes.
    pub fn width(self) -> usize {
        match self {
            Self::Plain(_, width) => width.into(),
            Self::Tab => 4,
            Self::Breaks(1) => 1,
            // Both brackets, and what stands between. Counted, not written: there may be a million of them.
            Self::Breaks(count) => 2 + digits(count) + " line breaks".len(),
            Self::Spaces(1) => 2 + "space".len(),
            Self::Spaces(count) => 2 + digits(count) + " spaces".len(),
            Self::Hidden(c, 1) => 2 + CharName(c).width(),
            Self::Hidden(c, count) => 2 + CharName(c).width() + 2 + digits(count),
        }
    }
}

impl Display for Piece {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(c, _) => write!(f, "{c}"),
            Self::Tab => f.write_str(TAB),
            Self::Breaks(1) => f.write_str(BREAK),
            Self::Breaks(count) => write!(f, "‹{count} line breaks›"),
            Self::Spaces(1) => f.write_str("‹space›"),
            Self::Spaces(count) => write!(f, "‹{count} spaces›"),
            Self::Hidden(c, 1) => write!(f, "‹{}›", CharName(*c)),
            Self::Hidden(c, count) => write!(f, "‹{} ×{count}›", CharName(*c)),
        }
    }
}

/// A text on one line, with everything in it visible: control characters, what reorders or cannot be seen, spaces at
/// its end.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in Piece::all(text) {
        // Writing to a text does not fail.
        let _ = write!(shown, "{}", piece.join_lines());
    }
    shown
}

/// A text of several lines that cannot act on a terminal: as in [`visible`], but for line feeds, tabulators, spaces and
/// the marks of a replacement, which stay. What was made visible before is not changed by it.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Nearly all text is of such bytes, and there may be much of it.
        let plain = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')).count();
        let (ascii, other) = rest.split_at_checked(plain).unwrap_or_default();
        shown.push_str(ascii);
        let Some((piece, bytes)) = Piece::first(other) else { return shown };
        let (said, next) = other.split_at_checked(bytes).unwrap_or_default();
        rest = next;
        match piece {
            Piece::Hidden(c, _) if !RESERVED.contains(&c) => {
                // Writing to a text does not fail.
                let _ = write!(shown, "{piece}");
            }
            Piece::Hidden(..) | Piece::Plain(..) | Piece::Tab | Piece::Breaks(_) | Piece::Spaces(_) => {
                shown.push_str(said);
            }
        }
    }
}

impl Piece {
    /// As it is shown where a line does not end.
    #[must_use]
    pub fn join_lines(self) -> Self {
        match self {
            Self::Breaks(count) => Self::Hidden('\n', count),
            Self::Plain(..) | Self::Tab | Self::Spaces(_) | Self::Hidden(..) => self,
        }
    }
}

fn digits(number: usize) -> usize {
    usize::try_from(number.checked_ilog10().unwrap_or(0)).unwrap_or(0) + 1
}

/// The name of a character.
struct CharName(char);

impl CharName {
    fn known(&self) -> Option<&'static str> {
        Some(match self.0 {
            '\0' => "NUL",
            '\x07' => "BEL",
            '\x08' => "BS",
            '\n' => "LF",
            '\x0b' => "VT",
            '\x0c' => "FF",
            '\r' => "CR",
            '\x1b' => "ESC",
            '\x7f' => "DEL",
            _ => return None,
        })
    }

    fn width(&self) -> usize {
        let hexadecimal = match u32::from(self.0) {
            0..=0xffff => 4,
            0x1_0000..=0xf_ffff => 5,
            _ => 6,
        };
        self.known().map_or("U+".len() + hexadecimal, str::len)
    }
}

impl Display for CharName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(name) => f.write_str(name),
            None => write!(f, "U+{:04X}", u32::from(self.0)),
        }
    }
}

fn run(bytes: &[u8], of: u8) -> usize {
    bytes.iter().take_while(|byte| **byte == of).count()
}

fn spaces(bytes: &[u8]) -> (Piece, usize) {
    let count = run(bytes, b' ');
    let ends = matches!(bytes.get(count), None | Some(b'\n' | b'\r'));
    if ends || count > MAX_SPACES { (Piece::Spaces(count), count) } else { (Piece::Plain(' ', 1), 1) }
}

/// Splits off the first character that is neither printable ASCII nor a break.
fn other(text: &str) -> Option<(Piece, usize)> {
    let c = text.chars().next()?;
    if let Some(width) = plain_width(c) {
        return Some((Piece::Plain(c, width), c.len_utf8()));
    }
    match text.chars().take_while(|next| *next == c).count() {
        count @ 3.. => Some((Piece::Hidden(c, count), count * c.len_utf8())),
        _ => Some((Piece::Hidden(c, 1), c.len_utf8())),
    }
}

/// The cells of a character that may stand for itself: that can be seen, stands where it was written, joins no other,
/// and looks like no character of ASCII at another width.
fn plain_width(c: char) -> Option<u8> {
    let width = u8::try_from(c.width()?).ok().filter(|width| *width > 0)?;
    // Controls, formats, marks that combine, blanks, and what is not assigned.
    let can_be_printed = c.escape_debug().len() == 1;
    let stays = !RESERVED.contains(&c) && !is_right_to_left(c) && !is_blank(c) && !joins(c);
    (can_be_printed && stays && !is_other_width(c)).then_some(width)
}

/// Terminals that know scripts written from right to left change the order of what stands beside such letters. These
/// are the ranges that Unicode keeps for them, letters to come included.
fn is_right_to_left(c: char) -> bool {
    matches!(u32::from(c), 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x1_0800..=0x1_0fff | 0x1_e800..=0x1_efff)
}

/// Letters and symbols that look like nothing.
fn is_blank(c: char) -> bool {
    matches!(u32::from(c), 0x115f..=0x1160 | 0x2800 | 0x3164 | 0xffa0 | 0x1_d159)
}

/// Symbols that become one with their neighbours.
fn joins(c: char) -> bool {
    matches!(u32::from(c), 0x1_f1e6..=0x1_f1ff | 0x1_f3fb..=0x1_f3ff)
}

/// ASCII, twice as wide.
fn is_other_width(c: char) -> bool {
    matches!(u32::from(c), 0xff01..=0xff60 | 0xffe0..=0xffe6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_named() {
        let cases = [
            ("git push", "git push"),
            ("grüße 日本 → 😀", "grüße 日本 → 😀"),
            ("a\x1b[2Jb", "a‹ESC›[2Jb"),
            ("\u{9b}2J", "‹U+009B›2J"),
            ("a\u{202e}b\u{2066}", "a‹U+202E›b‹U+2066›"),
            ("a\u{200b}\u{200d}\u{feff}b", "a‹U+200B›‹U+200D›‹U+FEFF›b"),
            ("e\u{301}", "e‹U+0301›"),
            ("a\u{301}\u{301}\u{301}\u{301}", "a‹U+0301 ×4›"),
            ("ｒｍ", "‹U+FF52›‹U+FF4D›"),
            ("א/ב", "‹U+05D0›/‹U+05D1›"),
            ("a\u{a0}b\u{3000}c\u{2800}d\u{3164}", "a‹U+00A0›b‹U+3000›c‹U+2800›d‹U+3164›"),
            ("\u{e0041}\u{e0042}", "‹U+E0041›‹U+E0042›"),
            ("👩\u{200d}🚀 🇩🇪 👍🏽", "👩‹U+200D›🚀 ‹U+1F1E9›‹U+1F1EA› 👍‹U+1F3FD›"),
            ("a\tb", "a⇥   b"),
            ("‹ESC›", "‹U+2039›ESC‹U+203A›"),
            ("⇥↵", "‹U+21E5›‹U+21B5›"),
            ("a\r\nb", "a‹CR›‹LF›b"),
            ("end  ", "end‹2 spaces›"),
            ("end ", "end‹space›"),
            ("\u{e000}\u{378}", "‹U+E000›‹U+0378›"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown, "{text:?}");
        }
        assert_eq!(visible(&format!("a{}b", " ".repeat(33))), "a‹33 spaces›b");
        assert_eq!(visible(&"\n".repeat(7)), "‹LF ×7›");
    }

    #[test]
    fn what_is_printable_is_left_as_it_is() {
        let line = "\ta ‹ESC›‹‹‹⇥↵  \n\n\n\n\n\nüber 日本".to_owned() + &" ".repeat(40);
        assert_eq!(printable(&line), line);
        assert_eq!(printable("\x1b]0;a\x07\r\n\u{9b}b\u{202e}"), "‹ESC›]0;a‹BEL›‹CR›\n‹U+009B›b‹U+202E›");
    }

    proptest::proptest! {
        #[test]
        fn what_is_visible_is_printable(text: String) {
            proptest::prop_assert_eq!(printable(&visible(&text)), visible(&text));
        }

        #[test]
        fn nothing_printable_acts_on_a_terminal(text: String) {
            let shown = printable(&text);
            let seen = |c: char| matches!(c, '\n' | '\t') || c.width().is_some_and(|width| width > 0);
            proptest::prop_assert!(shown.chars().all(seen), "{shown:?}");
        }

        #[test]
        fn two_texts_never_look_the_same(one in ".{0,6}", other in ".{0,6}") {
            proptest::prop_assert_eq!(one == other, visible(&one) == visible(&other));
        }

        #[test]
        fn nothing_shown_acts_on_a_terminal(text: String) {
            let shown = visible(&text);
            proptest::prop_assert!(shown.chars().all(|c| c.width().is_some_and(|width| width > 0)), "{shown:?}");
        }

        #[test]
        fn widths_are_what_is_shown(text: String) {
            let mut rest = text.as_str();
            while let Some((piece, bytes)) = Piece::first(rest) {
                let width: usize = piece.to_string().chars().map(|c| c.width().unwrap_or(0)).sum();
                proptest::prop_assert_eq!(width, piece.width());
                rest = &rest[bytes..];
            }
        }
    }
}

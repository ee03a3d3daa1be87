//! Conditions on the bytes before a word for it to begin a secret.
//!
//! The trap: in text that was escaped or coloured a letter may stand before a token that is none of its word:
//! `\nghp_…`, `%20ghp_…`, and `m` at the end of a colour.

use crate::marker;

/// The most bytes before a word that are looked at.
pub(crate) const BEHIND: usize = marker::MAX_LEN;

/// A condition on the bytes before a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Anything: the word is unlike any other.
    Any,
    /// No letter, digit or `_`, unless they are the end of an escape.
    Word,
    /// A digit.
    Digit,
    /// A letter or a digit.
    Alnum,
    /// A `-`, as before the name of an option.
    Dash,
}

impl Edge {
    /// Returns `true` if the condition holds; `before` are the last bytes before the word, or all there are.
    pub(crate) fn holds(self, before: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Word => is_edge(before),
            Self::Digit => before.last().is_some_and(u8::is_ascii_digit),
            Self::Alnum => before.last().is_some_and(u8::is_ascii_alphanumeric),
            Self::Dash => before.last() == Some(&b'-'),
        }
    }
}

/// Directly behind a marker there is no edge: what stood there may have been a part of the word.
fn is_edge(before: &[u8]) -> bool {
    match before.last() {
        None => true,
        Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => ends_with_escape(before),
        Some(_) => !marker::ends(before),
    }
}

fn ends_with_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't' | b'f' | b'v' | b'b' | b'0'] => true,
        [.., b'%', high, low] | [.., b'\\', b'x', high, low] => {
            high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
        }
        [.., b'\\', b'u', one, two, three, four] => {
            [one, two, three, four].iter().all(|b| b.is_ascii_hexdigit())
        }
        [rest @ .., b'a'..=b'z' | b'A'..=b'Z'] => ends_with_colour(rest),
        _ => false,
    }
}

/// `ESC [ 0 1 ; 3 1`, without the final letter.
fn ends_with_colour(before: &[u8]) -> bool {
    let numbers = before.iter().rev().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    before.get(..before.len() - numbers).is_some_and(|before| before.ends_with(b"\x1b["))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_begins_behind_what_is_no_part_of_it() {
        for before in ["", " ", "=", "é", "\\n", "x\\t", "%3D", "\\u0022", "\\x0a", "\x1b[01;31m", "\x1b[K"]
        {
            assert!(Edge::Word.holds(before.as_bytes()), "{before:?}");
        }
        for before in ["a", "_", "9", "xn", "%3", "u0022", "[31m", "[REDACTED:jwt]"] {
            assert!(!Edge::Word.holds(before.as_bytes()), "{before:?}");
        }
        assert!(Edge::Any.holds(b"a"));
        assert!(Edge::Digit.holds(b"a1") && !Edge::Digit.holds(b"1a") && !Edge::Digit.holds(b""));
        assert!(Edge::Alnum.holds(b"s") && !Edge::Alnum.holds(b":"));
        assert!(Edge::Dash.holds(b"--") && !Edge::Dash.holds(b" "));
    }
}

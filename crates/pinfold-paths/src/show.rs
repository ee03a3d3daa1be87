//! A path in letters that cannot deceive.
//!
//! Promise: two different paths never look the same; nothing moves the cursor, hides or turns text around.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Shows a path, or any other bytes that were meant as text: every control, invisible or non-UTF-8 character as an
/// escape (`\n`, `\u{202e}`, `\xff`), a backslash doubled. See also [`WritableRoots::display`](crate::WritableRoots::display).
#[must_use]
pub fn show(path: &OsStr) -> String {
    let mut shown = String::with_capacity(path.len());
    for chunk in path.as_bytes().utf8_chunks() {
        chunk.valid().chars().for_each(|letter| show_letter(&mut shown, letter));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn show_letter(shown: &mut String, letter: char) {
    if letter == '\\' || letter.is_control() || is_invisible(letter) {
        shown.extend(letter.escape_default());
    } else {
        shown.push(letter);
    }
}

/// Characters that take no room, turn the direction of text, or look like a blank without being one.
fn is_invisible(letter: char) -> bool {
    matches!(u32::from(letter),
        0x00a0 | 0x00ad | 0x034f | 0x061c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f
        | 0x1680 | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f | 0x2800 | 0x3000 | 0x3164
        | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_shown_as_they_are() {
        for name in ["src/main.rs", "with space.txt", "café", "emoji-🦊.txt", "semi;rm -rf $(x)", "'\"`"] {
            assert_eq!(show(OsStr::new(name)), name);
        }
    }

    #[test]
    fn what_deceives_is_shown_as_an_escape() {
        for (name, shown) in [
            (&b"line\nbreak"[..], r"line\nbreak"),
            (b"new.txt\r", r"new.txt\r"),
            (b"\x1b[2Jx", r"\u{1b}[2Jx"),
            (b"a\\b", r"a\\b"),
            (b"caf\xe9", r"caf\xe9"),
            ("a\u{202e}b".as_bytes(), r"a\u{202e}b"),
            ("\u{feff}.git".as_bytes(), r"\u{feff}.git"),
            (".g\u{200c}it".as_bytes(), r".g\u{200c}it"),
        ] {
            assert_eq!(show(OsStr::from_bytes(name)), shown);
        }
    }
}

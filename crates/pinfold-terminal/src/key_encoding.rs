//! Keys as a terminal sends them to a command, from keys as it sends them to a dialog.
//!
//! A dialog switches the modes of a terminal to the usual ones. What is given back to the command afterwards is what it
//! would have been sent in its own.

use crate::modes::TerminalModes;

/// Begins a pasted text.
const PASTE_BEGINS: &[u8] = b"\x1b[200~";

/// Ends one.
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Cursor keys, and those beside them that change their form with them.
const CURSOR_KEYS: [u8; 6] = *b"ABCDHF";

/// The bytes of `typed`, as they are sent in these modes.
pub(crate) fn as_sent(typed: &[u8], modes: &TerminalModes) -> Vec<u8> {
    let mut sent = Vec::with_capacity(typed.len());
    let mut rest = typed;
    let mut is_pasted = false;
    while let Some((byte, further)) = rest.split_first() {
        if let Some(mark) = [PASTE_BEGINS, PASTE_ENDS].into_iter().find(|mark| rest.starts_with(mark)) {
            is_pasted = mark == PASTE_BEGINS;
            sent.extend_from_slice(if modes.marks_paste() { mark } else { b"" });
            rest = rest.get(mark.len()..).unwrap_or_default();
            continue;
        }
        match rest {
            [0x1b, b'[', key, ..]
                if modes.has_other_cursor_keys() && !is_pasted && CURSOR_KEYS.contains(key) =>
            {
                sent.extend_from_slice(&[0x1b, b'O', *key]);
                rest = rest.get(3..).unwrap_or_default();
            }
            _ => {
                sent.push(*byte);
                rest = further;
            }
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output_scanner::Scanner;

    #[test]
    fn keys_and_pasted_texts_take_the_form_that_the_command_asked_for() {
        let typed = b"a\x1b[A\x1b[1;5C\x1b[200~y\r\x1b[A\x1b[201~\x1b[H\xff\x1b";
        for (switched, sent) in [
            ("", b"a\x1b[A\x1b[1;5Cy\r\x1b[A\x1b[H\xff\x1b".as_slice()),
            ("\x1b[?2004h", typed.as_slice()),
            ("\x1b[?1h", b"a\x1bOA\x1b[1;5Cy\r\x1b[A\x1bOH\xff\x1b"),
        ] {
            let mut modes = TerminalModes::default();
            Scanner::default().scan(switched.as_bytes(), &mut |piece| modes.feed(piece));
            assert_eq!(as_sent(typed, &modes), sent, "{switched:?}");
        }
    }
}

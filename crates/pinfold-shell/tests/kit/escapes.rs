//! Texts in data files: one line each, with escapes.

#![expect(clippy::panic, reason = "a test that cannot go on fails")]

/// The text that a line stands for: `\n`, `\t`, `\r`, `\\` and `\u{…}` are escapes.
pub(crate) fn read(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('\\') {
        text.push_str(before);
        let kind = behind.chars().next().unwrap_or_else(|| panic!("{line}: a backslash at the end"));
        rest = &behind[kind.len_utf8()..];
        match kind {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '\\' => text.push('\\'),
            'u' => {
                let (number, behind) = rest[1..].split_once('}').unwrap_or_else(|| panic!("{line}: no `}}`"));
                let number =
                    u32::from_str_radix(number, 16).unwrap_or_else(|error| panic!("{line}: {error}"));
                text.push(char::from_u32(number).unwrap_or_else(|| panic!("{line}: no such character")));
                rest = behind;
            }
            other => panic!("{line}: an escape of {other:?}"),
        }
    }
    text + rest
}

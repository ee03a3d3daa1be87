//! Laws of settings files, over files that are nearly right.

#![expect(clippy::expect_used, reason = "a test stops where it fails")]

#[path = "kit/settings_laws.rs"]
mod laws;

use proptest::prelude::*;

/// Pieces that files are made of, and some that break them.
fn piece() -> impl Strategy<Value = String> {
    let pieces: &'static [&'static str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\n",
        "\r\n",
        " ",
        "\t",
        "// c\n",
        "/* c */",
        "\u{feff}",
        "\"permissions\": {",
        "\"allow\": [",
        "\"deny\": [",
        "\"ask\": [",
        "\"Bash(ls *)\"",
        "\"Read\"",
        "\"Bash(rm\"",
        "\"a\\u0000\"",
        "\"defaultMode\": \"auto\"",
        "\"bash\": \"ask\"",
        "\"tools\": {",
        "1e9",
        "null",
        "true",
        "\"tests\": [",
        "\"x\": 1",
        "'",
        "\\",
        "é",
    ];
    proptest::sample::select(pieces).prop_map(str::to_owned)
}

/// A whole file, laid out in any way.
fn file() -> impl Strategy<Value = String> {
    let blank = || proptest::sample::select(&["", " ", "\n", "\r\n\t", " /* c */ ", " // c\n"][..]);
    let rules = || {
        prop::collection::vec(
            proptest::sample::select(&["\"Bash(ls *)\"", "\"Read\"", "\"Edit(./a)\""][..]),
            0..3,
        )
    };
    (prop::collection::vec(blank(), 8), rules(), rules(), any::<bool>(), any::<bool>()).prop_map(
        |(blank, allow, deny, trailing, mode)| {
            let b = |i: usize| blank.get(i).copied().unwrap_or_default();
            let comma = |list: &[&str]| if trailing && !list.is_empty() { "," } else { "" };
            let mode = if mode { "\"defaultMode\": \"auto\"," } else { "" };
            let list = |list: &[&str], i: usize| {
                format!("[{}{}{}{}]", b(i), list.join(&format!("{},", b(i))), comma(list), b(i + 1))
            };
            format!(
                "{}{{{}\"permissions\":{}{{{mode}\"allow\":{},{}\"deny\":{}}}{}}}{}",
                b(0),
                b(1),
                b(2),
                list(&allow, 3),
                b(4),
                list(&deny, 5),
                b(6),
                b(7)
            )
        },
    )
}

proptest! {
    #[test]
    fn they_hold_for_whatever_is_nearly_a_file(pieces in prop::collection::vec(piece(), 0..24)) {
        laws::hold(pieces.concat().as_bytes());
    }

    #[test]
    fn they_hold_for_files_in_any_layout(text in file()) {
        let read = pinfold_policy::Settings::parse(text.as_bytes(), pinfold_policy::Layer::User, &"f".into());
        prop_assert!(read.is_ok(), "{:?}", read);
        laws::hold(text.as_bytes());
    }

    #[test]
    fn they_hold_for_bytes(bytes: Vec<u8>) {
        laws::hold(&bytes);
    }
}

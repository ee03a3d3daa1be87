//! A terminal that was interrupted by a dialog looks and behaves as one that was not.

use std::num::NonZeroU16;

use proptest::collection::vec;
use proptest::prelude::*;
use vt100::Parser;

use super::*;

const SIZE: TerminalSize = TerminalSize { rows: 6, columns: 12 };

/// The person's terminal: another program's model, told what ours is told.
fn terminal() -> Parser {
    Parser::new(NonZeroU16::new(SIZE.rows).unwrap(), NonZeroU16::new(SIZE.columns).unwrap(), 100)
}

/// The visible state of a terminal, and its input modes.
fn state(terminal: &Parser) -> (String, String, String, (u16, u16), bool, Vec<bool>) {
    let screen = terminal.screen();
    let wrapped = (0..SIZE.rows).map(|row| screen.row_wrapped(row)).collect();
    (
        screen.contents_formatted(),
        screen.attributes_formatted(),
        screen.input_mode_formatted(),
        screen.cursor_position(),
        screen.alternate_screen(),
        wrapped,
    )
}

/// A dialog that makes a mess of the screen.
const DIALOG: &[u8] = b"\x1b[31;1mDo you?\x1b[2;2H\x1b[44mYes\x1b[6;1Hno\r\n\n\n\n\n\n\n\nmore\x1b[?25h";

fn interrupted(before: &[u8], after: &[u8]) -> Parser {
    let (mut track, mut outer) = (VtState::new(SIZE), terminal());
    track.feed(before);
    outer.process(before);
    outer.process(track.give_way().as_bytes());
    assert!(outer.screen().alternate_screen());
    assert_eq!(outer.screen().contents(), "", "a dialog finds an empty screen");
    assert_eq!(outer.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    outer.process(DIALOG);
    outer.process(&track.come_back());
    track.feed(after);
    outer.process(after);
    outer
}

fn parse(bytes: &[u8]) -> Parser {
    let mut outer = terminal();
    outer.process(bytes);
    outer
}

#[track_caller]
fn is_as_before(before: &[u8], after: &[u8]) {
    let expected = parse(&[before, after].concat());
    assert_eq!(state(&interrupted(before, after)), state(&expected), "{}", before.escape_ascii());
}

#[test]
fn the_main_screen_is_as_it_was() {
    is_as_before(b"$ make\r\none\r\ntwo", b"\r\nthree");
    is_as_before(b"\x1b[1;32mgreen", b" still");
    // The cursor waits behind the last cell of a line.
    is_as_before(b"123456789012", b"3");
    is_as_before(b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8", b"\r\n9");
    is_as_before(b"a\x1b[2;4r\x1b[3;5Hb", b"\n\n\nc");
    is_as_before(b"\x1b[?25l\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002;1006h", b"x");
}

#[test]
fn the_alternate_screen_is_as_it_was() {
    let up = b"main\x1b[?1049h\x1b[H\x1b[2J";
    for drawn in [
        b"one\r\ntwo\x1b[4;4H\x1b[7mthree".as_slice(),
        "ä中\x1b[2;11H中".as_bytes(),
        b"\x1b[?25l\x1b[?1003h\x1b[?1006h\x1b[?1h",
        b"\x1b[2;5r\x1b[?6h\x1b[2;2Ha",
        b"\x1b[3;5r\x1b[4;4Ha",
        b"123456789012",
        b"\x1b[44m\x1b[2Jblue",
        // Behind the last cell, which was drawn plainly, with margins and a bold pen.
        b"\x1b[1;4r\x1b[H123456789012\x1b[1m",
    ] {
        let before = [up.as_slice(), drawn].concat();
        is_as_before(&before, b"b");
        is_as_before(&before, b"\r\n\n\n\nb");
        is_as_before(&before, b"b\x1b[?1049lback");
    }
}

#[test]
fn what_was_half_said_is_said_whole() {
    is_as_before(b"a\x1b[3", b"1mred");
    is_as_before(b"a\x1b", b"[31mred");
    is_as_before(b"a\x1b]2;half a tit", b"le\x07b");
    is_as_before(b"a\x1bP1$r", b"0m\x1b\\b");
    is_as_before(b"\x1b[?1049h\x1b[H\xe4\xb8", b"\xad!");
}

#[test]
fn an_open_string_does_not_swallow_a_dialog() {
    for begun in ["\x1b]52;c;", "\x1bPq#0", "\x1b_Ga=T;", "\x1b^", "\x1bX", "\x1b]0;\x1b", "\x1b[38;5;"] {
        let (mut track, mut outer) = (VtState::new(SIZE), terminal());
        for bytes in [begun.as_bytes(), &vec![b'A'; 100_000]] {
            track.feed(bytes);
            outer.process(bytes);
        }
        outer.process(track.give_way().as_bytes());
        outer.process(b"Do you?");
        assert_eq!(outer.screen().contents(), "Do you?", "{}", begun.escape_debug());
    }
}

#[test]
fn keys_in_other_protocols_come_back() {
    let mut track = VtState::new(SIZE);
    track.feed(b"\x1b[>1u\x1b[>4;2m\x1b[?1004h\x1b[?2026h");
    let away = track.give_way();
    for told in ["\x1b[>0u", "\x1b[>4;0m", "\x1b[?1004l", "\x1b[?2026l"] {
        assert!(away.contains(told), "{told:?} in {away:?}");
    }
    let back = String::from_utf8(track.come_back()).unwrap();
    // Each screen has its own stack of them, so that it is taken down before the screens change.
    assert!(back.find("\x1b[<u") < back.find("\x1b[?1049l"), "{back:?}");
    for told in ["\x1b[>4;2m", "\x1b[?1004h"] {
        assert!(back.contains(told), "{told:?} in {back:?}");
    }
    assert!(back.ends_with("\x1b[?2026h"), "{back:?}");
}

#[test]
fn lines_are_drawn_as_lines() {
    let mut track = VtState::new(SIZE);
    track.feed(b"\x1b[?1049h\x1b[H\x1b(0lqk\x1b(B a \x1b)0\x0ex\x0f b\x0e");
    let mut outer = terminal();
    outer.process(track.give_way().as_bytes());
    outer.process(&track.come_back());
    assert_eq!(outer.screen().contents(), "┌─┐ a │ b");
    let back = String::from_utf8(track.come_back()).unwrap();
    assert!(back.contains("\x1b)0") && back.contains('\x0e'), "{back:?}");
    assert!(!track.is_incomplete());
}

#[test]
fn what_only_the_command_can_draw_is_known() {
    for (drawn, missing) in [
        ("text \x1b[1;3;4;7;31mlooks\x1b[38;2;1;2;3m", false),
        ("\x1b[23;29;25;38;5;9;48;2;9;9;9;24m\x1b[59m\x1b[4:0m\x1b[38:2::9:9:9m", false),
        ("\x1b[4:3m\x1b[58:5:1mwavy", true),
        ("\x1b]2;title\x07\x1b[6n\x1b[?u\x1b[c\x1b[>q", false),
        ("\x1b]8;;\x1b\\", false),
        ("\x1b]8;;https://example.org\x1b\\link", true),
        ("\x1bPq#0;2;0;0;0~\x1b\\", true),
        ("\x1bP1$r0m\x1b\\", false),
        ("\x1b_Gf=100;AAAA\x1b\\", true),
        ("\x1b]1337;File=inline=1:AAAA\x07", true),
        ("\x1b#3double", true),
        ("\x1b[9mstruck", true),
        ("\x1b[4h", true),
        ("\x1b(A#", true),
    ] {
        let mut track = VtState::new(SIZE);
        track.feed(drawn.as_bytes());
        assert!(!track.is_incomplete(), "the main screen is kept by the terminal");
        track.feed(b"\x1b[?1049h");
        track.feed(drawn.as_bytes());
        assert_eq!(track.is_incomplete(), missing, "{drawn:?}");
        track.feed(b"\x1b(B\x1b[?1049l\x1b[?1049h");
        assert!(!track.is_incomplete(), "it was drawn before");
    }
}

#[test]
fn what_a_command_leaves_behind_is_switched_off() {
    let left = b"main\x1b[?1049h\x1b[?1003;1006h\x1b[?2004h\x1b[?25l\x1b[?1h\x1b=\x1b[>1u\x1b[2;3r\x1b[?6h";
    let mut track = VtState::new(SIZE);
    track.feed(left);
    let mut outer = parse(left);
    outer.process(track.tidy().as_bytes());
    let screen = outer.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor());
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    assert!(!screen.application_cursor() && !screen.application_keypad() && !screen.bracketed_paste());
    assert_eq!((screen.contents(), screen.cursor_position()), ("main".into(), (0, 4)));
    assert!(track.tidy().contains("\x1b[<99u"));
    // Who has left nothing behind is left alone.
    let mut neat = VtState::new(SIZE);
    neat.feed(b"\x1b[31mred\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l\x1b[2 q");
    assert_eq!(neat.tidy(), "");
}

#[test]
fn windows_that_change_are_drawn_again() {
    let mut track = VtState::new(SIZE);
    track.feed(b"\x1b[?1049h\x1b[Hone\r\ntwo\x1b[2;4r");
    track.resize(TerminalSize { rows: 4, columns: 8 });
    let mut outer = Parser::new(NonZeroU16::new(4).unwrap(), NonZeroU16::new(8).unwrap(), 0);
    outer.process(track.give_way().as_bytes());
    outer.process(&track.come_back());
    assert_eq!(outer.screen().contents(), "one\ntwo");
    // A size that is not kept, and back.
    for (rows, columns) in [(1, 1), (u16::MAX, u16::MAX), (4, 8)] {
        track.resize(TerminalSize { rows, columns });
        track.feed("\x1b[Hthree中".as_bytes());
        track.come_back();
    }
    assert!(track.is_incomplete(), "only the command knows what it drew meanwhile");
}

/// The model cannot widen a character in the last column when the screen scrolls by it.
#[test]
fn a_character_that_becomes_wide_in_the_last_column_is_no_end() {
    for before in ["\x1b[6;12H", "\x1b[1;12H", "\x1b[6;11H"] {
        let mut track = VtState::new(SIZE);
        track.feed(b"\x1b[?1049h");
        track.feed(format!("{before}0\u{fe0f}").as_bytes());
        track.feed("\x1b[6;1H            \x1b[5;1H            \x1b[H            中中".as_bytes());
        assert_eq!(track.is_incomplete(), !before.ends_with("11H"), "{before:?}");
        track.come_back();
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{1,14}",
        2 => "[ä中😀é]{1,4}",
        2 => "(\r|\n|\r\n|\t|\u{8})",
        2 => "\x1b\\[[0-7];[0-9]{1,2}H",
        2 => "\x1b\\[[0-3]?[ABCDGJKLMPSTX@]",
        1 => prop_oneof![Just("\x1b[1m"), Just("\x1b[m"), Just("\x1b[7;31m"), Just("\x1b[48;5;9m")]
            .prop_map(str::to_owned),
        1 => "\x1b\\[[1-3];[4-6]r",
        1 => "\x1b\\[\\?(1|25|2004|1006)[hl]",
        1 => prop_oneof![Just("\x1b[?1000h"), Just("\x1b[?1002;1006h"), Just("\x1b[?1000;1002l")]
            .prop_map(str::to_owned),
        1 => prop_oneof![Just("\x1b=".to_owned()), Just("\x1b>".to_owned())],
        1 => Just("\x1b[m\x1b[?6l\x1b[r\x1b[?1049h\x1b[H".to_owned()),
        1 => Just("\x1b[?1049l\x1b[m\x1b[r".to_owned()),
        1 => "\x1b\\]2;[a-z]{0,9}(\x07|\x1b\\\\)",
        1 => "\x1bP[a-z]{1,9}\x1b\\\\",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_dialog_at_any_moment_is_as_none(pieces in vec(piece(), 0..30), at in any::<prop::sample::Index>()) {
        let text = pieces.concat();
        let bytes = text.as_bytes();
        // Not within a character: the model that stands for the person's terminal loses what follows such a one.
        let at = (0..=at.index(bytes.len() + 1)).rfind(|at| text.is_char_boundary(*at)).unwrap();
        let (before, after) = bytes.split_at(at);
        let (expected, found) = (parse(bytes), interrupted(before, after));
        prop_assert_eq!(state(&found), state(&expected), "{} | {}", before.escape_ascii(), after.escape_ascii());
    }

    #[test]
    fn any_stream_is_heard(
        pieces in vec(prop_oneof![
            piece().prop_map(String::into_bytes),
            any::<Vec<u8>>(),
            "\x1b\\[[?>!<=]?[0-9;:]{0,8}[ $#!]?[@-~]".prop_map(String::into_bytes),
            "\x1b[ -/]?[0-~]".prop_map(String::into_bytes),
            "[\u{300}-\u{36f}\u{200b}-\u{200f}\u{fe00}-\u{fe0f}👩💻中]{1,40}".prop_map(String::into_bytes),
        ], 0..60),
        sizes in vec((1u16..7, 1u16..13), 1..4),
    ) {
        let mut track = VtState::new(SIZE);
        track.feed(b"\x1b[?1049h");
        for part in pieces.chunks(pieces.len().div_ceil(sizes.len()).max(1)) {
            for piece in part {
                track.feed(piece);
            }
            track.come_back();
        }
        for ((rows, columns), piece) in sizes.into_iter().zip(&pieces) {
            track.resize(TerminalSize { rows, columns });
            track.feed(piece);
            track.feed(b"\x1b[?1049h");
            track.feed(piece);
            track.give_way();
            track.come_back();
            track.tidy();
        }
    }
}

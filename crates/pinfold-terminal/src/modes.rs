//! Modes that a command has set at its terminal, so that they can be reset for a dialog and set again.
//!
//! [xterm control sequences](https://invisible-island.net/xterm/ctlseqs/ctlseqs.html),
//! [kitty keyboard protocol](https://sw.kovidgoyal.net/kitty/keyboard-protocol/)

use std::fmt::Write;

use crate::output_scanner::OutputPiece;

/// The modes that matter to a dialog: what programs call by `ESC [ ? … h`, and how they are at the beginning. The
/// alternate screen is told apart.
const PRIVATE: [(u16, bool); 13] = [
    // Cursor keys in another form.
    (1, false),
    // Everything inverted.
    (5, false),
    // Lines are counted from the upper margin.
    (6, false),
    // Text goes on in the next line.
    (7, true),
    // It is reported when the window gets the keyboard.
    (1004, false),
    // The cursor shows.
    (25, true),
    // The keypad sends codes of its own.
    (KEYPAD, false),
    // Margins at the sides.
    (69, false),
    // Pasted texts are marked.
    (2004, false),
    // Nothing is shown until more has come.
    (2026, false),
    // Changes of colours, of the size, are reported.
    (2031, false),
    (2048, false),
    // A paste is reported before it comes.
    (5522, false),
];

/// Lines counted from the margin: has to do with where the cursor is, and is put back with that.
const ORIGIN: u16 = 6;

/// Cursor keys in another form.
const CURSOR_KEYS: u16 = 1;

const CURSOR: u16 = 25;

/// Pasted texts are marked.
const MARKED_PASTE: u16 = 2004;

const KEYPAD: u16 = 66;

/// Nothing is shown until more has come.
const TOGETHER: u16 = 2026;

/// The modes that differ from the initial ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches that are independent of each other")]
pub(crate) struct TerminalModes {
    /// For each of [`PRIVATE`].
    changed: [bool; PRIVATE.len()],
    /// The mouse reporting mode, if any. There are several, and one at a time.
    mouse: Option<u16>,
    /// Characters push others aside.
    insert: bool,
    /// A new line goes to the beginning too.
    newline: bool,
    alternate: bool,
    /// The lines that scroll.
    margins: Option<(u16, u16)>,
    /// Other characters than those of the encoding: which set stands in each of four places, as its last character.
    sets: [Option<u8>; 4],
    /// The second place is in use.
    shifted: bool,
    /// Keys in more words than usual, by the protocol with a stack.
    key_stack: bool,
    /// Level of `modifyOtherKeys`, the older protocol.
    other_keys: u16,
}

impl TerminalModes {
    /// Takes notice of a piece of output.
    pub(crate) fn feed(&mut self, piece: OutputPiece<'_>) {
        match piece {
            OutputPiece::Text(text) => {
                if let Some(at) = memchr::memrchr2(0x0e, 0x0f, text) {
                    self.shifted = text.get(at) == Some(&0x0e);
                }
            }
            OutputPiece::Escape(text) => self.feed_escape(text),
            OutputPiece::Control(text) => self.feed_control(&Control::parse(text)),
            OutputPiece::String(_) => {}
        }
    }

    fn feed_escape(&mut self, text: &[u8]) {
        match text {
            [_, b'c'] => *self = Self::default(),
            [_, b'='] => self.set(KEYPAD, true),
            [_, b'>'] => self.set(KEYPAD, false),
            [_, place @ b'('..=b'+', set] => {
                if let Some(place) = self.sets.get_mut(usize::from(place - b'(')) {
                    *place = (*set != b'B').then_some(*set);
                }
            }
            _ => {}
        }
    }

    fn feed_control(&mut self, control: &Control) {
        let first = control.number(0);
        match (control.prefix, control.middle, control.last) {
            (Some(b'?'), None, b'h' | b'l') => {
                let on = control.last == b'h';
                for mode in control.numbers() {
                    match mode {
                        47 | 1047 | 1049 => self.alternate = on,
                        9 | 1000..=1003 => self.mouse = on.then_some(mode),
                        mode => self.set(mode, on),
                    }
                }
            }
            (None, None, b'h' | b'l') => {
                let on = control.last == b'h';
                for mode in control.numbers() {
                    match mode {
                        4 => self.insert = on,
                        20 => self.newline = on,
                        _ => {}
                    }
                }
            }
            (None, None, b'r') => {
                let whole = first <= 1 && control.number(1) == 0;
                self.margins = (!whole).then(|| (first.max(1), control.number(1)));
            }
            (Some(b'>' | b'=' | b'<'), None, b'u') => self.key_stack = true,
            (Some(b'>'), None, b'm') if first == 4 => self.other_keys = control.number(1),
            (None, Some(b'!'), b'p') => {
                *self = Self {
                    alternate: self.alternate,
                    mouse: self.mouse,
                    key_stack: self.key_stack,
                    other_keys: self.other_keys,
                    changed: self.changed_but_soft(),
                    ..Self::default()
                };
            }
            _ => {}
        }
    }

    /// Returns the modes that a soft reset leaves as they are: reports.
    fn changed_but_soft(&self) -> [bool; PRIVATE.len()] {
        let mut changed = self.changed;
        for (changed, (mode, _)) in changed.iter_mut().zip(PRIVATE) {
            *changed &= !matches!(mode, 1 | ORIGIN | 7 | CURSOR | KEYPAD | 69);
        }
        changed
    }

    fn set(&mut self, mode: u16, on: bool) {
        for (changed, (known, usual)) in self.changed.iter_mut().zip(PRIVATE) {
            if known == mode {
                *changed = on != usual;
            }
        }
    }

    fn is(&self, mode: u16) -> bool {
        let found = self.changed.iter().zip(PRIVATE).find(|(_, (known, _))| *known == mode);
        found.is_some_and(|(changed, (_, usual))| *changed != usual)
    }

    /// Returns `true` if the alternate screen is up.
    pub(crate) fn is_alternate(&self) -> bool {
        self.alternate
    }

    /// Returns `true` during a synchronized update (mode 2026).
    pub(crate) fn is_together(&self) -> bool {
        self.is(TOGETHER)
    }

    /// Returns `true` if cursor keys are sent in application mode.
    pub(crate) fn has_other_cursor_keys(&self) -> bool {
        self.is(CURSOR_KEYS)
    }

    /// Returns `true` if pasted texts are marked (bracketed paste).
    pub(crate) fn marks_paste(&self) -> bool {
        self.is(MARKED_PASTE)
    }

    /// The set of characters in use, if it is not that of the encoding.
    pub(crate) fn characters(&self) -> Option<u8> {
        self.sets.get(usize::from(self.shifted)).copied().flatten()
    }

    /// The window has another size, which takes the margins away.
    pub(crate) fn resized(&mut self) {
        self.margins = None;
    }

    /// Resets all modes, for a dialog or for the next user of the terminal. The cursor may be
    /// anywhere afterwards.
    pub(crate) fn calm(&self) -> String {
        let mut text = String::new();
        for (changed, (mode, usual)) in self.changed.iter().zip(PRIVATE) {
            if *changed {
                text.push_str(&private(mode, usual));
            }
        }
        text.extend(self.mouse.map(|mode| private(mode, false)));
        if self.insert {
            text.push_str("\x1b[4l");
        }
        if self.newline {
            text.push_str("\x1b[20l");
        }
        if self.shifted {
            text.push('\x0f');
        }
        for (place, set) in ('('..='+').zip(self.sets) {
            if set.is_some() {
                let _ = write!(text, "\x1b{place}B");
            }
        }
        if self.key_stack {
            text.push_str("\x1b[>0u");
        }
        if self.other_keys != 0 {
            text.push_str("\x1b[>4;0m");
        }
        if self.margins.is_some() {
            text.push_str("\x1b[r");
        }
        text
    }

    /// Takes back what [`calm`](Self::calm) has done to a stack that each screen has for itself.
    pub(crate) fn unstack(&self) -> &'static str {
        if self.key_stack { "\x1b[<u" } else { "" }
    }

    /// Takes [`calm`](Self::calm) back, but for that stack and for what has to do with where the cursor is: see [`place`](Self::place).
    pub(crate) fn restore(&self) -> String {
        let mut text = String::new();
        if self.other_keys != 0 {
            let _ = write!(text, "\x1b[>4;{}m", self.other_keys);
        }
        for (place, set) in ('('..='+').zip(self.sets) {
            if let Some(set) = set {
                let _ = write!(text, "\x1b{place}{}", char::from(set));
            }
        }
        if self.shifted {
            text.push('\x0e');
        }
        if self.insert {
            text.push_str("\x1b[4h");
        }
        if self.newline {
            text.push_str("\x1b[20h");
        }
        text.extend(self.mouse.map(|mode| private(mode, true)));
        let apart = [ORIGIN, CURSOR, TOGETHER];
        for (changed, (mode, usual)) in self.changed.iter().zip(PRIVATE) {
            if *changed && !apart.contains(&mode) {
                text.push_str(&private(mode, !usual));
            }
        }
        text.push_str(&private(CURSOR, self.is(CURSOR)));
        if self.is_together() {
            text.push_str(&private(TOGETHER, true));
        }
        text
    }

    /// Counts lines from the upper margin again, if the command does, and puts the cursor there: line and column from
    /// zero.
    pub(crate) fn place(&self, (row, column): (u16, u16)) -> Option<String> {
        let above = self.margins.map_or(0, |(top, _)| top - 1);
        let row = row.saturating_sub(above) + 1;
        self.is(ORIGIN).then(|| format!("{}\x1b[{row};{}H", private(ORIGIN, true), column + 1))
    }

    /// Sets the margins, if there are any. The cursor moves.
    pub(crate) fn scrolling(&self) -> String {
        match self.margins {
            None => String::new(),
            Some((top, 0)) => format!("\x1b[{top}r"),
            Some((top, bottom)) => format!("\x1b[{top};{bottom}r"),
        }
    }

    /// Resets the modes that a command left behind, for the next user of the terminal. Modes that may be meant
    /// to stay (colours, the shape of the cursor) stays.
    pub(crate) fn tidy(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let back = if self.alternate { "\x1b[?1049l" } else { "" };
        // The whole stack: who knows how much of it the command took down again. Each screen has one.
        let keys = if self.key_stack { "\x1b[<99u" } else { "" };
        let calm = Self { key_stack: false, ..self.clone() }.calm();
        // Margins move the cursor. Where lines are counted from them its place cannot be kept either.
        let (hold, release) = match (self.alternate, self.is(ORIGIN), self.margins) {
            (false, true, _) => ("", "\x1b[999H"),
            (true, true, _) | (_, _, Some(_)) => ("\x1b7", "\x1b8"),
            (_, false, None) => ("", ""),
        };
        format!("{keys}{back}{keys}{hold}{calm}{release}")
    }
}

fn private(mode: u16, on: bool) -> String {
    if mode == KEYPAD {
        // By its older name, which every terminal knows.
        return if on { "\x1b=" } else { "\x1b>" }.into();
    }
    format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' })
}

/// A control sequence, taken apart.
pub(crate) struct Control {
    prefix: Option<u8>,
    numbers: [u16; Self::MAX_MODES],
    count: usize,
    middle: Option<u8>,
    last: u8,
}

impl Control {
    /// Programs set a few modes at once, never many.
    const MAX_MODES: usize = 16;

    fn parse(text: &[u8]) -> Self {
        let mut found = Self { prefix: None, numbers: [0; Self::MAX_MODES], count: 0, middle: None, last: 0 };
        for byte in text.iter().skip(2) {
            match byte {
                b'<'..=b'?' => found.prefix = Some(*byte),
                b'0'..=b'9' => {
                    found.count = found.count.max(1);
                    if let Some(number) = found.numbers.get_mut(found.count - 1) {
                        *number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                    }
                }
                b';' => found.count = found.count.max(1) + 1,
                // What is behind a colon is a detail of a number that has none here.
                b':' => found.count = Self::MAX_MODES + 1,
                b' '..=b'/' => found.middle = Some(*byte),
                0x40..=0x7e => found.last = *byte,
                _ => {}
            }
        }
        found
    }

    fn number(&self, at: usize) -> u16 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    fn numbers(&self) -> impl Iterator<Item = u16> {
        self.numbers.into_iter().take(self.count)
    }
}

//! Content of the alternate screen, kept so that it can be drawn again.

use std::num::NonZeroU16;

use memchr::memmem;
use vt100::{Callbacks, Parser, Screen};

use crate::modes::TerminalModes;
use crate::output_scanner::OutputPiece;
use crate::surface::TerminalSize;

/// A window of more cells than this is drawn again by the command itself, not from memory: 32 bytes a cell, two screens.
const MAX_CELLS: usize = 200_000;

/// Characters look as they do on a terminal that was told nothing.
const PLAIN_PEN: &str = "\x1b[m";

/// A picture of the alternate screen.
pub(crate) struct AltScreen {
    /// Nothing for a window of a size that is not kept.
    parser: Option<Parser<Unknown>>,
    /// Something was drawn that is not in the picture.
    incomplete: bool,
}

/// Notices what the model of the screen does not know.
#[derive(Default)]
struct Unknown(bool);

impl Callbacks for Unknown {
    fn unhandled_csi(
        &mut self,
        _: &mut Screen,
        prefix: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        // What asks or reports draws nothing.
        self.0 |= match (prefix, last) {
            (None, 'm') => has_unknown_look(params),
            // Insertion, and line feeds that return.
            (None, 'h') => params.iter().any(|mode| matches!(mode, [4 | 20])),
            // Tabs, rectangles.
            (None, 'I' | 'Z') | (Some(b'$' | b' ' | b'\''), _) => true,
            _ => false,
        };
    }

    fn unhandled_escape(&mut self, _: &mut Screen, first: Option<u8>, _: Option<u8>, _: u8) {
        // Lines of double size. Other sets of characters are told apart below.
        self.0 |= first == Some(b'#');
    }
}

impl AltScreen {
    /// An empty one.
    pub(crate) fn new(size: TerminalSize) -> Self {
        let cells = usize::from(size.rows) * usize::from(size.columns);
        let kept = (2..=MAX_CELLS).contains(&cells) && size.rows > 1 && size.columns > 1;
        let (rows, columns) = sides(size);
        let parser = kept.then(|| Parser::new_with_callbacks(rows, columns, 0, Unknown::default()));
        Self { incomplete: parser.is_none(), parser }
    }

    /// The alternate screen comes up, by a sequence that the model has perhaps not understood.
    pub(crate) fn enter(&mut self) {
        let Some(parser) = &mut self.parser else { return };
        parser.callbacks_mut().0 = false;
        self.incomplete = false;
        if !parser.screen().alternate_screen() {
            parser.process(b"\x1b[?47h\x1b[2J");
        }
    }

    /// Leaves the alternate screen.
    pub(crate) fn leave(&mut self) {
        if let Some(parser) = &mut self.parser
            && parser.screen().alternate_screen()
        {
            parser.process(b"\x1b[?47l");
        }
    }

    /// Draws a piece of output.
    pub(crate) fn draw(&mut self, piece: OutputPiece<'_>, modes: &TerminalModes) {
        let Some(parser) = &mut self.parser else { return };
        match piece {
            OutputPiece::Text(text) => match modes.characters() {
                None => self.incomplete |= write(parser, text),
                Some(b'0') => self.incomplete |= write(parser, lines(text).as_bytes()),
                Some(_) => {
                    self.incomplete = true;
                    write(parser, text);
                }
            },
            // The model knows these by their other names only.
            OutputPiece::Escape(b"\x1bD") => parser.process(b"\n"),
            OutputPiece::Escape(b"\x1bE") => parser.process(b"\r\n"),
            OutputPiece::Control(b"\x1b[s") => parser.process(b"\x1b7"),
            OutputPiece::Control(b"\x1b[u") => parser.process(b"\x1b8"),
            OutputPiece::Escape(text) | OutputPiece::Control(text) => parser.process(text),
            OutputPiece::String(text) => self.incomplete |= draws(text),
        }
    }

    /// The window has another size.
    pub(crate) fn resize(&mut self, size: TerminalSize) {
        match &mut self.parser {
            Some(parser) if Self::new(size).parser.is_some() => {
                let (rows, columns) = sides(size);
                parser.set_size(rows, columns);
            }
            Some(_) => *self = Self::new(size),
            // The command draws everything again, on a screen that is up.
            None => {
                *self = Self::new(size);
                if let Some(parser) = &mut self.parser {
                    parser.process(b"\x1b[?47h");
                    self.incomplete = true;
                }
            }
        }
    }

    /// Returns `true` if a part is missing that only the command can draw.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete || self.parser.as_ref().is_none_or(|parser| parser.callbacks().0)
    }

    /// Draws all of it, with the cursor where it was. For a screen with nothing switched.
    pub(crate) fn paint(&self, modes: &TerminalModes) -> String {
        let Some(parser) = &self.parser else { return "\x1b[H\x1b[2J".into() };
        let screen = parser.screen();
        let mut text = screen.contents_formatted();
        let margins = modes.scrolling();
        if !margins.is_empty() {
            // Each moves the cursor, and to place it may need a cell to be drawn again, which the model takes to be done
            // with a plain pen.
            let cursor = screen.cursor_state_formatted();
            text.extend([margins, PLAIN_PEN.to_owned(), cursor, screen.attributes_formatted()]);
        }
        text.extend(modes.place(screen.cursor_position()));
        text
    }
}

/// Makes the character in front of it as wide as a picture.
const WIDENS: &[u8] = "\u{fe0f}".as_bytes();

/// Writes a text. Whether something of it is not in the picture: a character that becomes wide in the last column, by which
/// the model loses half of it and then fails.
fn write(parser: &mut Parser<Unknown>, mut text: &[u8]) -> bool {
    let mut is_missing = false;
    while let Some(at) = memmem::find(text, WIDENS) {
        let (before, rest) = text.split_at(at);
        let (widens, behind) = rest.split_at(WIDENS.len());
        parser.process(before);
        let ((_, column), (_, columns)) = (parser.screen().cursor_position(), parser.screen().size());
        if (1..columns.get()).contains(&column) {
            parser.process(widens);
        } else {
            is_missing = true;
        }
        text = behind;
    }
    parser.process(text);
    is_missing
}

/// Returns `true` for an attribute that is not kept: struck through, blinking, hidden, underlined in other ways.
fn has_unknown_look(params: &[&[u16]]) -> bool {
    let mut params = params.iter();
    while let Some(param) = params.next() {
        match param {
            // Colours in the form that is spread over several numbers.
            [38 | 48] => match params.next() {
                Some([5]) => drop(params.next()),
                Some([2]) => drop(params.nth(2)),
                Some(_) | None => return true,
            },
            [
                0..=4
                | 7
                | 22..=25
                | 27..=29
                | 30..=37
                | 39
                | 40..=47
                | 49
                | 54
                | 55
                | 59
                | 90..=97
                | 100..=107,
            ]
            | [4, 0 | 1]
            | [38 | 48, _, ..] => {}
            [..] => return true,
        }
    }
    false
}

fn sides(size: TerminalSize) -> (NonZeroU16, NonZeroU16) {
    let length = |of| NonZeroU16::new(of).unwrap_or(NonZeroU16::MIN);
    (length(size.rows), length(size.columns))
}

/// Returns `true` for a string that draws: pictures in several dialects, and hyperlinks.
fn draws(text: &[u8]) -> bool {
    match text {
        [_, b']', command @ ..] => {
            command.starts_with(b"1337;File")
                || command.strip_prefix(b"8;").is_some_and(|link| link.last() != Some(&b';'))
        }
        [_, b'_', command @ ..] => command.starts_with(b"G"),
        [_, b'P', command @ ..] => {
            let numbers = command.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';'));
            command.get(numbers.count()) == Some(&b'q')
        }
        _ => false,
    }
}

/// Text in the set of characters that draws lines.
/// [DEC special graphics](https://vt100.net/docs/vt220-rm/table2-4.html)
fn lines(text: &[u8]) -> String {
    const LINES: [char; 31] = [
        '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽',
        '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
    ];
    let line = |byte: &u8| {
        let at = byte.checked_sub(0x60).and_then(|at| LINES.get(usize::from(at)));
        at.copied().unwrap_or(char::from(*byte))
    };
    text.iter().map(line).collect()
}

//! From pictures to what a terminal is told: only what has changed, all of it at once.

use std::io::{self, Write};

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

/// Holds the screen still until the end of the picture, where a terminal can; and what is written past the edge of the
/// screen stays on its line, whatever width a terminal takes a character for.
const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?7l";

/// As it was.
const END: &[u8] = b"\x1b[m\x1b[?7h\x1b[?2026l";

/// Everything away.
const CLEAR: &[u8] = b"\x1b[m\x1b[2J";

/// A painter that knows the content of the terminal.
#[derive(Debug)]
pub struct Painter {
    there: Buffer,
    colours: bool,
}

impl Painter {
    /// Without `colours` only what a terminal can do without them is used.
    pub fn new(colours: bool) -> Self {
        Self { there: Buffer::empty(Rect::ZERO), colours }
    }

    /// Paints a picture.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn paint(&mut self, picture: Buffer, to: &mut dyn Write) -> io::Result<()> {
        let is_new = self.there.area() != picture.area();
        if is_new {
            self.there = Buffer::empty(*picture.area());
        }
        self.forget_halves(&picture);
        let changed = self.there.diff(&picture);
        if !changed.is_empty() || is_new {
            to.write_all(BEGIN)?;
            if is_new {
                to.write_all(CLEAR)?;
            }
            self.write(&changed, to)?;
            to.write_all(END)?;
            to.flush()?;
        }
        self.there = picture;
        Ok(())
    }

    /// Forgets cells beside an overwritten half of a wide character: terminals do not agree on how the other half looks then.
    fn forget_halves(&mut self, next: &Buffer) {
        let area = *next.area();
        for (x, y) in (0..area.height).flat_map(|y| (0..area.width).map(move |x| (x, y))) {
            let goes = self.there.cell((x, y)).is_some_and(|cell| !cell.symbol().is_ascii())
                && self.there.cell((x, y)) != next.cell((x, y));
            if let Some(half) = self.there.cell_mut((x + 1, y)).filter(|_| goes) {
                half.set_symbol("?").set_style(UNKNOWN);
            }
        }
    }

    fn write(&self, changed: &[(u16, u16, &Cell)], to: &mut dyn Write) -> io::Result<()> {
        let mut next = None;
        let mut style = None;
        for (x, y, cell) in changed {
            if next != Some((*x, *y)) {
                write!(to, "\x1b[{};{}H", y + 1, x + 1)?;
            }
            if style != Some(cell.style()) {
                self.write_style(cell.style(), to)?;
                style = Some(cell.style());
            }
            to.write_all(cell.symbol().as_bytes())?;
            // Where the cursor stands behind other characters, terminals do not agree.
            next = cell.symbol().is_ascii().then_some((x + 1, *y));
        }
        Ok(())
    }

    fn write_style(&self, style: Style, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"\x1b[0")?;
        for (modifier, code) in MODIFIERS {
            if style.add_modifier.contains(modifier) {
                write!(to, ";{code}")?;
            }
        }
        if let Some(code) = style.fg.and_then(code).filter(|_| self.colours) {
            write!(to, ";{code}")?;
        }
        to.write_all(b"m")
    }
}

/// A look that nothing has.
const UNKNOWN: Style = Style::new().add_modifier(Modifier::RAPID_BLINK);

const MODIFIERS: [(Modifier, u8); 4] =
    [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::UNDERLINED, 4), (Modifier::REVERSED, 7)];

/// The colours that are used here.
fn code(colour: Color) -> Option<u8> {
    match colour {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Cyan => Some(36),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use proptest::prelude::*;
    use vt100::Parser;

    use super::*;

    const CHARACTERS: [char; 8] = ['a', 'b', ' ', '│', '日', '‹', 'é', '😀'];

    /// A picture of a few characters, some of them wide.
    fn picture(width: u16, height: u16, cells: &[(u16, u16, usize, u16)]) -> Buffer {
        let mut picture = Buffer::empty(Rect::new(0, 0, width, height));
        for (x, y, character, look) in cells {
            let looks = [Modifier::empty(), Modifier::BOLD, Modifier::REVERSED, Modifier::UNDERLINED];
            let style = Style::new().add_modifier(looks[usize::from(look % 4)]);
            let text = CHARACTERS[character % CHARACTERS.len()].to_string();
            // Wide ones do not overlap.
            picture.set_stringn(x % (width / 2) * 2, y % height, text, 2, style);
        }
        picture
    }

    /// The characters of a screen and of a picture, cell by cell.
    fn assert_shows(parser: &Parser, picture: &Buffer) {
        for y in 0..picture.area().height {
            for x in 0..picture.area().width {
                let cell = parser.screen().cell(y, x).unwrap();
                if cell.is_wide_continuation() {
                    continue;
                }
                let there = if cell.has_contents() { cell.contents() } else { " " };
                let wanted = picture.cell((x, y)).unwrap();
                assert_eq!(there, wanted.symbol(), "at {x}, {y}");
                let bold = wanted.modifier.contains(Modifier::BOLD);
                let inverse = wanted.modifier.contains(Modifier::REVERSED);
                assert_eq!((cell.bold(), cell.inverse()), (bold, inverse), "at {x}, {y}");
            }
        }
    }

    fn paint_to_bytes(painter: &mut Painter, picture: Buffer) -> Vec<u8> {
        let mut told = Vec::new();
        painter.paint(picture, &mut told).unwrap();
        told
    }

    proptest! {
        #[test]
        fn what_is_told_shows_the_picture(
            pictures in prop::collection::vec(
                ((6u16..12, 3u16..6), prop::collection::vec((0u16..12, 0u16..6, 0usize..8, 0u16..64), 0..30)),
                1..6,
            ),
        ) {
            let mut painter = Painter::new(true);
            let length = |of| NonZeroU16::new(of).unwrap();
            let mut parser = Parser::new(length(6), length(12), 0);
            for ((width, height), cells) in pictures {
                parser.screen_mut().set_size(length(height), length(width));
                let next = picture(width, height, &cells);
                parser.process(&paint_to_bytes(&mut painter, next.clone()));
                assert_shows(&parser, &next);
            }
        }
    }

    #[test]
    fn what_is_there_is_not_told_again() {
        let mut painter = Painter::new(true);
        let one = picture(10, 4, &[(0, 0, 0, 0), (4, 2, 4, 0)]);
        assert!(paint_to_bytes(&mut painter, one.clone()).starts_with(BEGIN));
        assert_eq!(paint_to_bytes(&mut painter, one), b"");
        let other = paint_to_bytes(&mut painter, picture(10, 4, &[(0, 0, 1, 0), (4, 2, 4, 0)]));
        assert_eq!(other, [BEGIN, b"\x1b[1;1H\x1b[0mb", END].concat());
    }

    #[test]
    fn without_colours_no_colour_is_told() {
        let mut red = Buffer::empty(Rect::new(0, 0, 4, 1));
        red.set_string(0, 0, "a", Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        let text =
            |colours| String::from_utf8(paint_to_bytes(&mut Painter::new(colours), red.clone())).unwrap();
        assert!(text(true).contains("\x1b[0;1;31ma"));
        assert!(text(false).contains("\x1b[0;1ma"));
    }
}

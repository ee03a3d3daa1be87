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

/// Whoever paints pictures on a terminal, and knows what is there.
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

//! Listens to what a command writes, and knows how its terminal looks.

use crate::alt_screen::AltScreen;
use crate::key_encoding::as_sent;
use crate::modes::TerminalModes;
use crate::output_scanner::{OutputPiece, Scanner};
use crate::screen::{APART, CANCEL, ENTER, LEAVE, MARK_PASTE, PLAIN, TOGETHER, UNMARK_PASTE};
use crate::surface::TerminalSize;

/// The state of a terminal, as far as it has to be put back after a dialog.
///
/// The alternate screen is known by a picture. The main one is kept by the terminal itself while a dialog is shown on
/// the other, better than by any picture: with what has scrolled away, and with what stood there before the command.
pub(crate) struct VtState {
    scanner: Scanner,
    modes: TerminalModes,
    picture: Option<AltScreen>,
    size: TerminalSize,
}

impl VtState {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self { scanner: Scanner::default(), modes: TerminalModes::default(), picture: None, size }
    }

    pub(crate) fn size(&self) -> TerminalSize {
        self.size
    }

    /// Takes notice of what the terminal is going to be told.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Self { scanner, modes, picture, size } = self;
        scanner.scan(bytes, &mut |piece| note(modes, picture, *size, piece));
    }

    /// Returns how many of the last bytes belong to an unfinished sequence or character.
    pub(crate) fn unfinished(&self) -> usize {
        self.scanner.unfinished()
    }

    /// Returns `true` during a synchronized update of the command.
    pub(crate) fn is_together(&self) -> bool {
        self.modes.is_together()
    }

    /// The window has another size.
    pub(crate) fn resize(&mut self, size: TerminalSize) {
        if size == self.size {
            return;
        }
        self.size = size;
        self.modes.resized();
        if let Some(picture) = &mut self.picture {
            picture.resize(size);
        }
    }

    /// Makes room for a dialog.
    pub(crate) fn give_way(&self) -> String {
        let calm = self.modes.calm();
        let enter = if self.modes.is_alternate() { "" } else { ENTER };
        format!("{CANCEL}{enter}{calm}{PLAIN}{MARK_PASTE}")
    }

    /// Puts everything back after [`give_way`](Self::give_way) and a dialog. What was half said is said again up to
    /// where it was.
    pub(crate) fn come_back(&self) -> Vec<u8> {
        let mut text = format!("{CANCEL}{TOGETHER}{}{PLAIN}{UNMARK_PASTE}", self.modes.unstack());
        match &self.picture {
            Some(picture) if self.modes.is_alternate() => text.push_str(&picture.paint(&self.modes)),
            _ => {
                text.push_str(LEAVE);
                let margins = self.modes.scrolling();
                if !margins.is_empty() {
                    // Each moves the cursor.
                    text.extend(["\x1b7", &margins, "\x1b8"]);
                }
            }
        }
        text.push_str(APART);
        text.push_str(&self.modes.restore());
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(self.scanner.begun().unwrap_or_default());
        bytes
    }

    /// Returns keys typed during a dialog as the terminal would have sent them to the command.
    pub(crate) fn as_typed(&self, bytes: &[u8]) -> Vec<u8> {
        as_sent(bytes, &self.modes)
    }

    /// Returns the output that draws the alternate screen again, if it is up: after another process had the terminal.
    pub(crate) fn redraw(&self) -> Vec<u8> {
        let is_up = self.modes.is_alternate();
        if is_up { [self.give_way().into_bytes(), self.come_back()].concat() } else { Vec::new() }
    }

    /// Returns `true` if the command has to redraw what only it can draw.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.modes.is_alternate() && self.picture.as_ref().is_none_or(AltScreen::is_incomplete)
    }

    /// Returns `true` if the rest of a sequence can only be dropped: its beginning is forgotten.
    pub(crate) fn is_too_long(&self) -> bool {
        self.scanner.begun().is_none()
    }

    /// Returns the output that resets the modes a command left behind.
    pub(crate) fn tidy(&self) -> String {
        let cancel = if self.scanner.unfinished() == 0 { "" } else { CANCEL };
        format!("{cancel}{}", self.modes.tidy())
    }
}

fn note(
    modes: &mut TerminalModes,
    picture: &mut Option<AltScreen>,
    size: TerminalSize,
    piece: OutputPiece<'_>,
) {
    if let OutputPiece::Text(text) = piece
        && let Some(at) = memchr::memchr2(0x0e, 0x0f, text)
        && at + 1 < text.len()
    {
        // Another set of characters from there on.
        let (before, after) = text.split_at(at + 1);
        note(modes, picture, size, OutputPiece::Text(before));
        return note(modes, picture, size, OutputPiece::Text(after));
    }
    let was = modes.is_alternate();
    if let (true, OutputPiece::Text(_), Some(picture)) = (was, piece, picture.as_mut()) {
        picture.draw(piece, modes);
        return modes.feed(piece);
    }
    modes.feed(piece);
    let is = modes.is_alternate();
    if !was && !is {
        return;
    }
    let picture = picture.get_or_insert_with(|| AltScreen::new(size));
    picture.draw(piece, modes);
    match (was, is) {
        (false, true) => picture.enter(),
        (true, false) => picture.leave(),
        (true, true) | (false, false) => {}
    }
}

#[cfg(test)]
mod tests;

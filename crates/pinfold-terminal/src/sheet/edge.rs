//! The border between a sheet and our own lines.

use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Modifier, Style};

use crate::surface::TerminalSize;

/// Smaller than this there is no room for what is ours and some text.
pub(crate) const SMALLEST: TerminalSize = TerminalSize { rows: 10, columns: 40 };

/// Draws the line below a sheet, with words of ours in it.
pub(crate) fn draw_rule(words: &str, style: Style, y: u16, to: &mut Buffer) {
    let width = usize::from(to.area().width);
    to.set_stringn(0, y, "─".repeat(width), width, Style::new().add_modifier(Modifier::DIM));
    if !words.is_empty() {
        to.set_stringn(2, y, format!(" {words} "), width.saturating_sub(2), style);
    }
}

//! Drawing of the permissions screen.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::model::{Pane, Screen};
use crate::sheet::{SMALLEST, draw_rule};
use crate::surface::TerminalSize;

impl Screen {
    /// Draws it.
    pub fn view(&mut self, size: TerminalSize) -> Buffer {
        let mut picture = Buffer::empty(Rect::new(0, 0, size.columns, size.rows));
        self.width = size.columns;
        self.has_room = size.rows >= SMALLEST.rows && size.columns >= SMALLEST.columns;
        if !self.has_room {
            picture.set_stringn(0, 0, "enlarge this window", size.columns.into(), Style::new());
            return picture;
        }
        self.header(&mut picture);
        let below = self.footer();
        let height = size.rows - 2 - u16::try_from(below.len()).unwrap_or(0);
        let scroll = match &mut self.pane {
            Pane::List | Pane::Filter | Pane::Call(_) => &mut self.list,
            Pane::Confirm(_, scroll) | Pane::Answer(scroll) => scroll,
        };
        scroll.draw(1, height, &mut picture);
        let hidden = scroll.hidden();
        self.line_below(hidden, 1 + height, &mut picture);
        for (words, y) in below.iter().zip(2 + height..) {
            picture.set_stringn(1, y, words, usize::from(size.columns) - 1, Style::new());
        }
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match &self.pane {
            Pane::Filter => self.filter.draw(7, 2 + height, &mut picture),
            Pane::Call(field) => field.draw(7, 2 + height, &mut picture),
            Pane::Confirm(..) => picture.set_style(Rect::new(0, 2 + height, size.columns, 1), bold),
            Pane::List | Pane::Answer(_) => {}
        }
        picture
    }

    fn header(&self, picture: &mut Buffer) {
        let width = picture.area().width;
        let style = Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD);
        picture.set_style(Rect::new(0, 0, width, 1), style);
        let (shown, all) = self.counts();
        let right = if shown == all { format!("{all} ") } else { format!("{shown} of {all} ") };
        let length = u16::try_from(right.len()).unwrap_or(width);
        let room = width.saturating_sub(length + 2);
        picture.set_stringn(1, 0, format!("permissions: {}", self.title), room.into(), style);
        picture.set_stringn(width.saturating_sub(length), 0, right, length.into(), style);
    }

    fn line_below(&self, (above, below): (usize, usize), y: u16, picture: &mut Buffer) {
        let strong = Style::new().add_modifier(Modifier::BOLD).fg(Color::Yellow);
        let (words, style) = match (&self.notice, above, below) {
            (Some(notice), ..) => (notice.clone(), strong),
            (None, 0, 0) => (String::new(), strong),
            (None, above, below) => (format!("{above} above, {below} below"), Style::new()),
        };
        draw_rule(&words, style, y, picture);
    }

    /// The lines below the text.
    fn footer(&self) -> Vec<&'static str> {
        match &self.pane {
            Pane::List => vec!["d remove · t test · / find · q quit · r reload"],
            Pane::Filter => vec!["find:", "esc shows all · enter keeps it"],
            Pane::Call(_) => vec!["call:", "esc back · such as: git push, Write(a.txt)"],
            Pane::Confirm(..) => vec!["remove it?", "  y  Yes, remove it", "> n  No"],
            Pane::Answer(_) => vec!["any key goes back · t another call"],
        }
    }
}

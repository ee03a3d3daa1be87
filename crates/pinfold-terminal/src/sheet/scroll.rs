//! The visible rows of a sheet, and whether its end was seen.

use std::ops::Range;

use ratatui_core::buffer::Buffer;

use super::rows::{Row, Sheet};
use crate::surface::{Key, KeyCode};

/// A sheet that may be longer than its place on the screen.
#[derive(Debug)]
pub(crate) struct Scroll<'a> {
    pub(crate) sheet: Sheet<'a>,
    top: usize,
    /// The top row, for when the width changes.
    anchor: Option<Row>,
    height: usize,
    /// So many blocks have to be seen to their end.
    needed: usize,
    seen: bool,
}

impl<'a> Scroll<'a> {
    /// A sheet that counts as seen when the end of its first `needed` blocks was on the screen.
    pub(crate) fn new(sheet: Sheet<'a>, needed: usize) -> Self {
        Self { sheet, top: 0, anchor: None, height: 1, needed, seen: false }
    }

    /// Draws what is at the moment to be seen, from line `y` on.
    pub(crate) fn draw(&mut self, y: u16, height: u16, to: &mut Buffer) {
        self.height = usize::from(height).max(1);
        if self.sheet.fit(to.area().width) {
            self.top = self.anchor.map_or(0, |anchor| self.sheet.row_of(anchor));
        }
        self.stand_at(self.top);
        for (row, line) in (self.top..self.sheet.len()).zip(y..y.saturating_add(height)) {
            self.sheet.draw(row, line, to);
        }
        let end = self.end_of_needed();
        self.seen |= end <= self.top + self.height && (end > self.top || end == 0);
    }

    /// Returns `true` if everything that has to be seen was on the screen.
    pub(crate) fn is_seen(&self) -> bool {
        self.seen
    }

    /// Rows above and below what is on the screen.
    pub(crate) fn hidden(&self) -> (usize, usize) {
        (self.top, self.sheet.len().saturating_sub(self.top + self.height))
    }

    /// Returns how many rows are on the screen at once.
    pub(crate) fn page(&self) -> usize {
        self.height
    }

    /// A key that moves it. Says whether it was one.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        if key.ctrl || key.alt {
            return false;
        }
        let page = self.height.saturating_sub(1).max(1);
        let to = match key.code {
            KeyCode::PageDown | KeyCode::Char(' ') => self.top.saturating_add(page),
            KeyCode::PageUp | KeyCode::Char('b') => self.top.saturating_sub(page),
            KeyCode::Char('j') => self.top.saturating_add(1),
            KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') if self.seen => usize::MAX,
            KeyCode::End | KeyCode::Char('G') => self.end_of_needed().saturating_sub(self.height),
            _ => return false,
        };
        self.stand_at(to);
        true
    }

    /// Moves it so that these blocks are on the screen, or the beginning of them.
    pub(crate) fn reveal(&mut self, blocks: Range<usize>) {
        let (from, to) = (self.sheet.row_of_block(blocks.start), self.sheet.row_of_block(blocks.end));
        if to > self.top.saturating_add(self.height) {
            self.stand_at(to.saturating_sub(self.height));
        }
        if from < self.top {
            self.stand_at(from);
        }
    }

    /// Another sheet in place of this one, as far down.
    pub(crate) fn replace(&mut self, mut sheet: Sheet<'a>, width: u16, needed: usize) {
        sheet.fit(width);
        self.sheet = sheet;
        self.needed = needed;
        self.stand_at(self.top);
    }

    /// The row behind the last that has to be seen.
    fn end_of_needed(&self) -> usize {
        self.sheet.row_of_block(self.needed)
    }

    fn stand_at(&mut self, row: usize) {
        self.top = row.min(self.sheet.len().saturating_sub(self.height));
        self.anchor = self.sheet.place(self.top);
    }
}

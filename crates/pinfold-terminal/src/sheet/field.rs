//! A field of text: one line, to be typed.

use pinfold_render::Piece;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Modifier, Style};

use crate::surface::{Key, KeyCode};

/// The longest text, in characters.
const MAX_CHARS: usize = 2000;

/// A text that is typed, with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextInput {
    before: Vec<char>,
    /// Characters behind the cursor, the nearest last.
    behind: Vec<char>,
}

impl TextInput {
    pub(crate) fn text(&self) -> String {
        self.before.iter().chain(self.behind.iter().rev()).collect()
    }

    /// A key that changes it or moves the cursor.
    pub(crate) fn key(&mut self, key: Key) {
        match (key.code, key.ctrl) {
            (KeyCode::Char('a'), true) | (KeyCode::Home, _) => while self.left() {},
            (KeyCode::Char('e'), true) | (KeyCode::End, _) => while self.right() {},
            (KeyCode::Char('u'), true) => self.before.clear(),
            (KeyCode::Char('k'), true) => self.behind.clear(),
            (KeyCode::Char('w'), true) => self.drop_word(),
            (KeyCode::Char('h'), true) | (KeyCode::Backspace, _) => drop(self.before.pop()),
            (KeyCode::Delete, _) => drop(self.behind.pop()),
            (KeyCode::Left, _) => drop(self.left()),
            (KeyCode::Right, _) => drop(self.right()),
            (KeyCode::Char(c), false) if !key.alt => self.insert(c),
            _ => {}
        }
    }

    /// A pasted text; the lines of it become one.
    pub(crate) fn paste(&mut self, text: &str) {
        text.chars().for_each(|c| self.insert(c));
    }

    fn insert(&mut self, c: char) {
        let c = if c.is_control() { ' ' } else { c };
        if self.before.len() + self.behind.len() < MAX_CHARS {
            self.before.push(c);
        }
    }

    fn left(&mut self) -> bool {
        self.before.pop().is_some_and(|c| {
            self.behind.push(c);
            true
        })
    }

    fn right(&mut self) -> bool {
        self.behind.pop().is_some_and(|c| {
            self.before.push(c);
            true
        })
    }

    fn drop_word(&mut self) {
        while self.before.pop_if(|c| *c == ' ').is_some() {}
        while self.before.pop_if(|c| *c != ' ').is_some() {}
    }

    /// Draws it on a line, from `x` on, so that the cursor is to be seen.
    pub(crate) fn draw(&self, x: u16, y: u16, to: &mut Buffer) {
        let room = usize::from(to.area().width.saturating_sub(x)).saturating_sub(1);
        let mut start = self.before.len();
        let mut used = 0;
        while let Some(c) = start.checked_sub(1).and_then(|i| self.before.get(i)) {
            used += shown(*c).chars().count() * 2;
            if used > room {
                break;
            }
            start -= 1;
        }
        let before = self.before.iter().skip(start).map(|c| shown(*c)).collect::<String>();
        let (at, _) = to.set_stringn(x, y, before, room, Style::new());
        let cursor = self.behind.last().map_or_else(|| " ".to_owned(), |c| shown(*c));
        let left = |at: u16| usize::from(to.area().width.saturating_sub(at));
        let width = left(at);
        let (at, _) = to.set_stringn(at, y, cursor, width, Style::new().add_modifier(Modifier::REVERSED));
        let width = usize::from(to.area().width.saturating_sub(at));
        let rest = self.behind.iter().rev().skip(1).take(width).map(|c| shown(*c)).collect::<String>();
        to.set_stringn(at, y, rest, width, Style::new());
    }
}

/// A character as it is shown; a space is one, wherever it stands.
fn shown(c: char) -> String {
    match c {
        ' ' => c.into(),
        c => Piece::first(c.encode_utf8(&mut [0; 4])).map(|(piece, _)| piece.to_string()).unwrap_or_default(),
    }
}

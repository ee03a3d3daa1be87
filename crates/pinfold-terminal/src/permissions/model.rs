//! The screen as a machine: keys in, wishes out.

use pinfold_render::{Block, Tone, visible};

use super::item::{LabelledLine, PermissionItem};
use crate::sheet::{Scroll, Sheet, TextInput};
use crate::surface::{Key, KeyCode};

/// An action that the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenAction {
    /// This one is removed. It was confirmed.
    Remove(PermissionItem),
    /// This call is tried.
    Test(String),
    /// All is looked up again.
    Refresh,
    /// Leave the screen.
    Quit,
}

/// All that holds, on a screen.
#[derive(Debug)]
pub struct Screen {
    pub(super) title: String,
    items: Vec<PermissionItem>,
    /// The search text.
    pub(super) filter: TextInput,
    /// Index of the marked one of the entries that are shown.
    at: usize,
    pub(super) pane: Pane,
    pub(super) list: Scroll<'static>,
    /// The result of the last action.
    pub(super) notice: Option<String>,
    /// The screen is large enough.
    pub(super) has_room: bool,
    pub(super) width: u16,
}

/// The part of the screen that has the keys.
#[derive(Debug)]
pub(super) enum Pane {
    List,
    /// The search text is typed.
    Filter,
    /// Confirmation of a removal.
    Confirm(PermissionItem, Scroll<'static>),
    /// A call is typed.
    Call(TextInput),
    /// The decision about a typed call.
    Answer(Scroll<'static>),
}

const NOT_HERE: &str = "that cannot be removed here";

impl Screen {
    /// A screen with a title: whose permissions these are.
    pub fn new(title: &str, items: Vec<PermissionItem>) -> Self {
        let mut screen = Self {
            title: visible(title),
            items,
            filter: TextInput::default(),
            at: 0,
            pane: Pane::List,
            list: Scroll::new(Sheet::default(), 0),
            notice: None,
            has_room: false,
            width: 0,
        };
        screen.lay_out();
        screen
    }

    /// Sets the permissions in force.
    pub fn set_items(&mut self, items: Vec<PermissionItem>) {
        self.items = items;
        self.lay_out();
    }

    /// Says what was done, or why it was not.
    pub fn set_notice(&mut self, words: &str) {
        self.notice = Some(visible(words));
    }

    /// Shows what would be decided about a call.
    pub fn answer(&mut self, told: Vec<LabelledLine>) {
        let blocks: Vec<_> = told.into_iter().map(|(label, text)| Block::inline(label, text)).collect();
        self.pane = Pane::Answer(Scroll::new(Sheet::new(blocks), 0));
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key) -> Option<ScreenAction> {
        self.notice = None;
        if key == Key::ctrl('c') {
            return Some(ScreenAction::Quit);
        }
        match std::mem::replace(&mut self.pane, Pane::List) {
            Pane::List => return self.list_key(key),
            Pane::Filter => self.filter_key(key),
            Pane::Confirm(item, scroll) => return self.confirm_key(item, scroll, key),
            Pane::Call(field) => return self.call_key(field, key),
            Pane::Answer(mut scroll) => {
                if scroll.key(key) {
                    self.pane = Pane::Answer(scroll);
                } else if key.code == KeyCode::Char('t') {
                    self.pane = Pane::Call(TextInput::default());
                }
            }
        }
        None
    }

    /// Takes a pasted text, where one can be typed.
    pub fn paste(&mut self, text: &str) {
        match &mut self.pane {
            Pane::Filter => {
                self.filter.paste(text);
                self.lay_out();
            }
            Pane::Call(field) => field.paste(text),
            Pane::List | Pane::Confirm(..) | Pane::Answer(_) => {}
        }
    }

    fn list_key(&mut self, key: Key) -> Option<ScreenAction> {
        let count = self.shown().count();
        let page = self.list.page() / 2;
        match key.code {
            KeyCode::Char('q') | KeyCode::Escape => return Some(ScreenAction::Quit),
            KeyCode::Char('r') => return Some(ScreenAction::Refresh),
            KeyCode::Char('t') => self.pane = Pane::Call(TextInput::default()),
            KeyCode::Char('/') => self.pane = Pane::Filter,
            KeyCode::Char('d') | KeyCode::Delete => self.ask(),
            KeyCode::Up | KeyCode::Char('k') => self.at = self.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.at += 1,
            KeyCode::PageUp => self.at = self.at.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.at += page,
            KeyCode::Home | KeyCode::Char('g') => self.at = 0,
            KeyCode::End | KeyCode::Char('G') => self.at = count,
            _ => {}
        }
        self.lay_out();
        None
    }

    /// Asks whether to remove what is marked.
    fn ask(&mut self) {
        let Some(item) = self.marked().cloned() else { return };
        match &item.removal {
            None => self.notice = Some(NOT_HERE.to_owned()),
            Some(removal) => {
                let blocks = vec![
                    Block::inline(item.word, item.text.clone()).tone(Tone::Strong),
                    Block::inline("from", item.from.clone()).tone(Tone::Strong),
                    Block::prose("", removal.clone()).sign('*'),
                ];
                let needed = blocks.len();
                self.pane = Pane::Confirm(item, Scroll::new(Sheet::new(blocks), needed));
            }
        }
    }

    fn confirm_key(
        &mut self,
        item: PermissionItem,
        mut scroll: Scroll<'static>,
        key: Key,
    ) -> Option<ScreenAction> {
        let is_yes = matches!(key.code, KeyCode::Char('y' | 'Y')) && !key.ctrl && !key.alt;
        if scroll.key(key) {
            self.pane = Pane::Confirm(item, scroll);
            return None;
        }
        // Only what could be read is removed.
        (is_yes && self.has_room && scroll.is_seen()).then_some(ScreenAction::Remove(item))
    }

    fn filter_key(&mut self, key: Key) {
        match key.code {
            KeyCode::Escape => self.filter = TextInput::default(),
            KeyCode::Enter => {}
            _ => {
                self.filter.key(key);
                self.pane = Pane::Filter;
            }
        }
        self.at = 0;
        self.lay_out();
    }

    fn call_key(&mut self, mut field: TextInput, key: Key) -> Option<ScreenAction> {
        match key.code {
            KeyCode::Escape => return None,
            KeyCode::Enter if field.text().trim().is_empty() => return None,
            KeyCode::Enter => return Some(ScreenAction::Test(field.text().trim().to_owned())),
            _ => field.key(key),
        }
        self.pane = Pane::Call(field);
        None
    }

    /// The items that what is looked for occurs in.
    fn shown(&self) -> impl Iterator<Item = &PermissionItem> {
        let wanted = self.filter.text().to_lowercase();
        let has = move |text: &str| text.to_lowercase().contains(&wanted);
        self.items.iter().filter(move |item| has(&format!("{} {} {}", item.word, item.text, item.from)))
    }

    fn marked(&self) -> Option<&PermissionItem> {
        self.shown().nth(self.at)
    }

    /// Returns the number of items, and how many of them are shown.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.shown().count(), self.items.len())
    }

    /// Makes the list anew, with the mark on the screen.
    fn lay_out(&mut self) {
        self.at = self.at.min(self.shown().count().saturating_sub(1));
        let mut blocks = Vec::new();
        let (mut section, mut marked) = ("", 0..0);
        for (i, item) in self.shown().enumerate() {
            let begins = blocks.len();
            if section != item.section {
                section = item.section;
                blocks.push(Block::prose("", section).tone(Tone::Faint).sign('*'));
            }
            blocks.extend(item_blocks(item, i == self.at));
            if i == self.at {
                marked = begins..blocks.len();
            }
        }
        if blocks.is_empty() {
            blocks.push(Block::prose("", "nothing").tone(Tone::Faint).sign('*'));
        }
        self.list.replace(Sheet::new(blocks), self.width, 0);
        self.list.reveal(marked);
    }
}

fn item_blocks(item: &PermissionItem, is_marked: bool) -> Vec<Block<'static>> {
    let tone = match item.word {
        "allow" => Tone::Come,
        "deny" => Tone::Gone,
        _ => Tone::Plain,
    };
    let sign = if is_marked { '>' } else { ' ' };
    let words: Vec<_> =
        std::iter::once(&item.from).chain(&item.notes).filter(|words| !words.is_empty()).cloned().collect();
    let mut blocks = vec![Block::inline(item.word, item.text.clone()).tone(tone).sign(sign)];
    if !words.is_empty() {
        blocks.push(Block::prose("", words.join(" · ")).tone(Tone::Faint));
    }
    blocks
}

//! The dialog as a machine: keys in, a choice out.

use std::time::Duration;

use pinfold::consent::{Choice, Request};
use pinfold_render::{Answerable, Body, at_rest, offered, visible};

use super::grant::Grant;
use super::options::meant_by;
use crate::sheet::{Field, Scroll, Sheet};
use crate::stage::{Key, KeyCode};

/// What can change while a dialog is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// How long until silence is a no.
    pub left: Duration,
    /// How many requests wait, this one included.
    pub waiting: usize,
}

/// A request that is shown, and what was typed so far.
#[derive(Debug)]
pub struct Dialog<'a> {
    pub(super) request: &'a Request,
    pub(super) body: Scroll<'a>,
    pub(super) options: Vec<Answerable>,
    /// Which of them Enter takes.
    pub(super) at: usize,
    pub(super) pane: Pane<'a>,
    /// Why the last key did nothing.
    pub(super) word: Option<&'static str>,
    /// Keys count.
    pub(super) is_heard: bool,
    /// The screen is large enough for it.
    pub(super) has_room: bool,
    pub(super) width: u16,
}

/// What stands below the text, or in its place.
#[derive(Debug)]
pub(super) enum Pane<'a> {
    /// The answers.
    Options,
    /// What would hold beyond the call.
    Grant(Grant<'a>),
    /// A message to the model.
    Message(Field),
    /// What came of it elsewhere.
    Over(String),
}

/// What is said to a yes before the text was read.
const UNREAD: &str = "read to the end first: space, or end";

/// What is said to an answer that is not there.
const NOT_OFFERED: &str = "that is not offered here";

impl<'a> Dialog<'a> {
    /// A dialog about a request. Nobody has seen it yet.
    pub fn new(request: &'a Request) -> Self {
        let body = Body::of(request);
        let options = offered(request, body.is_whole);
        let at = options.iter().position(|option| *option == at_rest(request)).unwrap_or(0);
        Self {
            request,
            body: Scroll::new(Sheet::new(body.blocks), body.what),
            options,
            at,
            pane: Pane::Options,
            word: None,
            is_heard: false,
            has_room: false,
            width: 0,
        }
    }

    /// Keys count from here on.
    pub fn heard(&mut self) {
        self.is_heard = true;
    }

    /// It is over without an answer from here; `words` say what came of it. There is nothing to be chosen any more.
    pub fn close(&mut self, words: &str) {
        self.pane = Pane::Over(visible(words));
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key) -> Option<Choice> {
        self.word = None;
        if matches!(self.pane, Pane::Over(_)) {
            return None;
        }
        if key == Key::ctrl('c') {
            return Some(NO);
        }
        if !self.has_room {
            let is_no = key.code == KeyCode::Escape || meant_by(key) == Some(Answerable::No);
            return is_no.then_some(NO);
        }
        match std::mem::replace(&mut self.pane, Pane::Options) {
            Pane::Options => self.option_key(key),
            Pane::Grant(grant) => self.grant_key(grant, key),
            Pane::Message(field) => self.message_key(field, key),
            over @ Pane::Over(_) => {
                self.pane = over;
                None
            }
        }
    }

    /// Takes a pasted text: for the message to the model, and nothing else.
    pub fn paste(&mut self, text: &str) {
        if let Pane::Message(field) = &mut self.pane {
            field.paste(text);
        }
    }

    fn option_key(&mut self, key: Key) -> Option<Choice> {
        let last = self.options.len().saturating_sub(1);
        match key.code {
            KeyCode::Escape => return Some(NO),
            KeyCode::Enter => return self.take(self.options.get(self.at).copied()?),
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::Tab if key.shift => self.at = self.at.checked_sub(1).unwrap_or(last),
            KeyCode::Tab => self.at = if self.at >= last { 0 } else { self.at + 1 },
            KeyCode::Char('m' | 'M') if !key.ctrl && !key.alt => self.pane = Pane::Message(Field::default()),
            _ if self.body.key(key) => {}
            _ => return meant_by(key).and_then(|option| self.take(option)),
        }
        None
    }

    /// Takes an answer if it is offered and can be given.
    fn take(&mut self, option: Answerable) -> Option<Choice> {
        let Some(at) = self.options.iter().position(|offered| *offered == option) else {
            self.word = Some(NOT_OFFERED);
            return None;
        };
        if option == Answerable::No {
            return Some(NO);
        }
        if !self.body.is_seen() {
            self.word = Some(UNREAD);
            return None;
        }
        self.at = at;
        let offer = &self.request.offer;
        self.pane = match option {
            Answerable::Yes | Answerable::No => return Some(Choice::Yes),
            Answerable::Session => Pane::Grant(Grant::session(offer)),
            Answerable::Always => Pane::Grant(Grant::always(offer)),
        };
        None
    }

    fn grant_key(&mut self, mut grant: Grant<'a>, key: Key) -> Option<Choice> {
        match key.code {
            KeyCode::Escape => return None,
            KeyCode::Enter if grant.scroll.is_seen() => return Some(grant.choice()),
            KeyCode::Enter => self.word = Some(UNREAD),
            _ if grant.key(key, self.width) || grant.scroll.key(key) => {}
            _ => {}
        }
        self.pane = Pane::Grant(grant);
        None
    }

    fn message_key(&mut self, mut field: Field, key: Key) -> Option<Choice> {
        match key.code {
            KeyCode::Escape => return None,
            KeyCode::Enter => {
                let message = Some(field.text().trim().to_owned()).filter(|text| !text.is_empty());
                return Some(Choice::No { message });
            }
            _ => field.key(key),
        }
        self.pane = Pane::Message(field);
        None
    }
}

const NO: Choice = Choice::No { message: None };

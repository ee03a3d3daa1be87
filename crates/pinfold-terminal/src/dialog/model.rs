//! The dialog as a machine: keys in, a choice out.

use std::time::{Duration, Instant};

use pinfold::consent::{Choice, Request};
use pinfold_render::{Answerable, Body, default_answer, offered, visible};

use super::grant::GrantPage;
use super::key_timing::{Pace, Rhythm};
use super::options::{OptionLine, is_name};
use crate::sheet::{Scroll, Sheet, TextInput};
use crate::surface::{Key, KeyCode, KeyTiming};

/// State that can change while a dialog is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialogContext {
    /// By the clock that keys are told by.
    pub now: Instant,
    /// Time until the request times out as a denial.
    pub left: Duration,
    /// Number of waiting requests, this one included.
    pub waiting: usize,
}

/// A request that is shown, and what was typed so far.
#[derive(Debug)]
pub struct Dialog<'a> {
    pub(super) request: &'a Request,
    pub(super) body: Scroll<'a>,
    pub(super) lines: Vec<OptionLine>,
    /// The marked line.
    pub(super) mark: Option<Mark>,
    pub(super) pane: Pane<'a>,
    /// Why the last key did nothing.
    pub(super) word: Option<&'static str>,
    pub(super) rhythm: Rhythm,
    /// The screen is large enough for it.
    pub(super) has_room: bool,
    pub(super) width: u16,
    /// Number of visible changes, beside those that [`DrawState`] names.
    changes: u64,
}

/// State that the drawn picture depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DrawState {
    is_open: bool,
    is_confirmed: bool,
    has_text: bool,
    mark: Option<Mark>,
    word: Option<&'static str>,
    changes: u64,
}

/// A line that is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Its number among the lines.
    pub(super) at: usize,
    /// The key that has marked it, which confirms it if it comes again. None: it was marked at rest.
    by: Option<Key>,
}

/// The part below the text, or in its place.
#[derive(Debug)]
pub(super) enum Pane<'a> {
    /// The answers.
    Options,
    /// The page of a standing grant.
    Grant(GrantPage<'a>),
    /// A message to the model.
    Message(TextInput),
    /// The result of an answer from elsewhere.
    Over(String),
}

/// The effect of a key, if it is the dialog's.
#[derive(Clone, Copy)]
enum KeyMeaning {
    /// Moves the text.
    Scroll,
    /// Marks a line.
    Mark(Mark),
    /// Marks the line that says No, which is an answer by itself when nothing follows.
    Leave(Mark),
    /// Takes what is marked.
    Confirm,
    /// Changes what would be granted.
    Change,
    /// Belongs to the word that is asked for.
    Letter,
    /// Nothing here: says what would be something.
    Hint(&'static str),
    /// Goes back to the answers.
    Back,
    /// Belongs to a text that is typed here.
    Own,
    /// Nothing: it is the program's.
    None,
}

impl KeyMeaning {
    fn pace(self) -> Option<Pace> {
        match self {
            Self::Scroll | Self::Change | Self::Back => Some(Pace::Free),
            Self::Mark(Mark { by: Some(key), .. }) if moves(key) => Some(Pace::Free),
            Self::Mark(_) | Self::Leave(_) | Self::Confirm | Self::Hint(_) => Some(Pace::Deliberate),
            Self::Letter => Some(Pace::Field),
            Self::Own | Self::None => None,
        }
    }
}

fn moves(key: Key) -> bool {
    matches!(key.code, KeyCode::Up | KeyCode::Down | KeyCode::Tab)
}

/// Notice for a yes before the text was read.
const UNREAD: &str = "read to the end first: space, or end";

/// Notice for an answer that is not offered.
const NOT_OFFERED: &str = "that is not offered here";

/// Notice for enter without a choice.
const CHOOSE_FIRST: &str = "choose by a letter first, then enter";

/// Notice for enter without the confirming word.
const WORD_FIRST: &str = "type the word always first, then enter";

/// Notice for keys that came too quickly to be an answer.
const TOO_QUICK: &str = "that was typed, not answered: wait a moment, then a key, and enter";

/// Notice for more typed text than can be kept.
const CUT: &str = "too much was typed here: the program does not get all of it";

impl<'a> Dialog<'a> {
    /// Creates a dialog about a request. It has not been seen yet.
    pub fn new(request: &'a Request) -> Self {
        let body = Body::new(request);
        let answers = offered(request, body.is_whole).into_iter().map(OptionLine::Answer);
        // What a process is told is an error number: no model reads a message.
        let message = request.asker.process.is_none().then_some(OptionLine::Message);
        let lines = answers.chain(message).collect();
        let mut dialog = Self {
            request,
            body: Scroll::new(Sheet::new(body.blocks), body.what),
            lines,
            mark: None,
            pane: Pane::Options,
            word: None,
            rhythm: Rhythm::default(),
            has_room: false,
            width: 0,
            changes: 0,
        };
        dialog.mark = dialog.mark_at_rest();
        dialog
    }

    /// Returns the mark at rest: No, where an answer cannot be undone.
    fn mark_at_rest(&self) -> Option<Mark> {
        let at = self.position(OptionLine::Answer(default_answer(self.request)?))?;
        Some(Mark { at, by: None })
    }

    /// Returns `true` if a key has marked a line.
    pub(super) fn is_chosen(&self) -> bool {
        self.mark.is_some_and(|mark| mark.by.is_some())
    }

    fn position(&self, line: OptionLine) -> Option<usize> {
        self.lines.iter().position(|there| *there == line)
    }

    /// Keys are told from here on. The question was `painted` then; something was `typed` before, for the program.
    pub fn ready(&mut self, painted: Instant, typed: Option<Instant>) {
        self.rhythm.ready(painted, typed);
        self.mark = self.mark_at_rest();
    }

    /// Ends the choice without an answer from here; `words` describe the result.
    pub fn close(&mut self, words: &str) {
        self.pane = Pane::Over(visible(words));
        self.changes += 1;
    }

    /// Takes a key. An answer that held before it came is the choice.
    pub fn key(&mut self, key: Key, typed: &KeyTiming) -> Option<Choice> {
        if let Some(choice) = self.quiet(typed.since) {
            self.rhythm.is_text(typed);
            return Some(choice);
        }
        self.word = None;
        if !matches!(self.meaning(key), KeyMeaning::Confirm) {
            self.expire(typed.since);
        }
        let meaning = self.meaning(key);
        match meaning.pace() {
            Some(pace) if self.rhythm.admits(pace, typed) => self.follow(meaning, key),
            Some(_) => self.was_text(),
            // It was opened by an answer, to be typed into.
            None if matches!(meaning, KeyMeaning::Own) => return self.message_key(key, typed),
            None => self.report(typed),
        }
        None
    }

    /// Takes a pasted text: for the message to the model, or for the program.
    pub fn paste(&mut self, text: &str, typed: &KeyTiming) {
        self.changes += 1;
        match &mut self.pane {
            Pane::Message(field) => field.paste(text),
            Pane::Options | Pane::Grant(_) | Pane::Over(_) => self.report(typed),
        }
    }

    /// Takes what a terminal says by itself: for the program.
    pub fn report(&mut self, typed: &KeyTiming) {
        self.rhythm.is_text(typed);
        self.was_text();
    }

    /// Nothing more was typed until this moment.
    pub fn quiet(&mut self, until: Instant) -> Option<Choice> {
        // A letter that stands there waits to be confirmed.
        if self.mark.and_then(|mark| mark.by).is_none_or(|key| key.code == KeyCode::Enter) {
            self.expire(until);
        }
        if !self.rhythm.is_due(until) {
            return None;
        }
        let choice = self.take();
        if choice.is_none() {
            self.rhythm.turned(until);
        }
        choice
    }

    /// Returns the state that the drawn picture depends on.
    pub(super) fn looks(&self, now: Instant) -> DrawState {
        DrawState {
            is_open: self.rhythm.is_open(now),
            is_confirmed: self.rhythm.is_confirmed(),
            has_text: self.rhythm.has_text(),
            mark: self.mark,
            word: self.word,
            changes: self.changes,
        }
    }

    /// Gives keys that were begun too soon and came to nothing to the program.
    fn expire(&mut self, until: Instant) {
        if self.rhythm.has_expired(until) {
            self.rhythm.give_up(until);
            self.was_text();
        }
    }

    /// Returns the time at which [`quiet`](Self::quiet) is to be called again.
    pub fn due(&self) -> Option<Instant> {
        self.rhythm.due()
    }

    /// Takes the typed text that belongs to the program.
    pub fn take_text(&mut self, now: Instant) -> Vec<u8> {
        self.rhythm.take_text(now)
    }

    /// Notes that the typed keys were no answer.
    fn was_text(&mut self) {
        let was_answer = self.mark != self.mark_at_rest();
        self.mark = self.mark_at_rest();
        if let Pane::Grant(grant) = &mut self.pane {
            grant.word.clear();
            self.changes += 1;
        }
        self.word = if self.rhythm.is_cut() { Some(CUT) } else { was_answer.then_some(TOO_QUICK) };
    }

    fn meaning(&self, key: Key) -> KeyMeaning {
        let leaves = key == Key::ctrl('c') || key.code == KeyCode::Escape;
        match &self.pane {
            Pane::Over(_) => KeyMeaning::None,
            _ if !self.has_room => self.meaning_without_room(key, leaves),
            Pane::Options => self.option_meaning(key, leaves),
            _ if leaves => KeyMeaning::Back,
            Pane::Message(_) => KeyMeaning::Own,
            Pane::Grant(grant) => grant_meaning(grant, key),
        }
    }

    /// Returns the meaning of a key in a window that is too small: a text that was not shown gets no yes.
    fn meaning_without_room(&self, key: Key, leaves: bool) -> KeyMeaning {
        let is_no = |mark: &Mark| self.lines.get(mark.at) == Some(&OptionLine::Answer(Answerable::No));
        match self.option_meaning(key, leaves) {
            KeyMeaning::Mark(mark) if is_no(&mark) && !moves(key) => KeyMeaning::Mark(mark),
            KeyMeaning::Leave(mark) => KeyMeaning::Leave(mark),
            KeyMeaning::Confirm if self.mark.as_ref().is_some_and(is_no) => KeyMeaning::Confirm,
            _ => KeyMeaning::None,
        }
    }

    fn option_meaning(&self, key: Key, leaves: bool) -> KeyMeaning {
        let no = self.position(OptionLine::Answer(Answerable::No)).unwrap_or(0);
        let again = self.mark.is_some_and(|mark| mark.by == Some(key) && !moves(key));
        if leaves {
            return if again {
                KeyMeaning::Confirm
            } else {
                KeyMeaning::Leave(Mark { at: no, by: Some(key) })
            };
        }
        if reads_on(key) {
            return KeyMeaning::Scroll;
        }
        let last = self.lines.len().saturating_sub(1);
        let marked = |at| KeyMeaning::Mark(Mark { at, by: Some(key) });
        match (key.code, self.mark) {
            // What only stands there was not chosen: the first enter chooses it.
            (KeyCode::Enter, Some(Mark { at, by: None })) => marked(at),
            (KeyCode::Enter, Some(_)) => KeyMeaning::Confirm,
            (KeyCode::Enter, None) => KeyMeaning::Hint(CHOOSE_FIRST),
            _ if moves(key) => marked(match (key.code, self.mark) {
                (_, None) => no,
                (KeyCode::Up, Some(mark)) => mark.at.saturating_sub(1),
                (KeyCode::Tab, Some(mark)) if key.shift => mark.at.checked_sub(1).unwrap_or(last),
                (KeyCode::Tab, Some(mark)) if mark.at >= last => 0,
                (_, Some(mark)) => (mark.at + 1).min(last),
            }),
            _ if again => KeyMeaning::Confirm,
            _ => match self.lines.iter().position(|line| line.is_named_by(key)) {
                Some(at) => marked(at),
                None if is_name(key) => KeyMeaning::Hint(NOT_OFFERED),
                None => KeyMeaning::None,
            },
        }
    }

    fn follow(&mut self, meaning: KeyMeaning, key: Key) {
        self.changes += 1;
        match meaning {
            KeyMeaning::Scroll => match &mut self.pane {
                Pane::Grant(grant) => drop(grant.scroll.key(key)),
                _ => drop(self.body.key(key)),
            },
            KeyMeaning::Mark(mark) => self.mark = Some(mark),
            KeyMeaning::Leave(mark) => {
                self.mark = Some(mark);
                self.rhythm.confirm_alone();
            }
            KeyMeaning::Confirm => self.rhythm.confirm(),
            KeyMeaning::Change => {
                if let Pane::Grant(grant) = &mut self.pane {
                    grant.key(key, self.width);
                }
            }
            KeyMeaning::Letter => {
                if let Pane::Grant(grant) = &mut self.pane {
                    grant.letter(key);
                }
            }
            KeyMeaning::Back => {
                self.pane = Pane::Options;
                self.mark = self.mark_at_rest();
            }
            KeyMeaning::Hint(words) => self.word = Some(words),
            KeyMeaning::Own | KeyMeaning::None => {}
        }
    }

    /// Takes what was confirmed, if it can be given.
    fn take(&mut self) -> Option<Choice> {
        self.changes += 1;
        match &self.pane {
            Pane::Options => self.take_line(),
            Pane::Grant(grant) if grant.scroll.is_seen() => Some(grant.choice()),
            Pane::Grant(_) => {
                self.word = Some(UNREAD);
                None
            }
            Pane::Message(_) | Pane::Over(_) => None,
        }
    }

    fn take_line(&mut self) -> Option<Choice> {
        let line = self.lines.get(self.mark?.at).copied()?;
        self.mark = self.mark_at_rest();
        let answer = match line {
            OptionLine::Message => {
                self.pane = Pane::Message(TextInput::default());
                return None;
            }
            OptionLine::Answer(Answerable::No) => return Some(Choice::no()),
            OptionLine::Answer(Answerable::NoToProcess) => {
                return Some(Choice::No { message: None, process: true });
            }
            OptionLine::Answer(answer) => answer,
        };
        if !self.body.is_seen() {
            self.word = Some(UNREAD);
            return None;
        }
        let offer = &self.request.offer;
        self.pane = match answer {
            Answerable::Yes | Answerable::No | Answerable::NoToProcess => return Some(Choice::Yes),
            Answerable::Session => Pane::Grant(GrantPage::session(offer)),
            Answerable::Always => Pane::Grant(GrantPage::always(offer)),
        };
        None
    }

    fn message_key(&mut self, key: Key, typed: &KeyTiming) -> Option<Choice> {
        let Pane::Message(field) = &mut self.pane else { return None };
        self.changes += 1;
        if key.code == KeyCode::Enter && typed.alone {
            return Some(Choice::No { message: message(field), process: false });
        }
        field.key(key);
        None
    }
}

/// Returns `true` if a key moves the text. No letter does: it may be the first of a word that is typed.
fn reads_on(key: Key) -> bool {
    let moves = matches!(
        key.code,
        KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End | KeyCode::Char(' ')
    );
    moves && !key.ctrl && !key.alt
}

fn grant_meaning(grant: &GrantPage<'_>, key: Key) -> KeyMeaning {
    match key.code {
        KeyCode::Enter if grant.is_confirmable() => KeyMeaning::Confirm,
        KeyCode::Enter => KeyMeaning::Hint(WORD_FIRST),
        _ if grant.changes(key) => KeyMeaning::Change,
        _ if reads_on(key) => KeyMeaning::Scroll,
        _ if grant.takes(key) => KeyMeaning::Letter,
        _ => KeyMeaning::None,
    }
}

fn message(field: &TextInput) -> Option<String> {
    Some(field.text().trim().to_owned()).filter(|text| !text.is_empty())
}

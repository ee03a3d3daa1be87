//! The decision between answers and keys for the program, by when and how they were typed.
//!
//! A person around whose typing a dialog opens goes on typing: a command line, a sentence, a key of an editor. None of it
//! is an answer, and none of it is lost. What tells an answer from that is time and nothing else:
//!
//! - **Silence before it**: nothing was typed for [`SILENCE`], and the question was on the screen for [`SEEN`].
//! - **Keys one by one**: each in a read of its own, with a [`PAUSE`] before it.
//! - **Silence behind it**: another key within a [`PAUSE`] takes it back.
//!
//! In a flow of typing no pause is longer than [`SILENCE`], so nothing in it is an answer, whatever is typed. An answer
//! that comes sooner after the last key (early), but is all that was typed since the question came, waits for the
//! silence behind it instead. What is no answer is kept, in order, for the program.

use std::time::{Duration, Instant};

use crate::surface::KeyTiming;

/// The longest pause of a person who is typing. Between words people rest for up to 1.5 s.
pub const SILENCE: Duration = Duration::from_millis(1600);

/// Time a question is on the screen before a key can be meant for it: to see that something came takes a
/// quarter of a second, to choose a key for it as long again.
pub const SEEN: Duration = Duration::from_millis(450);

/// The shortest time between two keys of an answer. Within a word people type a key each 40 to 250 ms.
pub const PAUSE: Duration = Duration::from_millis(300);

/// More than this is not kept for the program: a paste of another size was meant for something else.
const MAX_TEXT: usize = 1 << 20;

/// The way in which a key has to be typed to be the dialog's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// In any way, as keys that are held down: it only moves what is on the screen.
    Free,
    /// A part of an answer: alone, after a pause.
    Deliberate,
    /// A character of a word that is asked for: alone.
    Field,
}

/// The keys that may yet become an answer, and those that are the program's.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub(super) struct Rhythm {
    /// Since when the question, or the page of it, can be seen.
    shown: Option<Instant>,
    /// Set for a page that a deliberate answer has opened.
    is_page: bool,
    /// Time of the last key that is not the dialog's.
    typed: Option<Instant>,
    /// Set if that key came since the question can be seen.
    typed_here: bool,
    /// Keys that were typed deliberately and have come to nothing yet.
    strokes: Vec<Stroke>,
    /// The silence before the first of them was a short one.
    is_early: bool,
    confirmed: Option<UnconfirmedAnswer>,
    /// Typed text of the program.
    text: Vec<u8>,
    /// More was typed than is kept.
    is_cut: bool,
}

#[derive(Debug)]
struct Stroke {
    bytes: Vec<u8>,
    since: Instant,
    at: Instant,
}

/// An answer that holds unless something else is typed.
#[derive(Clone, Copy, Debug)]
struct UnconfirmedAnswer {
    due: Instant,
    /// Any further key takes it back. Else the next key may hasten it.
    is_final: bool,
}

impl Rhythm {
    /// The question can be seen since `painted`; before that something was `typed`.
    pub(super) fn ready(&mut self, painted: Instant, typed: Option<Instant>) {
        self.give_up(painted);
        self.typed = self.typed.max(typed);
        self.typed_here = typed.is_some_and(|typed| typed > painted);
        (self.shown, self.is_page) = (Some(painted), false);
    }

    /// Another page of it can be seen.
    pub(super) fn turned(&mut self, at: Instant) {
        (self.shown, self.is_page) = (Some(at), true);
    }

    /// Returns `true` if a key is the dialog's. If not, it is the program's, with everything that was typed along with it.
    pub(super) fn admits(&mut self, pace: Pace, typed: &KeyTiming) -> bool {
        if self.is_admitted(pace, typed) {
            self.confirmed = None;
            let KeyTiming { bytes, since, at, .. } = typed.clone();
            self.strokes.push(Stroke { bytes, since, at });
            true
        } else {
            self.is_text(typed);
            false
        }
    }

    fn is_admitted(&mut self, pace: Pace, typed: &KeyTiming) -> bool {
        if self.confirmed.is_some_and(|confirmed| confirmed.is_final) {
            return false;
        }
        let is_alone = typed.alone || pace == Pace::Free;
        let Some(last) = self.strokes.last() else {
            let Some(is_early) = self.opens(pace, typed.since) else { return false };
            self.is_early = is_early;
            return is_alone;
        };
        is_alone && (elapsed(last.at, typed.since) >= PAUSE || pace != Pace::Deliberate)
    }

    /// Returns `Some` if a first key may be the dialog's: `true` if the silence before it was a short one.
    fn opens(&self, pace: Pace, at: Instant) -> Option<bool> {
        let needed = match (self.is_page, pace) {
            // It came by an answer, and nothing can be given by a single key that is typed too soon.
            (true, Pace::Free | Pace::Field) => Duration::ZERO,
            (true, Pace::Deliberate) => PAUSE,
            (false, _) => SEEN,
        };
        if elapsed(self.shown?, at) < needed {
            return None;
        }
        match self.typed.map(|typed| elapsed(typed, at)) {
            Some(rest) if rest < SILENCE => (rest >= SEEN && !self.typed_here).then_some(true),
            Some(_) | None => Some(false),
        }
    }

    /// This is the program's, and what was typed along with it.
    pub(super) fn is_text(&mut self, typed: &KeyTiming) {
        self.give_up(typed.since);
        self.keep(&typed.bytes);
        self.typed = self.typed.max(Some(typed.at));
        self.typed_here = true;
    }

    /// Turns keys that came to nothing into text, but for those typed in silence: they were the dialog's.
    pub(super) fn give_up(&mut self, next: Instant) {
        self.confirmed = None;
        let strokes = std::mem::take(&mut self.strokes);
        let ends = strokes.iter().skip(1).map(|stroke| stroke.since).chain([next]);
        let mut flow = Vec::new();
        for (stroke, end) in strokes.iter().zip(ends) {
            flow.extend_from_slice(&stroke.bytes);
            if elapsed(stroke.at, end) >= SILENCE && !self.is_early {
                flow.clear();
            }
        }
        if !flow.is_empty() {
            self.keep(&flow);
            self.typed = self.typed.max(strokes.last().map(|stroke| stroke.at));
            self.typed_here = true;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_TEXT.saturating_sub(self.text.len());
        self.is_cut |= bytes.len() > room;
        self.text.extend(bytes.iter().take(room));
    }

    /// The last key has confirmed an answer: it holds when nothing else is typed.
    pub(super) fn confirm(&mut self) {
        self.hold(if self.is_early { SILENCE } else { PAUSE }, true);
    }

    /// The last key is an answer by itself after a longer silence, or with a further key.
    pub(super) fn confirm_alone(&mut self) {
        self.hold(SILENCE, false);
    }

    fn hold(&mut self, rest: Duration, is_final: bool) {
        let last = self.strokes.last().map(|stroke| stroke.at);
        self.confirmed =
            last.and_then(|at| at.checked_add(rest)).map(|due| UnconfirmedAnswer { due, is_final });
    }

    /// Returns `true` if early keys have come to nothing until `until`: they may have been the end of a text.
    pub(super) fn has_expired(&self, until: Instant) -> bool {
        let last = self.strokes.last().map(|stroke| stroke.at);
        let is_old = last.is_some_and(|at| elapsed(at, until) >= SILENCE);
        is_old && self.is_early && self.confirmed.is_none()
    }

    /// Returns `true` if an answer holds now that nothing was typed until `until`. Its keys were the dialog's.
    pub(super) fn is_due(&mut self, until: Instant) -> bool {
        let is_due = self.confirmed.is_some_and(|confirmed| confirmed.due <= until);
        if is_due {
            self.confirmed = None;
            self.strokes.clear();
        }
        is_due
    }

    /// Returns the time for the next look without a key.
    pub(super) fn due(&self) -> Option<Instant> {
        let expires = self.strokes.last().filter(|_| self.is_early).map(|last| last.at + SILENCE);
        let opens = self.shown.map(|shown| self.rests_at(shown));
        self.confirmed.map(|confirmed| confirmed.due).or(expires).or(opens)
    }

    fn rests_at(&self, shown: Instant) -> Instant {
        let wait = if self.typed_here { SILENCE } else { SEEN };
        let typed = self.typed.map(|typed| typed + wait);
        typed.into_iter().fold(shown + SEEN, Instant::max)
    }

    /// Returns `true` if a key that is typed now could be an answer.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        !self.strokes.is_empty() || self.opens(Pace::Deliberate, now).is_some()
    }

    /// Returns `true` if an answer holds unless another key is typed.
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed.is_some()
    }

    /// Returns `true` if there is text of the program here.
    pub(super) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Returns `true` if more was typed than is kept.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Takes the text of the program, at the end.
    pub(super) fn take_text(&mut self, now: Instant) -> Vec<u8> {
        self.give_up(now);
        std::mem::take(&mut self.text)
    }
}

fn elapsed(before: Instant, after: Instant) -> Duration {
    after.saturating_duration_since(before)
}

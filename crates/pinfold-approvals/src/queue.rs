//! What waits, and what became of what waited.
//!
//! Promise: an entry ends once, and stays until whoever asked has taken its end.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pinfold::consent::{Answer, Choice, Request};

use crate::over::{How, NotTaken, Note, Over, is_offered};

/// How many ends are remembered for those who ask later.
const REMEMBERED: usize = 256;
/// Waiting requests are looked at again about this often, for settings that were written elsewhere.
const LOOKED_AT: Duration = Duration::from_secs(1);
/// With many of them each is looked at less often, so that looking stays a small part of one processor.
const LOOK_COSTS: Duration = Duration::from_millis(10);
/// What is granted is in force within this time; until then nothing else is shown.
const SETTLES: Duration = Duration::from_millis(250);

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) request: Arc<Request>,
    /// When silence becomes a no, by a clock that nobody sets.
    pub(crate) until: Instant,
    /// Responders that leave it to others.
    pub(crate) passed: Vec<u64>,
    pub(crate) end: Option<Heard>,
    /// In which round it was last looked at.
    round: u64,
    /// From when it is shown although it was not looked at.
    shown_from: Instant,
    /// Rings for the thread that asks.
    pub(crate) bell: Arc<Condvar>,
}

/// What whoever asks is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    Answer(Answer),
    NotAsked,
    Nobody(String),
}

/// A responder that is there.
#[derive(Debug)]
pub(crate) struct Present {
    pub(crate) number: u64,
    pub(crate) leaving: bool,
    /// What it has to be told about what it answered.
    pub(crate) notes: VecDeque<String>,
}

/// An end, and which responder gave the answer.
#[derive(Debug)]
struct Ended {
    over: Over,
    by: Option<u64>,
}

/// All that a broker knows.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    numbers: u64,
    pub(crate) waiting: Vec<Entry>,
    over: VecDeque<Ended>,
    notes: VecDeque<Note>,
    /// How many notes there were.
    pub(crate) noted: u64,
    /// How many ends there were.
    pub(crate) ends: u64,
    pub(crate) responders: Vec<Present>,
    /// Ways that are always open, such as a socket that somebody said to wait for.
    pub(crate) standing: usize,
    /// Until when something that was granted may not be in force everywhere.
    settling: Option<Instant>,
    /// How often something was granted.
    pub(crate) round: u64,
    /// How often something changed that threads which ask have to see.
    pub(crate) turns: u64,
    pub(crate) closed: bool,
    /// Why somebody cannot be reached who should be.
    pub(crate) trouble: Option<String>,
}

impl Queue {
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// A request begins to wait.
    pub(crate) fn enter(&mut self, request: &Request) -> (u64, Arc<Condvar>) {
        let number = self.next_number();
        let bell = Arc::new(Condvar::new());
        let left = request.deadline.duration_since(Timestamp::now());
        let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
        let now = Instant::now();
        self.waiting.push(Entry {
            number,
            request: Arc::new(request.clone()),
            until: now.checked_add(left).unwrap_or(now),
            passed: Vec::new(),
            end: None,
            // It was judged before it came here: what was granted meanwhile is looked at first.
            round: if self.round == 0 { 0 } else { self.round - 1 },
            shown_from: now.checked_add(SETTLES).unwrap_or(now),
            bell: Arc::clone(&bell),
        });
        (number, bell)
    }

    pub(crate) fn entry(&self, number: u64) -> Option<&Entry> {
        self.waiting.iter().find(|entry| entry.number == number)
    }

    pub(crate) fn entry_mut(&mut self, number: u64) -> Option<&mut Entry> {
        self.waiting.iter_mut().find(|entry| entry.number == number)
    }

    /// Those that have no end yet, in the order in which they were asked.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Entry> {
        self.waiting.iter().filter(|entry| entry.end.is_none())
    }

    /// The first that a responder can be shown.
    pub(crate) fn next_for(&self, responder: u64, now: Instant) -> Option<&Entry> {
        let settling = self.settling.is_some_and(|end| now < end);
        let settled = |entry: &&Entry| entry.round == self.round || (!settling && now >= entry.shown_from);
        self.open().filter(|entry| !entry.passed.contains(&responder)).find(settled)
    }

    /// Whether somebody is there who could answer this one.
    pub(crate) fn can_be_answered(&self, number: u64) -> bool {
        let passed =
            |present: &Present| self.entry(number).is_some_and(|e| e.passed.contains(&present.number));
        self.standing > 0 || self.responders.iter().any(|present| !present.leaving && !passed(present))
    }

    /// An answer comes in.
    pub(crate) fn answer(&mut self, answer: Answer) -> Result<(), NotTaken> {
        let mut same = self.waiting.iter().filter(|entry| entry.request.id == answer.id).peekable();
        if same.peek().is_none() {
            return Err(self.was_over(answer));
        }
        let meant: Vec<&Entry> = same.filter(|entry| entry.request.digest == answer.digest).collect();
        let Some(entry) = meant.iter().find(|entry| entry.end.is_none()).or(meant.first()) else {
            return Err(NotTaken::Other(answer.id));
        };
        self.answer_number(entry.number, answer, None)
    }

    /// The same where it is known which request is meant, and from which responder it comes.
    pub(crate) fn answer_number(
        &mut self,
        number: u64,
        answer: Answer,
        responder: Option<u64>,
    ) -> Result<(), NotTaken> {
        let Some(entry) = self.entry(number).filter(|entry| entry.end.is_none()) else {
            return Err(self.was_over(answer));
        };
        if entry.is_late() {
            let silence = Answer::silence(&answer.id, &answer.digest);
            self.end(number, Heard::Answer(silence), How::Silence, None);
            return Err(self.was_over(answer));
        }
        is_offered(&entry.request, &answer.choice)
            .map_err(|what| NotTaken::NotOffered { id: answer.id.clone(), what })?;
        if matches!(answer.choice, Choice::Session { .. } | Choice::Always { .. }) {
            self.settling = Instant::now().checked_add(SETTLES);
            self.round += 1;
        }
        let how = How::Answered { answer: answer.choice.clone(), by: answer.by.clone() };
        self.end(number, Heard::Answer(answer), how, responder);
        Ok(())
    }

    /// Why an answer to what does not wait any more does not count.
    fn was_over(&self, answer: Answer) -> NotTaken {
        let mut ends = self.over.iter().rev().map(|ended| &ended.over);
        match ends.find(|over| over.id == answer.id && over.digest == answer.digest) {
            Some(over) => NotTaken::Over(Box::new(over.clone())),
            None => NotTaken::Unknown(answer.id),
        }
    }

    /// Ends a request, unless it has ended already.
    pub(crate) fn end(&mut self, number: u64, heard: Heard, how: How, by: Option<u64>) {
        let Some(entry) = self.waiting.iter_mut().find(|entry| entry.number == number && entry.end.is_none())
        else {
            return;
        };
        entry.end = Some(heard);
        entry.bell.notify_all();
        let (id, digest) = (entry.request.id.clone(), entry.request.digest.clone());
        self.remember(Over { id, digest, at: Timestamp::now(), how }, by);
    }

    fn remember(&mut self, over: Over, by: Option<u64>) {
        if self.over.len() == REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back(Ended { over, by });
        self.ends += 1;
    }

    /// Whoever answered this should know something.
    pub(crate) fn tell(&mut self, request: &Request, text: &str) {
        if self.notes.len() == REMEMBERED {
            self.notes.pop_front();
        }
        self.notes.push_back(Note { id: request.id.clone(), text: text.to_owned() });
        self.noted += 1;
        let by = self.ended(request).and_then(|ended| ended.by);
        if let Some(present) = self.responders.iter_mut().find(|present| Some(present.number) == by) {
            present.notes.push_back(text.to_owned());
        }
    }

    /// Why nobody has answered, as far as somebody said it.
    pub(crate) fn why_not(&self, request: &Request) -> String {
        let told = self.notes.iter().rev().find(|note| note.id == request.id);
        let usual =
            if self.responders.is_empty() { "nobody is there to be asked" } else { "nobody answered" };
        let said = told.map(|note| &note.text).or(self.trouble.as_ref());
        said.cloned().unwrap_or_else(|| usual.to_owned())
    }

    /// Takes a request out: whoever asked has heard, or is gone.
    pub(crate) fn leave(&mut self, number: u64) -> Option<Heard> {
        let at = self.waiting.iter().position(|entry| entry.number == number)?;
        let entry = self.waiting.remove(at);
        if entry.end.is_none() {
            let Request { id, digest, .. } = &*entry.request;
            let over = Over { id: id.clone(), digest: digest.clone(), at: Timestamp::now(), how: How::Gone };
            self.remember(over, None);
        }
        entry.end
    }

    /// The ends that came after the first `seen`, as far as they are remembered.
    pub(crate) fn ends_after(&self, seen: u64) -> impl Iterator<Item = &Over> {
        newest(&self.over, self.ends, seen).map(|ended| &ended.over)
    }

    /// The notes that came after the first `seen`, as far as they are remembered.
    pub(crate) fn notes_after(&self, seen: u64) -> impl Iterator<Item = &Note> {
        newest(&self.notes, self.noted, seen)
    }

    /// The end of a request, if it is remembered.
    pub(crate) fn end_of(&self, request: &Request) -> Option<&Over> {
        self.ended(request).map(|ended| &ended.over)
    }

    fn ended(&self, request: &Request) -> Option<&Ended> {
        let same = |ended: &&Ended| ended.over.id == request.id && ended.over.digest == request.digest;
        self.over.iter().rev().find(same)
    }

    /// What was granted is in force from here on: everything that waits has to be looked at again.
    pub(crate) fn granted(&mut self) {
        self.round += 1;
        self.ring();
    }

    /// A request was looked at in this round.
    pub(crate) fn looked_at(&mut self, number: u64, round: u64) {
        if let Some(entry) = self.entry_mut(number) {
            entry.round = entry.round.max(round);
        }
    }

    /// When the next request is shown that only waits to be looked at, at the latest.
    pub(crate) fn shows_at(&self) -> Option<Instant> {
        let held = self.open().filter(|entry| entry.round != self.round);
        held.map(|entry| self.settling.map_or(entry.shown_from, |end| end.max(entry.shown_from))).min()
    }

    /// Whether a request was looked at since something was granted.
    pub(crate) fn is_looked_at(&self, number: u64) -> bool {
        self.entry(number).is_none_or(|entry| entry.round == self.round)
    }

    /// Wakes all threads that ask.
    pub(crate) fn ring(&mut self) {
        self.turns += 1;
        self.waiting.iter().for_each(|entry| entry.bell.notify_all());
    }

    /// How long a request waits before it is looked at again although nothing happened here.
    pub(crate) fn interval(&self) -> Duration {
        let count = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        LOOKED_AT.max(LOOK_COSTS.saturating_mul(count))
    }
}

/// The latest of a list of which `all` ever came and `seen` were seen.
fn newest<T>(kept: &VecDeque<T>, all: u64, seen: u64) -> impl Iterator<Item = &T> {
    let new = usize::try_from(all.saturating_sub(seen)).unwrap_or(usize::MAX);
    kept.iter().skip(kept.len().saturating_sub(new))
}

impl Entry {
    /// Whether its time is over, by either clock: a machine that slept knows only by the one on the wall.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.until || Timestamp::now() > self.request.deadline
    }
}

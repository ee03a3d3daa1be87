//! The queue: pending approval requests, and recent resolutions.
//!
//! An entry is resolved once, and stays until the asking thread has taken its resolution.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pinfold::consent::{Answer, Choice, Request};

use crate::resolution::{AnswerError, ApproverNote, RequestResolution, ResolvedRequest, is_offered};

/// The number of resolutions that are kept for late clients.
const MAX_KEPT: usize = 256;
/// The interval at which pending requests are evaluated again, for settings that were changed elsewhere.
const REEVALUATE: Duration = Duration::from_secs(1);
/// The interval grows with their number, so that evaluation stays below a fraction of one processor.
const EVALUATION_COST: Duration = Duration::from_millis(10);
/// The time within which a grant takes effect; until then no other request is shown.
const GRANT_SETTLES: Duration = Duration::from_millis(250);

/// A pending request.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) number: u64,
    pub(crate) request: Arc<Request>,
    /// The deadline by the monotonic clock.
    pub(crate) until: Instant,
    /// Responders that have passed on it.
    pub(crate) passed: Vec<u64>,
    pub(crate) end: Option<AskOutcome>,
    /// The grant round in which it was last evaluated.
    round: u64,
    /// The time from which it is shown without being evaluated again.
    shown_from: Instant,
    /// Wakes the asking thread.
    pub(crate) bell: Arc<Condvar>,
}

/// The result that the asking thread receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskOutcome {
    Answer(Answer),
    NotAsked,
    NoApprover(String),
}

/// A connected responder.
#[derive(Debug)]
pub(crate) struct ConnectedResponder {
    pub(crate) number: u64,
    pub(crate) leaving: bool,
    /// Messages about requests that it answered.
    pub(crate) notes: VecDeque<String>,
}

/// A resolution, and the responder whose answer it was.
#[derive(Debug)]
struct KeptResolution {
    over: ResolvedRequest,
    by: Option<u64>,
}

/// The state of a broker.
#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    numbers: u64,
    pub(crate) waiting: Vec<QueueEntry>,
    over: VecDeque<KeptResolution>,
    notes: VecDeque<ApproverNote>,
    /// The number of notes so far.
    pub(crate) noted: u64,
    /// The number of resolutions so far.
    pub(crate) ends: u64,
    pub(crate) responders: Vec<ConnectedResponder>,
    /// Channels that are always available, for instance a socket that settings wait for.
    pub(crate) standing: usize,
    /// The time until which a grant may not be in effect everywhere.
    settling: Option<Instant>,
    /// The number of grants so far.
    pub(crate) round: u64,
    /// The number of changes that asking threads have to see.
    pub(crate) turns: u64,
    pub(crate) closed: bool,
    /// Why a configured channel is not available.
    pub(crate) channel_error: Option<String>,
}

impl RequestQueue {
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Adds a request.
    pub(crate) fn enter(&mut self, request: &Request) -> (u64, Arc<Condvar>) {
        let number = self.next_number();
        let bell = Arc::new(Condvar::new());
        let left = request.deadline.duration_since(Timestamp::now());
        let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
        let now = Instant::now();
        self.waiting.push(QueueEntry {
            number,
            request: Arc::new(request.clone()),
            until: now.checked_add(left).unwrap_or(now),
            passed: Vec::new(),
            end: None,
            // It was judged before it came here, so grants since then are evaluated first.
            round: if self.round == 0 { 0 } else { self.round - 1 },
            shown_from: now.checked_add(GRANT_SETTLES).unwrap_or(now),
            bell: Arc::clone(&bell),
        });
        (number, bell)
    }

    pub(crate) fn entry(&self, number: u64) -> Option<&QueueEntry> {
        self.waiting.iter().find(|entry| entry.number == number)
    }

    pub(crate) fn entry_mut(&mut self, number: u64) -> Option<&mut QueueEntry> {
        self.waiting.iter_mut().find(|entry| entry.number == number)
    }

    /// The unresolved requests, in the order in which they were made.
    pub(crate) fn open(&self) -> impl Iterator<Item = &QueueEntry> {
        self.waiting.iter().filter(|entry| entry.end.is_none())
    }

    /// The first request that can be shown to a responder.
    pub(crate) fn next_for(&self, responder: u64, now: Instant) -> Option<&QueueEntry> {
        let settling = self.settling.is_some_and(|end| now < end);
        let settled =
            |entry: &&QueueEntry| entry.round == self.round || (!settling && now >= entry.shown_from);
        self.open().filter(|entry| !entry.passed.contains(&responder)).find(settled)
    }

    /// Returns whether there is a responder that could answer a request.
    pub(crate) fn can_be_answered(&self, number: u64) -> bool {
        let passed = |present: &ConnectedResponder| {
            self.entry(number).is_some_and(|e| e.passed.contains(&present.number))
        };
        self.standing > 0 || self.responders.iter().any(|present| !present.leaving && !passed(present))
    }

    /// Accepts an answer.
    pub(crate) fn answer(&mut self, answer: Answer) -> Result<(), AnswerError> {
        let mut same = self.waiting.iter().filter(|entry| entry.request.id == answer.id).peekable();
        if same.peek().is_none() {
            return Err(self.not_pending(answer));
        }
        let meant: Vec<&QueueEntry> = same.filter(|entry| entry.request.digest == answer.digest).collect();
        let Some(entry) = meant.iter().find(|entry| entry.end.is_none()).or(meant.first()) else {
            return Err(AnswerError::OtherDigest(answer.id));
        };
        self.answer_number(entry.number, answer, None)
    }

    /// Accepts an answer to a known entry, from a known responder if there is one.
    pub(crate) fn answer_number(
        &mut self,
        number: u64,
        answer: Answer,
        responder: Option<u64>,
    ) -> Result<(), AnswerError> {
        let Some(entry) = self.entry(number).filter(|entry| entry.end.is_none()) else {
            return Err(self.not_pending(answer));
        };
        if entry.is_late() {
            let silence = Answer::silence(&answer.id, &answer.digest);
            self.end(number, AskOutcome::Answer(silence), RequestResolution::Silence, None);
            return Err(self.not_pending(answer));
        }
        is_offered(&entry.request, &answer.choice)
            .map_err(|what| AnswerError::NotOffered { id: answer.id.clone(), what })?;
        if matches!(answer.choice, Choice::Session { .. } | Choice::Always { .. }) {
            self.settling = Instant::now().checked_add(GRANT_SETTLES);
            self.round += 1;
        }
        let how = RequestResolution::Answered { answer: answer.choice.clone(), by: answer.by.clone() };
        self.end(number, AskOutcome::Answer(answer), how, responder);
        Ok(())
    }

    /// Why an answer to a request that is not pending does not count.
    fn not_pending(&self, answer: Answer) -> AnswerError {
        let mut ends = self.over.iter().rev().map(|ended| &ended.over);
        match ends.find(|over| over.id == answer.id && over.digest == answer.digest) {
            Some(over) => AnswerError::Resolved(Box::new(over.clone())),
            None => AnswerError::Unknown(answer.id),
        }
    }

    /// Resolves a request, unless it is resolved already.
    pub(crate) fn end(&mut self, number: u64, heard: AskOutcome, how: RequestResolution, by: Option<u64>) {
        let Some(entry) = self.waiting.iter_mut().find(|entry| entry.number == number && entry.end.is_none())
        else {
            return;
        };
        entry.end = Some(heard);
        entry.bell.notify_all();
        let (id, digest) = (entry.request.id.clone(), entry.request.digest.clone());
        self.remember(ResolvedRequest { id, digest, at: Timestamp::now(), how }, by);
    }

    fn remember(&mut self, over: ResolvedRequest, by: Option<u64>) {
        if self.over.len() == MAX_KEPT {
            self.over.pop_front();
        }
        self.over.push_back(KeptResolution { over, by });
        self.ends += 1;
    }

    /// Adds a message for the approver who answered a request.
    pub(crate) fn add_note(&mut self, request: &Request, text: &str) {
        if self.notes.len() == MAX_KEPT {
            self.notes.pop_front();
        }
        self.notes.push_back(ApproverNote { id: request.id.clone(), text: text.to_owned() });
        self.noted += 1;
        let by = self.ended(request).and_then(|ended| ended.by);
        if let Some(present) = self.responders.iter_mut().find(|present| Some(present.number) == by) {
            present.notes.push_back(text.to_owned());
        }
    }

    /// Why there was no answer, as far as a channel has reported it.
    pub(crate) fn no_answer_reason(&self, request: &Request) -> String {
        let told = self.notes.iter().rev().find(|note| note.id == request.id);
        let usual =
            if self.responders.is_empty() { "no approver is available" } else { "no approver answered" };
        let said = told.map(|note| &note.text).or(self.channel_error.as_ref());
        said.cloned().unwrap_or_else(|| usual.to_owned())
    }

    /// Removes a request: the asking thread has its resolution, or is gone.
    pub(crate) fn leave(&mut self, number: u64) -> Option<AskOutcome> {
        let at = self.waiting.iter().position(|entry| entry.number == number)?;
        let entry = self.waiting.remove(at);
        if entry.end.is_none() {
            let Request { id, digest, .. } = &*entry.request;
            let over = ResolvedRequest {
                id: id.clone(),
                digest: digest.clone(),
                at: Timestamp::now(),
                how: RequestResolution::Gone,
            };
            self.remember(over, None);
        }
        entry.end
    }

    /// The resolutions after the first `seen`, as far as they are kept.
    pub(crate) fn resolutions_after(&self, seen: u64) -> impl Iterator<Item = &ResolvedRequest> {
        newest(&self.over, self.ends, seen).map(|ended| &ended.over)
    }

    /// The notes after the first `seen`, as far as they are kept.
    pub(crate) fn notes_after(&self, seen: u64) -> impl Iterator<Item = &ApproverNote> {
        newest(&self.notes, self.noted, seen)
    }

    /// The resolution of a request, if it is kept.
    pub(crate) fn resolution_of(&self, request: &Request) -> Option<&ResolvedRequest> {
        self.ended(request).map(|ended| &ended.over)
    }

    fn ended(&self, request: &Request) -> Option<&KeptResolution> {
        let same =
            |ended: &&KeptResolution| ended.over.id == request.id && ended.over.digest == request.digest;
        self.over.iter().rev().find(same)
    }

    /// Records that a grant is in effect: every pending request has to be evaluated again.
    pub(crate) fn record_grant(&mut self) {
        self.round += 1;
        self.notify();
    }

    /// Records that a request was evaluated in this round.
    pub(crate) fn record_evaluation(&mut self, number: u64, round: u64) {
        if let Some(entry) = self.entry_mut(number) {
            entry.round = entry.round.max(round);
        }
    }

    /// The latest time at which the next request is shown that waits for evaluation.
    pub(crate) fn shows_at(&self) -> Option<Instant> {
        let held = self.open().filter(|entry| entry.round != self.round);
        held.map(|entry| self.settling.map_or(entry.shown_from, |end| end.max(entry.shown_from))).min()
    }

    /// Returns whether a request was evaluated since the last grant.
    pub(crate) fn is_evaluated(&self, number: u64) -> bool {
        self.entry(number).is_none_or(|entry| entry.round == self.round)
    }

    /// Wakes all asking threads.
    pub(crate) fn notify(&mut self) {
        self.turns += 1;
        self.waiting.iter().for_each(|entry| entry.bell.notify_all());
    }

    /// The interval after which a request is evaluated again without any event.
    pub(crate) fn interval(&self) -> Duration {
        let count = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        REEVALUATE.max(EVALUATION_COST.saturating_mul(count))
    }
}

/// The newest entries of a bounded list, of which `all` were added in total and `seen` were seen.
fn newest<T>(kept: &VecDeque<T>, all: u64, seen: u64) -> impl Iterator<Item = &T> {
    let new = usize::try_from(all.saturating_sub(seen)).unwrap_or(usize::MAX);
    kept.iter().skip(kept.len().saturating_sub(new))
}

impl QueueEntry {
    /// Returns whether the deadline has passed, by either clock: the monotonic one stops during suspend.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.until || Timestamp::now() > self.request.deadline
    }
}

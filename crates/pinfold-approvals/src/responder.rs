//! Somebody who is shown one request after the other, on a thread of their own.
//!
//! Trap: a responder is code of others (a dialog, a window). It may panic, hang, or answer what was never asked; none of
//! that may keep anybody waiting beyond the deadline.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::{Answer, By, Choice, Request};

use crate::broker::Shared;
use crate::over::{How, Over};
use crate::queue::Present;

/// Somebody who can answer.
pub trait Responder: Send {
    /// Who they are, for the record.
    fn by(&self) -> By;

    /// Shows a request, and waits for an answer or until it is [over](Showing::over). `None` leaves it to others.
    fn show(&mut self, showing: &Showing<'_>) -> Option<Choice>;

    /// What was last shown has ended in another way than by the answer from here.
    fn over(&mut self, over: &Over) {
        let _ = over;
    }

    /// Something that whoever answered from here should know, such as that a rule could not be written.
    fn told(&mut self, text: &str) {
        let _ = text;
    }

    /// Whether nobody is there any more. Asked after each request.
    fn is_gone(&self) -> bool {
        false
    }
}

/// A request while it is shown.
pub struct Showing<'a> {
    shared: &'a Shared,
    responder: u64,
    number: u64,
    request: &'a Request,
}

impl Showing<'_> {
    /// What has to be shown.
    pub fn request(&self) -> &Request {
        self.request
    }

    /// How many others wait behind it.
    pub fn waiting(&self) -> usize {
        self.shared.queue().open().count().saturating_sub(1)
    }

    /// What became of it, once it is over or whoever shows it is sent away; `None` while an answer still counts.
    pub fn over(&self) -> Option<How> {
        let queue = self.shared.queue();
        let leaving = queue.closed
            || queue.responders.iter().any(|present| present.number == self.responder && present.leaving);
        match queue.entry(self.number) {
            Some(entry) if entry.end.is_none() && !leaving => None,
            Some(_) | None => Some(queue.end_of(self.request).map_or(How::Nobody, |over| over.how.clone())),
        }
    }

    /// The same, waiting for it no longer than `most`.
    pub fn wait_over(&self, most: Duration) -> Option<How> {
        let until = Instant::now().checked_add(most);
        loop {
            if let Some(how) = self.over() {
                return Some(how);
            }
            let left = until.map_or(most, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            let queue = self.shared.queue();
            if queue.entry(self.number).is_some_and(|entry| entry.end.is_none()) {
                // Short, so that what was missed between two looks costs little.
                drop(Shared::wait(&self.shared.changed, queue, left.min(Duration::from_millis(100))));
            }
        }
    }
}

impl fmt::Debug for Showing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Showing").field("id", &self.request.id).finish_non_exhaustive()
    }
}

/// A responder made of a closure: a dialog at a terminal, a test.
pub struct Closure<F> {
    by: By,
    show: F,
}

impl<F: FnMut(&Showing<'_>) -> Option<Choice> + Send> Closure<F> {
    /// Answers as `by` with what `show` returns.
    pub fn new(by: By, show: F) -> Self {
        Self { by, show }
    }
}

impl<F: FnMut(&Showing<'_>) -> Option<Choice> + Send> Responder for Closure<F> {
    fn by(&self) -> By {
        self.by.clone()
    }

    fn show(&mut self, showing: &Showing<'_>) -> Option<Choice> {
        (self.show)(showing)
    }
}

/// A responder that was added.
#[derive(Clone)]
pub struct Member {
    shared: Arc<Shared>,
    number: u64,
}

impl Member {
    /// Sends it away: it is shown nothing any more, and what it shows is over for it.
    pub fn leave(&self) {
        let mut queue = self.shared.queue();
        queue.responders.iter_mut().filter(|p| p.number == self.number).for_each(|p| p.leaving = true);
        queue.ring();
        drop(queue);
        self.shared.changed.notify_all();
    }

    /// Whether it is still there.
    pub fn is_there(&self) -> bool {
        self.shared.queue().responders.iter().any(|p| p.number == self.number && !p.leaving)
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("number", &self.number).finish_non_exhaustive()
    }
}

pub(crate) fn start(shared: &Arc<Shared>, responder: Box<dyn Responder>) -> io::Result<Member> {
    let place = Place::take(shared);
    let member = place.member();
    // Where there is no thread, the place is dropped and the responder is gone.
    thread::Builder::new().name("approvals".to_owned()).spawn(move || place.go_on(responder))?;
    Ok(member)
}

/// What a responder does next.
enum Next {
    Note(String),
    Request(u64, Arc<Request>),
}

/// The place of somebody who can answer. However whoever has it ends, they are gone then.
pub(crate) struct Place {
    shared: Arc<Shared>,
    number: u64,
}

impl Place {
    pub(crate) fn take(shared: &Arc<Shared>) -> Self {
        let mut queue = shared.queue();
        let number = queue.next_number();
        queue.responders.push(Present { number, leaving: false, notes: VecDeque::new() });
        queue.ring();
        drop(queue);
        Self { shared: Arc::clone(shared), number }
    }

    pub(crate) fn member(&self) -> Member {
        Member { shared: Arc::clone(&self.shared), number: self.number }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn is_leaving(&self) -> bool {
        !self.member().is_there()
    }

    /// Whether a request waits for an answer.
    pub(crate) fn is_open(&self, request: &Request) -> bool {
        self.shared.queue().open().any(|entry| is_same(&entry.request, request))
    }

    /// Waits until a request is over, no longer than `most`.
    pub(crate) fn wait_over(&self, request: &Request, most: Duration) {
        let until = Instant::now() + most;
        while self.is_open(request) && !self.is_leaving() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let queue = self.shared.queue();
            drop(Shared::wait(&self.shared.changed, queue, left.min(Duration::from_millis(100))));
        }
    }

    /// Leaves a request to others.
    pub(crate) fn pass(&self, request: &Request) {
        let mut queue = self.shared.queue();
        let me = self.number;
        let meant = queue.waiting.iter_mut().filter(|entry| is_same(&entry.request, request));
        meant.for_each(|entry| entry.passed.push(me));
        queue.ring();
    }

    fn go_on(self, mut responder: Box<dyn Responder>) {
        while let Some(next) = self.next() {
            // After a panic nothing of it is used again, so it does not matter what it leaves behind.
            let done = catch_unwind(AssertUnwindSafe(|| self.one(&mut *responder, next)));
            if !matches!(done, Ok(true)) {
                break;
            }
        }
        // Its own end is code of others too, and it counts as there until it has ended.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(responder)));
    }

    /// Waits for what is next; `None` when it is to go.
    fn next(&self) -> Option<Next> {
        let mut queue = self.shared.queue();
        loop {
            let closed = queue.closed;
            let me = queue.responders.iter_mut().find(|present| present.number == self.number)?;
            if let Some(note) = me.notes.pop_front() {
                return Some(Next::Note(note));
            }
            if me.leaving || closed {
                return None;
            }
            let now = Instant::now();
            if let Some(entry) = queue.next_for(self.number, now) {
                return Some(Next::Request(entry.number, Arc::clone(&entry.request)));
            }
            let most =
                queue.shows_at().map_or(Duration::from_mins(1), |at| at.saturating_duration_since(now));
            queue = Shared::wait(&self.shared.changed, queue, most.max(Duration::from_millis(1)));
        }
    }

    /// Does what is next. `false` when nobody is there any more.
    fn one(&self, responder: &mut dyn Responder, next: Next) -> bool {
        match next {
            Next::Note(text) => responder.told(&text),
            Next::Request(number, request) => self.show(responder, number, &request),
        }
        !responder.is_gone()
    }

    fn show(&self, responder: &mut dyn Responder, number: u64, request: &Request) {
        let showing = Showing { shared: &self.shared, responder: self.number, number, request };
        let by = responder.by();
        let counted = responder.show(&showing).is_some_and(|choice| {
            let answer = Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by };
            self.shared.queue().answer_number(number, answer, Some(self.number)).is_ok()
        });
        self.shared.changed.notify_all();
        if !counted {
            self.leave_to_others(responder, number, request);
        }
    }

    /// It is left to others, or was over before the answer from here.
    fn leave_to_others(&self, responder: &mut dyn Responder, number: u64, request: &Request) {
        let mut queue = self.shared.queue();
        if let Some(entry) = queue.entry_mut(number) {
            entry.passed.push(self.number);
        }
        queue.ring();
        let over = queue.end_of(request).cloned();
        drop(queue);
        if let Some(over) = over {
            responder.over(&over);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.responders.retain(|present| present.number != self.number);
        queue.ring();
        drop(queue);
        self.shared.changed.notify_all();
    }
}

fn is_same(one: &Request, other: &Request) -> bool {
    one.id == other.id && one.digest == other.digest
}

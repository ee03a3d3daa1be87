//! Responders: each is shown one request after the other, on a thread of its own.
//!
//! A responder is foreign code (a dialog, a window). It may panic, block, or answer what was not asked; none of that
//! delays a request beyond its deadline.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::{Answer, AnsweredBy, Choice, Request};

use crate::broker::BrokerState;
use crate::queue::ConnectedResponder;
use crate::resolution::{RequestResolution, ResolvedRequest};

/// A channel to an approver.
pub trait Responder: Send {
    /// The approver, for the audit log.
    fn approver(&self) -> AnsweredBy;

    /// Shows a request, and waits for an answer or until it is [resolved](PendingRequest::resolution). `None` passes on
    /// it.
    fn show(&mut self, showing: &PendingRequest<'_>) -> Option<Choice>;

    /// Called when the request that was shown last was resolved by another answer.
    fn resolved(&mut self, over: &ResolvedRequest) {
        let _ = over;
    }

    /// Called with a message for the approver who answered here, for instance that a rule could not be written.
    fn notify(&mut self, text: &str) {
        let _ = text;
    }

    /// Returns whether the channel is closed. Called after each request.
    fn is_closed(&self) -> bool {
        false
    }
}

/// A request while it is shown.
pub struct PendingRequest<'a> {
    shared: &'a BrokerState,
    responder: u64,
    number: u64,
    request: &'a Request,
}

impl PendingRequest<'_> {
    /// The request.
    pub fn request(&self) -> &Request {
        self.request
    }

    /// The number of other pending requests.
    pub fn waiting(&self) -> usize {
        self.shared.queue().open().count().saturating_sub(1)
    }

    /// The resolution, once there is one or the responder was removed; `None` while an answer still counts.
    pub fn resolution(&self) -> Option<RequestResolution> {
        let queue = self.shared.queue();
        let leaving = queue.closed
            || queue.responders.iter().any(|present| present.number == self.responder && present.leaving);
        match queue.entry(self.number) {
            Some(entry) if entry.end.is_none() && !leaving => None,
            Some(_) | None => Some(
                queue
                    .resolution_of(self.request)
                    .map_or(RequestResolution::NoApprover, |over| over.how.clone()),
            ),
        }
    }

    /// Waits for the resolution, no longer than `most`.
    pub fn wait_resolution(&self, most: Duration) -> Option<RequestResolution> {
        let until = Instant::now().checked_add(most);
        loop {
            if let Some(how) = self.resolution() {
                return Some(how);
            }
            let left = until.map_or(most, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            let queue = self.shared.queue();
            if queue.entry(self.number).is_some_and(|entry| entry.end.is_none()) {
                // Short, so that an event that was missed between two checks costs little.
                drop(BrokerState::wait(&self.shared.changed, queue, left.min(Duration::from_millis(100))));
            }
        }
    }
}

impl fmt::Debug for PendingRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRequest").field("id", &self.request.id).finish_non_exhaustive()
    }
}

/// A responder made of a closure: a dialog at a terminal, a test.
pub struct ClosureResponder<F> {
    by: AnsweredBy,
    show: F,
}

impl<F: FnMut(&PendingRequest<'_>) -> Option<Choice> + Send> ClosureResponder<F> {
    /// Answers as `by` with the result of `show`.
    pub fn new(by: AnsweredBy, show: F) -> Self {
        Self { by, show }
    }
}

impl<F: FnMut(&PendingRequest<'_>) -> Option<Choice> + Send> Responder for ClosureResponder<F> {
    fn approver(&self) -> AnsweredBy {
        self.by.clone()
    }

    fn show(&mut self, showing: &PendingRequest<'_>) -> Option<Choice> {
        (self.show)(showing)
    }
}

/// A responder that was added to a broker.
#[derive(Clone)]
pub struct ResponderHandle {
    shared: Arc<BrokerState>,
    number: u64,
}

impl ResponderHandle {
    /// Removes the responder: it is shown no more requests, and its current one counts as resolved for it.
    pub fn leave(&self) {
        let mut queue = self.shared.queue();
        queue.responders.iter_mut().filter(|p| p.number == self.number).for_each(|p| p.leaving = true);
        queue.notify();
        drop(queue);
        self.shared.changed.notify_all();
    }

    /// Returns whether it is still connected.
    pub fn is_connected(&self) -> bool {
        self.shared.queue().responders.iter().any(|p| p.number == self.number && !p.leaving)
    }
}

impl fmt::Debug for ResponderHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponderHandle").field("number", &self.number).finish_non_exhaustive()
    }
}

pub(crate) fn start(shared: &Arc<BrokerState>, responder: Box<dyn Responder>) -> io::Result<ResponderHandle> {
    let registration = Registration::new(shared);
    let member = registration.member();
    // Without a thread the registration is dropped, and the responder with it.
    thread::Builder::new().name("approvals".to_owned()).spawn(move || registration.run(responder))?;
    Ok(member)
}

/// The next work of a responder.
enum Work {
    Note(String),
    Request(u64, Arc<Request>),
}

/// The registration of a responder. However its thread ends, it is unregistered.
pub(crate) struct Registration {
    shared: Arc<BrokerState>,
    number: u64,
}

impl Registration {
    pub(crate) fn new(shared: &Arc<BrokerState>) -> Self {
        let mut queue = shared.queue();
        let number = queue.next_number();
        queue.responders.push(ConnectedResponder { number, leaving: false, notes: VecDeque::new() });
        queue.notify();
        drop(queue);
        Self { shared: Arc::clone(shared), number }
    }

    pub(crate) fn member(&self) -> ResponderHandle {
        ResponderHandle { shared: Arc::clone(&self.shared), number: self.number }
    }

    pub(crate) fn shared(&self) -> &Arc<BrokerState> {
        &self.shared
    }

    pub(crate) fn is_leaving(&self) -> bool {
        !self.member().is_connected()
    }

    /// Returns whether a request is pending.
    pub(crate) fn is_open(&self, request: &Request) -> bool {
        self.shared.queue().open().any(|entry| is_same(&entry.request, request))
    }

    /// Waits until a request is resolved, no longer than `most`.
    pub(crate) fn wait_over(&self, request: &Request, most: Duration) {
        let until = Instant::now() + most;
        while self.is_open(request) && !self.is_leaving() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let queue = self.shared.queue();
            drop(BrokerState::wait(&self.shared.changed, queue, left.min(Duration::from_millis(100))));
        }
    }

    /// Passes on a request.
    pub(crate) fn pass(&self, request: &Request) {
        let mut queue = self.shared.queue();
        let me = self.number;
        let meant = queue.waiting.iter_mut().filter(|entry| is_same(&entry.request, request));
        meant.for_each(|entry| entry.passed.push(me));
        queue.notify();
    }

    fn run(self, mut responder: Box<dyn Responder>) {
        while let Some(next) = self.next() {
            // After a panic the responder is dropped and not used again, so its state does not matter.
            let done = catch_unwind(AssertUnwindSafe(|| self.do_work(&mut *responder, next)));
            if !matches!(done, Ok(true)) {
                break;
            }
        }
        // Its destructor is foreign code too; the responder counts as connected until it has returned.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(responder)));
    }

    /// Waits for work; `None` when the responder was removed.
    fn next(&self) -> Option<Work> {
        let mut queue = self.shared.queue();
        loop {
            let closed = queue.closed;
            let me = queue.responders.iter_mut().find(|present| present.number == self.number)?;
            if let Some(note) = me.notes.pop_front() {
                return Some(Work::Note(note));
            }
            if me.leaving || closed {
                return None;
            }
            let now = Instant::now();
            if let Some(entry) = queue.next_for(self.number, now) {
                return Some(Work::Request(entry.number, Arc::clone(&entry.request)));
            }
            let most =
                queue.shows_at().map_or(Duration::from_mins(1), |at| at.saturating_duration_since(now));
            queue = BrokerState::wait(&self.shared.changed, queue, most.max(Duration::from_millis(1)));
        }
    }

    /// Does the next work. `false` when the channel is closed.
    fn do_work(&self, responder: &mut dyn Responder, next: Work) -> bool {
        match next {
            Work::Note(text) => responder.notify(&text),
            Work::Request(number, request) => self.show(responder, number, &request),
        }
        !responder.is_closed()
    }

    fn show(&self, responder: &mut dyn Responder, number: u64, request: &Request) {
        let showing = PendingRequest { shared: &self.shared, responder: self.number, number, request };
        let by = responder.approver();
        let counted = responder.show(&showing).is_some_and(|choice| {
            let answer = Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by };
            self.shared.queue().answer_number(number, answer, Some(self.number)).is_ok()
        });
        self.shared.changed.notify_all();
        if !counted {
            self.leave_to_others(responder, number, request);
        }
    }

    /// Passes on a request, or reports that it was resolved before the answer from here.
    fn leave_to_others(&self, responder: &mut dyn Responder, number: u64, request: &Request) {
        let mut queue = self.shared.queue();
        if let Some(entry) = queue.entry_mut(number) {
            entry.passed.push(self.number);
        }
        queue.notify();
        let over = queue.resolution_of(request).cloned();
        drop(queue);
        if let Some(over) = over {
            responder.resolved(&over);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.responders.retain(|present| present.number != self.number);
        queue.notify();
        drop(queue);
        self.shared.changed.notify_all();
    }
}

fn is_same(one: &Request, other: &Request) -> bool {
    one.id == other.id && one.digest == other.digest
}

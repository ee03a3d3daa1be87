//! The broker: many threads ask, many channels answer, and each request is resolved once.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pinfold::consent::{Answer, Approver, ApproverResponse, Request};

use crate::channels::FirstRequestAction;
use crate::queue::{AskOutcome, RequestQueue};
use crate::resolution::{AnswerError, RequestResolution};
use crate::responder::{self, Responder, ResponderHandle};
use crate::watch::QueueWatch;

/// Collects answers to approval requests. Dropping it disconnects all responders.
#[derive(Default)]
pub struct Broker {
    shared: Arc<BrokerState>,
}

/// The state that a broker and its responders share.
#[derive(Default)]
pub(crate) struct BrokerState {
    queue: Mutex<RequestQueue>,
    /// Notifies responders and watchers.
    pub(crate) changed: Condvar,
    /// Called before pending requests are evaluated again.
    before_evaluation: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Tells whether an approver is present who is not connected to this process yet.
    elsewhere: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    /// The last call of `before_looks`.
    evaluated: Mutex<Option<Instant>>,
    first: FirstRequestAction,
}

impl Broker {
    /// Adds a responder on a thread of its own, until it closes or [`ResponderHandle::leave`] is called.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn add(&self, responder: impl Responder + 'static) -> io::Result<ResponderHandle> {
        responder::start(&self.shared, Box::new(responder))
    }

    /// Lets requests wait although no responder is connected, until the result is dropped: answers come through another
    /// channel.
    pub fn open_channel(&self) -> OpenChannel {
        self.shared.open_channel()
    }

    pub(crate) fn shared(&self) -> &Arc<BrokerState> {
        &self.shared
    }

    pub(crate) fn first(&self) -> &FirstRequestAction {
        &self.shared.first
    }

    /// The pending requests, in the order in which they were made.
    pub fn waiting(&self) -> Vec<Arc<Request>> {
        self.shared.queue().open().map(|entry| Arc::clone(&entry.request)).collect()
    }

    /// Accepts an answer. The caller has filled in the approver.
    ///
    /// # Errors
    /// Why the answer does not count.
    pub fn answer(&self, answer: Answer) -> Result<(), AnswerError> {
        self.shared.answer(answer)
    }

    /// Watches requests and resolutions.
    pub fn watch(&self) -> QueueWatch {
        QueueWatch::new(Arc::clone(&self.shared))
    }

    /// Sets a function that is called about once a second while requests are pending, before they are evaluated again:
    /// it reloads settings. Only the first call has an effect.
    pub fn before_evaluation(&self, look: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.before_evaluation.set(Box::new(look));
    }

    /// Sets a function that tells whether an approver is present who is not connected to this process yet. Only the
    /// first call has an effect.
    pub fn set_elsewhere_check(&self, is_present: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.shared.elsewhere.set(Box::new(is_present));
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.shared.queue();
        f.debug_struct("Broker")
            .field("waiting", &queue.waiting.len())
            .field("responders", &queue.responders.len())
            .finish_non_exhaustive()
    }
}

/// A channel that is always open. Dropping it closes the channel.
#[must_use = "the way is closed when this is dropped"]
pub struct OpenChannel(Arc<BrokerState>);

impl Drop for OpenChannel {
    fn drop(&mut self) {
        self.0.queue().standing -= 1;
        self.0.notify_all();
    }
}

impl fmt::Debug for OpenChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenChannel")
    }
}

impl Approver for Broker {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        self.run_first_request_action();
        let ticket = Ticket::new(&self.shared, request);
        match ticket.wait(still_asked) {
            AskOutcome::Answer(answer) => ApproverResponse::Answer(answer),
            AskOutcome::NotAsked => ApproverResponse::NotAsked,
            AskOutcome::NoApprover(why) => ApproverResponse::NoApprover(why),
        }
    }

    fn granted(&self) {
        self.shared.queue().record_grant();
        self.shared.changed.notify_all();
    }

    fn show_message(&self, request: &Request, text: &str) {
        self.shared.queue().add_note(request, text);
        self.shared.changed.notify_all();
    }
}

impl BrokerState {
    pub(crate) fn queue(&self) -> MutexGuard<'_, RequestQueue> {
        // Every step leaves the queue consistent, so a panic between two of them does no harm.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open_channel(self: &Arc<Self>) -> OpenChannel {
        self.queue().standing += 1;
        OpenChannel(Arc::clone(self))
    }

    /// Waits for a notification, no longer than `most`.
    pub(crate) fn wait<'a>(
        bell: &Condvar,
        queue: MutexGuard<'a, RequestQueue>,
        most: Duration,
    ) -> MutexGuard<'a, RequestQueue> {
        bell.wait_timeout(queue, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Notifies all threads.
    pub(crate) fn notify_all(&self) {
        self.queue().notify();
        self.changed.notify_all();
    }

    pub(crate) fn answer(&self, answer: Answer) -> Result<(), AnswerError> {
        let taken = self.queue().answer(answer);
        self.changed.notify_all();
        taken
    }

    fn is_approver_elsewhere(&self) -> bool {
        self.elsewhere.get().is_some_and(|is_present| is_present())
    }

    /// Calls the function that is set for it, at most once per interval.
    fn run_before_evaluation(&self) {
        let Some(look) = self.before_evaluation.get() else { return };
        let mut evaluated = self.evaluated.lock().unwrap_or_else(PoisonError::into_inner);
        if evaluated.is_none_or(|at| at.elapsed() >= Duration::from_millis(900)) {
            *evaluated = Some(Instant::now());
            look();
        }
    }
}

/// The queue entry of an asking thread. However the thread leaves, the entry is removed.
struct Ticket<'a> {
    shared: &'a BrokerState,
    number: u64,
    bell: Arc<Condvar>,
    request: &'a Request,
}

impl<'a> Ticket<'a> {
    fn new(shared: &'a BrokerState, request: &'a Request) -> Self {
        let (number, bell) = shared.queue().enter(request);
        shared.changed.notify_all();
        Self { shared, number, bell, request }
    }

    /// Waits for the resolution.
    fn wait(&self, still_asked: &(dyn Fn() -> bool + Sync)) -> AskOutcome {
        let mut evaluated = Instant::now();
        loop {
            let turns = self.shared.queue().turns;
            if let Some(heard) = self.resolution() {
                return heard;
            }
            self.reevaluate(&mut evaluated, still_asked);
            let queue = self.shared.queue();
            let Some(entry) = queue.entry(self.number) else { continue };
            if entry.end.is_some() || queue.turns != turns {
                continue;
            }
            let next = evaluated.checked_add(queue.interval()).unwrap_or(evaluated).min(entry.until);
            let most = next.saturating_duration_since(Instant::now());
            drop(BrokerState::wait(&self.bell, queue, most));
        }
    }

    /// The resolution, if there is one now.
    fn resolution(&self) -> Option<AskOutcome> {
        let (id, digest) = (&self.request.id, &self.request.digest);
        let mut queue = self.shared.queue();
        let Some(entry) = queue.entry(self.number) else {
            // Cannot happen: the entry lives as long as the ticket. Deny.
            return Some(AskOutcome::Answer(Answer::silence(id, digest)));
        };
        if let Some(heard) = &entry.end {
            return Some(heard.clone());
        }
        if entry.is_late() {
            let silence = AskOutcome::Answer(Answer::silence(id, digest));
            queue.end(self.number, silence.clone(), RequestResolution::Silence, None);
            drop(queue);
            self.shared.changed.notify_all();
            return Some(silence);
        }
        if queue.can_be_answered(self.number) {
            return None;
        }
        let why = queue.no_answer_reason(self.request);
        drop(queue);
        // This reads files, so never under the lock.
        if self.shared.is_approver_elsewhere() {
            return None;
        }
        let mut queue = self.shared.queue();
        if !queue.can_be_answered(self.number) {
            queue.end(self.number, AskOutcome::NoApprover(why), RequestResolution::NoApprover, None);
        }
        let heard = queue.entry(self.number).and_then(|entry| entry.end.clone());
        drop(queue);
        self.shared.changed.notify_all();
        heard
    }

    /// Evaluates whether approval is still needed, when the interval has passed or something was granted.
    fn reevaluate(&self, evaluated: &mut Instant, still_asked: &(dyn Fn() -> bool + Sync)) {
        let queue = self.shared.queue();
        let round = queue.round;
        let due = evaluated.elapsed() >= queue.interval();
        if !due && queue.is_evaluated(self.number) {
            return;
        }
        drop(queue);
        if due {
            self.shared.run_before_evaluation();
        }
        *evaluated = Instant::now();
        let still = still_asked();
        let mut queue = self.shared.queue();
        queue.record_evaluation(self.number, round);
        if !still {
            queue.end(self.number, AskOutcome::NotAsked, RequestResolution::NotAsked, None);
        }
        drop(queue);
        self.shared.changed.notify_all();
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.shared.queue().leave(self.number);
        self.shared.changed.notify_all();
    }
}

//! An approver that stands in for a person.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pinfold::consent::{
    Answer, AnsweredBy, ApprovalChannel, ApprovalOptions, Approver, ApproverResponse, Choice, Request,
};

/// The longest wait for an answer in [`TestApprover::asking`].
pub const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A function that responds to a request, with the look at whether it is still asked.
type Respond = dyn Fn(&Request, &(dyn Fn() -> bool + Sync)) -> ApproverResponse + Send + Sync;

/// An approver that responds as a test wants it to, and keeps what it was asked.
pub struct TestApprover {
    respond: Box<Respond>,
    queued: Mutex<VecDeque<Box<Respond>>>,
    asked: Mutex<Vec<Request>>,
}

impl Default for TestApprover {
    /// Answers with no.
    fn default() -> Self {
        Self::with_choice(|_| Choice::no())
    }
}

impl TestApprover {
    /// An approver that responds by a function.
    pub fn with_response(
        respond: impl Fn(&Request, &(dyn Fn() -> bool + Sync)) -> ApproverResponse + Send + Sync + 'static,
    ) -> Self {
        Self { respond: Box::new(respond), queued: Mutex::default(), asked: Mutex::default() }
    }

    /// An approver that answers by a function.
    pub fn with_choice(choose: impl Fn(&Request) -> Choice + Send + Sync + 'static) -> Self {
        Self::with_response(move |request, _| respond(request, choose(request)))
    }

    /// An approver that answers every request alike.
    pub fn with_answer(choice: Choice) -> Arc<Self> {
        Arc::new(Self::with_choice(move |_| choice.clone()))
    }

    /// An approver that never answers, and waits for as long as the request is asked.
    pub fn without_answer() -> Self {
        Self::with_response(|_, still_asked| {
            while still_asked() {
                thread::sleep(Duration::from_millis(10));
            }
            ApproverResponse::NotAsked
        })
    }

    /// Answers the next request with this choice: several in their order, and before all else.
    pub fn queue(&self, choice: Choice) {
        lock(&self.queued).push_back(Box::new(move |request, _| respond(request, choice.clone())));
    }

    /// Responds to the next request with this.
    pub fn queue_response(&self, response: ApproverResponse) {
        lock(&self.queued).push_back(Box::new(move |_, _| response.clone()));
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Request> {
        lock(&self.asked).clone()
    }

    /// The requests since they were last taken.
    pub fn take_asked(&self) -> Vec<Request> {
        std::mem::take(&mut *lock(&self.asked))
    }

    /// The number of requests since they were last taken.
    pub fn count(&self) -> usize {
        lock(&self.asked).len()
    }

    /// The last request.
    ///
    /// # Panics
    /// When there was none.
    pub fn last(&self) -> Request {
        lock(&self.asked).last().expect("something was asked").clone()
    }

    /// The asking of a session that asks this approver, without settings files for lasting rules.
    pub fn asking(self: &Arc<Self>) -> ApprovalOptions {
        let approver: Arc<dyn Approver> = self.clone();
        ApprovalOptions { approver, timeout: ANSWER_TIMEOUT, locations: None }
    }
}

impl Approver for TestApprover {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        lock(&self.asked).push(request.clone());
        let queued = lock(&self.queued).pop_front();
        queued.as_ref().unwrap_or(&self.respond)(request, still_asked)
    }
}

impl fmt::Debug for TestApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestApprover").finish_non_exhaustive()
    }
}

/// The answer of an embedder to a request.
pub fn answer(request: &Request, choice: Choice) -> Answer {
    let by = AnsweredBy { via: ApprovalChannel::Embedder, who: None };
    Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by }
}

fn respond(request: &Request, choice: Choice) -> ApproverResponse {
    ApproverResponse::Answer(answer(request, choice))
}

/// A test that failed elsewhere is told by its own message.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The user behind a client as an approver: the call waits on its thread, the form goes to the task that serves the
//! connection.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Approver, ApproverResponse, Request};
use rmcp::model::CallToolResult;
use tokio::sync::{mpsc, oneshot};

use crate::form::{ElicitationForm, FormResult};

/// A message of a running call to the task that serves the connection.
#[derive(Debug)]
pub(crate) enum CallEvent {
    /// An approval request for the user.
    Ask(FormRequest),
    /// The call has ended.
    Done(Box<CallToolResult>),
}

/// An approval request on its way to the client.
#[derive(Debug)]
pub(crate) struct FormRequest {
    /// The form.
    pub(crate) form: ElicitationForm,
    /// The channel for the answer.
    pub(crate) answer: AnswerSlot,
}

/// The channel for an answer. The call waits on its own thread with its own clock: the runtime's timers stop when the
/// connection ends.
#[derive(Debug)]
pub(crate) struct AnswerSlot {
    to: Sender<FormResult>,
    waits: oneshot::Sender<Infallible>,
}

impl AnswerSlot {
    /// Sends the answer. A call that no longer waits ignores it.
    pub(crate) fn send(self, said: FormResult) {
        let _ = self.to.send(said);
    }

    /// Returns whether the call no longer waits.
    pub(crate) fn is_closed(&self) -> bool {
        self.waits.is_closed()
    }

    /// Returns once the call no longer waits.
    pub(crate) async fn closed(&mut self) {
        self.waits.closed().await;
    }
}

/// The interval at which it is checked whether approval is still needed.
const LOOK: Duration = Duration::from_secs(1);

/// Asks through the client.
#[derive(Debug)]
pub(crate) struct ElicitationApprover {
    events: mpsc::UnboundedSender<CallEvent>,
}

impl ElicitationApprover {
    pub(crate) fn new(events: mpsc::UnboundedSender<CallEvent>) -> Self {
        Self { events }
    }
}

fn wait(
    said: &Receiver<FormResult>,
    request: &Request,
    still_asked: &(dyn Fn() -> bool + Sync),
) -> ApproverResponse {
    loop {
        match said.recv_timeout(LOOK) {
            Ok(FormResult::Answer(answer)) => return ApproverResponse::Answer(answer),
            Ok(FormResult::Nothing(why)) => return ApproverResponse::NoApprover(why.to_owned()),
            Err(RecvTimeoutError::Disconnected) => {
                return ApproverResponse::NoApprover("the client is gone".to_owned());
            }
            Err(RecvTimeoutError::Timeout) if !still_asked() => return ApproverResponse::NotAsked,
            Err(RecvTimeoutError::Timeout) if Timestamp::now() >= request.deadline => {
                return ApproverResponse::NoApprover("the client did not answer in time".to_owned());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

impl Approver for ElicitationApprover {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        let Some(form) = ElicitationForm::for_request(request) else {
            return ApproverResponse::NoApprover("it is too long for a form of the client".to_owned());
        };
        let ((to, said), (waits, _waiting)) = (channel(), oneshot::channel());
        match self.events.send(CallEvent::Ask(FormRequest { form, answer: AnswerSlot { to, waits } })) {
            Ok(()) => wait(&said, request, still_asked),
            Err(_) => ApproverResponse::NoApprover("the client is gone".to_owned()),
        }
    }
}

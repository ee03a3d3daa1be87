//! The person behind a client, as somebody who can be asked: the call waits on its thread, the form goes to whoever holds
//! the connection.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Approver, Heard, Request};
use rmcp::model::CallToolResult;
use tokio::sync::{mpsc, oneshot};

use crate::form::{Form, Said};

/// What a call that is being carried out says to whoever holds the connection.
#[derive(Debug)]
pub(crate) enum Event {
    /// Its person is asked.
    Asks(Asked),
    /// It has come to its end.
    Done(Box<CallToolResult>),
}

/// A question on its way to the client.
#[derive(Debug)]
pub(crate) struct Asked {
    /// What its person sees.
    pub(crate) form: Form,
    /// Where the answer goes.
    pub(crate) answer: Answer,
}

/// Where the answer to a question goes. The call waits for it on its own thread, with a clock of its own: that of the
/// runtime stops when the connection ends.
#[derive(Debug)]
pub(crate) struct Answer {
    to: Sender<Said>,
    waits: oneshot::Sender<Infallible>,
}

impl Answer {
    /// Says it. Who does not wait any more does not hear it.
    pub(crate) fn say(self, said: Said) {
        let _ = self.to.send(said);
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.waits.is_closed()
    }

    /// Comes back once nobody waits for it any more.
    pub(crate) async fn closed(&mut self) {
        self.waits.closed().await;
    }
}

/// How often it is looked whether a question still has to be asked.
const LOOK: Duration = Duration::from_secs(1);

/// Asks through the client.
#[derive(Debug)]
pub(crate) struct Asks {
    events: mpsc::UnboundedSender<Event>,
}

impl Asks {
    pub(crate) fn new(events: mpsc::UnboundedSender<Event>) -> Self {
        Self { events }
    }
}

fn wait(said: &Receiver<Said>, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
    loop {
        match said.recv_timeout(LOOK) {
            Ok(Said::Answer(answer)) => return Heard::Answer(answer),
            Ok(Said::Nothing(why)) => return Heard::Nobody(why.to_owned()),
            Err(RecvTimeoutError::Disconnected) => return Heard::Nobody("the client is gone".to_owned()),
            Err(RecvTimeoutError::Timeout) if !still_asked() => return Heard::NotAsked,
            Err(RecvTimeoutError::Timeout) if Timestamp::now() >= request.deadline => {
                return Heard::Nobody("the client did not answer in time".to_owned());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

impl Approver for Asks {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
        let Some(form) = Form::of(request) else {
            return Heard::Nobody("it is too long for a form of the client".to_owned());
        };
        let ((to, said), (waits, _waiting)) = (channel(), oneshot::channel());
        match self.events.send(Event::Asks(Asked { form, answer: Answer { to, waits } })) {
            Ok(()) => wait(&said, request, still_asked),
            Err(_) => Heard::Nobody("the client is gone".to_owned()),
        }
    }
}

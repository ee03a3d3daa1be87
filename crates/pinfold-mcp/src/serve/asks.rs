//! The person behind a client, as somebody who can be asked: the call waits on its thread, the form goes to whoever holds
//! the connection.

use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Approver, Heard, Request};
use rmcp::model::CallToolResult;
use tokio::runtime::Handle;
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
    /// Where the answer goes. Closed, once nobody waits for it.
    pub(crate) answer: oneshot::Sender<Said>,
}

/// How often it is looked whether a question still has to be asked.
const LOOK: Duration = Duration::from_secs(1);

/// Asks through the client.
#[derive(Debug)]
pub(crate) struct Asks {
    events: mpsc::UnboundedSender<Event>,
    handle: Handle,
}

impl Asks {
    pub(crate) fn new(events: mpsc::UnboundedSender<Event>, handle: Handle) -> Self {
        Self { events, handle }
    }

    fn wait(
        &self,
        mut answer: oneshot::Receiver<Said>,
        request: &Request,
        still_asked: &(dyn Fn() -> bool + Sync),
    ) -> Heard {
        loop {
            match self.handle.block_on(async { tokio::time::timeout(LOOK, &mut answer).await }) {
                Ok(Ok(Said::Answer(answer))) => return Heard::Answer(answer),
                Ok(Ok(Said::Nothing(why))) => return Heard::Nobody(why.to_owned()),
                Ok(Err(_)) => return Heard::Nobody("the client is gone".to_owned()),
                Err(_) if !still_asked() => return Heard::NotAsked,
                Err(_) if Timestamp::now() >= request.deadline => {
                    return Heard::Nobody("the client did not answer in time".to_owned());
                }
                Err(_) => {}
            }
        }
    }
}

impl Approver for Asks {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
        let Some(form) = Form::of(request) else {
            return Heard::Nobody("it is too long for a form of the client".to_owned());
        };
        let (answer, said) = oneshot::channel();
        match self.events.send(Event::Asks(Asked { form, answer })) {
            Ok(()) => self.wait(said, request, still_asked),
            Err(_) => Heard::Nobody("the client is gone".to_owned()),
        }
    }
}

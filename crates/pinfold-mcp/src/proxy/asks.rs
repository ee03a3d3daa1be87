//! The person behind the client, asked by a request of our own between those that pass through, or by the answer to the call
//! where a revision has no such requests.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Approver, Caller, Heard, Request};
use serde_json::{Value, json};

use super::Shared;
use super::calls::Call;
use super::of_client::Client;
use super::requests::{Judged, Requests};
use crate::form::{Form, Said};
use crate::serve::Waits;
use crate::wire::frame::Id;

/// How often it is looked whether a question still has to be asked.
const LOOK: Duration = Duration::from_secs(1);

/// The name of our one question in what a client answers.
pub(super) const QUESTION: &str = "consent";

/// Asks through the client.
pub(super) struct Asks<'a> {
    pub(super) shared: &'a Shared,
    pub(super) client: &'a Client,
    pub(super) call: &'a Call,
    pub(super) judged: &'a Judged,
}

impl fmt::Debug for Asks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asks")
    }
}

/// A call whose client has been told that input is required.
pub(super) struct Asked {
    form: Form,
    /// Shared with the call: it can be taken back under its next number too.
    pub(super) judged: Judged,
    /// Where the answer goes, with the number of the request that it came with.
    answer: Sender<(Said, Id)>,
    /// Whether anybody waits for it.
    waits: Weak<()>,
}

impl Waits for Asked {
    fn is_over(&self) -> bool {
        self.waits.strong_count() == 0
    }
}

impl Asked {
    /// The call is made again, with or without an answer. `false`: nobody waits for it any more.
    pub(super) fn goes_on(self, answer: Option<&Value>, id: Id, client: &Client) -> bool {
        let said = answer.map(|answer| self.form.read(answer, &client.name));
        let said = said.unwrap_or(Said::Nothing("the client sent no answer"));
        self.answer.send((said, id)).is_ok()
    }
}

impl Approver for Asks<'_> {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
        let Some(form) = Form::of(request) else {
            return Heard::Nobody("it is too long for a form of the client".to_owned());
        };
        let waits = Patience { request, still_asked };
        if self.call.is_newest() { self.by_answer(form, &waits) } else { self.by_request(&form, &waits) }
    }
}

/// What is looked at while nobody answers.
struct Patience<'a> {
    request: &'a Request,
    still_asked: &'a (dyn Fn() -> bool + Sync),
}

impl Patience<'_> {
    /// What somebody says, or why nobody is waited for any more.
    fn on<T>(&self, answer: &Receiver<T>) -> Result<T, Heard> {
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Disconnected) => return Err(nobody("the client is gone")),
                Err(RecvTimeoutError::Timeout) if !(self.still_asked)() => return Err(Heard::NotAsked),
                Err(RecvTimeoutError::Timeout) if Timestamp::now() >= self.request.deadline => {
                    return Err(nobody("the client did not answer in time"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn nobody(why: &str) -> Heard {
    Heard::Nobody(why.to_owned())
}

fn heard(said: Said) -> Heard {
    match said {
        Said::Answer(answer) => Heard::Answer(answer),
        Said::Nothing(why) => nobody(why),
    }
}

impl Asks<'_> {
    fn by_request(&self, form: &Form, waits: &Patience<'_>) -> Heard {
        let shared = self.shared;
        let Some(id) = Requests::our_id() else {
            return nobody("there are no random numbers for a question");
        };
        let (answer, said) = channel();
        shared.requests.we_ask(&id, answer);
        let params = form.params();
        let asked =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{params}}}"#);
        if shared.to_client.send(asked.into_bytes()).is_err() {
            return nobody("the client is gone");
        }
        let result = waits.on(&said);
        if shared.requests.we_are_answered(&id).is_some() {
            let over = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"it need not be answered any more"}}}}"#
            );
            // A client that is gone shows nothing any more.
            let _ = shared.to_client.send(over.into_bytes());
        }
        result.map_or_else(|over| over, |result| heard(form.read(&result, &self.client.name)))
    }

    fn by_answer(&self, form: Form, waits: &Patience<'_>) -> Heard {
        let params = form.params();
        let (answer, said) = channel();
        let alive = Arc::new(());
        let asked = Asked { form, judged: self.judged.clone(), answer, waits: Arc::downgrade(&alive) };
        let Ok(state) = self.shared.parked.park(&self.call.about(), asked) else {
            return nobody("too many questions wait for the client");
        };
        let required = json!({
            "resultType": "input_required",
            "inputRequests": {QUESTION: {"method": "elicitation/create", "params": params}},
            "requestState": state,
        });
        if !self.call.is_answered_with(self.shared, &Caller::default(), &required) {
            return nobody("the client is gone");
        }
        let result = waits.on(&said);
        drop(alive);
        match result {
            Ok((said, id)) => {
                self.call.goes_on_as(id);
                heard(said)
            }
            Err(over) => over,
        }
    }
}

//! The user behind the client as an approver: by an elicitation request between forwarded messages, or by the response
//! to the call in revisions without server requests.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Approver, ApproverResponse, Caller, Request};
use serde_json::{Value, json};

use super::ProxyState;
use super::calls::ProxiedCall;
use super::client_messages::ClientInfo;
use super::requests::{JudgedCall, Requests};
use crate::form::{ElicitationForm, FormResult};
use crate::serve::Parkable;
use crate::wire::frame::Id;

/// The interval at which it is checked whether approval is still needed.
const LOOK: Duration = Duration::from_secs(1);

/// The name of the one form in a client's response.
pub(super) const QUESTION: &str = "consent";

/// Asks through the client.
pub(super) struct ElicitationApprover<'a> {
    pub(super) shared: &'a ProxyState,
    pub(super) client: &'a ClientInfo,
    pub(super) call: &'a ProxiedCall,
    pub(super) judged: &'a JudgedCall,
}

impl fmt::Debug for ElicitationApprover<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asks")
    }
}

/// A call whose client was told that input is required.
pub(super) struct ParkedForm {
    form: ElicitationForm,
    /// Shared with the call: it can be cancelled under its next identifier too.
    pub(super) judged: JudgedCall,
    /// The channel for the answer, with the identifier of the request that it came with.
    answer: Sender<(FormResult, Id)>,
    /// Alive while the call still waits.
    waits: Weak<()>,
}

impl Parkable for ParkedForm {
    fn is_over(&self) -> bool {
        self.waits.strong_count() == 0
    }
}

impl ParkedForm {
    /// The call was repeated, with or without an answer. `false`: it no longer waits.
    pub(super) fn resume(self, answer: Option<&Value>, id: Id, client: &ClientInfo) -> bool {
        let said = answer.map(|answer| self.form.read(answer, &client.name));
        let said = said.unwrap_or(FormResult::Nothing("the client sent no answer"));
        self.answer.send((said, id)).is_ok()
    }
}

impl Approver for ElicitationApprover<'_> {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        let Some(form) = ElicitationForm::for_request(request) else {
            return ApproverResponse::NoApprover("it is too long for a form of the client".to_owned());
        };
        let waits = WaitConditions { request, still_asked };
        if self.call.is_newest() {
            self.ask_by_answer(form, &waits)
        } else {
            self.ask_by_request(&form, &waits)
        }
    }
}

/// The conditions that end the wait.
struct WaitConditions<'a> {
    request: &'a Request,
    still_asked: &'a (dyn Fn() -> bool + Sync),
}

impl WaitConditions<'_> {
    /// Waits for an answer, or returns why there is none.
    fn wait<T>(&self, answer: &Receiver<T>) -> Result<T, ApproverResponse> {
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Disconnected) => return Err(no_approver("the client is gone")),
                Err(RecvTimeoutError::Timeout) if !(self.still_asked)() => {
                    return Err(ApproverResponse::NotAsked);
                }
                Err(RecvTimeoutError::Timeout) if Timestamp::now() >= self.request.deadline => {
                    return Err(no_approver("the client did not answer in time"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn no_approver(why: &str) -> ApproverResponse {
    ApproverResponse::NoApprover(why.to_owned())
}

fn to_response(said: FormResult) -> ApproverResponse {
    match said {
        FormResult::Answer(answer) => ApproverResponse::Answer(answer),
        FormResult::Nothing(why) => no_approver(why),
    }
}

impl ElicitationApprover<'_> {
    fn ask_by_request(&self, form: &ElicitationForm, waits: &WaitConditions<'_>) -> ApproverResponse {
        let shared = self.shared;
        let Some(id) = Requests::new_id() else {
            return no_approver("there are no random numbers for a question");
        };
        let (answer, said) = channel();
        shared.requests.register_elicitation(&id, answer);
        let params = form.params();
        let asked =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{params}}}"#);
        if shared.to_client.send(asked.into_bytes()).is_err() {
            return no_approver("the client is gone");
        }
        let result = waits.wait(&said);
        if shared.requests.take_elicitation(&id).is_some() {
            let over = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"it need not be answered any more"}}}}"#
            );
            // A client that is gone shows no form any more.
            let _ = shared.to_client.send(over.into_bytes());
        }
        result.map_or_else(|over| over, |result| to_response(form.read(&result, &self.client.name)))
    }

    fn ask_by_answer(&self, form: ElicitationForm, waits: &WaitConditions<'_>) -> ApproverResponse {
        let params = form.params();
        let (answer, said) = channel();
        let alive = Arc::new(());
        let asked = ParkedForm { form, judged: self.judged.clone(), answer, waits: Arc::downgrade(&alive) };
        let Ok(state) = self.shared.parked.park(&self.call.state_context(), asked) else {
            return no_approver("too many questions wait for the client");
        };
        let required = json!({
            "resultType": "input_required",
            "inputRequests": {QUESTION: {"method": "elicitation/create", "params": params}},
            "requestState": state,
        });
        if !self.call.is_answered_with(self.shared, &Caller::default(), &required) {
            return no_approver("the client is gone");
        }
        let result = waits.wait(&said);
        drop(alive);
        match result {
            Ok((said, id)) => {
                self.call.resume_as(id);
                to_response(said)
            }
            Err(over) => over,
        }
    }
}

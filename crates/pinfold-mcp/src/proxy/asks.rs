//! The person behind the client, asked by a request of our own between those that pass through.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Approver, Heard, Request};
use serde_json::{Value, json};

use super::Shared;
use super::requests::Requests;
use crate::form::{Form, Said};

/// How often it is looked whether a question still has to be asked.
const LOOK: Duration = Duration::from_secs(1);

/// Asks through the client.
pub(crate) struct Asks<'a>(pub(crate) &'a Shared);

impl fmt::Debug for Asks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asks")
    }
}

impl Approver for Asks<'_> {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
        let Some(form) = Form::of(request) else {
            return Heard::Nobody("it is too long for a form of the client".to_owned());
        };
        let shared = self.0;
        let Some(id) = Requests::our_id() else {
            return Heard::Nobody("there are no random numbers for a question".to_owned());
        };
        let (answer, said) = channel();
        shared.requests.we_ask(&id, answer);
        let asked = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{}}}"#,
            form.params()
        );
        if shared.to_client.send(asked.into_bytes()).is_err() {
            return Heard::Nobody("the client is gone".to_owned());
        }
        let heard = loop {
            match said.recv_timeout(LOOK) {
                Ok(result) => match form.read(&result, &shared.client().name) {
                    Said::Answer(answer) => break Heard::Answer(answer),
                    Said::Nothing(why) => break Heard::Nobody(why.to_owned()),
                },
                Err(RecvTimeoutError::Disconnected) => break Heard::Nobody("the client is gone".to_owned()),
                Err(RecvTimeoutError::Timeout) if !still_asked() => break Heard::NotAsked,
                Err(RecvTimeoutError::Timeout) if Timestamp::now() >= request.deadline => {
                    break Heard::Nobody("the client did not answer in time".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        if shared.requests.we_are_answered(&id).is_some() {
            let id: Value = serde_json::from_str(&id.to_string()).unwrap_or_default();
            let over = json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "it need not be answered any more"},
            });
            // A client that is gone shows nothing any more.
            let _ = shared.to_client.send(over.to_string().into_bytes());
        }
        heard
    }
}

//! Requests to ask with, and words for answers.

use std::time::Duration;

use pinfold::consent::{Answer, AnsweredBy, ApprovalChannel, Choice, Request};
use pinfold_gate_testkit::request::about_command;

/// A request that waits so long, with a digest made of its name.
pub(crate) fn request(id: &str, timeout: Duration) -> Request {
    about_command(id, "npm publish", timeout)
}

pub(crate) fn answer(request: &Request, choice: Choice) -> Answer {
    Answer { by: by(), ..pinfold_gate_testkit::answer(request, choice) }
}

pub(crate) fn by() -> AnsweredBy {
    AnsweredBy { via: ApprovalChannel::Embedder, who: Some("a test".to_owned()) }
}

pub(crate) fn no() -> Choice {
    Choice::no()
}

//! Error messages for missing responses.

use std::io::{self, Write as _};

use hyper::StatusCode;
use pinfold_egress::{EgressViolation, FetchError};
use pinfold_render::visible;
use serde_json::Value;

/// The most bytes of an unexpected response that are shown.
pub(super) const SHOWN: usize = 200;

const FORGOTTEN: &str = "it has forgotten the session, or is elsewhere";

/// The message for an unexpected response. `hint`: what the user can do.
pub(super) fn unexpected_response(status: StatusCode, hint: Option<String>, said: &[u8]) -> String {
    let known = (status == StatusCode::NOT_FOUND).then(|| FORGOTTEN.to_owned());
    let hint = hint.or(known).map(|hint| format!(" ({hint})")).unwrap_or_default();
    let message = serde_json::from_slice::<Value>(said).ok();
    let message =
        message.as_ref().and_then(|said| said.pointer("/error/message")?.as_str().map(str::to_owned));
    let text =
        message.unwrap_or_else(|| String::from_utf8_lossy(said.get(..SHOWN).unwrap_or(said)).into_owned());
    format!("the server answered {status}{hint}: {}", visible(text.trim()))
}

/// The message for a request that was not sent.
pub(super) fn send_error(why: &FetchError) -> String {
    match why {
        FetchError::Refused(EgressViolation::SpecialPurposeAddress(address, near)) => {
            format!("the host leads to {address}, and {}; name that address if it is meant", near.reason())
        }
        FetchError::Refused(_) => "the host leads where a rule forbids it".to_owned(),
        FetchError::Unreachable(why) | FetchError::Malformed(why) | FetchError::UnsupportedCoding(why) => {
            format!("the server cannot be reached: {why}")
        }
        FetchError::TimedOut(..) | FetchError::Cancelled => "the server does not answer".to_owned(),
        FetchError::TooLarge(_) => "the answer is too long".to_owned(),
    }
}

/// Prints a message to standard error, for the parent.
pub(super) fn report(what: &str) {
    let _ = io::stderr().write_all(format!("{}\n", visible(what)).as_bytes());
}

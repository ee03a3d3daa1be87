//! Responses to the client inside: those of the upstream host, and the relay's own.

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use crate::policy::{ConnectRefusal, EgressViolation};

/// The body of a response.
pub(crate) type RelayBody = BoxBody<Bytes, hyper::Error>;

/// A response of the upstream host, or one of the relay.
pub(crate) type RelayResponse = Response<RelayBody>;

/// A response with a line of plain text.
pub(crate) fn plain(status: StatusCode, text: String) -> RelayResponse {
    let mut response = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// 502: the upstream host could not be reached.
pub(crate) fn unreachable(why: &str) -> RelayResponse {
    plain(StatusCode::BAD_GATEWAY, format!("pinfold: the host did not answer: {why}\n"))
}

/// 403: the connection was refused.
pub(crate) fn refusal(refusal: &ConnectRefusal) -> RelayResponse {
    let ConnectRefusal { id, message } = refusal;
    let text =
        if id.is_empty() { format!("pinfold: {message}\n") } else { format!("pinfold: {message} ({id})\n") };
    plain(StatusCode::FORBIDDEN, text)
}

/// The refusal of an allowed connection that contradicts itself: 400 for a malformed request, otherwise 403.
pub(crate) fn violation(violation: &EgressViolation, no: &ConnectRefusal) -> RelayResponse {
    let mut response = refusal(no);
    if matches!(violation, EgressViolation::ConflictingLengths | EgressViolation::TransferCoding) {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

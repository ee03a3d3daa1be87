//! Server messages: lists and results are checked, all other valid messages are forwarded unchanged.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::sync::Arc;

use pinfold_render::visible;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::pass_other_result;
use super::client_messages::{BAD_PARAMS, OURS, request_id};
use super::labelled_forms::{FORM, mark};
use super::redact::clean;
use super::requests::{PendingKind, RequestRejected};
use super::{ProxyEvent, ProxyState, handshake, listing};
use crate::wire::frame::{self, Id, LineReader, MAX_FRAME_BYTES, Message, ResponseOutcome, WireLine, splice};
use crate::wire::strict::{self, fold_key};

/// The notification that cancels a request.
const CANCELLED: &str = "notifications/cancelled";

/// Reads server messages to the end.
pub(super) fn listen(shared: &Arc<ProxyState>, output: impl Read) {
    let mut lines = LineReader::new(BufReader::with_capacity(1 << 16, output));
    loop {
        match lines.next() {
            Ok(Some(WireLine::Whole(line))) => handle_message(shared, line),
            Ok(Some(WireLine::TooLong(id))) => {
                let why = format!("the answer has more than {} MiB", MAX_FRAME_BYTES >> 20);
                shared.warn(&format!("a message of the server was not passed on: {why}"));
                if let Some(id) = id {
                    broken(shared, &id, &why);
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                shared.warn(&format!("cannot read from the server any more: {error}"));
                break;
            }
        }
    }
    shared.notify(ProxyEvent::ServerEnded);
}

fn handle_message(shared: &Arc<ProxyState>, line: Vec<u8>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    match frame::parse(&line) {
        Ok(Message::Request { id, method, params }) => match shared.requests.register_server_request(&id) {
            Ok(()) => {
                if fold_key(&method).trim() != FORM {
                    return shared.to_client(line);
                }
                let form = params.filter(|_| method == FORM).and_then(|params| {
                    let mut form = strict::parse(params.get()).ok()?;
                    mark(&mut form, &shared.name).then(|| splice(&line, params, &form.to_string()))
                });
                match form {
                    Some(form) => shared.to_client(form),
                    None => refuse_form(shared, &id),
                }
            }
            Err(RequestRejected::Twice) => shared.warn("the server asked twice under one number"),
            Err(RequestRejected::TooMany) => refuse(shared, &id, OURS, "too many requests wait at once"),
        },
        Ok(Message::Notification { method, params }) => {
            if method == listing::CHANGED {
                shared.catalogue.outdated();
            }
            if method == CANCELLED
                && let Some(id) = params.and_then(|params| request_id(params.get()))
            {
                shared.requests.take_server_request(&id);
            }
            shared.to_client(line);
        }
        Ok(Message::Answer { id, outcome }) => match shared.requests.take_client_request(&id) {
            None => shared.warn("the server answered what it was not asked"),
            Some(waiting) => answered(shared, waiting, &id, &line, outcome),
        },
        Err(malformed) => {
            shared.warn(&format!("a message of the server was not passed on: {}", malformed.why));
            for id in &malformed.about {
                broken(shared, id, &malformed.why);
            }
        }
    }
}

/// The message of an error for a refusal of the proxy.
fn error_message(shared: &ProxyState, error: &RawValue) -> String {
    let mut error = if shared.is_http_client {
        strict::parse(error.get()).unwrap_or_default()
    } else {
        handshake::without_words(error, &shared.name)
    };
    clean(&mut error);
    visible(error.get("message").and_then(Value::as_str).unwrap_or("the server reports an error"))
}

fn refuse_form(shared: &ProxyState, id: &Id) {
    shared.warn("a form of the server was not passed on: it is not understood");
    shared.requests.take_server_request(id);
    refuse(shared, id, BAD_PARAMS, "the form is not understood");
}

/// Answers a request of the server with an error.
fn refuse(shared: &ProxyState, id: &Id, code: i32, why: &str) {
    let no = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{why}"}}}}"#);
    if shared.to_server.offer(no.into_bytes()).is_err() {
        shared.take_all_pending();
    }
}

/// Handles a response that cannot be forwarded.
fn broken(shared: &ProxyState, id: &Id, why: &str) {
    match shared.requests.take_client_request(id) {
        None => {}
        Some(PendingKind::Call(sent)) => {
            sent.ends_with("the answer of the server is not understood", why);
            shared.not_understood(id, why);
        }
        Some(PendingKind::Ours(asker)) => {
            let _ = asker.send(Err(why.to_owned()));
        }
        Some(
            PendingKind::Judging(_)
            | PendingKind::Plain
            | PendingKind::Handshake
            | PendingKind::List
            | PendingKind::Later,
        ) => {
            shared.not_understood(id, why);
        }
    }
}

fn answered(
    shared: &Arc<ProxyState>,
    waiting: PendingKind,
    id: &Id,
    line: &[u8],
    outcome: ResponseOutcome<'_>,
) {
    match (waiting, outcome) {
        (PendingKind::Call(sent), _) if sent.has_hooks() => {
            // Hooks are slow, so they run elsewhere: all server messages pass here.
            let (of_thread, line) = (Arc::clone(shared), line.to_vec());
            let done = shared.pool.queue(move || {
                if let Ok(Message::Answer { id, outcome }) = frame::parse(&line) {
                    call_answered(&of_thread, *sent, &id, &line, outcome);
                }
            });
            if !done {
                shared.not_understood(id, "no thread can be started");
            }
        }
        (PendingKind::Call(sent), outcome) => call_answered(shared, *sent, id, line, outcome),
        (PendingKind::Handshake, ResponseOutcome::Result(result)) => {
            handshake::pass_handshake(shared, id, line, result);
        }
        (PendingKind::List, ResponseOutcome::Result(result)) => listing::listed(shared, id, line, result),
        // Its words would be read like those that are pinned.
        (PendingKind::Handshake | PendingKind::List, ResponseOutcome::Error(error))
            if !shared.is_http_client =>
        {
            shared.to_client(splice(line, error, &handshake::without_words(error, &shared.name).to_string()));
        }
        (PendingKind::Later | PendingKind::Plain | PendingKind::Handshake | PendingKind::List, outcome) => {
            pass_other_result(shared, id, line, outcome);
        }
        (PendingKind::Ours(asker), outcome) => {
            let said = match outcome {
                ResponseOutcome::Result(result) => crate::wire::strict::parse(result.get()),
                ResponseOutcome::Error(error) => Err(error_message(shared, error)),
            };
            // The requester may have cancelled it.
            let _ = asker.send(said);
        }
        // It was not forwarded yet, and is never taken.
        (PendingKind::Judging(_), _) => shared.warn("the server answered what it was not asked"),
    }
}

fn call_answered(
    shared: &ProxyState,
    sent: super::calls::ForwardedCall,
    id: &Id,
    line: &[u8],
    outcome: ResponseOutcome<'_>,
) {
    match outcome {
        ResponseOutcome::Result(result) => sent.has_result(shared, id, line, result),
        ResponseOutcome::Error(error) => sent.has_error(shared, id, line, error),
    }
}

/// The longest line of the server's log that is forwarded whole.
const LOG_LINE: u64 = 16 << 10;

/// Forwards the server's standard error, escaped so that it cannot control a terminal.
pub(super) fn log(output: impl Read) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.by_ref().take(LOG_LINE).read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
        let text = visible(String::from_utf8_lossy(&line).trim_end());
        line.clear();
        // The log may have no reader.
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
    }
}

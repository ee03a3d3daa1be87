//! Server messages: requests under new identifiers, since two servers may use the same ones, and responses.

use std::io::{BufReader, Read};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::{MultiplexEvent, MultiplexState, OURS};
use crate::proxy::{Requests, request_id};
use crate::wire::frame::{self, Id, LineReader, Message, ResponseOutcome, WireLine, with_id};
use crate::wire::strict;

/// Reads a server's messages to the end.
pub(super) fn listen(shared: &MultiplexState, at: usize, output: impl Read) {
    let mut lines = LineReader::new(BufReader::with_capacity(1 << 16, output));
    while let Ok(Some(line)) = lines.next() {
        match line {
            WireLine::Whole(line) => {
                // The server's proxy lets nothing else through.
                if let Ok(message) = frame::parse(&line) {
                    handle_message(shared, at, &line, message);
                }
            }
            WireLine::TooLong(id) => too_long(shared, at, id.as_ref()),
        }
    }
    has_ended(shared, at);
}

fn handle_message(shared: &MultiplexState, at: usize, line: &[u8], message: Message<'_>) {
    match message {
        Message::Request { id, .. } => {
            let Some(ours) = Requests::new_id() else { return };
            shared.pending().servers.insert(ours.clone(), (at, id));
            let _ = shared.to_client.send(with_id(line, &ours));
        }
        Message::Notification { method, params } => match method.as_str() {
            "notifications/cancelled" => {
                if let Some(line) = params.and_then(|params| cancel_request(shared, at, params.get())) {
                    let _ = shared.to_client.send(line);
                }
            }
            method => {
                if method == "notifications/tools/list_changed" {
                    *shared.tools.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                if method == "notifications/prompts/list_changed" {
                    *shared.prompts.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                let _ = shared.to_client.send(line.to_vec());
            }
        },
        Message::Answer { id, outcome } => handle_response(shared, at, &id, outcome, line),
    }
}

/// Handles a response that is too long, for instance after redaction.
fn too_long(shared: &MultiplexState, at: usize, id: Option<&Id>) {
    let Some(id) = id else { return };
    let mut asked = shared.pending();
    if asked.client.get(id) == Some(&at) {
        asked.client.remove(id);
        drop(asked);
        shared.refuse(Some(id), OURS, "the answer of the server is too long");
    } else if asked.ours.get(id).is_some_and(|(of, _)| *of == at) {
        // Waiters are woken when their channel is dropped.
        asked.ours.remove(id);
    }
}

/// Cancels a request of a server, which the client knows under the new identifier.
fn cancel_request(shared: &MultiplexState, at: usize, params: &str) -> Option<Vec<u8>> {
    let its = request_id(params)?;
    let mut asked = shared.pending();
    let ours =
        asked.servers.iter().find(|(_, of)| **of == (at, its.clone())).map(|(ours, _)| ours.clone())?;
    asked.servers.remove(&ours);
    drop(asked);
    let mut params = strict::parse(params).ok()?;
    let number: Value = serde_json::from_str(&ours.to_string()).ok()?;
    params.as_object_mut()?.insert("requestId".to_owned(), number);
    Some(format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#).into_bytes())
}

fn handle_response(shared: &MultiplexState, at: usize, id: &Id, outcome: ResponseOutcome<'_>, line: &[u8]) {
    let mut asked = shared.pending();
    if asked.client.get(id) == Some(&at) {
        asked.client.remove(id);
        drop(asked);
        let _ = shared.to_client.send(line.to_vec());
    } else if asked.ours.get(id).is_some_and(|(of, _)| *of == at)
        && let Some((_, asker)) = asked.ours.remove(id)
    {
        drop(asked);
        let parsed = |text: &str| strict::parse(text).unwrap_or_default();
        // The requester may have cancelled it.
        let _ = asker.send(match outcome {
            ResponseOutcome::Result(result) => Ok(parsed(result.get())),
            ResponseOutcome::Error(error) => Err(parsed(error.get())),
        });
    }
}

/// Tells waiters that a server has ended; the others continue.
fn has_ended(shared: &MultiplexState, at: usize) {
    let waiting: Vec<Id> = {
        let mut asked = shared.pending();
        if let Some(server) = shared.servers.get(at) {
            server.ended.store(true, Ordering::SeqCst);
        }
        // Waiters are woken when their channel is dropped.
        asked.ours.retain(|_, (of, _)| *of != at);
        asked.servers.retain(|_, (of, _)| *of != at);
        let waiting = asked.client.iter().filter(|(_, of)| **of == at).map(|(id, _)| id.clone()).collect();
        asked.client.retain(|_, of| *of != at);
        waiting
    };
    for id in &waiting {
        shared.refuse(Some(id), OURS, "the server has ended");
    }
    *shared.tools.lock().unwrap_or_else(PoisonError::into_inner) = None;
    shared.notify(MultiplexEvent::ServerEnded);
}

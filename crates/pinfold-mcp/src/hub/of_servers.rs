//! What the servers say: requests under numbers of ours, since two of them may have the same, and answers to what they were
//! asked.

use std::io::{BufReader, Read};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::{Event, OURS, Shared};
use crate::proxy::{Requests, of_request};
use crate::wire::frame::{self, Id, Line, Lines, Message, Outcome, with_id};
use crate::wire::strict;

/// Reads to the end of what a server says.
pub(super) fn listen(shared: &Shared, at: usize, output: impl Read) {
    let mut lines = Lines::new(BufReader::with_capacity(1 << 16, output));
    while let Ok(Some(line)) = lines.next() {
        match line {
            Line::Whole(line) => {
                // Its proxy lets nothing else through.
                if let Ok(message) = frame::parse(&line) {
                    heard(shared, at, &line, message);
                }
            }
            Line::TooLong(id) => too_long(shared, at, id.as_ref()),
        }
    }
    has_ended(shared, at);
}

fn heard(shared: &Shared, at: usize, line: &[u8], message: Message<'_>) {
    match message {
        Message::Request { id, .. } => {
            let Some(ours) = Requests::our_id() else { return };
            shared.asked().servers.insert(ours.clone(), (at, id));
            let _ = shared.to_client.send(with_id(line, &ours));
        }
        Message::Notification { method, params } => match method.as_str() {
            "notifications/cancelled" => {
                if let Some(line) = params.and_then(|params| taken_back(shared, at, params.get())) {
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
        Message::Answer { id, outcome } => answered(shared, at, &id, outcome, line),
    }
}

/// An answer that is too long for us too, such as one that became longer without its secrets.
fn too_long(shared: &Shared, at: usize, id: Option<&Id>) {
    let Some(id) = id else { return };
    let mut asked = shared.asked();
    if asked.client.get(id) == Some(&at) {
        asked.client.remove(id);
        drop(asked);
        shared.refuse(Some(id), OURS, "the answer of the server is too long");
    } else if asked.ours.get(id).is_some_and(|(of, _)| *of == at) {
        // Whoever waits is woken by the end of what they wait at.
        asked.ours.remove(id);
    }
}

/// A server takes back what it asked: the client knows it under our number.
fn taken_back(shared: &Shared, at: usize, params: &str) -> Option<Vec<u8>> {
    let its = of_request(params)?;
    let mut asked = shared.asked();
    let ours =
        asked.servers.iter().find(|(_, of)| **of == (at, its.clone())).map(|(ours, _)| ours.clone())?;
    asked.servers.remove(&ours);
    drop(asked);
    let mut params = strict::parse(params).ok()?;
    let number: Value = serde_json::from_str(&ours.to_string()).ok()?;
    params.as_object_mut()?.insert("requestId".to_owned(), number);
    Some(format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#).into_bytes())
}

fn answered(shared: &Shared, at: usize, id: &Id, outcome: Outcome<'_>, line: &[u8]) {
    let mut asked = shared.asked();
    if asked.client.get(id) == Some(&at) {
        asked.client.remove(id);
        drop(asked);
        let _ = shared.to_client.send(line.to_vec());
    } else if asked.ours.get(id).is_some_and(|(of, _)| *of == at)
        && let Some((_, asker)) = asked.ours.remove(id)
    {
        drop(asked);
        let parsed = |text: &str| strict::parse(text).unwrap_or_default();
        // Whoever asked may have given up.
        let _ = asker.send(match outcome {
            Outcome::Result(result) => Ok(parsed(result.get())),
            Outcome::Error(error) => Err(parsed(error.get())),
        });
    }
}

/// Whoever waits for it is told; the others go on.
fn has_ended(shared: &Shared, at: usize) {
    let waiting: Vec<Id> = {
        let mut asked = shared.asked();
        if let Some(server) = shared.servers.get(at) {
            server.ended.store(true, Ordering::SeqCst);
        }
        // Those who wait are woken by the end of what they wait at.
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
    shared.happens(Event::ServerEnded);
}

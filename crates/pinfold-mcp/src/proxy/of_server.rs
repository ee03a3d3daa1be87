//! What the server says: lists and results are looked through, everything else that is in order passes as it came.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::sync::Arc;

use pinfold_render::visible;

use super::calls::later;
use super::of_client::{OURS, of_request};
use super::requests::{NotTaken, Waiting};
use super::theirs::{FORM, mark};
use super::{Event, Shared, greeting, listing};
use crate::wire::frame::{self, Id, LONGEST, Line, Lines, Message, Outcome, spliced};
use crate::wire::strict;

/// What a server says when it takes a question back.
const CANCELLED: &str = "notifications/cancelled";

/// Reads to the end of what the server says.
pub(super) fn listen(shared: &Arc<Shared>, output: impl Read) {
    let mut lines = Lines::new(BufReader::with_capacity(1 << 16, output));
    loop {
        match lines.next() {
            Ok(Some(Line::Whole(line))) => heard(shared, line),
            Ok(Some(Line::TooLong(id))) => {
                let why = format!("the answer has more than {} MiB", LONGEST >> 20);
                shared.tell(&format!("a message of the server was not passed on: {why}"));
                if let Some(id) = id {
                    broken(shared, &id, &why);
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                shared.tell(&format!("the server cannot be heard any more: {error}"));
                break;
            }
        }
    }
    shared.happens(Event::ServerEnded);
}

fn heard(shared: &Arc<Shared>, line: Vec<u8>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    match frame::parse(&line) {
        Ok(Message::Request { id, method, params }) => match shared.requests.server_asks(&id) {
            Ok(()) => {
                let form = params.filter(|_| method == FORM).and_then(|params| {
                    let mut form = strict::parse(params.get()).ok()?;
                    mark(&mut form, &shared.name);
                    Some(spliced(&line, params, &form.to_string()))
                });
                match form {
                    Some(form) => shared.to_client(form),
                    None if method == FORM => {
                        shared.tell("a form of the server was not passed on: it is not understood");
                    }
                    None => shared.to_client(line),
                }
            }
            Err(NotTaken::Twice) => shared.tell("the server asked twice under one number"),
            Err(NotTaken::TooMany) => {
                let no = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{OURS},"message":"too many requests wait at once"}}}}"#
                );
                if shared.to_server.offer(no.into_bytes()).is_err() {
                    shared.server_is_gone();
                }
            }
        },
        Ok(Message::Notification { method, params }) => {
            if method == listing::CHANGED {
                shared.catalogue.outdated();
            }
            if method == CANCELLED
                && let Some(id) = params.and_then(|params| of_request(params.get()))
            {
                shared.requests.server_is_answered(&id);
            }
            shared.to_client(line);
        }
        Ok(Message::Answer { id, outcome }) => match shared.requests.server_answers(&id) {
            None => shared.tell("the server answered what it was not asked"),
            Some(waiting) => answered(shared, waiting, &id, &line, outcome),
        },
        Err(malformed) => {
            shared.tell(&format!("a message of the server was not passed on: {}", malformed.why));
            for id in &malformed.about {
                broken(shared, id, &malformed.why);
            }
        }
    }
}

/// The answer to a request came, and cannot be passed on.
fn broken(shared: &Shared, id: &Id, why: &str) {
    match shared.requests.server_answers(id) {
        None => {}
        Some(Waiting::Call(sent)) => {
            sent.ends_with("the answer of the server is not understood", why);
            shared.not_understood(id, why);
        }
        Some(Waiting::Ours(asker)) => {
            let _ = asker.send(Err(why.to_owned()));
        }
        Some(Waiting::Judged(_) | Waiting::Plain | Waiting::Greeting | Waiting::List | Waiting::Later) => {
            shared.not_understood(id, why);
        }
    }
}

fn answered(shared: &Arc<Shared>, waiting: Waiting, id: &Id, line: &[u8], outcome: Outcome<'_>) {
    match (waiting, outcome) {
        (Waiting::Call(sent), _) if sent.has_hooks() => {
            // Programs are waited for: not here, where everything that the server says comes by.
            let (of_thread, line) = (Arc::clone(shared), line.to_vec());
            let done = shared.pool.give(move || {
                if let Ok(Message::Answer { id, outcome }) = frame::parse(&line) {
                    call_answered(&of_thread, *sent, &id, &line, outcome);
                }
            });
            if !done {
                shared.not_understood(id, "no thread can be started");
            }
        }
        (Waiting::Call(sent), outcome) => call_answered(shared, *sent, id, line, outcome),
        (Waiting::Greeting, Outcome::Result(result)) => greeting::greeted(shared, id, line, result),
        (Waiting::List, Outcome::Result(result)) => listing::listed(shared, id, line, result),
        (Waiting::Later, outcome) => later(shared, id, line, outcome),
        (Waiting::Ours(asker), outcome) => {
            let said = match outcome {
                Outcome::Result(result) => crate::wire::strict::parse(result.get()),
                Outcome::Error(error) => Err(format!("the server says: {}", visible(error.get()))),
            };
            // Whoever asked may have given up.
            let _ = asker.send(said);
        }
        (Waiting::Judged(_) | Waiting::Plain | Waiting::Greeting | Waiting::List, _) => {
            shared.to_client(line.to_vec());
        }
    }
}

fn call_answered(shared: &Shared, sent: super::calls::Sent, id: &Id, line: &[u8], outcome: Outcome<'_>) {
    match outcome {
        Outcome::Result(result) => sent.has_result(shared, id, line, result),
        Outcome::Error(error) => sent.has_error(shared, id, line, error),
    }
}

/// The longest line of its log that is passed on whole.
const LOG_LINE: u64 = 16 << 10;

/// Passes on what the server says on standard error, so that nothing of it acts on a terminal.
pub(super) fn log(output: impl Read) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.by_ref().take(LOG_LINE).read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
        let text = visible(String::from_utf8_lossy(&line).trim_end());
        line.clear();
        // Nobody has to read it.
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
    }
}

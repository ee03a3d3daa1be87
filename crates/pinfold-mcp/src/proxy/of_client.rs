//! What the client says: calls and other methods are judged; what the protocol itself needs, and answers, pass as they came.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::consent::Caller;
use serde_json::{Value, json};

use super::calls::Call;
use super::requests::{Judged, NotTaken, Waiting};
use super::{Event, Shared};
use crate::wire::frame::{self, Id, LONGEST, Line, Lines, Message, Outcome};
use crate::wire::strict::folded;

/// Codes of [JSON-RPC](https://www.jsonrpc.org/specification#error_object).
const NOT_JSON: i32 = -32700;
const NO_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
/// One of those that are left to whoever answers.
pub(super) const OURS: i32 = -32000;

/// Methods that are ours to look at.
const CALL: &str = "tools/call";
const LIST: &str = "tools/list";
const INITIALIZE: &str = "initialize";
const DISCOVER: &str = "server/discover";
const CANCELLED: &str = "notifications/cancelled";
/// Methods by which the result of a call comes later.
const LATER: [&str; 5] = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"];
/// Methods that the protocol itself needs: they say nothing about what a server may do.
const OF_PROTOCOL: [&str; 2] = ["ping", "logging/setLevel"];
/// How notifications are called. A request that is sent as one would be carried out, and nobody would hear of it.
const NOTIFICATION: &str = "notifications/";

/// What is known of a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Client {
    /// What it calls itself. It proves nothing.
    pub(crate) name: String,
    /// Its person can be asked through it.
    pub(crate) asks: bool,
}

/// What the client says, in lines.
pub(super) type Said = Lines<BufReader<File>>;

pub(super) fn said(input: OwnedFd) -> Said {
    Lines::new(BufReader::with_capacity(1 << 16, input.into()))
}

/// Reads to the end of what the client says, on threads of the pool.
pub(super) fn listen(shared: &Arc<Shared>, mut said: Said) {
    loop {
        match said.next() {
            Ok(Some(Line::Whole(line))) => {
                let Some((call, judged)) = heard(shared, line) else { continue };
                match judge(shared, said, call, judged) {
                    Some(ours) => said = ours,
                    None => return,
                }
            }
            Ok(Some(Line::TooLong(id))) => {
                let why = format!("a message of more than {} MiB is not taken", LONGEST >> 20);
                shared.refuse(id.as_ref(), NO_REQUEST, &why);
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                shared.tell(&format!("the client cannot be heard any more: {error}"));
                break;
            }
        }
    }
    shared.happens(Event::ClientEnded);
}

/// Has a call judged. `None`: another thread listens by now.
fn judge(shared: &Arc<Shared>, said: Said, call: Call, judged: Judged) -> Option<Said> {
    // Other methods keep their order, as they do without us.
    if call.is_method() || call.is_brief(shared) && shared.pool.could_take() {
        return judge_here(shared, said, call, &judged);
    }
    match hand_over(shared, said) {
        Ok(()) => {
            call.carry_out(shared, &judged, None);
            None
        }
        Err(said) => {
            judge_later(shared, call, judged);
            Some(said)
        }
    }
}

/// Judges a call in less time than it takes another thread to wake up. Another one listens where it takes longer after all:
/// somebody is asked, or nobody reads what is sent.
fn judge_here(shared: &Arc<Shared>, said: Said, call: Call, judged: &Judged) -> Option<Said> {
    let held = Mutex::new(Some(said));
    let aside = |work: &mut dyn FnMut()| {
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        // Where no thread can be made the client is not heard until it is over.
        *held = held.take().and_then(|said| hand_over(shared, said).err());
        drop(held);
        work();
    };
    call.carry_out(shared, judged, Some(&aside));
    held.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Has another thread listen.
fn hand_over(shared: &Arc<Shared>, said: Said) -> Result<(), Said> {
    let of_thread = Arc::clone(shared);
    shared.pool.hand_over(said, move |said| listen(&of_thread, said))
}

/// Understands a line, and does what it says, unless that is a call to be judged.
fn heard(shared: &Arc<Shared>, line: Vec<u8>) -> Option<(Call, Judged)> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    match frame::parse(&line) {
        Ok(Message::Request { id, method, params }) => {
            let params = params.map(|params| params.get().to_owned());
            if method == CALL {
                return call(shared, &id, params.as_deref(), line);
            }
            return request(shared, &id, &method, params.as_deref(), line);
        }
        Ok(Message::Notification { method, params }) => {
            let params = params.map(|params| params.get().to_owned());
            notification(shared, &method, params.as_deref(), line);
        }
        Ok(Message::Answer { id, outcome }) => {
            let result = match outcome {
                Outcome::Result(result) => serde_json::from_str(result.get()).unwrap_or_default(),
                Outcome::Error(_) => json!({}),
            };
            answer(shared, &id, result, line);
        }
        Err(malformed) => {
            let why = format!("the message is not passed on: {}", malformed.why);
            for id in malformed.about.iter().filter(|id| !shared.requests.waits(id)) {
                shared.refuse(Some(id), NO_REQUEST, &why);
            }
            if malformed.about.is_empty() {
                shared.refuse(None, NOT_JSON, &why);
            }
        }
    }
    None
}

/// Understands a request that is no call. `None`: it is answered or passed on; else it is to be judged like a call.
fn request(
    shared: &Arc<Shared>,
    id: &Id,
    method: &str,
    params: Option<&str>,
    line: Vec<u8>,
) -> Option<(Call, Judged)> {
    let waiting = match method {
        LIST => Waiting::List,
        INITIALIZE => {
            shared.meets(met(params));
            Waiting::Greeting
        }
        DISCOVER => Waiting::Greeting,
        _ if is_disguised(method) => {
            shared.refuse(Some(id), NO_METHOD, "there is no such method");
            return None;
        }
        _ if LATER.contains(&method) => Waiting::Later,
        _ if OF_PROTOCOL.contains(&method) => Waiting::Plain,
        _ => return to_be_judged(shared, id, method, params, line),
    };
    if asks(shared, id, waiting) {
        pass_on(shared, line);
    }
    None
}

/// Whatever else a server may have is judged by its name and what it is called with.
fn to_be_judged(
    shared: &Shared,
    id: &Id,
    method: &str,
    params: Option<&str>,
    line: Vec<u8>,
) -> Option<(Call, Judged)> {
    match Call::of_method(id.clone(), line, method, params) {
        Ok(call) => {
            let judged = Judged { gone: Arc::new(AtomicBool::new(false)), token: call.token() };
            asks(shared, id, Waiting::Judged(judged.clone())).then_some((call, judged))
        }
        Err(why) => {
            shared.refuse(Some(id), BAD_PARAMS, &format!("the request is not passed on: {why}"));
            None
        }
    }
}

/// A name that some server may take for that of a call, and that is none.
fn is_disguised(method: &str) -> bool {
    let folded = folded(method);
    let plain: String = folded.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    plain.trim_matches('/') == CALL
}

/// Takes a request. `false`: it is not taken, and the client knows.
fn asks(shared: &Shared, id: &Id, waiting: Waiting) -> bool {
    match shared.requests.client_asks(id, waiting) {
        Ok(()) => true,
        Err(NotTaken::Twice) => {
            // Under its number the answer would be taken for that of the other.
            shared.refuse(None, NO_REQUEST, &format!("a request with the number {id} waits already"));
            false
        }
        Err(NotTaken::TooMany) => {
            shared.refuse(Some(id), OURS, "too many requests wait at once: wait for some of them");
            false
        }
    }
}

/// Understands a call. `None`: it is answered, or goes on where it waits.
fn call(shared: &Shared, id: &Id, params: Option<&str>, line: Vec<u8>) -> Option<(Call, Judged)> {
    let call = match Call::of(id.clone(), line, params) {
        Ok(call) => call,
        Err(why) => {
            shared.refuse(Some(id), BAD_PARAMS, &format!("the call is not passed on: {why}"));
            return None;
        }
    };
    if let Some(asked) = call.goes_on_with(shared) {
        let client = call.client().unwrap_or_default();
        // Where it has ended at this moment, it says so under this number.
        if asks(shared, id, Waiting::Judged(asked.judged.clone()))
            && !asked.goes_on(call.answered(), id.clone(), &client)
        {
            call.no(
                shared,
                &Caller::default(),
                "the call has ended; make it again if it is wanted".to_owned(),
            );
        }
        return None;
    }
    let judged = Judged { gone: Arc::new(AtomicBool::new(false)), token: call.token() };
    asks(shared, id, Waiting::Judged(judged.clone())).then_some((call, judged))
}

/// Has a call judged once a thread is free.
fn judge_later(shared: &Arc<Shared>, call: Call, judged: Judged) {
    let (of_thread, id) = (Arc::clone(shared), call.id());
    if !shared.pool.give(move || call.carry_out(&of_thread, &judged, None)) {
        shared.requests.is_over(&id);
        shared.refuse(Some(&id), OURS, "the call was not judged: no thread can be started");
    }
}

fn notification(shared: &Shared, method: &str, params: Option<&str>, line: Vec<u8>) {
    if is_disguised(method) {
        // A call that nobody wants to know the end of: a server might carry it out.
        return shared.tell("a call without a number was not passed on");
    }
    if !method.starts_with(NOTIFICATION) {
        return shared.tell("a request without a number was not passed on");
    }
    if method == CANCELLED
        && let Some(id) = params.and_then(of_request)
    {
        match shared.requests.is_over(&id) {
            // The server has never heard of it.
            Some(Waiting::Judged(judged)) => return judged.gone.store(true, Ordering::SeqCst),
            Some(Waiting::Call(sent)) => {
                sent.ends_with("the client took the call back", "make it again if it is wanted");
            }
            Some(Waiting::Plain | Waiting::Greeting | Waiting::List | Waiting::Later | Waiting::Ours(_))
            | None => {}
        }
    }
    pass_on(shared, line);
}

/// Which request a notification is about.
pub(crate) fn of_request(params: &str) -> Option<Id> {
    Id::of(serde_json::from_str::<Value>(params).ok()?.get("requestId")?)
}

fn answer(shared: &Shared, id: &Id, result: Value, line: Vec<u8>) {
    if let Some(asker) = shared.requests.we_are_answered(id) {
        // Whoever asked may have given up.
        let _ = asker.send(result);
    } else if shared.requests.server_is_answered(id) {
        pass_on(shared, line);
    } else {
        shared.tell("the client answered what it was not asked");
    }
}

/// What a client says about itself in a handshake.
fn met(params: Option<&str>) -> Client {
    let said: Value = params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
    Client::of(|at| said.get(if at == "clientCapabilities" { "capabilities" } else { at }))
}

impl Client {
    /// What it says about itself, by the names of the newest revision.
    pub(super) fn of<'a>(said: impl Fn(&str) -> Option<&'a Value>) -> Self {
        let info = |of: &str| said("clientInfo").and_then(|info| info.get(of)?.as_str()).unwrap_or_default();
        let elicitation = said("clientCapabilities").and_then(|can| can.get("elicitation"));
        Self {
            name: format!("{} {}", info("name"), info("version")),
            // Who names no kind of form means the plain one.
            asks: elicitation.is_some_and(|kinds| kinds.get("form").is_some() || kinds.get("url").is_none()),
        }
    }
}

/// Passes a line on to the server, which may be slow: it is not waited for here, or the end of the client is missed.
fn pass_on(shared: &Shared, line: Vec<u8>) {
    if shared.to_server.offer(line).is_err() {
        shared.server_is_gone();
    }
}

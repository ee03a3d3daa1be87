//! Client messages: calls and other methods are judged; the protocol's own methods and responses are forwarded.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::consent::Caller;
use serde_json::{Value, json};

use super::calls::ProxiedCall;
use super::requests::{JudgedCall, PendingKind, RequestRejected};
use super::{ProxyEvent, ProxyState};
use crate::wire::frame::{self, Id, LineReader, MAX_FRAME_BYTES, Message, ResponseOutcome, WireLine};
use crate::wire::strict::fold_key;

/// Error codes of [JSON-RPC](https://www.jsonrpc.org/specification#error_object).
const NOT_JSON: i32 = -32700;
const NO_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
pub(super) const BAD_PARAMS: i32 = -32602;
/// An error code of the range for implementations.
pub(super) const OURS: i32 = -32000;

/// Methods that are handled here.
const CALL: &str = "tools/call";
const LIST: &str = "tools/list";
const INITIALIZE: &str = "initialize";
const DISCOVER: &str = "server/discover";
const CANCELLED: &str = "notifications/cancelled";
/// Methods that return the result of a call later.
const LATER: [&str; 5] = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"];
/// Methods of the protocol itself: they do not depend on what a server may do.
const OF_PROTOCOL: [&str; 2] = ["ping", "logging/setLevel"];
/// Further methods of servers in the protocol, which are judged by their names.
const OF_SERVERS: [&str; 9] = [
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
];
/// The prefix of notifications. A request in that form would be executed without a response.
const NOTIFICATION: &str = "notifications/";

/// A client, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientInfo {
    /// Its name for itself. It is not verified.
    pub(crate) name: String,
    /// Its user can be asked through it.
    pub(crate) asks: bool,
}

/// The client's messages, as lines.
pub(super) type ClientLines = LineReader<BufReader<File>>;

pub(super) fn client_lines(input: OwnedFd) -> ClientLines {
    LineReader::new(BufReader::with_capacity(1 << 16, input.into()))
}

/// Reads client messages to the end, on threads of the pool.
pub(super) fn listen(shared: &Arc<ProxyState>, mut said: ClientLines) {
    loop {
        match said.next() {
            Ok(Some(WireLine::Whole(line))) => {
                let Some((call, judged)) = handle_message(shared, line) else { continue };
                match judge(shared, said, call, judged) {
                    Some(ours) => said = ours,
                    None => return,
                }
            }
            Ok(Some(WireLine::TooLong(id))) => {
                let why = format!("a message of more than {} MiB is not taken", MAX_FRAME_BYTES >> 20);
                shared.refuse(id.as_ref(), NO_REQUEST, &why);
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                shared.warn(&format!("cannot read from the client any more: {error}"));
                break;
            }
        }
    }
    shared.notify(ProxyEvent::ClientEnded);
}

/// Has a call judged. `None`: another thread reads by now.
fn judge(
    shared: &Arc<ProxyState>,
    said: ClientLines,
    call: ProxiedCall,
    judged: JudgedCall,
) -> Option<ClientLines> {
    // Other methods keep their order, as without a proxy.
    if call.is_method() || call.is_brief(shared) && shared.pool.has_room() {
        return judge_here(shared, said, call, &judged);
    }
    match hand_over(shared, said) {
        Ok(()) => {
            call.execute(shared, &judged, None);
            None
        }
        Err(said) => {
            judge_later(shared, call, judged);
            Some(said)
        }
    }
}

/// Judges a call in less time than waking another thread. Another thread reads where it takes longer after all:
/// approval is needed, or a reader is slow.
fn judge_here(
    shared: &Arc<ProxyState>,
    said: ClientLines,
    call: ProxiedCall,
    judged: &JudgedCall,
) -> Option<ClientLines> {
    let held = Mutex::new(Some(said));
    let aside = |work: &mut dyn FnMut()| {
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a thread the client is not read until the call is done.
        *held = held.take().and_then(|said| hand_over(shared, said).err());
        drop(held);
        work();
    };
    call.execute(shared, judged, Some(&aside));
    held.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Lets another thread read.
fn hand_over(shared: &Arc<ProxyState>, said: ClientLines) -> Result<(), ClientLines> {
    let of_thread = Arc::clone(shared);
    shared.pool.hand_over(said, move |said| listen(&of_thread, said))
}

/// Parses a line and handles it, unless it is a call to be judged.
fn handle_message(shared: &Arc<ProxyState>, line: Vec<u8>) -> Option<(ProxiedCall, JudgedCall)> {
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
                ResponseOutcome::Result(result) => serde_json::from_str(result.get()).unwrap_or_default(),
                ResponseOutcome::Error(_) => json!({}),
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

/// Parses a request that is no call. `None`: it was answered or forwarded; otherwise it is judged like a call.
fn request(
    shared: &Arc<ProxyState>,
    id: &Id,
    method: &str,
    params: Option<&str>,
    line: Vec<u8>,
) -> Option<(ProxiedCall, JudgedCall)> {
    let waiting = match method {
        LIST => PendingKind::List,
        INITIALIZE => {
            shared.meets(met(params));
            PendingKind::Handshake
        }
        DISCOVER => PendingKind::Handshake,
        _ if is_disguised(method) => {
            shared.refuse(Some(id), NO_METHOD, "there is no such method");
            return None;
        }
        _ if LATER.contains(&method) => PendingKind::Later,
        _ if OF_PROTOCOL.contains(&method) => PendingKind::Plain,
        _ => return to_be_judged(shared, id, method, params, line),
    };
    if asks(shared, id, waiting) {
        pass_on(shared, line);
    }
    None
}

/// Any other method is judged by its name and parameters.
fn to_be_judged(
    shared: &ProxyState,
    id: &Id,
    method: &str,
    params: Option<&str>,
    line: Vec<u8>,
) -> Option<(ProxiedCall, JudgedCall)> {
    match ProxiedCall::parse_method(id.clone(), line, method, params) {
        Ok(call) => {
            let judged = JudgedCall { gone: Arc::new(AtomicBool::new(false)), token: call.token() };
            asks(shared, id, PendingKind::Judging(judged.clone())).then_some((call, judged))
        }
        Err(why) => {
            shared.refuse(Some(id), BAD_PARAMS, &format!("the request is not passed on: {why}"));
            None
        }
    }
}

/// Returns whether a lenient server may read a method name as another one, which a rule may name: it is a method of the protocol in
/// another spelling, or has characters beside those of such names.
fn is_disguised(method: &str) -> bool {
    let parts_are_plain = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$'))
    };
    if !method.split('/').all(parts_are_plain) {
        return true;
    }
    let folded = fold_key(method);
    let known =
        [CALL, LIST, INITIALIZE, DISCOVER].into_iter().chain(LATER).chain(OF_PROTOCOL).chain(OF_SERVERS);
    known.into_iter().any(|known| known != method && self::fold_key(known) == folded)
}

/// Registers a request. `false`: it is rejected, and the client was told.
fn asks(shared: &ProxyState, id: &Id, waiting: PendingKind) -> bool {
    match shared.requests.register_client_request(id, waiting) {
        Ok(()) => true,
        Err(RequestRejected::Twice) => {
            // Under a duplicate identifier the responses would be mixed up.
            shared.refuse(None, NO_REQUEST, &format!("a request with the number {id} waits already"));
            false
        }
        Err(RequestRejected::TooMany) => {
            shared.refuse(Some(id), OURS, "too many requests wait at once: wait for some of them");
            false
        }
    }
}

/// Parses a call. `None`: it was answered, or resumes where it was parked.
fn call(
    shared: &ProxyState,
    id: &Id,
    params: Option<&str>,
    line: Vec<u8>,
) -> Option<(ProxiedCall, JudgedCall)> {
    let call = match ProxiedCall::parse(id.clone(), line, params) {
        Ok(call) => call,
        Err(why) => {
            shared.refuse(Some(id), BAD_PARAMS, &format!("the call is not passed on: {why}"));
            return None;
        }
    };
    if let Some(asked) = call.resumed_call(shared) {
        let client = call.client().unwrap_or_default();
        // A call that has ended at this moment responds under this identifier.
        if asks(shared, id, PendingKind::Judging(asked.judged.clone()))
            && !asked.resume(call.form_answer(), id.clone(), &client)
        {
            call.refuse(
                shared,
                &Caller::default(),
                "the call has ended; make it again if it is wanted".to_owned(),
            );
        }
        return None;
    }
    let judged = JudgedCall { gone: Arc::new(AtomicBool::new(false)), token: call.token() };
    asks(shared, id, PendingKind::Judging(judged.clone())).then_some((call, judged))
}

/// Has a call judged once a thread is free.
fn judge_later(shared: &Arc<ProxyState>, call: ProxiedCall, judged: JudgedCall) {
    let (of_thread, id) = (Arc::clone(shared), call.id());
    if !shared.pool.queue(move || call.execute(&of_thread, &judged, None)) {
        shared.requests.is_over(&id);
        shared.refuse(Some(&id), OURS, "the call was not judged: no thread can be started");
    }
}

fn notification(shared: &ProxyState, method: &str, params: Option<&str>, line: Vec<u8>) {
    if is_disguised(method) {
        return shared.warn("a notification that a server may read as another one was not passed on");
    }
    if !method.starts_with(NOTIFICATION) {
        return shared.warn("a request without a number was not passed on");
    }
    if method == CANCELLED
        && let Some(id) = params.and_then(request_id)
    {
        match shared.requests.is_over(&id) {
            // The server has never received it.
            Some(PendingKind::Judging(judged)) => return judged.gone.store(true, Ordering::SeqCst),
            Some(PendingKind::Call(sent)) => {
                sent.ends_with("the client took the call back", "make it again if it is wanted");
            }
            Some(
                PendingKind::Plain
                | PendingKind::Handshake
                | PendingKind::List
                | PendingKind::Later
                | PendingKind::Ours(_),
            )
            | None => {}
        }
    }
    pass_on(shared, line);
}

/// The request that a notification is about.
pub(crate) fn request_id(params: &str) -> Option<Id> {
    Id::from_value(serde_json::from_str::<Value>(params).ok()?.get("requestId")?)
}

fn answer(shared: &ProxyState, id: &Id, result: Value, line: Vec<u8>) {
    if let Some(asker) = shared.requests.take_elicitation(id) {
        // The requester may have cancelled it.
        let _ = asker.send(result);
    } else if shared.requests.take_server_request(id) {
        pass_on(shared, line);
    } else {
        shared.warn("the client answered what it was not asked");
    }
}

/// The client's identification in a handshake.
fn met(params: Option<&str>) -> ClientInfo {
    let said: Value = params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
    ClientInfo::from_fields(|at| said.get(if at == "clientCapabilities" { "capabilities" } else { at }))
}

impl ClientInfo {
    /// Its identification by the keys of the newest revision.
    pub(super) fn from_fields<'a>(said: impl Fn(&str) -> Option<&'a Value>) -> Self {
        let info = |of: &str| said("clientInfo").and_then(|info| info.get(of)?.as_str()).unwrap_or_default();
        let elicitation = said("clientCapabilities").and_then(|can| can.get("elicitation"));
        Self {
            name: format!("{} {}", info("name"), info("version")),
            // A client that names no kind of form supports the plain one.
            asks: elicitation.is_some_and(|kinds| kinds.get("form").is_some() || kinds.get("url").is_none()),
        }
    }
}

/// Forwards a line to the server, which may be slow: it is not waited for here, or the client's end would be missed.
fn pass_on(shared: &ProxyState, line: Vec<u8>) {
    if shared.to_server.offer(line).is_err() {
        shared.take_all_pending();
    }
}

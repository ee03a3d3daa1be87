//! Client messages: routed to the server that they are for, or sent to all with a merged response.

use std::io::{BufReader, Read};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::merge::merge_handshakes;
use super::names::{NameOwner, NameTable};
use super::{JsonOutcome, MultiplexEvent, MultiplexState, OURS};
use crate::wire::frame::{self, Id, LineReader, Message, WireLine, with_id};
use crate::wire::strict;

/// Error codes of [JSON-RPC](https://www.jsonrpc.org/specification#error_object).
const NO_REQUEST: i32 = -32600;
const BAD_PARAMS: i32 = -32602;

/// The most client requests in flight.
const MAX_IN_FLIGHT: usize = 1024;

/// The most pages of a list.
const MAX_PAGES: usize = 1000;

/// Reads client messages to the end.
pub(super) fn listen(shared: &Arc<MultiplexState>, input: impl Read) {
    let mut lines = LineReader::new(BufReader::with_capacity(1 << 16, input));
    while let Ok(Some(line)) = lines.next() {
        match line {
            WireLine::Whole(line) if line.trim_ascii().is_empty() => {}
            WireLine::Whole(line) => handle_message(shared, line),
            WireLine::TooLong(id) => shared.refuse(id.as_ref(), NO_REQUEST, "the message is too long"),
        }
    }
    shared.notify(MultiplexEvent::ClientEnded);
}

fn handle_message(shared: &Arc<MultiplexState>, line: Vec<u8>) {
    match frame::parse(&line) {
        Ok(Message::Request { id, method, params }) => {
            let params = params.map_or("{}", RawValue::get).to_owned();
            request(shared, &id, method, params, line);
        }
        Ok(Message::Notification { method, params }) => {
            let about = params.map(|params| params.get().to_owned());
            notification(shared, &method, about.as_deref(), &line);
        }
        Ok(Message::Answer { id, .. }) => {
            let asked = shared.pending().servers.remove(&id);
            if let Some((at, original)) = asked {
                shared.to_server(at, with_id(&line, &original));
            }
        }
        Err(malformed) => {
            let why = format!("the message is not passed on: {}", malformed.why);
            let ids: Vec<Id> = {
                let asked = shared.pending();
                malformed.about.into_iter().filter(|id| !asked.client.contains_key(id)).collect()
            };
            if ids.is_empty() {
                shared.refuse(None, NO_REQUEST, &why);
            }
            for id in &ids {
                shared.refuse(Some(id), NO_REQUEST, &why);
            }
        }
    }
}

fn notification(shared: &MultiplexState, method: &str, params: Option<&str>, line: &[u8]) {
    if method == "notifications/cancelled" {
        let id = params.and_then(crate::proxy::request_id);
        let at = id.and_then(|id| shared.pending().client.remove(&id));
        if let Some(at) = at {
            shared.to_server(at, line.to_vec());
        }
        return;
    }
    for at in shared.running_servers() {
        shared.to_server(at, line.to_vec());
    }
}

fn request(shared: &Arc<MultiplexState>, id: &Id, method: String, params: String, line: Vec<u8>) {
    let waits = {
        let asked = shared.pending();
        if asked.client.contains_key(id) {
            drop(asked);
            return shared.refuse(None, NO_REQUEST, &format!("a request with the number {id} waits already"));
        }
        asked.client.len() + asked.ours.len()
    };
    if waits >= MAX_IN_FLIGHT {
        return shared.refuse(Some(id), OURS, "too many requests wait at once: wait for some of them");
    }
    if method == "ping" {
        return shared.answer(id, &Ok(json!({})));
    }
    if method == "tools/call"
        && let Some(whose) = known_owner(&shared.tools, &params)
    {
        return forward_to_owner(shared, id, &method, &params, line, &whose);
    }
    // This waits for servers, so it runs elsewhere.
    let (of_thread, number) = (Arc::clone(shared), id.clone());
    shared.under_way.fetch_add(1, Ordering::SeqCst);
    let spawned = thread::Builder::new().name("pinfold-hub".into()).spawn(move || {
        handle_request(&of_thread, &number, &method, &params, line);
        of_thread.under_way.fetch_sub(1, Ordering::SeqCst);
    });
    if spawned.is_err() {
        shared.under_way.fetch_sub(1, Ordering::SeqCst);
        shared.refuse(Some(id), OURS, "no thread can be started");
    }
}

fn handle_request(shared: &MultiplexState, id: &Id, method: &str, params: &str, line: Vec<u8>) {
    let given = match strict::parse(params) {
        Ok(given) => given,
        Err(why) => return shared.refuse(Some(id), BAD_PARAMS, &why),
    };
    let said = match method {
        "initialize" | "server/discover" => merge_handshakes_of_servers(shared, method, &given),
        "tools/list" => merge_lists(shared, method, "tools", &given, Some(&shared.tools)),
        "prompts/list" => merge_lists(shared, method, "prompts", &given, Some(&shared.prompts)),
        "resources/list" => merge_lists(shared, method, "resources", &given, None),
        "resources/templates/list" => merge_lists(shared, method, "resourceTemplates", &given, None),
        "logging/setLevel" => {
            let said = shared.ask_all(|at| shared.ask(at, method, &given));
            first(said.into_iter().map(|(_, said)| said))
        }
        "tools/call" | "prompts/get" => {
            let (list, field, names) = if method == "tools/call" {
                ("tools/list", "tools", &shared.tools)
            } else {
                ("prompts/list", "prompts", &shared.prompts)
            };
            let mut whose = self::known_owner(names, params);
            // Repeated where a server has ended meanwhile.
            for _ in 0..2 {
                if whose.is_some() {
                    break;
                }
                // The protocol's own fields of the newest revision belong to every request.
                let meta = given.get("_meta").map_or_else(|| json!({}), |meta| json!({"_meta": meta}));
                let _ = merge_lists(shared, list, field, &meta, Some(names));
                whose = self::known_owner(names, params);
            }
            match whose {
                Some(whose) => return forward_to_owner(shared, id, method, params, line, &whose),
                None => return shared.refuse(Some(id), BAD_PARAMS, "no server has anything of this name"),
            }
        }
        // Nothing names the server: the first one that accepts it.
        _ => first(shared.running_servers().into_iter().map(|at| shared.ask(at, method, &given))),
    };
    shared.answer(id, &said);
}

/// The first result; where there is none, the first error.
fn first(said: impl Iterator<Item = JsonOutcome>) -> JsonOutcome {
    let mut error = None;
    for said in said {
        match said {
            Ok(result) => return Ok(result),
            Err(no) => error = error.or(Some(no)),
        }
    }
    Err(error.unwrap_or_else(|| json!({"code": OURS, "message": "pinfold: there is no server left"})))
}

fn merge_handshakes_of_servers(shared: &MultiplexState, method: &str, params: &Value) -> JsonOutcome {
    let said = shared.ask_all(|at| shared.ask(at, method, params));
    // A discovery that one server does not support is not supported by all.
    let failed = said.iter().find_map(|(_, said)| said.as_ref().err().cloned());
    if let Some(error) =
        failed.filter(|_| method != "initialize" || said.iter().all(|(_, said)| said.is_err()))
    {
        return Err(error);
    }
    let name = |at: &usize| shared.names.get(*at).map_or("", String::as_str);
    let good: Vec<(&str, Value)> =
        said.iter().filter_map(|(at, said)| Some((name(at), said.as_ref().ok()?.clone()))).collect();
    Ok(merge_handshakes(&good))
}

/// Merges the lists of all servers, as one page.
fn merge_lists(
    shared: &MultiplexState,
    method: &str,
    field: &str,
    params: &Value,
    names: Option<&Mutex<Option<NameTable>>>,
) -> JsonOutcome {
    let said = shared.ask_all(|at| pages(shared, at, method, field, params));
    let none = || first(said.iter().map(|(_, said)| said.clone()));
    let asked: Vec<usize> = said.iter().filter(|(_, said)| said.is_ok()).map(|(at, _)| *at).collect();
    if said.iter().all(|(_, said)| said.is_err()) {
        return none();
    }
    let mut rest = Value::Null;
    let mut all: Vec<(usize, Value)> = Vec::new();
    for (at, said) in said {
        let Ok(mut said) = said else { continue };
        let items = said.get_mut(field).map(Value::take);
        all.extend(items.into_iter().filter_map(items_of).flatten().map(|item| (at, item)));
        if rest.is_null() {
            rest = said;
        }
    }
    if let Some(names) = names {
        let own = |item: &Value| item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known: Vec<(usize, String)> = all.iter().map(|(at, item)| (*at, own(item))).collect();
        let known = NameTable::assign(&shared.names, &known);
        all.retain_mut(|(at, item)| {
            let shown = known.client_name(*at, &own(item), &shared.names);
            let is_shown = shown.is_some();
            if let (Some(item), Some(shown)) = (item.as_object_mut(), shown) {
                item.insert("name".to_owned(), shown.into());
            }
            is_shown
        });
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that has ended has taken its names with it.
        *names = asked.iter().all(|at| shared.is_running(*at)).then_some(known);
    }
    if let Some(rest) = rest.as_object_mut() {
        rest.remove("nextCursor");
        rest.insert(field.to_owned(), all.into_iter().map(|(_, item)| item).collect());
    }
    Ok(rest)
}

fn items_of(items: Value) -> Option<Vec<Value>> {
    match items {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// Fetches all pages of a server.
fn pages(shared: &MultiplexState, at: usize, method: &str, field: &str, params: &Value) -> JsonOutcome {
    let mut params = params.clone();
    let mut all: Option<Value> = None;
    for _ in 0..MAX_PAGES {
        let page = shared.ask(at, method, &params)?;
        let cursor = page.get("nextCursor").filter(|cursor| !cursor.is_null()).cloned();
        match &mut all {
            None => all = Some(page),
            Some(all) => {
                let more = page.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
                if let Some(items) = all.get_mut(field).and_then(Value::as_array_mut) {
                    items.extend(more);
                }
            }
        }
        let (Some(cursor), Some(fields)) = (cursor, params.as_object_mut()) else {
            return all.ok_or_else(|| json!({"code": OURS, "message": "pinfold: there is no list"}));
        };
        fields.insert("cursor".to_owned(), cursor);
    }
    Err(json!({"code": OURS, "message": "pinfold: the list has no end"}))
}

/// The owner of the tool or prompt of a request, as far as it is known.
fn known_owner(names: &Mutex<Option<NameTable>>, params: &str) -> Option<NameOwner> {
    let names = names.lock().unwrap_or_else(PoisonError::into_inner);
    let params: Value = serde_json::from_str(params).ok()?;
    names.as_ref()?.owner(params.get("name")?.as_str()?).cloned()
}

/// Forwards a request to a server; unchanged, where the server has the same name for its subject.
fn forward_to_owner(
    shared: &MultiplexState,
    id: &Id,
    method: &str,
    params: &str,
    line: Vec<u8>,
    whose: &NameOwner,
) {
    let given = match strict::parse(params) {
        Ok(given) => given,
        Err(why) => return shared.refuse(Some(id), BAD_PARAMS, &why),
    };
    let line = if given.get("name").and_then(Value::as_str) == Some(&whose.name) {
        line
    } else {
        let mut given = given;
        if let Some(fields) = given.as_object_mut() {
            fields.insert("name".to_owned(), whose.name.clone().into());
        }
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{given}}}"#).into_bytes()
    };
    let gone = || shared.refuse(Some(id), OURS, "the server has ended");
    if !shared.register_waiter(whose.server, |asked| _ = asked.client.insert(id.clone(), whose.server)) {
        return gone();
    }
    if !shared.to_server(whose.server, line) && shared.pending().client.remove(id).is_some() {
        gone();
    }
}

//! Lists of tools: those that a client requests, and the proxy's own before a call to an unknown server.

use std::sync::PoisonError;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ProxyState;
use super::calls::rule_name;
use super::catalogue::ListPage;
use super::requests::{PendingKind, Requests};
use crate::wire::frame::{Id, splice};
use crate::wire::strict;

/// The time limit for a page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The most pages of a list.
const MAX_PAGES: usize = 1000;

/// The protocol's own fields in requests of the newest revision.
const OF_PROTOCOL: &str = "io.modelcontextprotocol/";

/// Handles the response to a client's list request.
pub(crate) fn listed(shared: &ProxyState, id: &Id, line: &[u8], result: &RawValue) {
    let page = strict::parse(result.get()).and_then(|mut page| Ok((taken_in(shared, &mut page)?, page)));
    match page {
        Ok((ListPage::Whole, _)) => shared.to_client(line.to_vec()),
        Ok((ListPage::Changed, page)) => shared.to_client(splice(line, result, &page.to_string())),
        Err(why) => shared.not_understood(id, &why),
    }
}

fn taken_in(shared: &ProxyState, page: &mut Value) -> Result<ListPage, String> {
    let visible = shared.opener.visible()?;
    shared.catalogue.page(page, &|tool| visible(&rule_name(&shared.name, tool)))
}

/// Lists the server's tools, if they are not known. `call`: the parameters of the call that needs them.
///
/// # Errors
/// When the server does not list them.
pub(crate) fn refresh(shared: &ProxyState, call: &Value) -> Result<(), String> {
    if shared.catalogue.is_current() {
        return Ok(());
    }
    let _turn = shared.listing.lock().unwrap_or_else(PoisonError::into_inner);
    let mut cursor = Value::Null;
    for _ in 0..MAX_PAGES {
        if shared.catalogue.is_current() {
            return Ok(());
        }
        let mut page = request_page(shared, &params(call, &cursor))?;
        cursor = page.get("nextCursor").cloned().unwrap_or_default();
        taken_in(shared, &mut page)?;
    }
    Err("the list of the server's tools has no end".to_owned())
}

fn params(call: &Value, cursor: &Value) -> Value {
    let meta = call.get("_meta").and_then(Value::as_object).into_iter().flatten();
    let meta = meta.filter(|(name, _)| name.starts_with(OF_PROTOCOL));
    let meta: Map<String, Value> = meta.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut params = Map::new();
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(meta));
    }
    if !cursor.is_null() {
        params.insert("cursor".to_owned(), cursor.clone());
    }
    Value::Object(params)
}

fn request_page(shared: &ProxyState, params: &Value) -> Result<Value, String> {
    let id = Requests::new_id().ok_or("there are no random numbers for a request")?;
    let (answer, said) = channel();
    let full = |_| "too many requests wait for the server".to_owned();
    shared.requests.register_client_request(&id, PendingKind::Ours(answer)).map_err(full)?;
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{params}}}"#);
    if shared.to_server.send(line.into_bytes()).is_err() {
        return Err("the server has ended".to_owned());
    }
    said.recv_timeout(PAGE_TIMEOUT).unwrap_or_else(|_| {
        shared.requests.is_over(&id);
        Err("the server did not list its tools in time".to_owned())
    })
}

/// The notification that a list has changed.
pub(crate) fn has_changed() -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": CHANGED}).to_string().into_bytes()
}

/// Handles the server's notification that its list has changed.
pub(crate) const CHANGED: &str = "notifications/tools/list_changed";

//! Elicitation requests of a server: each is labelled with the server's name, so that none looks like the proxy's.

use pinfold_render::visible;
use serde_json::Value;

use crate::wire::strict::{fold_key, is_plain};

/// The method of elicitation.
pub(crate) const FORM: &str = "elicitation/create";

/// The field of a result with the requests that have to be answered first.
const REQUESTS: &str = "inputRequests";

/// The fields of a form that a client shows.
const SHOWN: [&str; 6] = ["message", "requestedSchema", "mode", "url", "elicitationId", "_meta"];

/// Labels the message of a form. `false`: another reader may show another message, or it is no form.
#[must_use]
pub(crate) fn mark(params: &mut Value, server: &str) -> bool {
    let Some(params) = params.as_object_mut().filter(|params| is_plain(params, &SHOWN)) else { return false };
    let said = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let marked = format!("[the server `{}` asks, not pinfold] {said}", visible(server));
    params.insert("message".to_owned(), marked.into());
    true
}

/// Labels each form in the result of a call, and returns whether there is one.
///
/// # Errors
/// When another reader may see a form where this one sees none.
pub(crate) fn mark_required(result: &mut Value, server: &str) -> Result<bool, String> {
    let not_understood = || "a form in it is not understood".to_owned();
    let Some(result) = result.as_object_mut() else { return Ok(false) };
    if !is_plain(result, &[REQUESTS]) {
        return Err(not_understood());
    }
    let Some(requests) = result.get_mut(REQUESTS).and_then(Value::as_object_mut) else { return Ok(false) };
    let mut found = false;
    for (_, request) in requests {
        let request = request.as_object_mut().filter(|request| is_plain(request, &["method", "params"]));
        let request = request.ok_or_else(not_understood)?;
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        if fold_key(method).trim() == FORM {
            let is_marked =
                method == FORM && request.get_mut("params").is_some_and(|form| mark(form, server));
            found |= is_marked.then_some(true).ok_or_else(not_understood)?;
        }
    }
    Ok(found)
}

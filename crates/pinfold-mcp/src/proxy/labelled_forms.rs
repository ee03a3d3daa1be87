//! Elicitation requests of a server: each is labelled with the server's name, so that none looks like the proxy's.

use pinfold_render::visible;
use serde_json::Value;

/// The method of elicitation.
pub(crate) const FORM: &str = "elicitation/create";

/// Labels the message of a form.
pub(crate) fn mark(params: &mut Value, server: &str) {
    let Some(params) = params.as_object_mut() else { return };
    let said = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let marked = format!("[the server `{}` asks, not pinfold] {said}", visible(server));
    params.insert("message".to_owned(), marked.into());
}

/// Labels each form in the result of a call. `false`: there is none.
pub(crate) fn mark_required(result: &mut Value, server: &str) -> bool {
    let requests = result.get_mut("inputRequests").and_then(Value::as_object_mut);
    let mut found = false;
    for (_, request) in requests.into_iter().flatten() {
        if request.get("method").and_then(Value::as_str) == Some(FORM)
            && let Some(params) = request.get_mut("params")
        {
            mark(params, server);
            found = true;
        }
    }
    found
}

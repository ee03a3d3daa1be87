//! What holds for any bytes that an agent could send to its hook. Used by the ordinary tests and by the fuzzer.

use pinfold_dialects::{Answer, DIALECTS, Dialect, Moment};
use pinfold_policy::{Claims, ToolCall};
use serde_json::Value;

/// Panics when a law is broken. Each line may be what is sent, or a case of `tests/heard`, which holds it.
pub(crate) fn hold(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let case: Option<Value> = serde_json::from_slice(line).ok();
        let inside = case.as_ref().and_then(|case| case.get("payload")).map(Value::to_string);
        for dialect in DIALECTS {
            heard(*dialect, inside.as_deref().map_or(line, str::as_bytes));
        }
    }
}

/// The same is heard twice, what is heard can be judged, and a no is never what a yes is.
fn heard(dialect: &dyn Dialect, input: &[u8]) {
    let Ok(event) = dialect.parse_event(input) else { return };
    assert_eq!(dialect.parse_event(input).as_ref(), Ok(&event));
    let shown = input.escape_ascii();
    let (yes, no) = (Answer::allow("r"), Answer::deny("r").with_context(Some("c".to_owned())));
    let (yes, no) = (dialect.format_answer(&event.moment, &yes), dialect.format_answer(&event.moment, &no));
    assert!([&yes, &no].iter().all(|said| said.stdout.lines().count() <= 1), "{}: {shown}", dialect.name());
    if let Moment::Before(call) | Moment::Permission(call) | Moment::After(call, _) = &event.moment
        && let Ok(call) = ToolCall::parse_for_verdict(&call.raw)
    {
        let _ = Claims::from_call(&call);
    }
    if let Moment::Before(_) = &event.moment {
        assert!(!no.is_like(&yes), "{}: {shown}", dialect.name());
        assert!(!dialect.closed("r").is_like(&yes), "{}: {shown}", dialect.name());
    }
}

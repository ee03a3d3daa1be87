//! What a dialog looks like after each key, on a usual screen and on the smallest: `tests/dialog/*.json` beside the
//! screens. `PINFOLD_BLESS=1` writes the screens anew.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::common;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::{assert_golden, keys, read, text_of};

use pinfold::consent::Request;
use pinfold_terminal::dialog::{Dialog, DialogContext};
use pinfold_terminal::{KeyTiming, TerminalSize};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialog")
}

/// `{"repeat": [TEXT, TIMES]}` is a long text, `{"join": [TEXT, …]}` one in pieces.
fn expand(value: &mut Value) {
    let long = value.get("repeat").map(|parts| {
        let times = usize::try_from(parts[1].as_u64().unwrap()).unwrap();
        parts[0].as_str().unwrap().repeat(times)
    });
    if let Some(long) = long {
        *value = Value::String(long);
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(expand),
        Value::Array(items) => items.iter_mut().for_each(expand),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if let Some(Value::Array(parts)) = value.get("join") {
        *value = Value::String(parts.iter().map(|part| part.as_str().unwrap()).collect());
    }
}

fn request(case: &Value) -> Request {
    let mut request = read(&folder().join("base.json"));
    for (field, value) in case["request"].as_object().unwrap() {
        request[field] = value.clone();
    }
    expand(&mut request);
    serde_json::from_value(request).unwrap()
}

fn screen(dialog: &mut Dialog<'_>, size: TerminalSize, moment: &DialogContext) -> String {
    text_of(&dialog.view(size, moment))
}

/// Between two keys, and from the last to where it is looked whether that was an answer.
const STEP: Duration = Duration::from_secs(3);
const REST: Duration = Duration::from_secs(2);

/// All screens of a case, one after the other. Each key comes alone, after a while.
fn play(case: &Value, size: TerminalSize) -> String {
    let request = request(case);
    let number = |field: &str, usual| case[field].as_u64().unwrap_or(usual);
    let mut now = Instant::now();
    let mut dialog = Dialog::new(&request);
    dialog.ready(now, None);
    now += STEP;
    let moment = |now| DialogContext {
        now,
        left: Duration::from_secs(number("left", 581)),
        waiting: usize::try_from(number("waiting", 1)).unwrap(),
    };
    let mut all = screen(&mut dialog, size, &moment(now));
    for step in case["steps"].as_array().into_iter().flatten() {
        let step = step.as_str().unwrap();
        writeln!(all, "=== {step}").unwrap();
        let typed = |at| KeyTiming { bytes: step.into(), since: at, at, alone: true };
        let mut choice = None;
        if let Some(words) = step.strip_prefix("over:") {
            dialog.close(words);
        } else if let Some(text) = step.strip_prefix("paste:") {
            dialog.paste(text, &typed(now));
        } else if let Some(text) = step.strip_prefix("flow:") {
            // As people type who have not looked up.
            for (key, at) in keys(&format!("type:{text}")).into_iter().zip(1..) {
                let at = now + Duration::from_millis(100) * at;
                choice = choice.or(dialog.key(key, &typed(at)));
            }
            let last = now + Duration::from_millis(100) * u32::try_from(text.len()).unwrap();
            all.push_str(&screen(&mut dialog, size, &moment(last)));
            now = last + STEP;
            continue;
        } else {
            for key in keys(step) {
                choice = choice.or(dialog.key(key, &typed(now)));
                now += STEP;
            }
        }
        if let Some(choice) = choice.or(dialog.quiet(now + REST.saturating_sub(STEP))) {
            writeln!(all, "{}", serde_json::to_string(&choice).unwrap()).unwrap();
            return all;
        }
        all.push_str(&screen(&mut dialog, size, &moment(now)));
    }
    all
}

#[test]
fn dialogs_look_as_they_should() {
    assert_golden(&folder(), play);
}

#[test]
fn the_screens_in_the_documentation_are_those_of_the_tests() {
    common::assert_documented("dialog.md", &folder());
}

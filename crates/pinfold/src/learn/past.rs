//! Questions of the past, from the lines of the record.

use std::collections::HashMap;
use std::path::Path;

use pinfold_policy::{PathText, RawCall};
use serde_json::Value;

use super::{Past, PastAnswer};

/// The questions that people answered for calls in `folder`, in the order of their answers, and what hooks refused
/// there. Left out is what cannot be judged again as it was: calls of processes, inputs that were cut where it matters,
/// texts that held secrets. What a safeguard asked about, and what a hook said yes to, speaks for nothing.
pub fn past(lines: impl IntoIterator<Item = Value>, folder: &Path) -> Vec<Past> {
    let mut asked: HashMap<String, Question> = HashMap::new();
    let mut past = Vec::new();
    for line in lines {
        let Some(name) = name(&line) else { continue };
        match text(&line, "kind") {
            Some("decision") => {
                let Some(call) = call(&line, folder) else { continue };
                match (text(&line, "ruling"), text(&line, "step")) {
                    (Some("question"), _) => {
                        asked.insert(name, Question { call, guarded: is_guarded(&line) });
                    }
                    (Some("refusal"), Some("hook-deny")) => {
                        past.push(Past { name, call, answer: PastAnswer::No });
                    }
                    _ => {}
                }
            }
            Some("answer") => {
                let Some(Question { call, guarded }) = asked.remove(&name) else { continue };
                let by_hook = line.get("by").and_then(|by| text(by, "via")) == Some("hook");
                match text(&line, "choice") {
                    Some("yes" | "session" | "always") if !guarded && !by_hook => {
                        past.push(Past { name, call, answer: PastAnswer::Yes });
                    }
                    Some("no") => past.push(Past { name, call, answer: PastAnswer::No }),
                    // Silence is nobody's word.
                    _ => {}
                }
            }
            _ => {}
        }
    }
    past
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

struct Question {
    call: RawCall,
    guarded: bool,
}

fn name(line: &Value) -> Option<String> {
    Some(format!("{}:{}", text(line, "session")?, line.get("id")?.as_u64()?))
}

/// Where a text that was cut would be missed by a verdict.
const JUDGED: [&str; 5] = ["", "/command", "/file_path", "/path", "/patch"];

/// What the call was, if the record has all of it that a verdict needs.
fn call(line: &Value, folder: &Path) -> Option<RawCall> {
    let here = Path::new(text(line, "folder")?).starts_with(folder);
    let input = line.get("input").filter(|_| here && line.get("process").is_none())?;
    let cut = list(line, "cut").iter().any(|cut| text(cut, "at").is_none_or(|at| JUDGED.contains(&at)));
    if cut || input.to_string().contains("[REDACTED") {
        return None;
    }
    let cwd = text(line, "cwd").map(PathText::new);
    Some(RawCall { tool: text(line, "tool")?.to_owned(), input: input.clone(), cwd })
}

/// Whether a safeguard asked about any part of it.
fn is_guarded(line: &Value) -> bool {
    list(line, "parts").iter().chain([line]).any(|part| text(part, "step") == Some("safeguard"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(id: u64, command: &str) -> Value {
        json!({"v": 2, "session": "s", "id": id, "tool": "Bash", "kind": "decision", "ruling": "question",
               "step": "mode-default", "folder": "/w", "input": {"command": command}})
    }

    fn answer(id: u64, choice: &str) -> Value {
        json!({"v": 2, "session": "s", "id": id, "tool": "Bash", "kind": "answer", "choice": choice,
               "by": {"via": "terminal"}})
    }

    fn told(lines: Vec<Value>) -> Vec<(String, PastAnswer)> {
        let past = past(lines, Path::new("/w"));
        past.into_iter()
            .map(|past| (past.call.input["command"].as_str().unwrap().to_owned(), past.answer))
            .collect()
    }

    #[test]
    fn a_question_and_its_answer_are_one() {
        let lines = vec![
            question(1, "make"),
            question(2, "npm test"),
            answer(2, "no"),
            answer(1, "session"),
            question(3, "ls"),
            answer(3, "silence"),
            question(4, "ls"),
            answer(5, "yes"),
        ];
        let expected = [("npm test", PastAnswer::No), ("make", PastAnswer::Yes)];
        assert_eq!(told(lines), expected.map(|(call, answer)| (call.to_owned(), answer)));
    }

    #[test]
    fn what_speaks_for_nothing_is_left_out() {
        for (field, value) in [
            ("step", json!("safeguard")),
            ("parts", json!([{"part": "x", "step": "mode-default"}, {"part": "y", "step": "safeguard"}])),
            ("folder", json!("/elsewhere")),
            ("folder", json!("/w-2")),
            ("cut", json!([{"at": "/command", "bytes": 9, "sha256": ""}])),
            ("input", json!({"command": "curl -H [REDACTED:token] x"})),
            ("process", json!({"pid": 1})),
            ("input", Value::Null),
            ("folder", Value::Null),
        ] {
            let mut asked = question(1, "make");
            asked[field] = value.clone();
            if value.is_null() {
                asked.as_object_mut().unwrap().remove(field);
            }
            assert_eq!(told(vec![asked, answer(1, "yes")]), [], "{field}: {value}");
        }
        let mut by_hook = answer(1, "yes");
        by_hook["by"]["via"] = json!("hook");
        assert_eq!(told(vec![question(1, "make"), by_hook]), []);
        assert_eq!(told(vec![question(1, "make"), answer(1, "yes")]).len(), 1, "the control");
    }

    #[test]
    fn a_no_to_what_a_safeguard_asked_about_and_a_no_of_a_hook_count() {
        let mut guarded = question(1, "rm -rf x");
        guarded["step"] = json!("safeguard");
        let mut refused = question(2, "make");
        (refused["ruling"], refused["step"]) = (json!("refusal"), json!("hook-deny"));
        assert_eq!(told(vec![guarded, answer(1, "no"), refused]).len(), 2);
    }
}

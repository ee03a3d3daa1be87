//! Questions of the past, from the lines of the record.

use std::collections::HashMap;
use std::path::Path;

use pinfold_policy::RawCall;

use super::{PastAnswer, PastQuestion};
use crate::audit::read::AuditLine;
use crate::audit::{AnswerEvent, AuditEvent, DecisionEvent, Ruled};

/// Questions of the past, put together from lines as they come: those that people answered for calls in one folder, in
/// the order of their answers, and what hooks refused there.
///
/// Left out is what cannot be judged again as it was: calls of processes, inputs that were cut where it matters, texts
/// that held secrets. What a safeguard asked about, and what a hook said yes to, speaks for nothing.
#[derive(Debug)]
pub struct Questions<'a> {
    folder: &'a Path,
    asked: HashMap<String, OpenQuestion>,
    past: Vec<PastQuestion>,
}

#[derive(Debug)]
struct OpenQuestion {
    call: RawCall,
    guarded: bool,
}

impl<'a> Questions<'a> {
    /// None yet, of calls in this folder.
    pub fn in_folder(folder: &'a Path) -> Self {
        Self { folder, asked: HashMap::new(), past: Vec::new() }
    }

    /// Takes the next line.
    pub fn take(&mut self, line: &AuditLine) {
        let Some(name) = line.call() else { return };
        match &line.event {
            AuditEvent::Decision(decision) => self.decided(name, &line.tool, decision),
            AuditEvent::Answer(answer) => self.answered(name, answer),
            _ => {}
        }
    }

    fn decided(&mut self, name: String, tool: &str, decision: &DecisionEvent) {
        if !Path::new(&decision.folder).starts_with(self.folder) {
            return;
        }
        let Ok(call) = decision.call(tool) else { return };
        match (decision.ruling, decision.step.as_deref()) {
            (Ruled::Question, _) => {
                self.asked.insert(name, OpenQuestion { call, guarded: decision.is_guarded() });
            }
            (Ruled::Refusal, Some("hook-deny")) => {
                self.past.push(PastQuestion { name, call, answer: PastAnswer::No });
            }
            _ => {}
        }
    }

    fn answered(&mut self, name: String, answer: &AnswerEvent) {
        let Some(OpenQuestion { call, guarded }) = self.asked.remove(&name) else { return };
        match &*answer.choice {
            "yes" | "session" | "always" if !guarded && is_of_a_person(answer) => {
                self.past.push(PastQuestion { name, call, answer: PastAnswer::Yes });
            }
            "no" => self.past.push(PastQuestion { name, call, answer: PastAnswer::No }),
            // Silence is no answer of a person.
            _ => {}
        }
    }

    /// All of them.
    pub fn past(self) -> Vec<PastQuestion> {
        self.past
    }
}

/// Returns true if a person chose it: neither a hook nor the judge, which an older record has as a program of that
/// name.
fn is_of_a_person(answer: &AnswerEvent) -> bool {
    match &*answer.by.via {
        "hook" | "judge" => false,
        "embedder" => answer.by.who.as_deref() != Some("judge"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn question(id: u64, command: &str) -> Value {
        json!({"v": 2, "session": "s", "id": id, "tool": "Bash", "kind": "decision", "ruling": "question",
               "step": "mode-default", "folder": "/w", "input": {"command": command}})
    }

    fn answer(id: u64, choice: &str) -> Value {
        json!({"v": 2, "session": "s", "id": id, "tool": "Bash", "kind": "answer", "choice": choice,
               "by": {"via": "terminal"}})
    }

    fn past_answers(lines: Vec<Value>) -> Vec<(String, PastAnswer)> {
        let mut questions = Questions::in_folder(Path::new("/w"));
        for line in lines {
            questions.take(&AuditLine::parse(line.to_string().as_bytes()).unwrap());
        }
        questions
            .past()
            .into_iter()
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
        assert_eq!(past_answers(lines), expected.map(|(call, answer)| (call.to_owned(), answer)));
    }

    #[test]
    fn what_speaks_for_nothing_is_left_out() {
        for (field, value) in [
            ("step", json!("safeguard")),
            ("parts", json!([{"part": "x", "step": "mode-default"}, {"part": "y", "step": "safeguard"}])),
            ("cut", json!([{"at": "", "bytes": 99999, "sha256": ""}])),
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
            assert_eq!(past_answers(vec![asked, answer(1, "yes")]), [], "{field}: {value}");
        }
        for by in [
            json!({"via": "hook"}),
            json!({"via": "judge", "who": "judge.sh"}),
            json!({"via": "embedder", "who": "judge"}),
        ] {
            let mut by_program = answer(1, "yes");
            by_program["by"] = by.clone();
            assert_eq!(past_answers(vec![question(1, "make"), by_program]), [], "{by}");
        }
        assert_eq!(past_answers(vec![question(1, "make"), answer(1, "yes")]).len(), 1, "the control");
    }

    #[test]
    fn a_no_to_what_a_safeguard_asked_about_and_a_no_of_a_hook_count() {
        let mut guarded = question(1, "rm -rf x");
        guarded["step"] = json!("safeguard");
        let mut refused = question(2, "make");
        (refused["ruling"], refused["step"]) = (json!("refusal"), json!("hook-deny"));
        assert_eq!(past_answers(vec![guarded, answer(1, "no"), refused]).len(), 2);
    }
}

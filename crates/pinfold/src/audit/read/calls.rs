//! Calls, from the lines about them. A call that is asked about has a line for the question and one for what came of
//! it: it is one call all the same.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::AuditLine;
use crate::audit::event::{AnswerEvent, AuditEvent, DecisionEvent, Ruled};

/// A call that was decided about.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// Its name: `SESSION:ID`.
    pub name: String,
    /// The time of the first decision about it.
    pub at: Option<Timestamp>,
    /// Which session.
    pub session: String,
    /// The principal that called.
    pub principal: String,
    /// The agents from the main loop down to who called; empty where that is the main loop.
    pub agents: Vec<String>,
    /// The tool.
    pub tool: String,
    /// The judgement with all its parts: of the last question, or of the decision where it was not asked about.
    pub judged: DecisionEvent,
    /// The last ruling of the gate. A question: it is not answered.
    pub ruling: Ruled,
    /// The line that settled the question, where there was one and it was settled.
    pub settled: Option<DecisionEvent>,
    /// The number of questions: more than one where the call changed while an approver decided.
    pub asked: u64,
    /// The answer.
    pub answers: Vec<AnswerEvent>,
}

/// The fields that the lines about a call have in common.
struct CallFields {
    at: Option<Timestamp>,
    session: String,
    principal: String,
    agents: Vec<String>,
    tool: String,
}

impl RecordedCall {
    fn new(name: String, about: CallFields, judged: DecisionEvent) -> Self {
        let CallFields { at, session, principal, agents, tool } = about;
        let (ruling, asked) = (judged.ruling, u64::from(judged.ruling == Ruled::Question));
        let (settled, answers) = (None, Vec::new());
        Self { name, at, session, principal, agents, tool, judged, ruling, settled, asked, answers }
    }

    /// One more decision about what was asked about.
    fn decided(&mut self, decision: DecisionEvent) {
        self.ruling = decision.ruling;
        if decision.ruling == Ruled::Question {
            self.asked += 1;
            self.judged = decision;
            return;
        }
        // Rules changed while the approver thought: it was judged anew. What a yes grants lets the call itself through too, and
        // changes nothing of its having been asked about.
        let by_answer = decision.ruling == Ruled::Permit && !self.answers.is_empty();
        if decision.decision != self.judged.decision && !by_answer {
            self.judged = decision.clone();
        }
        self.settled = Some(decision);
    }
}

/// Questions that are kept until they are settled. Behind so many newer ones that nothing has settled either, none is
/// expected to be: a record of any length is read in bounded memory.
const MAX_OPEN: usize = 4096;

/// Puts the lines about a call together, as they come.
#[derive(Debug, Default)]
pub struct Calls {
    /// The calls that are asked about, each with its number in the order of the questions.
    open: HashMap<String, (u64, RecordedCall)>,
    /// Their names in that order.
    order: BTreeMap<u64, String>,
    next: u64,
}

impl Calls {
    /// Takes the next line. Comes back with a call that is decided for good, or with the oldest of too many questions that
    /// were never settled.
    pub fn take(&mut self, line: AuditLine) -> Option<RecordedCall> {
        let name = line.call();
        let AuditLine { at, session, principal, agents, tool, event, .. } = line;
        match event {
            AuditEvent::Decision(decision) => {
                self.decided(name, CallFields { at, session, principal, agents, tool }, *decision)
            }
            AuditEvent::Answer(answer) => {
                let (_, call) = self.open.get_mut(&name?)?;
                call.answers.push(*answer);
                None
            }
            // An agent that asks in a dialog of its own tells no answer: that it went on is one.
            AuditEvent::Outcome(_) => {
                let (_, call) = self.close(&name?)?;
                Some(RecordedCall { ruling: Ruled::Permit, ..call })
            }
            _ => None,
        }
    }

    fn decided(
        &mut self,
        name: Option<String>,
        about: CallFields,
        decision: DecisionEvent,
    ) -> Option<RecordedCall> {
        let known = name.as_ref().and_then(|name| self.close(name));
        let (at, call) = if let Some((at, mut call)) = known {
            call.decided(decision);
            (at, call)
        } else {
            self.next += 1;
            let called = name.clone().unwrap_or_else(|| about.session.clone());
            (self.next, RecordedCall::new(called, about, decision))
        };
        match name {
            Some(name) if call.ruling == Ruled::Question => {
                self.order.insert(at, name.clone());
                self.open.insert(name, (at, call));
                self.oldest_of_too_many()
            }
            _ => Some(call),
        }
    }

    fn close(&mut self, name: &str) -> Option<(u64, RecordedCall)> {
        let (at, call) = self.open.remove(name)?;
        self.order.remove(&at);
        Some((at, call))
    }

    fn oldest_of_too_many(&mut self) -> Option<RecordedCall> {
        if self.open.len() <= MAX_OPEN {
            return None;
        }
        let (_, name) = self.order.pop_first()?;
        self.open.remove(&name).map(|(_, call)| call)
    }

    /// The calls that were asked about and are not decided, the oldest first: there was no answer, or there is none yet.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &RecordedCall> {
        self.order.values().filter_map(|name| self.open.get(name)).map(|(_, call)| call)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line(id: u64, more: &Value) -> AuditLine {
        let mut line = json!({"v": 2, "session": "s", "id": id, "tool": "Bash"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        AuditLine::parse(line.to_string().as_bytes()).unwrap()
    }

    fn decision(id: u64, decision: &str, ruling: &str, rule: &str) -> AuditLine {
        line(id, &json!({"kind": "decision", "decision": decision, "ruling": ruling, "rule": rule}))
    }

    fn answer(id: u64, choice: &str) -> AuditLine {
        line(id, &json!({"kind": "answer", "choice": choice}))
    }

    /// Name, ruling, rule, how often asked and answered, of each call in the order in which they are settled.
    fn settled_calls(lines: &[AuditLine]) -> Vec<(String, Ruled, String, u64, usize)> {
        let mut calls = Calls::default();
        let mut all: Vec<RecordedCall> = lines.iter().filter_map(|line| calls.take(line.clone())).collect();
        all.extend(calls.open().cloned());
        all.into_iter()
            .map(|call| {
                (call.name, call.ruling, call.judged.rule.unwrap_or_default(), call.asked, call.answers.len())
            })
            .collect()
    }

    #[test]
    fn a_call_is_one_however_many_lines_it_has() {
        use Ruled::{Permit, Question, Refusal};
        let lines = [
            decision(1, "ask", "question", "a"),
            decision(2, "allow", "permit", "b"),
            decision(3, "ask", "question", "c"),
            answer(1, "yes"),
            decision(1, "ask", "permit", "a"),
            answer(3, "no"),
            // What is said with a no has no rule.
            decision(3, "ask", "refusal", ""),
            decision(4, "deny", "refusal", "d"),
            // Changed meanwhile, and asked again.
            decision(5, "ask", "question", "e"),
            answer(5, "yes"),
            decision(5, "ask", "question", "f"),
            answer(5, "no"),
            decision(5, "ask", "refusal", ""),
            // A rule came meanwhile.
            decision(6, "ask", "question", "g"),
            decision(6, "allow", "permit", "h"),
            // Let through by what the answer grants.
            decision(10, "ask", "question", "l"),
            answer(10, "session"),
            decision(10, "allow", "permit", "m"),
            decision(8, "ask", "question", "i"),
            // Asked about by the agent itself, and done.
            decision(9, "ask", "question", "k"),
            line(9, &json!({"kind": "outcome", "end": "done"})),
            decision(7, "ask", "question", "j"),
            line(2, &json!({"kind": "outcome", "end": "done"})),
        ];
        let expected = [
            (2, Permit, "b", 0, 0),
            (1, Permit, "a", 1, 1),
            (3, Refusal, "c", 1, 1),
            (4, Refusal, "d", 0, 0),
            (5, Refusal, "f", 2, 2),
            (6, Permit, "h", 1, 0),
            (10, Permit, "l", 1, 1),
            (9, Permit, "k", 1, 0),
            (8, Question, "i", 1, 0),
            (7, Question, "j", 1, 0),
        ];
        let expected = expected.map(|(id, ruling, rule, asked, answers)| {
            (format!("s:{id}"), ruling, rule.to_owned(), asked, answers)
        });
        assert_eq!(settled_calls(&lines), expected);
    }

    #[test]
    fn questions_that_are_never_settled_are_kept_in_bounded_memory() {
        let mut calls = Calls::default();
        let count = MAX_OPEN as u64 + 3;
        let settled: Vec<RecordedCall> =
            (0..count).filter_map(|id| calls.take(decision(id, "ask", "question", "r"))).collect();
        let names: Vec<&str> = settled.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["s:0", "s:1", "s:2"], "the oldest ones, each once");
        assert!(calls.take(decision(9, "ask", "permit", "r")).is_some_and(|call| call.asked == 1));
        assert_eq!(calls.open().count(), MAX_OPEN - 1);
    }

    #[test]
    fn a_decision_without_a_name_is_a_call_of_its_own() {
        let mut one = decision(1, "allow", "permit", "a");
        one.id = None;
        assert_eq!(settled_calls(&[one.clone(), one]).len(), 2);
    }
}

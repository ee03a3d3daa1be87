//! The road of a call that the agent carries out itself, with tools of its own: it asks before, and tells how it ended.
//!
//! Promise: what is let through is the call that was said. Where a hook of ours would have another input, nothing is: the
//! agent would carry out its own.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use pinfold_policy::{Decision, HookWord, RawCall, ToolCall, WordOrigin};
use serde_json::Value;

use super::hooks::{Afterwards, Told};
use super::road::{Decided, Walk};
use crate::audit::Secrets;
use crate::outcome::Outcome;
use crate::permit::Receipt;
use crate::question::Question;
use crate::refusal::{Refusal, RefusalCode};
use crate::ruling::Ruling;
use crate::session::Session;

/// Who puts a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// The agent, in a dialog of its own: a question comes out as it is.
    Them,
    /// Whoever the session asks: a question that nobody answers is a refusal.
    Us,
}

/// What came of a call that the agent carries out itself.
#[must_use]
pub struct Theirs {
    /// Go ahead, ask, or no.
    pub ruling: Ruling,
    /// What hooks want the model to read.
    pub context: Vec<String>,
    /// A hook wants the agent to stop, and why.
    pub stop: Option<String>,
}

impl Session {
    /// Takes a call that the agent carries out itself down the road. `id` is its number in the record: who tells later
    /// how it ended says the same. `doubt`: what the door does not understand about it.
    pub fn decide_theirs(&self, raw: &RawCall, id: u64, doubt: Option<HookWord>, asks: Asks) -> Theirs {
        let mut walk = Walk {
            id,
            raw: Some(Cow::Borrowed(raw)),
            interaction: self.answerable(),
            ..Walk::of_embedder(self)
        };
        let word = walk.before();
        let other = walk.rewritten.then(other_input);
        let word = [word, doubt, other].into_iter().flatten().max_by_key(|word| word.decision);
        match walk.submit(word) {
            Ruling::Question(question) if asks == Asks::Them => walk.by_their_dialog(raw, question),
            ruling => {
                let Decided { outcome, context, stop, told, .. } = walk.end(ruling);
                let ruling = match outcome {
                    Ok(_) if told.as_ref().is_some_and(|told| told.raw != *raw) => {
                        Ruling::Refusal(Box::new(not_this_one(&raw.tool)))
                    }
                    Ok(permit) => Ruling::Permit(permit),
                    Err(refusal) => Ruling::Refusal(refusal),
                };
                Theirs { ruling, context, stop }
            }
        }
    }

    /// Records how a deed of the agent's own ended, and tells hooks.
    ///
    /// # Errors
    /// When the journal did not take it. The deed has happened; the caller can only say so.
    pub fn ended_theirs(
        &self,
        raw: &RawCall,
        id: u64,
        lasted: Duration,
        outcome: &Outcome,
        result: &Value,
    ) -> io::Result<Afterwards> {
        let tool =
            ToolCall::parse_for_verdict(raw).map_or_else(|_| raw.tool.clone(), |c| c.name().to_owned());
        let secrets = Secrets::of(&raw.input);
        Receipt::of_theirs(self.shared().clone(), id, tool, lasted, secrets).close(outcome)?;
        let told = Told { id, raw: raw.clone() };
        Ok(self.after(&told, *outcome == Outcome::Done, result))
    }
}

impl Walk<'_> {
    /// A question that the agent asks: hooks of ours answer first, where they may, then the judge.
    fn by_their_dialog(mut self, raw: &RawCall, question: Box<Question>) -> Theirs {
        let ruling = match self.by_hooks(&question) {
            None => self.by_judge(*question),
            Some(Ruling::Permit(_) | Ruling::Question(_)) if self.raw.as_deref() != Some(raw) => {
                Ruling::Refusal(self.session.declined(&question, not_this_one(&raw.tool)))
            }
            Some(ruling) => ruling,
        };
        if let Ruling::Refusal(refusal) = &ruling {
            self.refused(refusal);
        }
        Theirs { ruling, context: self.context, stop: self.stop }
    }
}

impl Walk<'_> {
    /// What the judge answers to a question; the question itself where it leaves it to a person.
    fn by_judge(&self, question: Question) -> Ruling {
        let asking = self.session.shared().asking.as_ref();
        match asking.and_then(|asking| asking.approver.judged(question.request())) {
            Some(answer) => self.session.answer(question, &answer),
            None => Ruling::Question(Box::new(question)),
        }
    }
}

const OTHER_INPUT: &str = "a hook of the settings wrote another input, and the agent would carry out its own";

fn other_input() -> HookWord {
    HookWord {
        decision: Decision::Deny,
        reason: OTHER_INPUT.to_owned(),
        by: "pinfold".to_owned(),
        only: Vec::new(),
        origin: WordOrigin::Hook,
    }
}

fn not_this_one(tool: &str) -> Refusal {
    Refusal::plain(RefusalCode::Denied, tool, None, OTHER_INPUT, "make the call as the hook would have it")
}

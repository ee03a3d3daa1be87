//! Calls that an agent executes itself, with tools of its own: its hook asks before, and reports how they ended.
//!
//! Promise: the call that is permitted is the one that was said. Where a hook of ours would have another input, nothing
//! is permitted: the agent would execute its own.

use std::io;
use std::time::Duration;

use pinfold_policy::{Decision, HookDecision, HookDecisionOrigin, RawCall, ToolCall};
use serde_json::Value;

use super::hooks::{EventReply, PermittedCall};
use crate::audit::Secrets;
use crate::call_request::CallRequest;
use crate::outcome::Outcome;
use crate::parsed_call::ParsedCall;
use crate::permit::Receipt;
use crate::pipeline::{GateResult, Pipeline, strictest};
use crate::question::Question;
use crate::refusal::{Refusal, RefusalCode};
use crate::ruling::Ruling;
use crate::session::Session;

/// The side that puts a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// The agent, in a dialog of its own: a question comes out as it is.
    Agent,
    /// The approver of the session: a question that is not answered is a refusal.
    Pinfold,
}

/// The decision about a call that the agent executes itself.
#[must_use]
#[non_exhaustive]
pub struct ExternalDecision {
    /// The permit, the question or the refusal.
    pub ruling: Ruling,
    /// Text of hooks for the model.
    pub context: Vec<String>,
    /// The reason for which a hook wants the agent to stop.
    pub stop: Option<String>,
}

impl Session {
    /// Takes a call that the agent executes itself through the pipeline. `id` is its number in the record: the report
    /// of its end says the same. `doubt`: what the way in does not understand about it.
    pub fn decide_external(
        &self,
        raw: &RawCall,
        id: u64,
        doubt: Option<HookDecision>,
        asked_by: AskedBy,
    ) -> ExternalDecision {
        let mut pipeline = Pipeline::numbered(self, id, CallRequest::new(raw));
        let hook = pipeline.pre_tool_use_decision();
        let other = pipeline.is_rewritten().then(other_input);
        match pipeline.submit(strictest([hook, doubt, other])) {
            Ruling::Question(question) if asked_by == AskedBy::Agent => {
                pipeline.leave_to_agent(raw, *question)
            }
            ruling => {
                let GateResult { outcome, context, stop, permitted, .. } = pipeline.finish(ruling);
                let ruling = match outcome {
                    Ok(_) if permitted.as_ref().is_some_and(|permitted| permitted.raw != *raw) => {
                        Ruling::Refusal(Box::new(refuse_other_input(&raw.tool)))
                    }
                    Ok(permit) => Ruling::Permit(permit),
                    Err(refusal) => Ruling::Refusal(refusal),
                };
                ExternalDecision { ruling, context, stop }
            }
        }
    }

    /// Records how a call ended that the agent executed itself, and reports it to hooks.
    ///
    /// # Errors
    /// When the journal did not take it. The operation has happened; the caller can only say so.
    pub fn record_external_end(
        &self,
        raw: &RawCall,
        id: u64,
        lasted: Duration,
        outcome: &Outcome,
        result: &Value,
    ) -> io::Result<EventReply> {
        let call = ToolCall::parse_for_verdict(raw).ok();
        let tool = call.as_ref().map_or_else(|| raw.tool.clone(), |call| call.name().to_owned());
        let secrets = Secrets::find(&raw.input);
        Receipt::for_external(self.shared().clone(), id, tool, lasted, secrets).close(outcome)?;
        if self.shared().consent.hooks.is_none() {
            return Ok(EventReply::default());
        }
        let permitted = PermittedCall { id, raw: raw.clone(), parsed: call.map(ParsedCall::new) };
        Ok(self.post_tool_use(&permitted, *outcome == Outcome::Done, result))
    }
}

impl Pipeline<'_> {
    /// A question that the agent asks: hooks answer first, where they may, then the judge of routine questions.
    fn leave_to_agent(mut self, raw: &RawCall, question: Question) -> ExternalDecision {
        let ruling = match self.answer_by_hooks(&question) {
            None => self.answer_by_judge(question),
            Some(Ruling::Permit(_) | Ruling::Question(_)) if self.raw() != Some(raw) => {
                let refusal = refuse_other_input(&raw.tool);
                Ruling::Refusal(self.session().declined(&question, refusal))
            }
            Some(ruling) => ruling,
        };
        if let Ruling::Refusal(refusal) = &ruling {
            self.report_refusal(refusal);
        }
        let (context, stop) = self.into_notes();
        ExternalDecision { ruling, context, stop }
    }

    /// The answer of the judge of routine questions; the question itself where it leaves it to a person.
    fn answer_by_judge(&self, question: Question) -> Ruling {
        let asking = self.session().shared().consent.asking.as_ref();
        match asking.and_then(|asking| asking.approver.judged(question.request())) {
            Some(answer) => self.session().answer(question, &answer),
            None => Ruling::Question(Box::new(question)),
        }
    }
}

const OTHER_INPUT: &str = "a hook of the settings wrote another input, and the agent would carry out its own";

fn other_input() -> HookDecision {
    HookDecision {
        decision: Decision::Deny,
        reason: OTHER_INPUT.to_owned(),
        by: "pinfold".to_owned(),
        only: Vec::new(),
        origin: HookDecisionOrigin::Hook,
    }
}

fn refuse_other_input(tool: &str) -> Refusal {
    Refusal::plain(RefusalCode::Denied, tool, None, OTHER_INPUT, "make the call as the hook would have it")
}

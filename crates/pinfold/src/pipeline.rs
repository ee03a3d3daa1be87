//! The pipeline of a call, top to bottom: parse → hooks → survey → judge → record → ask → permit. Every way in goes
//! through here and nowhere else.
//!
//! | stage | where |
//! | --- | --- |
//! | parse, once | [`ParsedCall`](crate::parsed_call::ParsedCall) |
//! | hooks before | [`HookedCall`] |
//! | survey and judge | `judgement.rs`, `survey.rs` |
//! | rule and record | [`Session::rule`], `recording.rs` |
//! | ask: hooks, the judge of routine questions, the approver | [`Pipeline::settle`] |
//! | survey and judge again when a yes is used | [`Session::permit_with_consent`] |
//! | permit | [`Session::permit`] |

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use pinfold_policy::settings::SettingsChange;
use pinfold_policy::{
    Access, BadCall, Decision, Effect, ForeignCall, HookDecision, Interaction, Origin, PathScopes, PathText,
    RawCall, Rule, RuleSet, Source, SourcedRule, ToolCall, ToolName,
};

use crate::audit::Ruled;
use crate::call_request::{CallContent, CallRequest, Caller};
use crate::consent::answer::{Answer, AnsweredBy, ApprovalChannel, Choice, RuleFile};
use crate::consent::answer_grants::AnswerGrants;
use crate::consent::approver::{ApprovalOptions, Approver, ApproverResponse};
use crate::consent::digest::digest;
use crate::consent::hook_decisions::HookedCall;
use crate::consent::hooks::{PermissionRequestReply, PermittedCall, Update};
use crate::consent::request::ProcessShown;
use crate::consent::request_of_call::{offer, request};
use crate::judgement::{CheckResult, Judgement};
use crate::parsed_call::ParsedCall;
use crate::permit::{Permit, Receipt};
use crate::plan::ExecutedBy;
use crate::question::Question;
use crate::refusal::{Refusal, RefusalCode};
use crate::refusal_writer::RefusalWriter;
use crate::ruling::Ruling;
use crate::session::{JudgedBy, Session};
use crate::submission::Submission;
use crate::target::Targets;

/// The end of a call's way through the pipeline.
#[must_use]
#[non_exhaustive]
pub struct GateResult {
    /// The permit, or the refusal.
    pub outcome: Result<Box<Permit>, Box<Refusal>>,
    /// Text of hooks for the model.
    pub context: Vec<String>,
    /// The reason for which a hook wants the agent to stop.
    pub stop: Option<String>,
    /// Set where a hook wants the agent to try another way at once.
    pub retry: bool,
    /// The call as it was permitted, where hooks have to be told how it ended ([`Session::post_tool_use`]).
    pub permitted: Option<PermittedCall>,
    /// The last answer, where an approver was asked.
    pub answered: Option<Answer>,
}

// --- The verbs ---------------------------------------------------------------------------------------------------------

impl Session {
    /// Decides about a call as [`Session::submit`] would, without hooks: nothing is recorded, and no permit comes out.
    /// Text that only the operation would use may be missing from the input.
    ///
    /// # Errors
    /// When the call is not understood.
    pub fn check<'a>(&self, request: impl Into<CallRequest<'a>>) -> Result<CheckResult, BadCall> {
        let request = request.into();
        let call = match &request.content {
            CallContent::Raw(raw) => ToolCall::parse_for_verdict(raw)?,
            CallContent::Typed(call) => call.clone(),
        };
        let parsed = ParsedCall::new(call);
        let hook_decision = strictest([request.hint.clone(), self.ask_about_spelling(&parsed)]);
        let submission = Submission {
            id: 0,
            parsed,
            cwd: request.working_folder().cloned(),
            input: request.input().map(Cow::Borrowed),
            hook_decision,
            interaction: self.interaction(),
            process: request.process,
        };
        let judged = self.judge(&self.shared().judged_by(), &submission);
        let refusal = match judged.verdict.decision {
            Decision::Allow => None,
            decision => Some(RefusalWriter::new(self.shared(), &judged).write(decision == Decision::Ask)),
        };
        let Judgement { claims, survey, verdict, .. } = judged;
        let call = submission.parsed.into_call();
        let claims = Arc::unwrap_or_clone(claims);
        Ok(CheckResult { call, claims, facts: survey.facts, verdict, refusal })
    }

    /// Decides about a call and records the decision. The operation needs the permit that comes out. Neither hooks nor
    /// approvers are asked, and nothing waits: a question is handed back. [`Session::decide`] goes all the way.
    pub fn submit<'a>(&self, request: impl Into<CallRequest<'a>>) -> Ruling {
        let mut request = request.into();
        let hook = request.hint.take();
        Pipeline { interaction: self.interaction(), ..Pipeline::new(self, request) }.submit(hook)
    }

    /// Takes a call through the whole pipeline: hooks are asked, it is judged, and a question is put to the approver.
    /// Waits for the answer.
    pub fn decide<'a>(&self, request: impl Into<CallRequest<'a>>) -> GateResult {
        let mut request = request.into();
        let hint = request.hint.take();
        let mut pipeline = Pipeline::new(self, request);
        let hook = pipeline.pre_tool_use_decision();
        let ruling = pipeline.submit(strictest([hook, hint]));
        pipeline.finish(ruling)
    }

    /// Uses the answer to a question: a permit where it is a yes and the call is still what was shown, a refusal where
    /// it is a no, and another question where the call has become another one meanwhile.
    pub fn answer(&self, question: Question, answer: &Answer) -> Ruling {
        if (&answer.id, &answer.digest) != (&question.request.id, &question.request.digest) {
            // It is about something else.
            return Ruling::Question(Box::new(question));
        }
        let Some(offered) = AnswerGrants::from_choice(&question.offer, &answer.choice) else {
            let choice = Choice::No { message: Some(NOT_OFFERED.to_owned()), process: false };
            return self.answer(question, &Answer { choice, ..answer.clone() });
        };
        // What was answered before has granted what it grants.
        let given = if answer.by.via == ApprovalChannel::Earlier { AnswerGrants::default() } else { offered };
        if let Err(unrecorded) = self.record_answer(&question, answer, &given) {
            return Ruling::Refusal(unrecorded);
        }
        let no = match &answer.choice {
            Choice::No { message, .. } => Some(message.as_deref()),
            Choice::Yes | Choice::Session { .. } | Choice::Always { .. } => None,
        };
        if let Some(message) = no {
            let refusal = Refusal::declined(question.refusal(), message, answer.by.via);
            return Ruling::Refusal(self.declined(&question, refusal));
        }
        self.apply_grants(&question, answer, given);
        self.permit_with_consent(&question)
    }
}

// --- One call on its way -----------------------------------------------------------------------------------------------

/// One call on its way through the pipeline.
pub(crate) struct Pipeline<'a> {
    session: &'a Session,
    id: u64,
    call: PipelineCall<'a>,
    /// The approvers that could answer a question: a person, or hooks in their place.
    interaction: Interaction,
    caller: Caller<'a>,
    process: Option<ProcessShown>,
    /// The last answer of an approver.
    answered: Option<Answer>,
}

enum PipelineCall<'a> {
    Raw(Box<HookedCall<'a>>),
    Typed { parsed: ParsedCall, cwd: Option<PathText> },
}

impl<'a> Pipeline<'a> {
    /// Numbers and parses the call of a request.
    fn new(session: &'a Session, request: CallRequest<'a>) -> Self {
        let id = session.shared().next_call();
        Self::numbered(session, id, request)
    }

    /// Parses the call of a request that has its number.
    pub(crate) fn numbered(session: &'a Session, id: u64, request: CallRequest<'a>) -> Self {
        let CallRequest { content, cwd, caller, process, .. } = request;
        let (call, interaction) = match content {
            CallContent::Raw(raw) => {
                (PipelineCall::Raw(Box::new(HookedCall::new(session, id, raw))), session.answerable())
            }
            CallContent::Typed(call) => {
                (PipelineCall::Typed { parsed: ParsedCall::new(call), cwd }, session.interaction())
            }
        };
        Self { session, id, call, interaction, caller, process, answered: None }
    }

    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    fn hooked(&self) -> Option<&HookedCall<'a>> {
        match &self.call {
            PipelineCall::Raw(hooked) => Some(hooked),
            PipelineCall::Typed { .. } => None,
        }
    }

    fn hooked_mut(&mut self) -> Option<&mut HookedCall<'a>> {
        match &mut self.call {
            PipelineCall::Raw(hooked) => Some(hooked),
            PipelineCall::Typed { .. } => None,
        }
    }

    /// The JSON of the call, with the input that a hook may have written.
    pub(crate) fn raw(&self) -> Option<&RawCall> {
        self.hooked().map(HookedCall::raw)
    }

    /// Returns true if a hook has written the input.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.hooked().is_some_and(HookedCall::is_rewritten)
    }

    /// Runs the hooks that come before the call is judged.
    pub(crate) fn pre_tool_use_decision(&mut self) -> Option<HookDecision> {
        self.hooked_mut().and_then(HookedCall::pre_tool_use_decision)
    }

    /// Surveys, judges, rules and records, after hooks have answered.
    pub(crate) fn submit(&self, hook_decision: Option<HookDecision>) -> Ruling {
        let (parsed, cwd, input, hook_decision) = match &self.call {
            PipelineCall::Typed { parsed, cwd } => (parsed.clone(), cwd.clone(), None, hook_decision),
            PipelineCall::Raw(hooked) => {
                let raw = hooked.raw();
                let (parsed, hook_decision) = match hooked.parse().result() {
                    Ok(parsed) => (parsed.clone(), hook_decision),
                    Err(bad) => match self.session.ask_about_another_form(raw, bad, hook_decision) {
                        Some((parsed, hook)) => (parsed, Some(hook)),
                        None => return Ruling::Refusal(self.session.not_understood(self.id, raw, bad)),
                    },
                };
                (parsed, raw.cwd.clone(), Some(Cow::Borrowed(&raw.input)), hook_decision)
            }
        };
        let hook_decision = strictest([hook_decision, self.session.ask_about_spelling(&parsed)]);
        let (id, interaction, process) = (self.id, self.interaction, self.process.clone());
        self.session.judge_and_record(&Submission {
            id,
            parsed,
            cwd,
            input,
            hook_decision,
            interaction,
            process,
        })
    }

    /// Asks until there is an answer, and reports a refusal to hooks.
    pub(crate) fn finish(mut self, mut ruling: Ruling) -> GateResult {
        for _ in 0..MAX_QUESTIONS {
            ruling = match ruling {
                Ruling::Question(question) => self.settle(*question),
                decided @ (Ruling::Permit(_) | Ruling::Refusal(_)) => {
                    ruling = decided;
                    break;
                }
            };
        }
        let outcome = match ruling {
            Ruling::Permit(permit) => Ok(permit),
            Ruling::Refusal(refusal) => Err(refusal),
            Ruling::Question(question) => Err(Box::new(question.into_refusal())),
        };
        let retry = outcome.as_ref().err().is_some_and(|refusal| self.report_refusal(refusal));
        let permitted = self.hooked().filter(|_| outcome.is_ok()).and_then(HookedCall::to_permitted);
        let answered = self.answered.take();
        let (context, stop) = self.into_notes();
        GateResult { outcome, context, stop, retry, permitted, answered }
    }

    /// Reports a refusal to hooks. `true`: the agent should try another way at once.
    pub(crate) fn report_refusal(&self, refusal: &Refusal) -> bool {
        self.hooked().is_some_and(|hooked| hooked.report_refusal(refusal))
    }

    /// Text of hooks for the model, and the reason for which one wants the agent to stop.
    pub(crate) fn into_notes(self) -> (Vec<String>, Option<String>) {
        match self.call {
            PipelineCall::Raw(hooked) => (hooked.context, hooked.stop),
            PipelineCall::Typed { .. } => (Vec::new(), None),
        }
    }
}

/// The strictest of the words, the last of those that are equal.
pub(crate) fn strictest(words: impl IntoIterator<Item = Option<HookDecision>>) -> Option<HookDecision> {
    words.into_iter().flatten().max_by_key(|hook| hook.decision)
}

// --- Rule and record ---------------------------------------------------------------------------------------------------

impl Session {
    /// The question about a call of a known tool in a form that is not known, which an agent executes itself: its tools
    /// change with its versions, so that it is asked about whatever is allowed. `None` where something restricts the
    /// session that only the places and commands of a call could be held to.
    fn ask_about_another_form(
        &self,
        raw: &RawCall,
        bad: &BadCall,
        hook: Option<HookDecision>,
    ) -> Option<(ParsedCall, HookDecision)> {
        let shared = self.shared();
        let is_external = shared.executed_by == ExecutedBy::Agent;
        let like = ToolName::parse(&raw.tool).filter(|_| is_external && bad.is_another_form())?;
        let policy = shared.judged_by().policy;
        let is_shell = matches!(like, ToolName::Bash | ToolName::BashInput);
        let is_restricted = shared.bounds.scope.enforce_write
            || shared.bounds.access == Access::ReadOnly
            || is_shell && !shared.bounds.scope.allow_bash
            || policy.path_scopes != PathScopes::default();
        if is_restricted {
            return None;
        }
        let reason =
            format!("what this tool is called with is not understood here, so it cannot be judged ({bad})");
        let doubt = HookDecision::doubt(reason, "what is known of the tool".to_owned(), None);
        let hook = hook.filter(|hook| hook.decision >= Decision::Ask).unwrap_or(doubt);
        Some((ParsedCall::new(ToolCall::Foreign(ForeignCall::Unread { like })), hook))
    }

    /// The question about a path that an agent may read otherwise than it is written: some take a `@` in front or blanks at the ends
    /// away, or one blank for another.
    fn ask_about_spelling(&self, parsed: &ParsedCall) -> Option<HookDecision> {
        if self.shared().executed_by != ExecutedBy::Agent {
            return None;
        }
        let is_odd = |text: &str| {
            let is_blank = |c: char| c.is_whitespace() && c != ' ';
            text.starts_with('@') || text.trim() != text || text.contains(is_blank)
        };
        let paths = parsed.claims().paths.iter().filter(|claim| claim.origin == Origin::Call);
        let mut texts = paths.filter_map(|claim| claim.path.as_ref()?.as_os_str().to_str());
        let odd = texts.find(|text| is_odd(text))?;
        let reason = format!("the path `{}` may mean another one to the agent", odd.escape_debug());
        Some(HookDecision::doubt(reason, "what is known of agents".to_owned(), None))
    }

    /// Judges a call, records the verdict, and makes a permit, a question or a refusal of it.
    fn judge_and_record(&self, submission: &Submission<'_>) -> Ruling {
        loop {
            let by = self.shared().judged_by();
            let judged = self.judge(&by, submission);
            return match judged.verdict.decision {
                Decision::Deny => {
                    self.refuse(&judged, RefusalWriter::new(self.shared(), &judged).write(false))
                }
                Decision::Ask => self.question(&by, judged),
                Decision::Allow if judged.survey.unread.is_some() => self.refuse_unread(&judged),
                // A grant for so many calls was used up by another call meanwhile.
                Decision::Allow if !self.shared().rules.grants.spend(&judged.verdict) => continue,
                Decision::Allow => self.recorded_permit(judged),
            };
        }
    }

    /// Refuses to overwrite a file that was not read.
    fn refuse_unread(&self, judged: &Judgement<'_>) -> Ruling {
        self.refuse(judged, RefusalWriter::new(self.shared(), judged).write_unread())
    }

    fn refuse(&self, judged: &Judgement<'_>, refusal: Refusal) -> Ruling {
        let refusal = self.named(judged.submission.id, refusal);
        match self.record_decision(judged, Ruled::Refusal, Some(&refusal)) {
            Ok(()) => Ruling::Refusal(Box::new(refusal)),
            Err(unrecorded) => Ruling::Refusal(unrecorded),
        }
    }

    fn question(&self, by: &JudgedBy, judged: Judgement<'_>) -> Ruling {
        let shared = self.shared();
        let refusal = RefusalWriter::new(shared, &judged).write(true);
        let refusal = self.named(judged.submission.id, refusal);
        let digest = digest(shared, &judged);
        if let Err(unrecorded) = self.record_question(&judged, &refusal, &digest) {
            return Ruling::Refusal(unrecorded);
        }
        let offer = offer(shared, &self.case_of(by, &judged), &judged.verdict);
        let request = request(shared, &judged, &digest, &offer);
        let Judgement { submission, verdict, secrets, .. } = judged;
        let (submission, secrets) = (submission.to_owned(), secrets.into_inner().unwrap_or_default());
        Ruling::Question(Box::new(Question { submission, verdict, refusal, request, offer, secrets }))
    }
}

// --- Ask ---------------------------------------------------------------------------------------------------------------

/// Most questions about a call that keeps changing while an approver is asked; then it is given up.
const MAX_QUESTIONS: usize = 8;

/// The reason by which an answer that was not offered is a no.
const NOT_OFFERED: &str = "the answer was not offered, so the call is denied";

impl Pipeline<'_> {
    /// Settles one question: `PermissionRequest` hooks, the judge of routine questions, then the approver.
    fn settle(&mut self, question: Question) -> Ruling {
        if let Some(ruling) = self.answer_by_hooks(&question) {
            return ruling;
        }
        if self.session.interaction() == Interaction::Headless {
            // Only hooks could have answered.
            self.interaction = Interaction::Headless;
            let headless = Submission { interaction: Interaction::Headless, ..question.submission };
            return self.session.judge_and_record(&headless);
        }
        let Some(asking) = self.session.shared().consent.asking.clone() else {
            return Ruling::Refusal(Box::new(question.into_refusal()));
        };
        self.answer_by_person(&asking, question)
    }

    /// Asks the hooks about a question; `None` where they leave it to another approver.
    pub(crate) fn answer_by_hooks(&mut self, question: &Question) -> Option<Ruling> {
        let session = self.session;
        let hooked = self.hooked_mut()?;
        let PermissionRequestReply { yes, message, input, only, updates, interrupt, by } =
            hooked.reply_to(question)?;
        if interrupt {
            hooked.stop = Some(message.clone().unwrap_or_else(|| "a hook interrupted the agent".to_owned()));
        }
        let by = AnsweredBy { via: ApprovalChannel::Hook, who: Some(by) };
        let consent = HookConsent { only, updates, by: by.clone() };
        match (yes, input) {
            (Some(false), _) => Some(answered(session, question, Choice::No { message, process: false }, by)),
            (Some(true), None) => self.accept_hook(question, consent),
            (Some(true) | None, Some(input)) => {
                hooked.rewrite(input, None);
                // What was said before was about another input.
                let hook = hooked.pre_tool_use_decision();
                let ruling = self.submit(hook);
                match (yes, &ruling) {
                    (Some(true), Ruling::Question(anew)) => {
                        Some(self.accept_hook(anew, consent).unwrap_or(ruling))
                    }
                    (Some(true | false) | None, _) => Some(ruling),
                }
            }
            (None, None) => None,
        }
    }

    /// Takes a hook's yes, unless the question needs a person.
    fn accept_hook(&self, question: &Question, consent: HookConsent) -> Option<Ruling> {
        if question.request.always_ask || !question.is_routine() {
            return None;
        }
        let HookConsent { only, updates, by } = consent;
        if !only.is_empty() && !self.session.is_covered(question, only) {
            return None;
        }
        let ruling = answered(self.session, question, Choice::Yes, by.clone());
        // For what comes after: a mode that asks nothing more would take this yes back.
        if let Ruling::Permit(_) = ruling {
            self.session.apply_hook_updates(&updates, &by);
        }
        Some(ruling)
    }

    fn answer_by_person(&mut self, asking: &ApprovalOptions, question: Question) -> Ruling {
        let (session, caller) = (self.session, self.caller);
        let waits = || caller.is_waiting();
        let still_asked = || waits() && session.is_still_asked(&question);
        let ask = |approver: &dyn Approver| {
            let unasked = ApproverResponse::NoApprover("no approver was asked".to_owned());
            caller.take_time(unasked, || approver.ask(&question.request, &still_asked))
        };
        let by_caller = caller.asks.and_then(|asks| asks.judged(&question.request));
        let by_judge = || caller.take_time(None, || asking.approver.judged(&question.request));
        if let Some(answer) = by_caller.or_else(by_judge) {
            return session.answer(question, &answer);
        }
        let heard = match caller.asks.map(ask) {
            None | Some(ApproverResponse::NoApprover(_)) => ask(&*asking.approver),
            Some(heard) => heard,
        };
        if let ApproverResponse::Answer(answer) = &heard {
            self.answered = Some(answer.clone());
        }
        match heard {
            ApproverResponse::Answer(answer)
                if Timestamp::now() > question.request.deadline && answer.is_yes() =>
            {
                let late = Answer::silence(&question.request.id, &question.request.digest);
                session.answer(question, &late)
            }
            ApproverResponse::Answer(answer) => session.answer(question, &answer),
            ApproverResponse::NotAsked if !waits() => {
                Ruling::Refusal(session.declined(&question, Refusal::gone(question.refusal())))
            }
            ApproverResponse::NotAsked => session.judge_and_record(&question.submission),
            ApproverResponse::NoApprover(why) => {
                let mut refusal = question.refusal().clone();
                refusal.hint = format!("{} ({why})", refusal.hint);
                Ruling::Refusal(session.declined(&question, refusal))
            }
        }
    }
}

/// The conditions and changes that come with a hook's yes.
struct HookConsent {
    only: Vec<Arc<RuleSet>>,
    updates: Vec<Update>,
    by: AnsweredBy,
}

fn answered(session: &Session, question: &Question, choice: Choice, by: AnsweredBy) -> Ruling {
    let (id, digest) = (question.request.id.clone(), question.request.digest.clone());
    session.answer(question.clone(), &Answer { id, digest, choice, by })
}

impl Session {
    /// Returns true if a call that waits would still be asked about. Called about once a second while a person thinks:
    /// it surveys and judges, and parses nothing.
    fn is_still_asked(&self, question: &Question) -> bool {
        let by = self.shared().judged_by();
        self.judge(&by, &question.submission).verdict.decision == Decision::Ask
    }

    /// Puts the grants of an answer into effect: for the session at once, and for good once they are written. A failure
    /// to write is recorded, and takes nothing from the yes.
    fn apply_grants(&self, question: &Question, answer: &Answer, given: AnswerGrants) {
        let AnswerGrants { grants, rules } = given;
        self.grant(grants, &answer.by, answer.choice.lasts(Timestamp::now()));
        let Choice::Always { file, .. } = &answer.choice else { return };
        let source = Source::plain((*file).into());
        let sourced =
            |rule: &Rule| SourcedRule { effect: Effect::Allow, rule: rule.clone(), source: source.clone() };
        // As a rule, and no grant: what settings want to be asked about is still asked about.
        self.also_allow(rules.iter().map(sourced));
        if let Err(failed) = self.write_rules(&rules, *file) {
            self.record_not_written(question, &rules, &failed);
            if let Some(asking) = &self.shared().consent.asking {
                asking
                    .approver
                    .show_message(&question.request, &format!("the rule was not written: {failed}"));
            }
        }
    }

    fn write_rules(&self, rules: &[Rule], file: RuleFile) -> Result<(), String> {
        let locations = self.shared().consent.asking.as_ref().and_then(|asking| asking.locations.as_ref());
        let Some(locations) = locations.filter(|_| !rules.is_empty()) else { return Ok(()) };
        let ambient = pinfold_paths::Ambient::claim();
        for rule in rules {
            let change = SettingsChange::Add(Effect::Allow, rule.clone());
            crate::settings::change(&ambient, locations, file.into(), &change).map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

// --- Permit ------------------------------------------------------------------------------------------------------------

impl Session {
    /// Uses a yes: the world is looked at again. Only the very thing that was shown is permitted; anything else is
    /// judged like a new call.
    fn permit_with_consent(&self, question: &Question) -> Ruling {
        let by = self.shared().judged_by();
        let judged = self.judge(&by, &question.submission);
        let is_same = digest(self.shared(), &judged) == question.request.digest;
        match judged.verdict.decision {
            Decision::Ask if is_same && judged.survey.unread.is_none() => self.recorded_permit(judged),
            Decision::Ask if is_same => self.refuse_unread(&judged),
            Decision::Ask | Decision::Allow | Decision::Deny => self.judge_and_record(&question.submission),
        }
    }

    /// Records the decision and permits the call; a decision that cannot be recorded is a refusal.
    fn recorded_permit(&self, judged: Judgement<'_>) -> Ruling {
        match self.record_decision(&judged, Ruled::Permit, None) {
            Ok(()) => self.permit(judged),
            Err(refusal) => Ruling::Refusal(refusal),
        }
    }

    /// Mints the permit of a call that was judged and allowed.
    fn permit(&self, judged: Judgement<'_>) -> Ruling {
        let by_mode = judged.verdict.rests_on_the_mode();
        let Judgement { submission, claims, survey, secrets, .. } = judged;
        let held = claims.paths.iter().zip(survey.found).filter(|(claim, _)| Judgement::is_opened(claim));
        let found = held.map(|(claim, found)| (claim.operation, found)).collect();
        let (id, call) = (submission.id, submission.parsed.to_shared_call());
        let tool = call.name().to_owned();
        let secrets = secrets.into_inner().unwrap_or_default();
        let receipt = Receipt::new(self.shared().clone(), id, tool.clone().into(), secrets);
        match Targets::hold(self.shared(), found, &claims, id) {
            Some(targets) => Ruling::Permit(Box::new(Permit::mint(call, targets, receipt, by_mode))),
            // The judge allowed what cannot be held: the type system's last word is no.
            None => Ruling::Refusal(Box::new(Refusal::plain(
                RefusalCode::Denied,
                &tool,
                None,
                "a place outside the writable roots cannot be held for writing",
                "choose a place inside",
            ))),
        }
    }
}

#[cfg(test)]
mod tests;

//! The part that hooks take in the decision about a call.
//!
//! Promise: a hook's yes is for what is routine. It answers nothing that needs a person, grants nothing that a person
//! could not grant in passing, and nothing at all to a subagent, which is never freer than the agent that started it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use pinfold_policy::grant_options::is_narrow;
use pinfold_policy::judge::touches;
use pinfold_policy::{
    Claims, Decision, Effect, Facts, Grant, HookDecision, HookDecisionOrigin, HookEvent, Interaction, Layer,
    Principal, RawCall, Rule, RuleSet, Source, SourcedRule,
};
use serde_json::Value;

use super::answer::AnsweredBy;
use super::grant_lifetime::GrantLifetime;
use super::hooks::{
    EventReply, HookCall, HookMoment, Hooks, PermissionRequestReply, PermittedCall, PreToolUseReply, Update,
};
use crate::parsed_call::{ParsedCall, RawParse};
use crate::question::Question;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::survey::survey;

/// A raw call as hooks are asked about it. One of them may write its input anew.
pub(crate) struct HookedCall<'a> {
    session: &'a Session,
    id: u64,
    raw: Cow<'a, RawCall>,
    parse: RawParse,
    rewritten: bool,
    /// The hook that wrote the input.
    writer: Option<usize>,
    /// True once hooks were asked about a question of this call.
    was_questioned: bool,
    /// Text of hooks for the model.
    pub(crate) context: Vec<String>,
    /// The reason for which a hook wants the agent to stop.
    pub(crate) stop: Option<String>,
}

impl<'a> HookedCall<'a> {
    pub(crate) fn new(session: &'a Session, id: u64, raw: &'a RawCall) -> Self {
        Self {
            session,
            id,
            raw: Cow::Borrowed(raw),
            parse: RawParse::new(raw, session.shared().parse),
            rewritten: false,
            writer: None,
            was_questioned: false,
            context: Vec::new(),
            stop: None,
        }
    }

    /// The call, with the input that a hook may have written.
    pub(crate) fn raw(&self) -> &RawCall {
        &self.raw
    }

    pub(crate) fn parse(&self) -> &RawParse {
        &self.parse
    }

    pub(crate) fn is_rewritten(&self) -> bool {
        self.rewritten
    }

    fn ask<T>(&self, ask: impl FnOnce(&dyn Hooks, &HookCall<'_>) -> T) -> Option<T> {
        let hooks = self.session.shared().consent.hooks.as_ref()?;
        let parsed = || self.parse.for_verdict(&self.raw);
        let written = (self.rewritten, self.writer);
        Some(self.session.with_hook_call(self.id, &self.raw, &parsed, written, |call| ask(&**hooks, call)))
    }

    /// Asks `PreToolUse` hooks for their decision before the call is judged. Where a hook writes another input, the others
    /// are asked about that one too.
    pub(crate) fn pre_tool_use_decision(&mut self) -> Option<HookDecision> {
        let PreToolUseReply { decision: hook, input, writer, context, stop } =
            self.ask(|hooks, call| hooks.pre_tool_use(call))?;
        self.context.extend(context);
        if let Some(why) = stop {
            self.stop.get_or_insert_with(|| why.clone());
            return Some(match hook {
                Some(hook) if hook.decision == Decision::Deny => hook,
                // A hook that wants the agent to stop does not want this to happen first.
                Some(HookDecision { by, .. }) => stopped(why, by),
                None => stopped(why, "a hook".to_owned()),
            });
        }
        let denied = hook.as_ref().is_some_and(|hook| hook.decision == Decision::Deny);
        let Some(input) = input.filter(|_| !self.rewritten && !denied) else { return hook };
        self.rewrite(input, writer);
        let again = self.pre_tool_use_decision();
        // The hook that was asked last is named, where both said the same.
        [again, hook].into_iter().flatten().max_by_key(|hook| hook.decision)
    }

    /// Takes another input. It is parsed in place of the first.
    pub(crate) fn rewrite(&mut self, input: Value, writer: Option<usize>) {
        self.raw.to_mut().input = input;
        self.parse = RawParse::new(&self.raw, self.session.shared().parse);
        (self.rewritten, self.writer) = (true, writer);
    }

    /// Asks `PermissionRequest` hooks about a question, once for each call; `None` where they leave it to another
    /// approver. Questions of a subagent, and those of an agent that no person watches, are put to hooks only where
    /// settings say so.
    pub(crate) fn reply_to(&mut self, question: &Question) -> Option<PermissionRequestReply> {
        if std::mem::replace(&mut self.was_questioned, true) {
            return None;
        }
        let session = self.session;
        let is_watched = session.agent().is_none() && session.interaction() == Interaction::Interactive;
        if !is_watched && !session.shared().consent.headless_hooks {
            return None;
        }
        self.ask(|hooks, call| hooks.permission_request(call, &question.request))
    }

    /// Reports a refusal to `PermissionDenied` hooks. `true`: the agent should try another way at once.
    pub(crate) fn report_refusal(&self, refusal: &Refusal) -> bool {
        self.ask(|hooks, call| hooks.permission_denied(call, refusal)).unwrap_or(false)
    }

    /// The call as it stands now, for the report of its outcome to hooks.
    pub(crate) fn to_permitted(&self) -> Option<PermittedCall> {
        self.session.shared().consent.hooks.as_ref()?;
        let parsed = self.parse.for_verdict(&self.raw).cloned();
        Some(PermittedCall { id: self.id, raw: self.raw.clone().into_owned(), parsed })
    }
}

impl Session {
    /// Reports another event to hooks.
    pub fn event(&self, event: HookEvent, detail: &Value) -> EventReply {
        let shared = self.shared();
        let Some(hooks) = &shared.consent.hooks else { return EventReply::default() };
        hooks.event(&HookMoment {
            session: &shared.identity.id,
            agent: self.agent(),
            cwd: shared.bounds.line.display_path(),
            mode: shared.judged_by().policy.mode,
            event,
            detail,
        })
    }

    /// Reports to hooks that the operation of a permitted call has ended, well or not. `result`: the reply as data.
    pub fn post_tool_use(&self, permitted: &PermittedCall, done: bool, result: &Value) -> EventReply {
        let Some(hooks) = &self.shared().consent.hooks else { return EventReply::default() };
        let PermittedCall { id, raw, parsed } = permitted;
        let parsed = || parsed.as_ref();
        self.with_hook_call(*id, raw, &parsed, (false, None), |call| hooks.post_tool_use(call, done, result))
    }

    /// Says if a question could be answered: by a person, or by hooks where settings let them.
    pub(crate) fn answerable(&self) -> Interaction {
        let shared = self.shared();
        if shared.consent.hooks.is_some() && shared.consent.headless_hooks {
            Interaction::Interactive
        } else {
            self.interaction()
        }
    }

    /// The subagent that acts here, if it is one.
    fn agent(&self) -> Option<&str> {
        match self.principal() {
            Principal::Main => None,
            Principal::Subagent(name) => Some(name),
        }
    }

    fn with_hook_call<'p, T>(
        &self,
        id: u64,
        raw: &RawCall,
        parsed: &dyn Fn() -> Option<&'p ParsedCall>,
        (rewritten, except): (bool, Option<usize>),
        ask: impl FnOnce(&HookCall<'_>) -> T,
    ) -> T {
        let shared = self.shared();
        let start = shared.bounds.line.display_path();
        let cwd = match &raw.cwd {
            Some(cwd) => Cow::Owned(start.join(cwd.as_os_str())),
            None => Cow::Borrowed(start),
        };
        let conditions = Conditions { session: self, raw, parsed, surveyed: OnceCell::new() };
        ask(&HookCall {
            session: &shared.identity.id,
            id,
            agent: self.agent(),
            cwd: &cwd,
            mode: shared.judged_by().policy.mode,
            tool: &raw.tool,
            input: &raw.input,
            rewritten,
            except,
            touches: &|rules| conditions.are_met_by(rules),
        })
    }

    /// Carries out what a hook wants changed: for the main agent alone, never a rule that covers a whole tool, never
    /// `bypassPermissions`.
    pub(crate) fn apply_hook_updates(&self, updates: &[Update], by: &AnsweredBy) {
        if self.agent().is_some() {
            return;
        }
        for update in updates {
            match update {
                Update::SetMode(mode) if Update::may_set(*mode) => {
                    self.set_mode(*mode);
                }
                Update::AddRules { effect: Effect::Allow, rules } if !self.shared().rules.rules_locked => {
                    let narrow = |text: &String| Rule::parse(text).ok().filter(is_narrow);
                    let grants = rules.iter().filter_map(narrow).map(granted);
                    self.grant(grants, by, GrantLifetime::Session);
                }
                // What narrows is for settings to say: a session has no deny rules.
                Update::SetMode(_)
                | Update::AddRules { effect: Effect::Allow | Effect::Ask | Effect::Deny, .. } => {}
            }
        }
    }

    /// Returns true if a hook's yes under conditions covers all that is asked about.
    pub(crate) fn is_covered(&self, question: &Question, only: Vec<Arc<RuleSet>>) -> bool {
        let hook = HookDecision {
            decision: Decision::Allow,
            reason: String::new(),
            by: String::new(),
            only,
            origin: HookDecisionOrigin::Hook,
        };
        let submission = question.submission.with_hook_decision(Some(hook));
        self.judge(&self.shared().judged_by(), &submission).verdict.decision == Decision::Allow
    }
}

fn granted(rule: Rule) -> Grant {
    let source = Source::plain(Layer::Session);
    Grant::Rule(SourcedRule { effect: Effect::Allow, rule, source }.into())
}

/// A call against which conditions of hooks are held. It is surveyed when the first of them is.
struct Conditions<'a, 'p> {
    session: &'a Session,
    raw: &'a RawCall,
    parsed: &'a dyn Fn() -> Option<&'p ParsedCall>,
    surveyed: OnceCell<Option<(&'p ParsedCall, Arc<Claims>, Facts)>>,
}

impl Conditions<'_, '_> {
    /// A call that is not understood meets every condition.
    fn are_met_by(&self, rules: &RuleSet) -> bool {
        let shared = self.session.shared();
        let by = shared.judged_by();
        let look = || {
            let parsed = (self.parsed)()?;
            let mut claims = Arc::clone(parsed.claims());
            let facts = survey(shared, &by.policy, parsed.call(), self.raw.cwd.as_ref(), &mut claims).facts;
            Some((parsed, claims, facts))
        };
        match self.surveyed.get_or_init(look) {
            Some((parsed, claims, facts)) => {
                touches(&self.session.case(&by, parsed.call(), claims, facts), rules)
            }
            None => true,
        }
    }
}

fn stopped(why: String, by: String) -> HookDecision {
    HookDecision {
        decision: Decision::Deny,
        reason: why,
        by,
        only: Vec::new(),
        origin: HookDecisionOrigin::Hook,
    }
}

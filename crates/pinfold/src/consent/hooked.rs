//! Where hooks have their say on the road, and what becomes of it.
//!
//! Promise: a hook's yes is for what is routine. It answers nothing that needs a person, grants nothing that a person
//! could not grant in passing, and nothing at all to a subagent, which is never freer than who started it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use pinfold_policy::judge::touches;
use pinfold_policy::offer::is_narrow;
use pinfold_policy::{
    Claims, Decision, Effect, Facts, Grant, HookEvent, HookWord, Interaction, Layer, Principal, RawCall,
    Rule, RuleSet, Source, SourcedRule, ToolCall, WordOrigin,
};
use serde_json::Value;

use super::answer::{Answer, By, Choice, Via};
use super::hooks::{Afterwards, Before, HookCall, HookMoment, OnQuestion, Told, Update};
use super::kept::Lasts;
use super::road::Walk;
use crate::gate::Said;
use crate::question::Question;
use crate::refusal::Refusal;
use crate::ruling::Ruling;
use crate::session::Session;
use crate::survey::survey;

impl Session {
    /// Tells hooks that something else has happened.
    pub fn event(&self, event: HookEvent, detail: &Value) -> Afterwards {
        let shared = self.shared();
        let Some(hooks) = &shared.hooks else { return Afterwards::default() };
        hooks.event(&HookMoment {
            session: &shared.id,
            agent: self.agent(),
            cwd: shared.line.display_path(),
            mode: shared.judged_by().policy.mode,
            event,
            detail,
        })
    }

    /// Tells hooks that the deed of a call has ended, well or not. `result` is what the caller got as data.
    pub fn after(&self, told: &Told, done: bool, result: &Value) -> Afterwards {
        let Some(hooks) = &self.shared().hooks else { return Afterwards::default() };
        self.with_hook_call(told.id, &told.raw, (false, None), |call| hooks.after(call, done, result))
    }

    /// Whether somebody could answer a question: a person, or hooks where settings let them.
    pub(super) fn answerable(&self) -> Interaction {
        let shared = self.shared();
        if shared.hooks.is_some() && shared.headless_hooks {
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

    fn with_hook_call<T>(
        &self,
        id: u64,
        raw: &RawCall,
        (rewritten, except): (bool, Option<usize>),
        tell: impl FnOnce(&HookCall<'_>) -> T,
    ) -> T {
        let shared = self.shared();
        let start = shared.line.display_path();
        let cwd = match &raw.cwd {
            Some(cwd) => Cow::Owned(start.join(cwd.as_os_str())),
            None => Cow::Borrowed(start),
        };
        let look = Look { session: self, raw, seen: OnceCell::new() };
        tell(&HookCall {
            session: &shared.id,
            id,
            agent: self.agent(),
            cwd: &cwd,
            mode: shared.judged_by().policy.mode,
            tool: &raw.tool,
            input: &raw.input,
            rewritten,
            except,
            touches: &|rules| look.touches(rules),
        })
    }

    /// Carries out what a hook wants changed: for the main agent alone, never a rule that covers a whole tool, never
    /// `bypassPermissions`.
    fn update(&self, updates: &[Update], by: &By) {
        if self.agent().is_some() {
            return;
        }
        for update in updates {
            match update {
                Update::SetMode(mode) if Update::may_set(*mode) => {
                    self.set_mode(*mode);
                }
                Update::AddRules { effect: Effect::Allow, rules } if !self.shared().rules_locked => {
                    let narrow = |text: &String| Rule::parse(text).ok().filter(is_narrow);
                    let grants = rules.iter().filter_map(narrow).map(granted);
                    self.grant(grants, by, Lasts::Session);
                }
                // What narrows is for settings to say: a session has no deny rules.
                Update::SetMode(_)
                | Update::AddRules { effect: Effect::Allow | Effect::Ask | Effect::Deny, .. } => {}
            }
        }
    }
}

fn granted(rule: Rule) -> Grant {
    let source = Source::plain(Layer::Session);
    Grant::Rule(SourcedRule { effect: Effect::Allow, rule, source }.into())
}

/// A look at a call for the conditions of hooks: taken when the first of them wants to know.
struct Look<'a> {
    session: &'a Session,
    raw: &'a RawCall,
    seen: OnceCell<Option<(ToolCall, Claims, Facts)>>,
}

impl Look<'_> {
    /// A call that is not understood is about anything.
    fn touches(&self, rules: &RuleSet) -> bool {
        let by = self.session.shared().judged_by();
        let look = || {
            let call = ToolCall::parse_for_verdict(self.raw).ok()?;
            let mut claims = Claims::of(&call);
            let cwd = self.raw.cwd.as_ref();
            let facts = survey(self.session.shared(), &by.policy, &call, cwd, &mut claims).facts;
            Some((call, claims, facts))
        };
        match self.seen.get_or_init(look) {
            Some((call, claims, facts)) => touches(&self.session.case(&by, call, claims, facts), rules),
            None => true,
        }
    }
}

impl Walk<'_> {
    fn tell<T>(&self, tell: impl FnOnce(&dyn super::Hooks, &HookCall<'_>) -> T) -> Option<T> {
        let (hooks, raw) = (self.session.shared().hooks.as_ref()?, self.raw.as_ref()?);
        let written = (self.rewritten, self.writer);
        Some(self.session.with_hook_call(self.id, raw, written, |call| tell(hooks.as_ref(), call)))
    }

    /// `PreToolUse`: what is said before the call is judged. Where a hook writes another input, the others are asked
    /// about that one too.
    pub(super) fn before(&mut self) -> Option<HookWord> {
        let Before { word, input, writer, context, stop } = self.tell(|hooks, call| hooks.before(call))?;
        self.context.extend(context);
        if let Some(why) = stop {
            self.stop.get_or_insert_with(|| why.clone());
            return Some(match word {
                Some(word) if word.decision == Decision::Deny => word,
                // Who wants the agent to stop does not want this to happen first.
                Some(HookWord { by, .. }) => stopped(why, by),
                None => stopped(why, "a hook".to_owned()),
            });
        }
        let denied = word.as_ref().is_some_and(|word| word.decision == Decision::Deny);
        let Some(input) = input.filter(|_| !self.rewritten && !denied) else { return word };
        self.rewrite(input, writer);
        let again = self.before();
        // Who was asked last is told of, where both said the same.
        [again, word].into_iter().flatten().max_by_key(|word| word.decision)
    }

    fn rewrite(&mut self, input: Value, writer: Option<usize>) {
        if let Some(raw) = &mut self.raw {
            raw.to_mut().input = input;
            (self.rewritten, self.writer) = (true, writer);
        }
    }

    /// `PermissionDenied`.
    pub(super) fn refused(&self, refusal: &Refusal) -> bool {
        self.tell(|hooks, call| hooks.refused(call, refusal)).unwrap_or(false)
    }

    /// The call as it stands now, for telling hooks how it ended.
    pub(super) fn told(&self) -> Option<Told> {
        self.session.shared().hooks.as_ref()?;
        Some(Told { id: self.id, raw: self.raw.as_ref()?.clone().into_owned() })
    }

    /// `PermissionRequest`: what hooks answer to a question; `None` where they leave it to somebody else. A subagent's
    /// questions, and those of an agent that nobody watches, are theirs only where settings say so.
    pub(super) fn by_hooks(&mut self, question: &Question) -> Option<Ruling> {
        if std::mem::replace(&mut self.hooks_asked, true) {
            return None;
        }
        let session = self.session;
        let watched = session.agent().is_none() && session.interaction() == Interaction::Interactive;
        if !watched && !session.shared().headless_hooks {
            return None;
        }
        let said = self.tell(|hooks, call| hooks.on_question(call, &question.request))?;
        let OnQuestion { yes, message, input, only, updates, interrupt, by } = said;
        if interrupt {
            self.stop = Some(message.clone().unwrap_or_else(|| "a hook interrupted the agent".to_owned()));
        }
        let by = By { via: Via::Hook, who: Some(by) };
        let consent = Consent { only, updates, by: by.clone() };
        match (yes, input) {
            (Some(false), _) => Some(answered(session, question, Choice::No { message, process: false }, by)),
            (Some(true), None) => self.said_yes(question, consent),
            (Some(true) | None, Some(input)) => {
                self.rewrite(input, None);
                // What was said before was about another input.
                let word = self.before();
                let ruling = self.submit(word);
                match (yes, &ruling) {
                    (Some(true), Ruling::Question(anew)) => {
                        Some(self.said_yes(anew, consent).unwrap_or(ruling))
                    }
                    (Some(true | false) | None, _) => Some(ruling),
                }
            }
            (None, None) => None,
        }
    }

    /// A hook's yes. Nobody but a person answers what needs a person.
    fn said_yes(&self, question: &Question, consent: Consent) -> Option<Ruling> {
        if question.request.immune || !question.is_routine() {
            return None;
        }
        let Consent { only, updates, by } = consent;
        if !only.is_empty() && !self.session.is_covered(question, only) {
            return None;
        }
        let ruling = answered(self.session, question, Choice::Yes, by.clone());
        // For what comes after: a mode that asks nothing more would take this yes back.
        if let Ruling::Permit(_) = ruling {
            self.session.update(&updates, &by);
        }
        Some(ruling)
    }
}

/// What comes with a hook's yes.
struct Consent {
    only: Vec<Arc<RuleSet>>,
    updates: Vec<Update>,
    by: By,
}

impl Session {
    /// Whether a yes under conditions is one to all that is asked about.
    fn is_covered(&self, question: &Question, only: Vec<Arc<RuleSet>>) -> bool {
        let word = HookWord {
            decision: Decision::Allow,
            reason: String::new(),
            by: String::new(),
            only,
            origin: WordOrigin::Hook,
        };
        let said = Said {
            id: question.id,
            call: question.call.clone(),
            cwd: question.cwd.clone(),
            input: question.input.as_ref(),
            word: Some(word),
            interaction: question.interaction,
            process: None,
        };
        self.judged(&self.shared().judged_by(), said).verdict.decision == Decision::Allow
    }
}

fn stopped(why: String, by: String) -> HookWord {
    HookWord { decision: Decision::Deny, reason: why, by, only: Vec::new(), origin: WordOrigin::Hook }
}

fn answered(session: &Session, question: &Question, choice: Choice, by: By) -> Ruling {
    let (id, digest) = (question.request.id.clone(), question.request.digest.clone());
    session.answer(question.clone(), &Answer { id, digest, choice, by })
}

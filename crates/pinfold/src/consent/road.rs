//! The whole road of a call, up to a permit or a refusal: hooks, the judge, hooks again, whoever can be asked.

use std::borrow::Cow;

use jiff::Timestamp;
use pinfold_policy::offer::is_narrow;
use pinfold_policy::settings::Change;
use pinfold_policy::{
    Decision, Effect, Grant, HookWord, Layer, Mode, Offer, PathText, RawCall, Rule, Source, SourcedRule,
    ToolCall,
};
use serde_json::Value;

use super::answer::{Answer, By, Choice, RuleFile, Via};
use super::approver::{Asking, Heard};
use super::hooks::{HookCall, OnQuestion, Update};
use super::kept::Lasts;
use super::request::ProcessShown;
use crate::audit::RecordKind;
use crate::gate::Said;
use crate::permit::{Permit, record};
use crate::question::Question;
use crate::refusal::Refusal;
use crate::ruling::Ruling;
use crate::session::Session;

/// What came of a call in the end.
#[must_use]
pub struct Decided {
    /// Go ahead, or no.
    pub outcome: Result<Box<Permit>, Box<Refusal>>,
    /// What hooks want the model to read.
    pub context: Vec<String>,
    /// A hook wants the agent to stop, and why.
    pub stop: Option<String>,
    /// A hook wants the agent to try another way at once.
    pub retry: bool,
}

/// A call that keeps changing while somebody is asked about it is given up after so many questions.
const MOST_QUESTIONS: usize = 8;

/// The call as it goes down the road.
struct Walk<'a> {
    session: &'a Session,
    /// What was said, or what hooks made of it; none for a call that an embedder made itself.
    raw: Option<Cow<'a, RawCall>>,
    process: Option<ProcessShown>,
    context: Vec<String>,
    stop: Option<String>,
    /// Hooks have answered a question about this input.
    hooks_asked: bool,
}

impl Session {
    /// Takes a call all the way: hooks are asked, it is judged, and where it is a question whoever can be asked is.
    /// Waits for the answer.
    pub fn decide(&self, raw: &RawCall) -> Decided {
        let mut walk = Walk::new(self, Some(Cow::Borrowed(raw)), None);
        let ruling = walk.begin();
        walk.end(ruling)
    }

    /// The same for a call that an embedder made itself, or that a process of a shell made by what it tried. Hooks
    /// know calls by their JSON and are not asked about it.
    pub fn decide_call(
        &self,
        call: ToolCall,
        cwd: Option<&PathText>,
        process: Option<ProcessShown>,
    ) -> Decided {
        let walk = Walk::new(self, None, process);
        let ruling = self.submit_call(call, cwd);
        walk.end(ruling)
    }

    /// What somebody answered to a question: a permit where they said yes and the call is still what they were shown, a
    /// refusal where they said no, and another question where it has become another call meanwhile.
    pub fn answer(&self, question: Question, answer: &Answer) -> Ruling {
        if (&answer.id, &answer.digest) != (&question.request.id, &question.request.digest) {
            // It is about something else.
            return Ruling::Question(Box::new(question));
        }
        let given = Given::of(&question.offer, &answer.choice);
        if let Err(error) = self.record_answer(&question, answer, &given) {
            return Ruling::Refusal(Box::new(Refusal::not_recorded(question.call.name(), &error)));
        }
        let no = match &answer.choice {
            Choice::No { message } => Some(message.as_deref()),
            Choice::Yes | Choice::Session { .. } | Choice::Always { .. } => None,
        };
        if let Some(message) = no {
            let refusal = Refusal::declined(question.refusal(), message, answer.by.via == Via::Silence);
            return Ruling::Refusal(self.declined(&question, refusal));
        }
        self.stand(&question, answer, given);
        self.with_consent(question)
    }

    /// What is granted beyond the call begins to hold: now for the session, and for good once it is written. That it
    /// could not be written is recorded, and takes nothing from the yes.
    fn stand(&self, question: &Question, answer: &Answer, given: Given) {
        let Given { grants, rules } = given;
        self.grant(grants, &answer.by, Lasts::Session);
        let Choice::Always { file, .. } = &answer.choice else { return };
        let source = Source::plain((*file).into());
        let sourced =
            |rule: &Rule| SourcedRule { effect: Effect::Allow, rule: rule.clone(), source: source.clone() };
        // As a rule, and no grant: what settings want to be asked about is still asked about.
        self.also_allow(rules.iter().map(sourced));
        if let Err(failed) = self.write_rules(&rules, *file) {
            let rules = rules.iter().map(ToString::to_string).collect();
            let kind = RecordKind::NotWritten { rules, failed: failed.clone() };
            let shared = self.shared();
            let tool = question.call.name().to_owned().into();
            // The rules are not there, recorded or not.
            let _ = shared.journal.append(&record(shared, question.id, tool, kind));
            if let Some(asking) = &shared.asking {
                asking.approver.tell(&question.request, &format!("the rule was not written: {failed}"));
            }
        }
    }

    fn write_rules(&self, rules: &[Rule], file: RuleFile) -> Result<(), String> {
        let locations = self.shared().asking.as_ref().and_then(|asking| asking.locations.as_ref());
        let Some(locations) = locations.filter(|_| !rules.is_empty()) else { return Ok(()) };
        let ambient = pinfold_paths::Ambient::claim();
        for rule in rules {
            let change = Change::Add(Effect::Allow, rule.clone());
            crate::settings::change(&ambient, locations, file.into(), &change).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn record_answer(&self, question: &Question, answer: &Answer, given: &Given) -> std::io::Result<()> {
        let (choice, message) = match &answer.choice {
            Choice::Yes => ("yes", None),
            Choice::Session { .. } => ("session", None),
            Choice::Always { .. } => ("always", None),
            Choice::No { message } if answer.by.via == Via::Silence => ("silence", message.clone()),
            Choice::No { message } => ("no", message.clone()),
        };
        let kind = RecordKind::Answer {
            choice,
            by: answer.by.clone(),
            digest: answer.digest.clone(),
            message,
            grants: given.grants.iter().map(ToString::to_string).collect(),
            rules: given.rules.iter().map(ToString::to_string).collect(),
        };
        let shared = self.shared();
        shared.journal.append(&record(shared, question.id, question.call.name().to_owned().into(), kind))
    }

    /// Tells hooks that something else has happened. What comes back is text for the model.
    pub fn event(&self, name: &'static str, detail: &Value) -> Vec<String> {
        let shared = self.shared();
        shared.hooks.as_ref().map(|hooks| hooks.event(&shared.id, name, detail)).unwrap_or_default()
    }

    /// Tells hooks that a deed has ended. What comes back is text for the model.
    pub fn after(&self, raw: &RawCall, ended: &str, result: &Value) -> Vec<String> {
        let Some(hooks) = &self.shared().hooks else { return Vec::new() };
        self.with_hook_call(raw, |call| hooks.after(call, ended, result))
    }

    fn with_hook_call<T>(&self, raw: &RawCall, tell: impl FnOnce(&HookCall<'_>) -> T) -> T {
        let shared = self.shared();
        let start = shared.line.display_path();
        let cwd = raw.cwd.as_ref().map_or_else(|| start.to_owned(), |cwd| start.join(cwd.as_os_str()));
        tell(&HookCall {
            session: &shared.id,
            id: 0,
            agent: (shared.lineage.len() > 1).then_some(&*shared.principal_name),
            cwd: &cwd,
            mode: shared.judged_by().policy.mode,
            tool: &raw.tool,
            input: &raw.input,
        })
    }

    /// Carries out what a hook wants changed: never a rule that covers a whole tool, never `bypassPermissions`.
    fn update(&self, updates: &[Update], by: &By) {
        for update in updates {
            match update {
                Update::SetMode(mode) if !matches!(mode, Mode::BypassPermissions | Mode::Auto) => {
                    self.set_mode(*mode);
                }
                Update::AddRules { effect: Effect::Allow, rules } => {
                    let narrow = |text: &String| Rule::parse(text).ok().filter(is_narrow);
                    let grants = rules.iter().filter_map(narrow).map(granted);
                    self.grant(grants, by, Lasts::Session);
                }
                // A hook cannot set bypass; and what narrows is for settings to say: a session has no deny rules.
                Update::SetMode(_) | Update::AddRules { effect: Effect::Ask | Effect::Deny, .. } => {}
            }
        }
    }
}

fn granted(rule: Rule) -> Grant {
    let source = Source::plain(Layer::Session);
    Grant::Rule(SourcedRule { effect: Effect::Allow, rule, source }.into())
}

/// What an answer grants beyond the call.
#[derive(Default)]
struct Given {
    grants: Vec<Grant>,
    rules: Vec<Rule>,
}

impl Given {
    /// What was not offered grants nothing.
    fn of(offer: &Offer, choice: &Choice) -> Self {
        let mut given = Self::default();
        match choice {
            Choice::No { .. } => {}
            Choice::Yes => given.grants.clone_from(&offer.kept),
            Choice::Session { width } => {
                given.grants =
                    offer.session.get(*width).map(|width| width.grants.clone()).unwrap_or_default();
            }
            Choice::Always { widths, .. } => {
                for (i, part) in offer.always.iter().enumerate() {
                    let chosen = widths.get(i).copied().unwrap_or(part.usual);
                    let Some(width) = part.widths.get(chosen) else { continue };
                    given.grants.extend(width.grants.iter().cloned());
                    given.rules.extend(width.rule.clone());
                }
            }
        }
        given
    }
}

impl<'a> Walk<'a> {
    fn new(session: &'a Session, raw: Option<Cow<'a, RawCall>>, process: Option<ProcessShown>) -> Self {
        Self { session, raw, process, context: Vec::new(), stop: None, hooks_asked: false }
    }

    /// `PreToolUse`, then the judge.
    fn begin(&mut self) -> Ruling {
        let Some(raw) = self.raw.clone() else { return Ruling::Refusal(Box::new(Refusal::nothing_said())) };
        let Some(hooks) = &self.session.shared().hooks else { return self.session.submit(&raw) };
        let before = self.session.with_hook_call(&raw, |call| hooks.before(call));
        self.context.extend(before.context);
        self.stop = before.stop;
        self.rewritten(before.input);
        self.submit(before.word)
    }

    fn rewritten(&mut self, input: Option<Value>) {
        if let (Some(input), Some(raw)) = (input, &mut self.raw) {
            raw.to_mut().input = input;
        }
    }

    fn submit(&self, word: Option<HookWord>) -> Ruling {
        match &self.raw {
            Some(raw) => self.session.submit_as(raw, word),
            None => Ruling::Refusal(Box::new(Refusal::nothing_said())),
        }
    }

    /// Asks until there is an answer, and ends.
    fn end(mut self, mut ruling: Ruling) -> Decided {
        for _ in 0..MOST_QUESTIONS {
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
        let retry = outcome.as_ref().err().is_some_and(|refusal| self.refused(refusal));
        Decided { outcome, context: self.context, stop: self.stop, retry }
    }

    /// `PermissionDenied`.
    fn refused(&self, refusal: &Refusal) -> bool {
        let (Some(hooks), Some(raw)) = (&self.session.shared().hooks, &self.raw) else { return false };
        self.session.with_hook_call(raw, |call| hooks.refused(call, refusal))
    }

    /// One question: `PermissionRequest`, then whoever can be asked.
    fn settle(&mut self, mut question: Question) -> Ruling {
        if let Some(ruling) = self.by_hooks(&mut question) {
            return ruling;
        }
        question.request.asker.process.clone_from(&self.process);
        let Some(asking) = self.session.shared().asking.clone() else {
            return Ruling::Refusal(Box::new(question.into_refusal()));
        };
        self.by_person(&asking, question)
    }

    fn by_person(&self, asking: &Asking, question: Question) -> Ruling {
        let session = self.session;
        let still_asked = || session.is_still_asked(&question);
        match asking.approver.ask(&question.request, &still_asked) {
            Heard::Answer(answer) if Timestamp::now() > question.request.deadline && answer.is_yes() => {
                let late = Answer::silence(&question.request.id, &question.request.digest);
                session.answer(question, &late)
            }
            Heard::Answer(answer) => session.answer(question, &answer),
            Heard::NotAsked => session.again(question),
            Heard::Nobody(why) => {
                let mut refusal = question.refusal().clone();
                refusal.hint = format!("{} ({why})", refusal.hint);
                Ruling::Refusal(session.declined(&question, refusal))
            }
        }
    }

    /// What hooks answer; `None` where they leave it to somebody else.
    fn by_hooks(&mut self, question: &mut Question) -> Option<Ruling> {
        if std::mem::replace(&mut self.hooks_asked, true) {
            return None;
        }
        let session = self.session;
        let hooks = session.shared().hooks.clone()?;
        let raw = self.raw.clone()?;
        let said = session.with_hook_call(&raw, |call| hooks.on_question(call, &question.request));
        let OnQuestion { yes, message, input, updates, interrupt, by } = said;
        if interrupt {
            self.stop = Some(message.clone().unwrap_or_else(|| "a hook interrupted the agent".to_owned()));
        }
        let by = By { via: Via::Hook, who: Some(by) };
        let (id, digest) = (question.request.id.clone(), question.request.digest.clone());
        match yes {
            Some(false) => {
                let answer = Answer { id, digest, choice: Choice::No { message }, by };
                Some(session.answer(question.clone(), &answer))
            }
            Some(true) | None if input.is_some() => {
                self.rewritten(input);
                // What the first hooks said was about another input; a yes to this one is not known yet.
                Some(self.submit(None))
            }
            // Nobody but a person answers what needs a person.
            Some(true) if question.request.immune || !question.is_routine() => None,
            Some(true) => {
                session.update(&updates, &by);
                let answer = Answer { id, digest, choice: Choice::Yes, by };
                Some(session.answer(question.clone(), &answer))
            }
            None => None,
        }
    }
}

impl Session {
    /// Whether a call that waits would still be asked about.
    fn is_still_asked(&self, question: &Question) -> bool {
        let by = self.shared().judged_by();
        let said = Said {
            id: question.id,
            call: question.call.clone(),
            cwd: question.cwd.clone(),
            input: question.input.as_ref(),
            word: question.word.clone(),
        };
        self.judged(&by, said).verdict.decision == Decision::Ask
    }

    /// Judges a call that waited once more.
    fn again(&self, question: Question) -> Ruling {
        let Question { id, call, cwd, input, word, .. } = question;
        self.rule(Said { id, call, cwd, input: input.as_ref(), word })
    }
}

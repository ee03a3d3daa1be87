//! The whole road of a call, up to a permit or a refusal: hooks, the judge, hooks again, whoever can be asked.

use std::borrow::Cow;

use jiff::Timestamp;
use pinfold_policy::settings::Change;
use pinfold_policy::{
    Decision, Effect, Grant, HookWord, Interaction, Offer, PathText, RawCall, Rule, Source, SourcedRule,
    ToolCall,
};

use super::answer::{Answer, Choice, RuleFile, Via};
use super::approver::{Approver, Asking, Heard};
use super::hooks::Told;
use super::request::ProcessShown;
use crate::gate::Said;
use crate::permit::Permit;
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
    /// The call as it was let through, where hooks have to be told how it ended ([`Session::after`]).
    pub told: Option<Told>,
    /// What was answered, where somebody was asked.
    pub answered: Option<Answer>,
}

/// A call that keeps changing while somebody is asked about it is given up after so many questions.
const MOST_QUESTIONS: usize = 8;

/// The call as it goes down the road.
pub(super) struct Walk<'a> {
    pub(super) session: &'a Session,
    /// The number of the call.
    pub(super) id: u64,
    /// What was said, or what hooks made of it; none for a call that an embedder made itself.
    pub(super) raw: Option<Cow<'a, RawCall>>,
    /// Whether somebody could answer a question: a person, or hooks in their place.
    pub(super) interaction: Interaction,
    pub(super) context: Vec<String>,
    pub(super) stop: Option<String>,
    /// A hook has written the input.
    pub(super) rewritten: bool,
    /// Which one.
    pub(super) writer: Option<usize>,
    /// Hooks were asked about a question of this call.
    pub(super) hooks_asked: bool,
    /// Whoever made the call.
    pub(super) caller: Caller<'a>,
    /// What was answered last.
    pub(super) answered: Option<Answer>,
}

/// Whoever made a call, as far as they take part in what becomes of it.
#[derive(Clone, Copy, Default)]
pub struct Caller<'a> {
    /// Says whether they still wait for it: a question about a call that nobody waits for is taken back. Without it,
    /// they do.
    pub waits: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// Who is asked first about this call: the person behind the caller, where the caller can reach them. When they
    /// cannot answer, whoever the session asks is. How long is waited, and where rules go, is the session's to say.
    pub asks: Option<&'a dyn Approver>,
    /// Does what takes its time: asking a person, reading a large file. For a caller who has other things to do on this
    /// thread, and has somebody else do them meanwhile. Without it, it is just done.
    pub aside: Option<&'a Aside<'a>>,
}

/// Does what it is given, once.
pub type Aside<'a> = dyn Fn(&mut dyn FnMut()) + Sync + 'a;

impl Caller<'_> {
    /// Whether they still wait.
    pub fn is_waiting(&self) -> bool {
        self.waits.is_none_or(|waits| waits())
    }

    /// Does what takes its time, aside. `instead`: what it came to where it was not done.
    pub fn take_time<T>(&self, instead: T, work: impl FnOnce() -> T) -> T {
        let (mut came_to, mut work) = (instead, Some(work));
        let mut once = || {
            if let Some(work) = work.take() {
                came_to = work();
            }
        };
        match self.aside {
            Some(aside) => aside(&mut once),
            None => once(),
        }
        came_to
    }
}

impl Session {
    /// Takes a call all the way: hooks are asked, it is judged, and where it is a question whoever can be asked is.
    /// Waits for the answer.
    pub fn decide(&self, raw: &RawCall) -> Decided {
        self.decide_for(raw, Caller::default())
    }

    /// The same for a caller who can be asked, or may give up.
    pub fn decide_for(&self, raw: &RawCall, caller: Caller<'_>) -> Decided {
        self.decide_doubted(raw, None, caller)
    }

    /// The same where there is a `doubt`: what the door does not understand about the call, as a word that stands beside
    /// those of hooks.
    pub fn decide_doubted(&self, raw: &RawCall, doubt: Option<HookWord>, caller: Caller<'_>) -> Decided {
        let mut walk = Walk {
            id: self.shared().next_call(),
            raw: Some(Cow::Borrowed(raw)),
            interaction: self.answerable(),
            caller,
            ..Walk::of_embedder(self)
        };
        let word = [walk.before(), doubt].into_iter().flatten().max_by_key(|word| word.decision);
        let ruling = walk.submit(word);
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
        let walk = Walk::of_embedder(self);
        let ruling = self.submit_attempt(call, cwd, process);
        walk.end(ruling)
    }

    /// The same for what a process tried, which waits as long as its caller says so: a question about one that is gone
    /// is taken back.
    pub fn decide_attempt(&self, call: ToolCall, process: ProcessShown, caller: Caller<'_>) -> Decided {
        let walk = Walk { caller, ..Walk::of_embedder(self) };
        let ruling = self.submit_attempt(call, None, Some(process));
        walk.end(ruling)
    }

    /// What somebody answered to a question: a permit where they said yes and the call is still what they were shown, a
    /// refusal where they said no, and another question where it has become another call meanwhile.
    pub fn answer(&self, question: Question, answer: &Answer) -> Ruling {
        if (&answer.id, &answer.digest) != (&question.request.id, &question.request.digest) {
            // It is about something else.
            return Ruling::Question(Box::new(question));
        }
        let Some(offered) = Given::of(&question.offer, &answer.choice) else {
            let choice = Choice::No { message: Some(NOT_OFFERED.to_owned()), process: false };
            return self.answer(question, &Answer { choice, ..answer.clone() });
        };
        // What was answered before has granted what it grants.
        let given = if answer.by.via == Via::Earlier { Given::default() } else { offered };
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
        self.stand(&question, answer, given);
        self.with_consent(question)
    }

    /// What is granted beyond the call begins to hold: now for the session, and for good once it is written. That it
    /// could not be written is recorded, and takes nothing from the yes.
    fn stand(&self, question: &Question, answer: &Answer, given: Given) {
        let Given { grants, rules } = given;
        self.grant(grants, &answer.by, answer.choice.lasts(Timestamp::now()));
        let Choice::Always { file, .. } = &answer.choice else { return };
        let source = Source::plain((*file).into());
        let sourced =
            |rule: &Rule| SourcedRule { effect: Effect::Allow, rule: rule.clone(), source: source.clone() };
        // As a rule, and no grant: what settings want to be asked about is still asked about.
        self.also_allow(rules.iter().map(sourced));
        if let Err(failed) = self.write_rules(&rules, *file) {
            self.record_not_written(question, &rules, &failed);
            if let Some(asking) = &self.shared().asking {
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
}

/// What an answer grants beyond the call.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) grants: Vec<Grant>,
    pub(crate) rules: Vec<Rule>,
}

/// Why an answer is a no that says otherwise.
const NOT_OFFERED: &str = "what was answered was not offered, which is a no";

impl Given {
    /// What a choice grants; `None` when it was not offered.
    fn of(offer: &Offer, choice: &Choice) -> Option<Self> {
        let mut given = Self::default();
        match choice {
            Choice::No { .. } => {}
            Choice::Yes => given.grants.clone_from(&offer.kept),
            Choice::Session { width, .. } => given.grants.clone_from(&offer.session.get(*width)?.grants),
            Choice::Always { widths, .. } => {
                if offer.always.is_empty() || widths.len() > offer.always.len() {
                    return None;
                }
                for (i, part) in offer.always.iter().enumerate() {
                    let chosen = widths.get(i).copied().unwrap_or(part.usual);
                    let width = part.widths.get(chosen)?;
                    given.grants.extend(width.grants.iter().cloned());
                    given.rules.extend(width.rule.clone());
                }
            }
        }
        Some(given)
    }
}

impl<'a> Walk<'a> {
    /// One that nobody said in JSON.
    pub(super) fn of_embedder(session: &'a Session) -> Self {
        Walk {
            session,
            id: 0,
            raw: None,
            interaction: session.interaction(),
            context: Vec::new(),
            stop: None,
            rewritten: false,
            writer: None,
            hooks_asked: false,
            caller: Caller::default(),
            answered: None,
        }
    }
}

impl Walk<'_> {
    pub(super) fn submit(&self, word: Option<HookWord>) -> Ruling {
        match &self.raw {
            Some(raw) => self.session.submit_as(raw, self.id, word, self.interaction),
            None => Ruling::Refusal(Box::new(Refusal::nothing_said())),
        }
    }

    /// Asks until there is an answer, and ends.
    pub(super) fn end(mut self, mut ruling: Ruling) -> Decided {
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
        let told = self.told().filter(|_| outcome.is_ok());
        let Self { context, stop, answered, .. } = self;
        Decided { outcome, context, stop, retry, told, answered }
    }

    /// One question: `PermissionRequest`, then the judge, then whoever can be asked.
    fn settle(&mut self, question: Question) -> Ruling {
        if let Some(ruling) = self.by_hooks(&question) {
            return ruling;
        }
        if self.session.interaction() == Interaction::Headless {
            // Only hooks could have answered.
            self.interaction = Interaction::Headless;
            return self.session.again(Question { interaction: Interaction::Headless, ..question });
        }
        let Some(asking) = self.session.shared().asking.clone() else {
            return Ruling::Refusal(Box::new(question.into_refusal()));
        };
        self.by_person(&asking, question)
    }

    fn by_person(&mut self, asking: &Asking, question: Question) -> Ruling {
        let (session, caller) = (self.session, self.caller);
        let waits = || caller.is_waiting();
        let still_asked = || waits() && session.is_still_asked(&question);
        let ask = |approver: &dyn Approver| {
            let nobody = Heard::Nobody("nobody was asked".to_owned());
            caller.take_time(nobody, || approver.ask(&question.request, &still_asked))
        };
        let by_caller = caller.asks.and_then(|asks| asks.judged(&question.request));
        let by_judge = || caller.take_time(None, || asking.approver.judged(&question.request));
        if let Some(answer) = by_caller.or_else(by_judge) {
            return session.answer(question, &answer);
        }
        let heard = match caller.asks.map(ask) {
            None | Some(Heard::Nobody(_)) => ask(&*asking.approver),
            Some(heard) => heard,
        };
        if let Heard::Answer(answer) = &heard {
            self.answered = Some(answer.clone());
        }
        match heard {
            Heard::Answer(answer) if Timestamp::now() > question.request.deadline && answer.is_yes() => {
                let late = Answer::silence(&question.request.id, &question.request.digest);
                session.answer(question, &late)
            }
            Heard::Answer(answer) => session.answer(question, &answer),
            Heard::NotAsked if !waits() => {
                Ruling::Refusal(session.declined(&question, Refusal::gone(question.refusal())))
            }
            Heard::NotAsked => session.again(question),
            Heard::Nobody(why) => {
                let mut refusal = question.refusal().clone();
                refusal.hint = format!("{} ({why})", refusal.hint);
                Ruling::Refusal(session.declined(&question, refusal))
            }
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
            interaction: question.interaction,
            process: None,
        };
        self.judged(&by, said).verdict.decision == Decision::Ask
    }

    /// Judges a call that waited once more.
    fn again(&self, question: Question) -> Ruling {
        let Question { id, call, cwd, input, word, interaction, process, .. } = question;
        self.rule(Said { id, call, cwd, input: input.as_ref(), word, interaction, process })
    }
}

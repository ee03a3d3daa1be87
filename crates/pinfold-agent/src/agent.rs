//! One agent: asks its model, carries its calls down the road, and tells it what came of them, until it is done.

use std::sync::Arc;

use pinfold::agents::Definition;
use pinfold::consent::Caller;
use pinfold::policy::foreign::level_of;
use pinfold::policy::{Access, Level, ToolName, is_visible};
use pinfold::{CallRequest, Failure, RawCall, RefusalCode, Session};
use pinfold_tools::{CallEnding, Reply, call, call_provided, tools};
use serde_json::Value;

use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::call_summary::short;
use crate::event::{AgentResult, End, Event};
use crate::inbox::Inbox;
use crate::model::{AgentIdentity, Answered, CallOutcome, Message, OfferedTool, RequestedCall, Turn};
use crate::prompt::briefing;
use crate::team::Team;
use crate::team::child::Child;
use crate::team::slots::AgentSlot;
use crate::team::tools::TeamCall;
use crate::turn::{Conversation, RequestTemplate, TurnFailure};

/// The rest of a turn when a run stopped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pending {
    /// Results of its first calls.
    pub results: Vec<Answered>,
    /// The calls that were not made.
    pub calls: Vec<RequestedCall>,
}

/// Initial state of an agent.
pub(crate) struct AgentStart {
    pub(crate) who: AgentIdentity,
    pub(crate) session: Session,
    pub(crate) definition: Option<Definition>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) inbox: Arc<Inbox>,
    /// Names of its ancestors, the nearest last.
    pub(crate) above: Vec<String>,
    /// Inbox of its parent.
    pub(crate) parent: Option<Arc<Inbox>>,
    pub(crate) messages: Vec<Message>,
    pub(crate) pending: Pending,
    /// A person can answer its questions.
    pub(crate) attended: bool,
}

/// One agent at work.
pub(crate) struct Agent {
    pub(crate) who: AgentIdentity,
    pub(crate) session: Session,
    pub(crate) team: Arc<Team>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) parent: Option<Arc<Inbox>>,
    pub(crate) above: Vec<String>,
    pub(crate) children: Vec<Child>,
    /// Its place among those that work; none while it waits for others.
    pub(crate) place: Option<AgentSlot>,
    attended: bool,
    pub(crate) talk: Conversation,
    pending: Pending,
    breaker: Breaker,
    pub(crate) summary: String,
    /// Number of times that hooks had it go on.
    pub(crate) held_back: u32,
    deferred: Vec<String>,
    denied: u32,
}

/// The end of an agent, and the reason.
pub(crate) type StopReason = (End, String);

/// Most places outside the scope that are listed: of a model that tries a hundred places the rest is a number.
const MAX_DEFERRED: usize = 32;

impl Agent {
    /// Begins, works and ends. `resumed`: what it was told is known already.
    pub(crate) fn begin(
        team: &Arc<Team>,
        begin: AgentStart,
        place: Option<AgentSlot>,
        resumed: bool,
    ) -> AgentResult {
        let AgentStart {
            who,
            session,
            definition,
            budget,
            inbox,
            above,
            parent,
            messages,
            pending,
            attended,
        } = begin;
        let mode = session.policy().mode.as_str().to_owned();
        team.emit(&Event::Started { who: who.clone(), session: session.id().to_owned(), mode });
        let trusted = definition.as_ref().filter(|definition| definition.trusted);
        let model = team.parts.models.model(&who, trusted.and_then(|definition| definition.model.as_deref()));
        let model = match model {
            Ok(model) => model,
            Err(error) => return never_began(team, &who, &budget, error.to_string()),
        };
        let instructions = definition.as_ref().map_or("", |definition| definition.instructions.as_str());
        let brief = RequestTemplate {
            who: who.clone(),
            system: briefing(&session, &who, instructions),
            tools: shown_tools(team, &session, &who),
        };
        let mut agent = Self {
            talk: Conversation::new(model, brief, messages),
            team: Arc::clone(team),
            place,
            children: Vec::new(),
            breaker: Breaker::default(),
            summary: String::new(),
            held_back: 0,
            deferred: Vec::new(),
            denied: 0,
            who,
            session,
            budget,
            inbox,
            above,
            parent,
            pending,
            attended,
        };
        for message in agent.talk.messages.iter().filter(|_| !resumed) {
            if let Message::User { text } = message {
                agent.emit_user_message(text);
            }
        }
        let (how, why) = agent.work();
        agent.end(how, why)
    }

    fn end(mut self, how: End, why: String) -> AgentResult {
        // Those below end on their own: what they may use up is counted here too.
        let left = self.results_of_all();
        self.inbox.close();
        let _ = self.inbox.take();
        self.report_stopped(how);
        let mut summary = std::mem::take(&mut self.summary);
        for told in left {
            summary.push_str("\n\n");
            summary.push_str(&told);
        }
        let (deferred, denied) = (std::mem::take(&mut self.deferred), self.denied);
        let ending = AgentResult { how, why, summary, deferred, denied };
        let agent = self.who.id.clone();
        self.team.emit(&Event::Ended { agent, ending: ending.clone(), spent: self.budget.spent() });
        ending
    }

    fn work(&mut self) -> StopReason {
        let Pending { results, calls } = std::mem::take(&mut self.pending);
        if !(results.is_empty() && calls.is_empty())
            && let Err(stop) = self.carry_out(results, &calls)
        {
            return stop;
        }
        if self.had_ended() && !self.goes_on() {
            return (End::Done, String::new());
        }
        loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => return (End::Done, String::new()),
                Err(stop) => return stop,
            }
        }
    }

    /// Returns `true` if a run that goes on broke off behind the last words of its model.
    fn had_ended(&mut self) -> bool {
        match self.talk.messages.last() {
            Some(Message::Model(turn)) if turn.calls.is_empty() => {
                self.summary.clone_from(&turn.text);
                true
            }
            Some(Message::Model(_) | Message::User { .. } | Message::Results { .. }) | None => false,
        }
    }

    /// One turn. `false`: it was the last.
    fn turn(&mut self) -> Result<bool, StopReason> {
        self.may_go_on()?;
        for text in self.inbox.take() {
            self.add_user_message(text);
        }
        self.shorten()?;
        let turn = self.ask()?;
        let calls = turn.calls.clone();
        self.talk.messages.push(Message::Model(turn));
        if calls.is_empty() {
            return Ok(self.goes_on());
        }
        self.carry_out(Vec::new(), &calls)?;
        Ok(true)
    }

    fn ask(&mut self) -> Result<Turn, StopReason> {
        let Self { talk, team, budget, .. } = self;
        let left = budget.tokens_left();
        let turn = talk.turn(team, left, || team.may_go_on(budget).is_ok()).map_err(|no| match no {
            TurnFailure::Failed(error) => (End::Failed, error.to_string()),
            // What it may not do any more is what it was left for.
            TurnFailure::LeftOff => {
                self.may_go_on().err().unwrap_or((End::Stopped, "it was left".to_owned()))
            }
        })?;
        self.budget.turn(turn.usage);
        if !turn.text.trim().is_empty() {
            self.summary.clone_from(&turn.text);
        }
        self.team.emit(&Event::Turn { agent: self.who.id.clone(), turn: turn.clone() });
        Ok(turn)
    }

    fn may_go_on(&self) -> Result<(), StopReason> {
        self.team.may_go_on(&self.budget)
    }

    /// The model is done. Whether there is more for it to hear.
    fn goes_on(&mut self) -> bool {
        let results = self.results_of_all();
        if !results.is_empty() {
            self.add_user_message(results.join("\n\n"));
            return true;
        }
        !self.inbox.is_empty() || self.is_held_back() || !self.inbox.close()
    }

    pub(crate) fn add_user_message(&mut self, text: String) {
        self.emit_user_message(&text);
        self.talk.messages.push(Message::User { text });
    }

    fn emit_user_message(&self, text: &str) {
        self.team.emit(&Event::Told { agent: self.who.id.clone(), text: text.to_owned() });
    }

    /// Makes the calls of a turn, one after the other. What was not made when the agent has to end is not made.
    fn carry_out(&mut self, mut results: Vec<Answered>, calls: &[RequestedCall]) -> Result<(), StopReason> {
        let mut stop = Ok(());
        for wanted in calls {
            let result = self.call(wanted)?;
            stop = self.counted(&result).and_then(|()| self.may_go_on());
            results.push(result);
            if stop.is_err() {
                break;
            }
        }
        self.talk.messages.push(Message::Results { results });
        stop
    }

    fn call(&mut self, wanted: &RequestedCall) -> Result<Answered, StopReason> {
        let short = short(&wanted.tool, &wanted.input);
        let reply = self.carried(wanted);
        let left = self.team.parts.parking.as_ref().filter(|_| self.who.depth == 0);
        if let Some(why) = left.and_then(|parking| parking.take()) {
            let (agent, id) = (self.who.id.clone(), wanted.id.clone());
            self.team.emit(&Event::Parked { agent, id, short: short.clone(), why: why.clone() });
            return Err((End::NeedsHuman, format!("{short}: {why}")));
        }
        let result =
            Answered { id: wanted.id.clone(), short, how: call_outcome(&reply), text: reply_text(&reply) };
        self.budget.bytes(result.text.len());
        self.team.emit(&Event::Called { agent: self.who.id.clone(), result: result.clone() });
        match reply.stop {
            Some(why) => Err((End::Stopped, format!("a hook says: {why}"))),
            None => Ok(result),
        }
    }

    /// Down the road: to a tool of ours, or to those that have other agents work.
    fn carried(&mut self, wanted: &RequestedCall) -> Reply {
        self.team.parts.follow.iter().for_each(|follow| follow());
        let raw = RawCall::new(&wanted.tool, wanted.input.clone());
        let (session, team, budget) =
            (self.session.clone(), Arc::clone(&self.team), Arc::clone(&self.budget));
        let waits = || team.may_go_on(&budget).is_ok();
        // What runs when a limit is over is ended, and what is asked is taken back.
        let caller = Caller { waits: Some(&waits), ..Caller::default() };
        if wanted.tool == ToolName::WebFetch.as_str() {
            return self.fetched(&raw, caller);
        }
        if !TeamCall::is(&wanted.tool) {
            return call(&session, CallRequest::new(&raw).with_caller(caller));
        }
        call_provided(&session, CallRequest::new(&raw).with_caller(caller), |_| {
            let call = TeamCall::parse(&raw.tool, &raw.input)?;
            match call {
                TeamCall::Run(wanted) => self.start(wanted),
                TeamCall::Wait(wanted) => self.wait_for(&wanted.agents),
                TeamCall::Send(wanted) => self.send(&wanted),
            }
        })
    }

    /// A fetch is counted before it is made, so that many at one time are no more than one may make.
    fn fetched(&self, raw: &RawCall, caller: Caller<'_>) -> Reply {
        if let Some(why) = self.budget.fetch() {
            let hint = "work with what you have, and say in your summary what is missing";
            let spent = Failure::plain(RefusalCode::BudgetSpent, format!("nothing was fetched: {why}"), hint);
            return call_provided(&self.session, CallRequest::new(raw).with_caller(caller), |_| Err(spent));
        }
        let reply = call(&self.session, CallRequest::new(raw).with_caller(caller));
        if reply.ended == CallEnding::Refused {
            self.budget.not_fetched();
        }
        reply
    }

    /// Counts a denial, and keeps what the one above has to hear of it.
    fn counted(&mut self, result: &Answered) -> Result<(), StopReason> {
        if let CallOutcome::Denied { code, .. } = &result.how {
            self.denied += 1;
            if code == "OutOfScope" && self.deferred.len() < MAX_DEFERRED {
                let reason = result.text.lines().next().unwrap_or_default();
                self.deferred.push(format!("{}: {reason}", result.short));
            }
        }
        if self.attended {
            return Ok(());
        }
        match self.breaker.ended(&result.how, &self.team.denied) {
            Some(why) => Err((End::Stopped, why)),
            None => Ok(()),
        }
    }
}

/// Returns the text of a reply for the model.
fn reply_text(reply: &Reply) -> String {
    match reply.ended {
        // The whole envelope: its code is what the briefing speaks of.
        CallEnding::Refused => format!("{}\n{}", reply.text(), reply.structured),
        CallEnding::Done | CallEnding::Failed => reply.text(),
    }
}

fn call_outcome(reply: &Reply) -> CallOutcome {
    let text = |name: &str| reply.structured.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match reply.ended {
        CallEnding::Done => CallOutcome::Allowed,
        // What only has to be mended is no try at what may not be.
        CallEnding::Refused if MENDED.contains(&text("error").as_str()) => {
            CallOutcome::Failed { why: text("reason") }
        }
        CallEnding::Refused => CallOutcome::Denied { code: text("error"), why: text("reason") },
        CallEnding::Failed => CallOutcome::Failed { why: text("message") },
    }
}

/// Refusals that say how the same can work.
const MENDED: &[&str] = &["NotRead", "StaleRead", "InvalidInput", "NotFound", "Redacted"];

/// The tools that a model is shown: none of which no call could be allowed.
pub(crate) fn shown_tools(team: &Team, session: &Session, who: &AgentIdentity) -> Vec<Arc<OfferedTool>> {
    let (policy, scope, interaction) = (session.policy(), session.scope(), session.interaction());
    let visible = |tool: &str| is_visible(&policy, scope, interaction, tool);
    let (shell, agents) = (visible("Bash"), who.depth < team.parts.reach.depth && visible("Agent"));
    let is_shown = |tool: &&Arc<OfferedTool>| match tool.name.as_str() {
        // They speak to shells, so they are there where shells are.
        "BashOutput" | "KillBash" | "BashInput" => shell,
        name if TeamCall::is(name) => agents,
        name => visible(name),
    };
    team.offered().iter().filter(is_shown).cloned().collect()
}

/// Returns `true` if the agent of a session could change anything, by itself or by others that it starts.
pub fn may_write(session: &Session) -> bool {
    let (policy, scope, interaction) = (session.policy(), session.scope(), session.interaction());
    let visible = |tool: &str| is_visible(&policy, scope, interaction, tool);
    let changes = |tool: &str| level_of(tool) != Level::ReadOnly;
    if session.access() == Access::ReadOnly {
        return false;
    }
    visible("Agent") || tools().iter().any(|tool| changes(tool.name) && visible(tool.name))
}

/// An agent that has no model.
fn never_began(team: &Team, who: &AgentIdentity, budget: &Budget, why: String) -> AgentResult {
    let (summary, deferred) = (String::new(), Vec::new());
    let ending = AgentResult { how: End::Failed, why, summary, deferred, denied: 0 };
    let (agent, ending_told) = (who.id.clone(), ending.clone());
    team.emit(&Event::Ended { agent, ending: ending_told, spent: budget.spent() });
    ending
}

/// A failure of the tools for agents.
pub(crate) fn cannot(message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::plain(pinfold::RefusalCode::TooLarge, message, hint)
}

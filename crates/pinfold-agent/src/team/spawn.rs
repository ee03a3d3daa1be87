//! Starts subagents, waits for them, and sends them messages.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use pinfold::agents::ChildOptions;
use pinfold::audit::session_name;
use pinfold::policy::{HookEvent, Level};
use pinfold::{Failure, RefusalCode, Session};
use serde_json::{Value, json};

use super::child::{Child, Slot, SlotGuard};
use super::tools::{PARENT, RunAgent, SendMessage};
use super::{Team, shown_folder};
use crate::agent::{Agent, AgentStart, Pending, cannot, shown_tools};
use crate::budget::Budget;
use crate::event::{AgentResult, End, Event};
use crate::inbox::Inbox;
use crate::judge::asking_for_child;
use crate::model::{AgentIdentity, Message};

/// Result of a tool for agents: text for the model, data for programs.
type ToolOutcome = Result<(String, Value), Failure>;

impl Agent {
    /// Starts an agent in a folder inside this one's.
    pub(crate) fn start(&mut self, wanted: RunAgent) -> ToolOutcome {
        let RunAgent { name, folder, task } = wanted;
        plain(&name)?;
        let reach = self.team.parts.reach;
        if self.who.depth >= reach.depth {
            let message = format!("no agent may stand more than {} below the first", reach.depth);
            return Err(cannot(message, "do the work yourself"));
        }
        if let Some(why) = self.budget.agent() {
            return Err(cannot(why, "do the rest yourself, or leave it for your summary"));
        }
        let begin = self.narrowed(&name, &folder, task)?;
        let (id, shown) = (begin.who.id.clone(), begin.who.folder.clone());
        self.children.push(spawned(&self.team, begin)?);
        let text = format!("{id} works in {shown} now; wait_for_agents returns what it came to");
        Ok((text, json!({"agent": id, "folder": shown})))
    }

    fn narrowed(&self, name: &str, folder: &str, task: String) -> Result<AgentStart, Failure> {
        let definition = self.team.parts.definitions.get(name);
        let id = session_name("agent").map_err(|e| not_begun(&e.to_string()))?;
        let asking = asking_for_child(&self.session, definition, self.team.parts.judge.as_ref());
        let below = ChildOptions { id, name, folder: Path::new(folder), definition, asking };
        let narrowed = self.session.new_child(below).map_err(|e| {
            Failure::with_path(
                RefusalCode::OutOfScope,
                folder,
                e.to_string(),
                "name a folder inside your own scope",
            )
        })?;
        let shells = if narrowed.plan().scope.allow_bash {
            self.team.parts.shells.make(narrowed.plan()).map_err(|why| not_begun(&why))?
        } else {
            None
        };
        let session = narrowed.begin(shells).map_err(|e| not_begun(&e.to_string()))?;
        let who = AgentIdentity {
            id: self.team.name(name),
            name: name.to_owned(),
            folder: shown_folder(&session),
            parent: Some(self.who.id.clone()),
            depth: self.who.depth + 1,
        };
        let said = session.event(HookEvent::SubagentStart, &json!({"agent_type": name}));
        if let Some(why) = said.stop {
            return Err(cannot(format!("a hook does not let it begin: {why}"), "do the work yourself"));
        }
        let task = std::iter::once(task).chain(said.context).collect::<Vec<_>>().join("\n\n");
        Ok(AgentStart {
            who,
            session,
            budget: self.budget.new_child(definition.map(|definition| definition.limits).unwrap_or_default()),
            definition: definition.cloned(),
            inbox: Arc::new(Inbox::open()),
            above: self.above.iter().chain([&self.who.id]).cloned().collect(),
            parent: Some(Arc::clone(&self.inbox)),
            messages: vec![Message::User { text: task }],
            pending: Pending::default(),
            attended: false,
        })
    }

    /// Waits for agents that this one started: those that are named, or all.
    pub(crate) fn wait_for(&mut self, names: &[String]) -> ToolOutcome {
        let known: Vec<&str> = self.children.iter().map(|child| child.who.id.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let hint = format!("there are: {}", known.join(", "));
            return Err(Failure::plain(
                RefusalCode::NotFound,
                format!("you started no agent `{name}`"),
                hint,
            ));
        }
        let told = self.results(|child| match names {
            [] => !child.told,
            names => names.contains(&child.who.id),
        });
        let text = if told.is_empty() { "no agent is at work".to_owned() } else { told.join("\n\n") };
        Ok((text, json!({"ended": told.len()})))
    }

    /// Returns the results of all agents of which this one has not been told.
    pub(crate) fn results_of_all(&mut self) -> Vec<String> {
        self.results(|child| !child.told)
    }

    fn results(&mut self, of: impl Fn(&Child) -> bool) -> Vec<String> {
        let wanted: Vec<&mut Child> = self.children.iter_mut().filter(|child| of(child)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        // A waiting agent does not work: the slot is for those that it waits for.
        let gave = self.place.take().is_some();
        let mut told = Vec::with_capacity(wanted.len());
        for child in wanted {
            told.push(child.wait().report(&child.who));
            child.told = true;
        }
        if gave {
            // Without a place it is over with this agent too.
            self.place = self.team.places.take(|| self.team.may_go_on(&self.budget).is_ok());
        }
        told
    }

    /// Says something to an agent that works beside this one.
    pub(crate) fn send(&self, wanted: &SendMessage) -> ToolOutcome {
        let SendMessage { agent, message } = wanted;
        let child = self.children.iter().find(|child| child.who.id == *agent).map(|child| &child.inbox);
        let inbox = child.or_else(|| self.parent.as_ref().filter(|_| agent == PARENT)).ok_or_else(|| {
            let message = format!("you know no agent `{agent}`");
            Failure::plain(RefusalCode::NotFound, message, "name an agent that you started, or parent")
        })?;
        let text = format!("{} says: {message}", self.who.id);
        inbox.put(text).map_err(|why| {
            Failure::plain(
                RefusalCode::NotFound,
                format!("{agent} does not hear it: {why}"),
                "go on without it",
            )
        })?;
        Ok((format!("{agent} hears it before its next step"), json!({"agent": agent})))
    }
}

/// Lets an agent work on a thread of its own.
fn spawned(team: &Arc<Team>, begin: AgentStart) -> Result<Child, Failure> {
    let (who, inbox) = (begin.who.clone(), Arc::clone(&begin.inbox));
    let result = Arc::new(Slot::default());
    let (fills, team) = (SlotGuard(Arc::clone(&result)), Arc::clone(team));
    let thread = thread::Builder::new()
        .name(who.id.chars().take(15).collect())
        .spawn(move || fills.fill(worked(&team, begin)))
        .map_err(|e| not_begun(&e.to_string()))?;
    Ok(Child { who, inbox, result, thread: Some(thread), told: false })
}

/// Waits for the folder, where it is to be written, then for a place; then works.
fn worked(team: &Arc<Team>, begin: AgentStart) -> AgentResult {
    let lease = if writes(team, &begin.session, &begin.who) {
        let told = |held_by: &str| {
            let (agent, folder) = (begin.who.id.clone(), begin.who.folder.clone());
            team.emit(&Event::Waits { agent, folder, held_by: held_by.to_owned() });
        };
        let stopped = || team.may_go_on(&begin.budget).is_err();
        let root = &begin.session.scope().root;
        match team.leases.take(root, &begin.who.id, &begin.above, told, stopped) {
            Some(lease) => Some(lease),
            None => return not_waited(team, &begin.budget),
        }
    } else {
        None
    };
    let place = team.places.take(|| team.may_go_on(&begin.budget).is_ok());
    if place.is_none() {
        return not_waited(team, &begin.budget);
    }
    let ending = Agent::begin(team, begin, place, false);
    drop(lease);
    ending
}

/// Returns `true` if an agent could change anything.
fn writes(team: &Team, session: &Session, who: &AgentIdentity) -> bool {
    let shown = shown_tools(team, session, who);
    shown.iter().any(|tool| pinfold::policy::foreign::level_of(&tool.name) != Level::ReadOnly)
}

/// One whose folder, or place, was not free in time.
fn not_waited(team: &Team, budget: &Budget) -> AgentResult {
    let (how, why) = team.may_go_on(budget).err().unwrap_or((End::Stopped, String::new()));
    let why = format!("before it began: {why}");
    AgentResult { how, why, summary: String::new(), deferred: Vec::new(), denied: 0 }
}

/// Names are shown to people and models; a model made this one up.
fn plain(name: &str) -> Result<(), Failure> {
    const MAX_NAME_LEN: usize = 64;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() <= MAX_NAME_LEN
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(fits)
    {
        return Ok(());
    }
    let message = "that is no name for an agent";
    Err(Failure::input(message, "use letters, digits, `-`, `_` and `.`, at most 64 of them"))
}

fn not_begun(why: &str) -> Failure {
    Failure::plain(RefusalCode::Io, format!("the agent cannot begin: {why}"), "do the work yourself")
}

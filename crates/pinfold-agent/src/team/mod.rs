//! All agents of one run: what they share, and how one begins.

pub(crate) mod child;
pub(crate) mod lease;
pub(crate) mod slots;
mod spawn;
pub(crate) mod tools;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pinfold::agents::{AgentLimits, Definition, Definitions};
use pinfold::{Plan, Session, ShellHost};

use crate::agent::{Agent, AgentStart, Pending, StopReason};
use crate::budget::{Budget, UsageTotals};
use crate::event::{AgentResult, End, Event, Listener};
use crate::inbox::Inbox;
use crate::judge::Judge;
use crate::model::{AgentIdentity, Message, Models, OfferedTool};
use crate::parking::Parking;
use lease::Leases;
use slots::AgentSlots;

/// A factory for the shells of an agent, implemented by a crate that knows the kernel.
pub trait MakeShells: Send + Sync {
    /// The shells of a session of this plan, held to its folder. `None`: it has none.
    ///
    /// # Errors
    /// Why nothing can hold them; the agent does not begin then.
    fn make(&self, plan: &Plan) -> Result<Option<Arc<dyn ShellHost>>, String>;
}

/// A factory that makes no shells.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoShells;

impl MakeShells for NoShells {
    fn make(&self, _: &Plan) -> Result<Option<Arc<dyn ShellHost>>, String> {
        Ok(None)
    }
}

/// Limits of the spread of a run.
#[derive(Debug, Clone, Copy)]
pub struct SpawnLimits {
    /// Deepest nesting of agents below the first.
    pub depth: u32,
    /// Most agents that work at one time.
    pub parallel: usize,
}

impl Default for SpawnLimits {
    /// Three below one another, eight at one time: what a person can follow, and a machine carry.
    fn default() -> Self {
        Self { depth: 3, parallel: 8 }
    }
}

/// Resources that the agents of a run share.
pub struct Parts {
    /// Definitions of the kinds of agents.
    pub definitions: Definitions,
    /// Source of their models.
    pub models: Arc<dyn Models>,
    /// Factory of their shells.
    pub shells: Arc<dyn MakeShells>,
    /// Observers of the run.
    pub listeners: Vec<Arc<dyn Listener>>,
    /// Limits of its spread.
    pub reach: SpawnLimits,
    /// Judge of routine questions of agents in the mode `auto`.
    pub judge: Option<Arc<dyn Judge>>,
    /// Slot for a question of the first agent that has no approver; then the run ends.
    pub parking: Option<Arc<Parking>>,
    /// Called before each call: for rules that were written since. What changes for a session changes for those below it.
    pub follow: Option<PolicyRefresh>,
}

/// Has sessions judge by what holds now.
pub type PolicyRefresh = Arc<dyn Fn() + Send + Sync>;

/// The agent that a person starts.
pub struct RootAgent {
    /// Its session.
    pub session: Session,
    /// Definition of the agent, where there is one.
    pub definition: Option<Definition>,
    /// Limits of the run.
    pub limits: AgentLimits,
    /// The task.
    pub task: Task,
    /// A person can answer its questions.
    pub attended: bool,
}

/// The task of an agent.
#[derive(Debug, Clone)]
pub enum Task {
    /// Something new.
    New(String),
    /// The task of a run that stopped.
    Resumed(Box<ResumedRun>),
}

/// State of a run that stopped.
#[derive(Debug, Clone, Default)]
pub struct ResumedRun {
    /// The conversation, up to the last turn of the model.
    pub messages: Vec<Message>,
    /// The rest of that turn.
    pub pending: Pending,
    /// Notes on the agents that it had started, as they are told now.
    pub notes: Vec<String>,
    /// Usage of the run.
    pub spent: UsageTotals,
}

/// All agents of one run.
pub struct Team {
    pub(crate) parts: Parts,
    pub(crate) leases: Arc<Leases>,
    pub(crate) places: Arc<AgentSlots>,
    /// All tools that a model could be shown, made once for all agents.
    offered: OnceLock<Vec<Arc<OfferedTool>>>,
    /// Denials in the whole run.
    pub(crate) denied: AtomicU32,
    names: Mutex<BTreeMap<String, u64>>,
    stopped: Mutex<Option<String>>,
}

impl Team {
    /// A run that has not begun.
    pub fn new(parts: Parts) -> Arc<Self> {
        let places = AgentSlots::new(parts.reach.parallel);
        Arc::new(Self {
            parts,
            leases: Arc::default(),
            places,
            offered: OnceLock::new(),
            denied: AtomicU32::new(0),
            names: Mutex::default(),
            stopped: Mutex::default(),
        })
    }

    /// Lets an agent work until it has ended, with all that it starts.
    pub fn run(self: &Arc<Self>, first: RootAgent) -> AgentResult {
        let RootAgent { session, definition, limits, task, attended } = first;
        let name = session.principal().name().to_owned();
        let who = AgentIdentity {
            id: self.name(&name),
            name,
            folder: shown_folder(&session),
            parent: None,
            depth: 0,
        };
        let inbox = Arc::new(Inbox::open());
        let (messages, pending, spent) = match task {
            Task::New(text) => (vec![Message::User { text }], Pending::default(), UsageTotals::default()),
            Task::Resumed(known) => {
                for text in known.notes {
                    // The rest of very many is left out, before any of them is closed.
                    let _ = inbox.put(text);
                }
                (known.messages, known.pending, known.spent)
            }
        };
        let own = definition.as_ref().map(|definition| definition.limits).unwrap_or_default();
        let begin = AgentStart {
            who,
            session,
            definition,
            budget: Budget::new(limits.and(own), spent),
            inbox,
            above: Vec::new(),
            parent: None,
            messages,
            pending,
            attended,
        };
        let resumed = !begin.messages.iter().all(|message| matches!(message, Message::User { .. }));
        Agent::begin(self, begin, self.places.take(|| true), resumed)
    }

    /// Has every agent end before its next step.
    pub fn stop(&self, why: &str) {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.to_owned());
    }

    /// Why every agent is to end.
    pub(crate) fn stopped(&self) -> Option<String> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All tools that a model could be shown.
    pub(crate) fn offered(&self) -> &[Arc<OfferedTool>] {
        self.offered.get_or_init(|| {
            let ours = pinfold_tools::tools().into_iter().map(|tool| OfferedTool {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                schema: tool.input_schema,
            });
            let kinds: Vec<(&str, &str)> = self
                .parts
                .definitions
                .all()
                .map(|definition| (definition.name.as_str(), definition.description.as_str()))
                .collect();
            ours.chain(tools::offered(&kinds)).map(Arc::new).collect()
        })
    }

    /// Returns an error, the end of the agent, if an agent of this budget may not go on.
    pub(crate) fn may_go_on(&self, budget: &Budget) -> Result<(), StopReason> {
        if let Some(why) = self.stopped() {
            return Err((End::Stopped, why));
        }
        match budget.exceeded_limit() {
            Some(limit) => Err((End::OverBudget, limit)),
            None => Ok(()),
        }
    }

    /// A name that no other agent of this run has.
    pub(crate) fn name(&self, wanted: &str) -> String {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut id = wanted.to_owned();
        loop {
            let used = names.entry(id.clone()).or_default();
            *used += 1;
            if *used == 1 {
                return id;
            }
            id = format!("{wanted}-{used}");
        }
    }

    pub(crate) fn emit(&self, event: &Event) {
        self.parts.listeners.iter().for_each(|listener| listener.handle_event(event));
    }

    pub(crate) fn emit_text(&self, who: &AgentIdentity, words: &str) {
        self.parts.listeners.iter().for_each(|listener| listener.handle_text(who, words));
    }
}

/// The folder that a session writes in, relative to the workspace.
pub(crate) fn shown_folder(session: &Session) -> String {
    session
        .writable_roots()
        .roots()
        .next()
        .map_or_else(String::new, |root| session.writable_roots().display(&root))
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team").field("reach", &self.parts.reach).finish_non_exhaustive()
    }
}

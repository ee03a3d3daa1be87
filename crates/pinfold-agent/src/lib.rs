//! Agents that work inside the workspace boundary: a loop around a model, whose every call goes through the pipeline.
//!
//! A model, or a script in its place, requests tool calls; each call is carried by [`pinfold_tools::call`] through
//! the gate of the agent's session, and its result goes back. An agent can start subagents: each gets a session
//! of its own, made by narrowing ([`pinfold::agents::ChildOptions`]).
//!
//! ```
//! use std::sync::Arc;
//! use pinfold::{Ambient, Plan, Session, agents::AgentLimits, audit::Memory};
//! use pinfold_agent::{End, RootAgent, NoShells, Parts, SpawnLimits, Script, Task, Team};
//!
//! # let folder = tempfile::tempdir()?;
//! let script = Script::parse(concat!(
//!     r#"{"calls":[{"tool":"Write","input":{"file_path":"a.txt","content":"hi\n"}}]}"#, "\n",
//!     r#"{"say":"{{results}}"}"#,
//! ))?;
//! let team = Team::new(Parts {
//!     definitions: Default::default(),
//!     models: Arc::new(script),
//!     shells: Arc::new(NoShells),
//!     listeners: Vec::new(),
//!     reach: SpawnLimits::default(),
//!     judge: None,
//!     parking: None,
//!     follow: None,
//! });
//! let session = Session::open(&Ambient::claim(), Plan::for_folder(folder.path()), Arc::new(Memory::default()))?;
//! let task = Task::New("write a file".to_owned());
//! let limits = AgentLimits::default();
//! let ending = team.run(RootAgent { session, definition: None, limits, task, attended: false });
//! assert_eq!((ending.how, ending.summary.as_str()), (End::Done, "Write(a.txt) -> ALLOWED"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Vocabulary
//! [`Team`], [`Model`], [`Script`], [`Event`], [`AgentResult`], [`Budget`].
//!
//! # Invariants
//! 1. No call of a model is carried out but through a permit of the agent's own session.
//! 2. A subagent is never allowed anything that its parent is not.
//! 3. Of two agents that write and do not stand above one another, no two work in folders that overlap.
//! 4. A run ends: by its limits, by repeated denials of an unattended run, or because a model says so.
//! 5. A model's words are never instructions to the observers of the run.
//!
//! # What this does not stop
//! A file can mislead an agent to bad work inside its folder; everything that it reads can be sent to the provider of the
//! model.

mod agent;
mod breaker;
mod budget;
mod call_summary;
mod compact;
mod event;
mod hook_events;
mod inbox;
mod judge;
mod lease;
mod model;
mod parking;
mod prompt;
mod provider;
mod script;
mod store;
mod team;
mod tree;
mod turn;

pub use agent::{Pending, may_write};
pub use breaker::{IN_A_ROW, IN_ALL};
pub use budget::{Budget, UsageTotals};
pub use event::{AgentResult, End, Event, Listener};
pub use judge::{Judge, JudgeApprover, ModelJudge, asking_for_child};
pub use lease::{Holder, NotLeased, RunLease, RunLeases};
pub use model::{
    AgentIdentity, Answered, CallOutcome, Message, Model, ModelDelay, ModelError, ModelRequest, Models,
    OfferedTool, RequestedCall, Turn, Usage,
};
pub use parking::Parking;
pub use provider::{Price, Providers};
pub use script::Script;
pub use store::{Store, events, resumed};
pub use team::{MakeShells, NoShells, Parts, PolicyRefresh, ResumedRun, RootAgent, SpawnLimits, Task, Team};
pub use tree::{Node, tree};

//! Agents below the one that a person started: what their definitions say, where these stand, and how a session begins
//! another one below it.
//!
//! Promise: a session that begins below another may nothing that the one above may not.
//! Trap: a definition can come with a repository. One that is not trusted takes away and never gives.

mod child;
mod definition;
mod discovery;
mod files;
mod front_matter;
mod limits;
mod tool_lists;

pub use child::{ChildOptions, NarrowedSession};
pub use definition::Definition;
pub use discovery::{AgentFile, Definitions};
pub use limits::AgentLimits;

pub(crate) use child::{DefinitionRules, child_mode, judged_for_child};
pub(crate) use files::project_files;
pub(crate) use tool_lists::{FORMS, listed};

//! The tools of a coding agent, each behind a permit.
//!
//! One function carries a call down the whole road: [`call`] hands it to the gate, performs it through the places
//! that the gate holds, closes the record and answers. Failures are answers too.
//!
//! ```
//! use std::sync::Arc;
//! use pinfold::{Ambient, Plan, RawCall, Session, audit::Memory};
//! use pinfold_tools::{Ended, call};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! let session = Session::open(&Ambient::claim(), Plan::for_folder(folder.path()), Arc::new(Memory::default()))?;
//! let write = |path: &str| RawCall::new("Write", json!({"file_path": path, "content": "hello\n"}));
//!
//! assert_eq!(call(&session, &write("notes/today.md")).ended, Ended::Done);
//!
//! let refused = call(&session, &write("/etc/motd"));
//! assert_eq!(refused.ended, Ended::Refused);
//! assert_eq!(refused.structured["error"], "RequiresApproval");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Vocabulary
//! [`call`], [`Reply`], [`tools`], [`Shells`], [`within`], [`Attempts`].
//!
//! # Invariants
//! 1. No tool opens a path: every deed goes through a target of a permit, and every shell runs inside a boundary.
//! 2. Every answer is bounded in size, and every read in time, whatever lies on the disk.
//! 3. A file is changed in one step or not at all; a patch of several files says how far it came.
//!
//! # What this does not stop
//! What the words of a file make a model do.

mod attempts;
mod notebook;
mod registry;
mod reply;
mod shell;
mod text;
mod tools;
mod walk;
mod within;

use pinfold::policy::PathText;
use pinfold::{Decided, Outcome, Permit, RawCall, Session, ToolCall};

pub use attempts::{Attempts, LetThrough, Tried};
pub use registry::{Tool, tools};
pub use reply::{Content, Ended, Reply};
pub use shell::{Shells, ShellsError, Surroundings};
pub use within::within;

/// Carries one call down the whole road: hooks, the judge, whoever can be asked, the deed, the record. Where nobody can
/// be asked, a question is answered with the refusal that stands until somebody says yes.
pub fn call(session: &Session, raw: &RawCall) -> Reply {
    let Decided { outcome, mut context, mut stop, retry, told } = session.decide(raw);
    let mut reply = match outcome {
        Ok(permit) => perform(*permit),
        Err(refusal) => Reply::refused(&refusal),
    };
    if let Some(told) = told {
        let said = session.after(&told, reply.ended == Ended::Done, &reply.structured);
        context.extend(said.blocked);
        context.extend(said.context);
        stop = stop.or(said.stop);
    }
    context.extend(retry.then(|| TRY_AGAIN.to_owned()));
    reply.content.extend(context.into_iter().map(|text| Content::Text { text }));
    Reply { stop, ..reply }
}

/// What a hook can say to a refusal.
const TRY_AGAIN: &str = "[a hook says: try again, in another way]";

/// The same for a call that an embedder made itself.
pub fn call_understood(session: &Session, call: ToolCall, cwd: Option<&PathText>) -> Reply {
    match session.decide_call(call, cwd, None).outcome {
        Ok(permit) => perform(*permit),
        Err(refusal) => Reply::refused(&refusal),
    }
}

/// Spends a permit: the deed, then the record of how it ended.
pub fn perform(permit: Permit) -> Reply {
    let (call, mut targets, receipt) = permit.spend();
    let (outcome, mut reply) = match tools::perform(&call, &mut targets) {
        Ok(done) => (Outcome::Done, Reply::from(done)),
        Err(failure) => (Outcome::Failed(failure.clone()), Reply::failed(failure, call.name())),
    };
    if let Err(error) = receipt.close(&outcome) {
        let text = format!("[the outcome could not be recorded: {error}; tell the person]");
        reply.content.push(Content::Text { text });
    }
    reply
}

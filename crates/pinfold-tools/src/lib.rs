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
//! [`call`], [`Attended`], [`Reply`], [`tools`], [`Shells`], [`Web`], [`Scrubbing`], [`within`], [`SandboxEscalations`],
//! [`Attestation`].
//!
//! # Invariants
//! 1. No tool opens a path: every deed goes through a target of a permit, and every shell runs inside a boundary.
//! 2. Every answer is bounded in size, and every read in time, whatever lies on the disk.
//! 3. A file is changed in one step or not at all; a patch of several files says how far it came.
//! 4. What a tool answers has `[REDACTED:kind]` in place of each secret that can be told from other words, and these words
//!    are never written over the secret.
//!
//! # What this does not stop
//! What the words of a file or page make a model do.

mod attended;
mod attestation;
mod denial;
mod escalations;
mod notebook;
mod registry;
mod reply;
mod secrets;
mod shell;
mod temporary;
mod text;
mod tools;
mod walk;
mod web;
mod within;

use pinfold::consent::Caller;
use pinfold::policy::PathText;
use pinfold::{Decided, Failure, Outcome, Permit, RawCall, Receipt, Refusal, Session, ToolCall};
use reply::Done;
use serde_json::Value;

pub use attended::Attended;
pub use attestation::Attestation;
pub use denial::{denial, quoted};
pub use escalations::SandboxEscalations;
pub use registry::{Tool, tools};
pub use reply::{Content, Ended, Reply};
pub use secrets::Scrubbing;
pub use shell::{ShellOptions, Shells, ShellsError};
pub use temporary::{Purpose, TemporaryDirectory};
pub use web::Web;
pub use within::within;

/// Carries one call down the whole road: hooks, the judge, whoever can be asked, the deed, the record. Where nobody can
/// be asked, a question is answered with the refusal that stands until somebody says yes. No answer has secrets in it.
pub fn call(session: &Session, raw: &RawCall) -> Reply {
    call_with(session, raw, Scrubbing::On)
}

/// The same, for a session whose owner says whether secrets are taken out. Shells have the same switch in their
/// [`ShellOptions`].
pub fn call_with(session: &Session, raw: &RawCall, scrubbing: Scrubbing) -> Reply {
    call_for(session, raw, scrubbing, Caller::default())
}

/// The same for a caller who can be asked, or may give up: what nobody waits for is not asked about, and a command that
/// runs ends.
pub fn call_for(session: &Session, raw: &RawCall, scrubbing: Scrubbing, caller: Caller<'_>) -> Reply {
    carried(session, raw, scrubbing, caller, |permit| spend(permit, scrubbing, caller))
}

/// The same for a tool of somebody else, such as one by which an agent has others work: `deed` does it, once it is let
/// through. It answers with text for the model and data for programs.
pub fn call_theirs(
    session: &Session,
    raw: &RawCall,
    caller: Caller<'_>,
    deed: impl FnOnce(&ToolCall) -> Result<(String, Value), Failure>,
) -> Reply {
    carried(session, raw, Scrubbing::On, caller, |permit| {
        let (call, _, receipt) = permit.spend();
        let done = deed(&call);
        let (outcome, reply) = match done {
            Ok((text, structured)) => (Outcome::Done, Done::text(text, structured).into()),
            Err(failure) => (Outcome::Failed(failure.clone()), Reply::failed(failure, call.name())),
        };
        closed(receipt, &outcome, Scrubbing::On.reply(reply))
    })
}

/// Hooks, the judge and whoever can be asked; then the deed, and hooks that are told how it ended.
fn carried(
    session: &Session,
    raw: &RawCall,
    scrubbing: Scrubbing,
    caller: Caller<'_>,
    perform: impl FnOnce(Permit) -> Reply,
) -> Reply {
    let Decided { outcome, mut context, mut stop, retry, told, .. } = session.decide_for(raw, caller);
    let reply = match outcome {
        Ok(permit) => perform(*permit),
        Err(refusal) => scrubbing.reply(Reply::refused(&refusal)),
    };
    if let Some(told) = told {
        let said = session.after(&told, reply.ended == Ended::Done, &reply.structured);
        context.extend(said.blocked);
        context.extend(said.context);
        stop = stop.or(said.stop);
    }
    with_words(reply, (context, stop, retry), scrubbing)
}

/// The answer to a call that was refused, with what hooks say to it: for a door whose deeds are not ours.
pub fn refused(refusal: &Refusal, context: Vec<String>, stop: Option<String>, retry: bool) -> Reply {
    let reply = Scrubbing::On.reply(Reply::refused(refusal));
    with_words(reply, (context, stop, retry), Scrubbing::On)
}

/// Adds the words of hooks: for the model, why it should stop, whether it may try again.
fn with_words(
    mut reply: Reply,
    (mut context, stop, retry): (Vec<String>, Option<String>, bool),
    scrubbing: Scrubbing,
) -> Reply {
    context.extend(retry.then(|| TRY_AGAIN.to_owned()));
    let context = context.into_iter().map(|text| Content::Text { text: scrubbing.text(text).0 });
    reply.content.extend(context);
    Reply { stop: stop.map(|why| scrubbing.text(why).0), ..reply }
}

/// What a hook can say to a refusal.
const TRY_AGAIN: &str = "[a hook says: try again, in another way]";

/// The same for a call that an embedder made itself.
pub fn call_understood(session: &Session, call: ToolCall, cwd: Option<&PathText>) -> Reply {
    match session.decide_call(call, cwd, None).outcome {
        Ok(permit) => perform(*permit),
        Err(refusal) => Scrubbing::On.reply(Reply::refused(&refusal)),
    }
}

/// Spends a permit: the deed, then the record of how it ended. The answer has no secrets in it.
pub fn perform(permit: Permit) -> Reply {
    perform_with(permit, Scrubbing::On)
}

/// The same, for a session whose owner says whether secrets are taken out.
pub fn perform_with(permit: Permit, scrubbing: Scrubbing) -> Reply {
    spend(permit, scrubbing, Caller::default())
}

fn spend(permit: Permit, scrubbing: Scrubbing, caller: Caller<'_>) -> Reply {
    let (call, mut targets, mut receipt) = permit.spend();
    let (outcome, reply) = match tools::perform(&call, &mut targets, scrubbing, caller) {
        Ok(mut done) => {
            receipt.refused(done.denials(&receipt.name()));
            (Outcome::Done, scrubbing.done(done))
        }
        Err(failure) => {
            let reply = Reply::failed(failure.clone(), call.name());
            (Outcome::Failed(failure), scrubbing.reply(reply))
        }
    };
    closed(receipt, &outcome, reply)
}

/// Records how a deed ended.
fn closed(receipt: Receipt, outcome: &Outcome, mut reply: Reply) -> Reply {
    if let Err(error) = receipt.close(outcome) {
        let text = format!("[the outcome could not be recorded: {error}; tell the person]");
        reply.content.push(Content::Text { text });
    }
    reply
}

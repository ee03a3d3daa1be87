//! The tools of a coding agent, each behind a permit.
//!
//! One function takes a call through the whole pipeline: [`call`] hands it to the gate, performs it through the places
//! that the gate holds, closes the record and replies. Failures are replies too.
//!
//! ```
//! use std::sync::Arc;
//! use pinfold::{Ambient, Plan, RawCall, Session, audit::Memory};
//! use pinfold_tools::{CallEnding, call};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! let session = Session::open(&Ambient::claim(), Plan::for_folder(folder.path()), Arc::new(Memory::default()))?;
//! let write = |path: &str| RawCall::new("Write", json!({"file_path": path, "content": "hello\n"}));
//!
//! assert_eq!(call(&session, &write("notes/today.md")).ended, CallEnding::Done);
//!
//! let refused = call(&session, &write("/etc/motd"));
//! assert_eq!(refused.ended, CallEnding::Refused);
//! assert_eq!(refused.structured["error"], "RequiresApproval");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! | feature (all by default) | brings |
//! | --- | --- |
//! | `shell` | the tools of the Bash family, each command in a sandbox: `Shells`, `SandboxEscalations`, `restrict_to_boundary` |
//! | `web` | `WebFetch`: `Web` |
//! | `idna`, `yaml` | those of [`pinfold`] |
//!
//! Without them the file tools are left. [`tools`] lists what a build has; a call of another tool is refused.
//!
//! # Vocabulary
//! [`call`], [`ToolRequest`], [`HookedSession`], [`Reply`], [`tools`], [`Shells`], [`Web`], [`Scrubbing`], [`restrict_to_boundary`],
//! [`SandboxEscalations`],
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

#[cfg(feature = "shell")]
mod attestation;
#[cfg(feature = "shell")]
mod boundary_plan;
#[cfg(feature = "shell")]
mod denial;
#[cfg(feature = "shell")]
mod escalations;
mod hooked_session;
mod notebook;
mod registry;
mod reply;
mod secrets;
#[cfg(feature = "shell")]
mod shell;
#[cfg(feature = "shell")]
mod temporary;
mod text;
mod tools;
mod walk;
#[cfg(feature = "web")]
mod web;

use pinfold::consent::Caller;
use pinfold::{CallRequest, Failure, GateResult, Outcome, Permit, Receipt, Refusal, Session, ToolCall};
use reply::{SandboxEvents, ToolResult};
use serde_json::Value;

pub use hooked_session::HookedSession;
pub use registry::{Tool, tools};
pub use reply::{CallEnding, Content, Reply};
pub use secrets::Scrubbing;
#[cfg(feature = "web")]
pub use web::Web;
#[cfg(feature = "shell")]
pub use {
    attestation::Attestation,
    boundary_plan::{FileBoundaries, restrict_to_boundary},
    denial::{denial, quoted, recorded_hosts},
    escalations::SandboxEscalations,
    shell::{ShellOptions, Shells, ShellsError},
    temporary::{Purpose, TemporaryDirectory},
};

/// A call for the tools: a request to the gate, and how its reply is prepared.
///
/// A [`RawCall`](pinfold::RawCall), a [`ToolCall`] or a [`CallRequest`] is one as it is, with secrets taken out of the reply.
#[derive(Debug)]
#[must_use]
pub struct ToolRequest<'a> {
    request: CallRequest<'a>,
    scrubbing: Scrubbing,
}

impl<'a> ToolRequest<'a> {
    /// Creates a request whose reply has its secrets removed.
    pub fn new(request: impl Into<CallRequest<'a>>) -> Self {
        Self { request: request.into(), scrubbing: Scrubbing::On }
    }

    /// Sets whether secrets are taken out of the reply. Shells have the same switch in their [`ShellOptions`].
    pub fn with_scrubbing(self, scrubbing: Scrubbing) -> Self {
        Self { scrubbing, ..self }
    }
}

impl<'a, T: Into<CallRequest<'a>>> From<T> for ToolRequest<'a> {
    fn from(request: T) -> Self {
        Self::new(request)
    }
}

/// Takes one call through the whole pipeline: hooks, the judge, the approver, the operation, the record. Where no person can
/// be asked, the reply to a question is the refusal that stands until a person allows the call. A call that its client
/// has given up is not asked about, and a command that runs for it ends.
pub fn call<'a>(session: &Session, request: impl Into<ToolRequest<'a>>) -> Reply {
    let ToolRequest { request, scrubbing } = request.into();
    let caller = request.caller();
    carry_out(session, request, scrubbing, |permit| spend(permit, scrubbing, caller))
}

/// Takes a call of a tool that the embedder provides, such as one that starts another agent, through the pipeline.
/// `operation` runs once it is permitted, and returns text for the model and data for programs.
pub fn call_provided<'a>(
    session: &Session,
    request: impl Into<ToolRequest<'a>>,
    operation: impl FnOnce(&ToolCall) -> Result<(String, Value), Failure>,
) -> Reply {
    let ToolRequest { request, scrubbing } = request.into();
    carry_out(session, request, scrubbing, |permit| {
        let (call, _, receipt) = permit.spend();
        let done = operation(&call);
        let (outcome, reply) = match done {
            Ok((text, structured)) => (Outcome::Done, ToolResult::text(text, structured).into()),
            Err(failure) => (Outcome::Failed(failure.clone()), Reply::failed(failure, call.name())),
        };
        close(receipt, &outcome, scrubbing.reply(reply))
    })
}

/// Spends a permit: the operation, then the record of how it ended.
pub fn perform(permit: Permit, scrubbing: Scrubbing) -> Reply {
    spend(permit, scrubbing, Caller::default())
}

/// Hooks, the judge and the approver; then the operation, and the report of its outcome to hooks.
fn carry_out(
    session: &Session,
    request: CallRequest<'_>,
    scrubbing: Scrubbing,
    operation: impl FnOnce(Permit) -> Reply,
) -> Reply {
    let GateResult { outcome, mut context, mut stop, retry, permitted, .. } = session.decide(request);
    let reply = match outcome {
        Ok(permit) => operation(*permit),
        Err(refusal) => scrubbing.reply(Reply::refused(&refusal)),
    };
    if let Some(permitted) = permitted {
        let feedback = session.post_tool_use(&permitted, reply.ended == CallEnding::Done, &reply.structured);
        context.extend(feedback.blocked);
        context.extend(feedback.context);
        stop = stop.or(feedback.stop);
    }
    HookNotes { context, stop, retry }.add_to(reply, scrubbing)
}

/// Words of hooks that go with a reply.
#[derive(Debug, Default)]
pub struct HookNotes {
    /// Text for the model.
    pub context: Vec<String>,
    /// The reason for which the agent should stop.
    pub stop: Option<String>,
    /// The agent should try another way at once.
    pub retry: bool,
}

impl HookNotes {
    /// Builds the reply to a refused call, for a way in whose operations are not those of this crate.
    pub fn reply_to_refusal(self, refusal: &Refusal) -> Reply {
        let reply = Scrubbing::On.reply(Reply::refused(refusal));
        self.add_to(reply, Scrubbing::On)
    }

    fn add_to(self, mut reply: Reply, scrubbing: Scrubbing) -> Reply {
        let Self { mut context, stop, retry } = self;
        context.extend(retry.then(|| TRY_AGAIN.to_owned()));
        let context = context.into_iter().map(|text| Content::Text { text: scrubbing.text(text).0 });
        reply.content.extend(context);
        Reply { stop: stop.map(|why| scrubbing.text(why).0), ..reply }
    }
}

/// The words of a hook that wants another attempt.
const TRY_AGAIN: &str = "[a hook says: try again, in another way]";

fn spend(permit: Permit, scrubbing: Scrubbing, caller: Caller<'_>) -> Reply {
    let (call, mut targets, mut receipt) = permit.spend();
    let (outcome, reply) = match tools::perform(&call, &mut targets, scrubbing, caller) {
        Ok(mut done) => {
            let SandboxEvents { denials, hosts, omitted_hosts } = done.take_events(&receipt.name());
            receipt.refused(denials);
            receipt.add_hosts(hosts, omitted_hosts);
            (Outcome::Done, scrubbing.done(done))
        }
        Err(failure) => {
            let reply = Reply::failed(failure.clone(), call.name());
            (Outcome::Failed(failure), scrubbing.reply(reply))
        }
    };
    close(receipt, &outcome, reply)
}

/// Records how an operation ended.
fn close(receipt: Receipt, outcome: &Outcome, mut reply: Reply) -> Reply {
    if let Err(error) = receipt.close(outcome) {
        let text = format!("[the outcome could not be recorded: {error}; tell the user]");
        reply.content.push(Content::Text { text });
    }
    reply
}

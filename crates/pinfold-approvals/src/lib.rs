//! Approval channels: terminal, other terminals, web page and webhook.
//!
//! A [`Broker`] is the approver of a session. It queues approval requests, shows them to every [`Responder`], and takes
//! the first answer. Answers may come through several channels at once; each is for one request, by its digest.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use pinfold::consent::{AnsweredBy, ApprovalChannel, ApprovalOptions, Choice};
//! use pinfold::{Ambient, Plan, RawCall, Session, audit::Memory};
//! use pinfold_approvals::{Broker, ClosureResponder};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! # let outside = tempfile::tempdir()?;
//! let broker = Arc::new(Broker::default());
//! let asking = ApprovalOptions { approver: broker.clone(), timeout: Duration::from_secs(5), locations: None };
//! let plan = Plan::for_folder(folder.path()).with_asking(asking);
//! let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default()))?;
//! let call = RawCall::new("Write", json!({"file_path": outside.path().join("a"), "content": "hello\n"}));
//!
//! // Without a responder the call is refused at once.
//! assert!(session.decide(&call).outcome.is_err());
//!
//! let by = AnsweredBy { via: ApprovalChannel::Embedder, who: None };
//! broker.add(ClosureResponder::new(by, |showing| Some(Choice::Yes)))?;
//! assert!(session.decide(&call).outcome.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Vocabulary
//! [`Broker`], [`Responder`], [`PendingRequest`], [`ResolvedRequest`], [`QueueWatch`].
//!
//! # Invariants
//! 1. A request is resolved once: by the first answer, by its deadline, or because approval is not needed any more.
//!    Every channel learns the resolution.
//! 2. An answer counts for the request whose identifier and digest it names, and grants nothing that was not offered.
//! 3. No channel can block a request: a responder that panics or hangs is disconnected or ignored, and the deadline
//!    passes regardless.
//! 4. A responder is shown one request at a time, in the order in which they were made.
//!
//! # What this does not stop
//! A process that can act as the user can answer for the user.

#![forbid(unsafe_code)]

mod broker;
mod channels;
mod queue;
mod resolution;
mod responder;
pub mod socket;
mod watch;
mod webhook;

pub use broker::{Broker, OpenChannel};
pub use channels::{ApprovalChannels, ChannelError, ChannelOptions, asking};
pub use resolution::{AnswerError, ApproverNote, RequestResolution, ResolvedRequest};
pub use responder::{ClosureResponder, PendingRequest, Responder, ResponderHandle};
pub use socket::AccessSecret;
pub use watch::{QueueChanges, QueueWatch};
pub use webhook::WebhookError;

//! Who answers a question, and how they are reached.
//!
//! A [`Broker`] is what a session asks. It keeps what waits, shows it to every [`Responder`] that is there, and takes
//! the first answer. Answers may come from many ways at once; each is for one request, by its digest.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use pinfold::consent::{Asking, By, Choice, Via};
//! use pinfold::{Ambient, Plan, RawCall, Session, audit::Memory};
//! use pinfold_approvals::{Broker, Closure};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! # let outside = tempfile::tempdir()?;
//! let broker = Arc::new(Broker::default());
//! let asking = Asking { approver: broker.clone(), patience: Duration::from_secs(5), locations: None };
//! let plan = Plan { asking: Some(asking), ..Plan::for_folder(folder.path()) };
//! let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default()))?;
//! let call = RawCall::new("Write", json!({"file_path": outside.path().join("a"), "content": "hello\n"}));
//!
//! // Nobody is there: the call is refused at once.
//! assert!(session.decide(&call).outcome.is_err());
//!
//! let by = By { via: Via::Embedder, who: None };
//! broker.add(Closure::new(by, |showing| Some(Choice::Yes)))?;
//! assert!(session.decide(&call).outcome.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Vocabulary
//! [`Broker`], [`Responder`], [`Showing`], [`Over`], [`Watch`].
//!
//! # Invariants
//! 1. A request has one end: the first answer, silence, or that it need not be asked any more. Everybody hears which.
//! 2. An answer counts for the request whose name and digest it has, and grants nothing that was not offered.
//! 3. Nobody hangs: a responder that panics or goes is no responder, and time runs out whatever they do.
//! 4. One responder sees one request at a time, in the order in which they were asked.
//!
//! # What this does not stop
//! Who can act as the person can answer for the person.

#![forbid(unsafe_code)]

mod broker;
mod desk;
mod over;
mod queue;
mod responder;
pub mod socket;
mod watch;
mod webhook;

pub use broker::{Broker, Standing};
pub use desk::{Desk, DeskError, Wanted, asking};
pub use over::{How, NotTaken, Note, Over};
pub use responder::{Closure, Member, Responder, Showing};
pub use socket::Secret;
pub use watch::{News, Watch};
pub use webhook::WebhookError;

//! The gate: calls in, permits out.
//!
//! A call is understood, what it claims to touch is looked at and held, a verdict is reached and recorded, and
//! out comes a permit, a question or a refusal. The operation is done through the permit, by the tools.
//!
//! ```
//! use std::sync::Arc;
//! use pinfold::{Ambient, Plan, RawCall, Ruling, Session, audit::Memory};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! let session = Session::open(&Ambient::claim(), Plan::for_folder(folder.path()), Arc::new(Memory::default()))?;
//!
//! let inside = RawCall::new("Write", json!({"file_path": "notes.md", "content": "hello\n"}));
//! let Ruling::Permit(permit) = session.submit(&inside) else { panic!("it is inside") };
//! let (_call, mut targets, receipt) = permit.spend();
//! targets.next_write()?.create_new(b"hello\n")?;
//! receipt.close(&pinfold::Outcome::Done)?;
//!
//! let outside = RawCall::new("Write", json!({"file_path": "/etc/motd", "content": "hello\n"}));
//! let Ruling::Question(question) = session.submit(&outside) else { panic!("it is outside") };
//! assert!(question.refusal().message.contains("/etc/motd is outside the folder"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! | feature (all by default) | brings |
//! | --- | --- |
//! | `idna` | names of hosts with letters beyond ASCII; without it such a name is refused in rules and calls |
//! | `yaml` | [definitions of agents](agents) and scope [profiles](Profile); without it no such file is read |
//!
//! # Vocabulary
//! [`Session`], [`RawCall`], [`Ruling`], [`Permit`], [`Question`], [`Refusal`], [`Journal`](audit::Journal).
//!
//! # Invariants
//! 1. No deed without a permit, no permit without a verdict, no verdict without a record.
//! 2. What was judged is what is touched: a permit holds the places that were looked at.
//! 3. A permit is spent once; one that is not spent is recorded as abandoned.
//! 4. A headless session never gets a question.
//! 5. An error in the pipeline is a refusal.
//!
//! # What this does not stop
//! What a process does after it was started: that line is the kernel's. What is read can be told on: that line is
//! the network's.

pub mod agents;
pub mod audit;
mod call_request;
pub mod check;
pub mod consent;
mod denial;
mod explain;
mod foreign_cwd;
mod git_parts;
mod guard_search;
mod guarded;
mod judgement;
mod known_hosts;
pub mod learn;
mod matches;
mod outcome;
mod parsed_call;
mod path_scopes;
pub mod paths;
mod permit;
mod pipeline;
mod plan;
pub mod policy;
mod possible_paths;
mod profile;
mod question;
mod recorded_folders;
mod recording;
mod refusal;
mod refusal_writer;
pub mod replay;
mod ruling;
mod scope_resolution;
mod session;
pub mod settings;
mod shell;
mod submission;
mod survey;
mod target;
mod web;
mod yaml;

pub use call_request::CallRequest;
pub use denial::{Denial, DeniedBy, Retry};
pub use guard_search::{GuardSearch, GuardSearchArea};
pub use judgement::CheckResult;
pub use outcome::{Failure, Outcome};
pub use permit::{Permit, Receipt};
pub use pinfold_paths::Ambient;
pub use pinfold_policy::{RawCall, ToolCall};
pub use pipeline::GateResult;
pub use plan::{ExecutedBy, Plan};
pub use profile::{Profile, ProfileError};
pub use question::Question;
pub use refusal::{Refusal, RefusalCode};
pub use ruling::Ruling;
pub use scope_resolution::draw;
pub use session::{Session, SessionError, WeakSession};
pub use shell::{AssumedShells, PRIVATE_TEMP_DIRS, ShellHost};
pub use target::{ExcludedEntries, ReadTarget, Targets, WriteTarget};
pub use web::WebHost;

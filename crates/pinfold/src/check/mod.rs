//! `pinfold check` as a library: one line of JSON in, one answer out; nothing is done and nothing recorded.
//!
//! A line says a call and, as far as it likes, who makes it, where, and under which rules. Without settings behind it
//! the line is all there is. The folders of a line need not exist here: what stands of them is looked at as for a
//! deed, the rest is names ([`pinfold_paths::WritableRoots::imagined`]).
//!
//! ```
//! use pinfold::{Ambient, check::CheckService};
//!
//! let mut service = CheckService::new(Ambient::claim(), "/home/u/proj".into());
//! let line = r#"{"id":"1","tool":"Bash","input":{"command":"git push"},"rules":{"deny":["Bash(git push)"]}}"#;
//! let answer = service.answer(line.as_bytes())?;
//! assert_eq!(answer.decision.as_str(), "deny");
//! assert_eq!(answer.rule.as_deref(), Some("Bash(git push)"));
//! # Ok::<(), pinfold::check::BadLine>(())
//! ```
//!
//! Trap: an answer is no permit. Where the deed follows, [`Session::submit`](crate::Session::submit) judges, and holds
//! what it judged.

mod agent;
mod answer;
mod bad_line;
mod fields;
mod line;
mod opened;
mod service;
mod setup;

pub use answer::{CheckAnswer, PartTold, PartTrace};
pub use bad_line::BadLine;
pub use line::MAX_LINE_LEN;
pub use opened::MakeHooks;
pub use service::{Backing, CheckService, HookedCheck};

pub use crate::explain::ClaimsSummary;

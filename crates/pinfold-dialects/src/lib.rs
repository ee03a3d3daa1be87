//! Hook protocols of other agents: their input, and the answers that they honour.
//!
//! Bytes of an agent in, an [`Event`] out; an [`Answer`] in, bytes and an exit code out. Agents differ in what they call
//! their tools, in what they send, and most of all in which answers they honour: the same words that deny with one let
//! the call run with another. Each has a file of its own here, and each form was tried against the agent itself, but for
//! Cursor's, which follow its documentation.
//!
//! ```
//! use pinfold_dialects::{Answer, Moment, dialect};
//!
//! let claude = dialect("claude").ok_or("it is known")?;
//! let event = claude.parse_event(br#"{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash",
//!     "tool_input":{"command":"ls","description":"look"},"tool_use_id":"t"}"#)?;
//! let Moment::Before(call) = &event.moment else { return Err("it asks before".into()) };
//! assert_eq!((call.raw.tool.as_str(), call.raw.input.to_string()), ("Bash", r#"{"command":"ls"}"#.to_owned()));
//!
//! let said = claude.format_answer(&event.moment, &Answer::deny("no"));
//! assert!(said.stdout.contains(r#""permissionDecision":"deny""#));
//! assert!(claude.parse_event(b"{}").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Their rules and sandbox settings are told as changes to ours in [`import`](mod@import), ours as changes to theirs in
//! [`export`](mod@export).
//!
//! # Vocabulary
//! [`Dialect`], [`Event`], [`Moment`], [`AgentCall`], [`Answer`], [`HookOutput`].
//!
//! # Invariants
//! 1. Pure: no file, no clock, no environment, no process, and no decision.
//! 2. What an agent sends that is not understood is an error, or a doubt that the judge is told of; it is never left out
//!    silently when it could name a place or a command.
//! 3. A no is said in a form that the agent was seen to honour (Cursor: is documented to). Where it does not honour a question, a question is said
//!    as a no.

mod agents;
mod answer;
mod event;
pub mod export;
pub mod import;
mod json;
pub mod jsonc;
mod project_servers;
mod shims;
mod table;

pub use agents::{DIALECTS, Dialect, Folder, dialect};
pub use answer::{Answer, HookOutput};
pub use event::{AgentCall, CallEnd, Event, Moment, UnreadableHookInput};
pub use project_servers::{ProjectServer, ServerFile, all_server_files, server_files};
pub use shims::shim;

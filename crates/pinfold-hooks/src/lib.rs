//! Programs of the person's choosing, asked before and after.
//!
//! Settings name programs and addresses; at each stage of a call those that are meant are asked, side by
//! side, with the JSON that the most used agent's hooks are asked with, and answer as those do. What they say becomes a
//! word for the judge, or an answer to a question; what that can do, and what not, is the gate's to say.
//!
//! ```
//! use std::sync::Arc;
//! use pinfold::policy::merge::{Layered, merge};
//! use pinfold::policy::{Layer, Settings};
//! use pinfold::{Ambient, Plan, RawCall, Session, audit::Memory};
//! use pinfold_hooks::{HookEnvironment, from_settings};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! let says = br#"{"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [
//!     {"type": "command", "command": "echo 'not on Fridays' >&2; exit 2"}
//! ]}]}}"#;
//! let settings = Settings::parse(says, Layer::User, &"settings.json".into())?;
//! let merged = merge(&[Layered { settings, trusted: true }]);
//!
//! let hooks = from_settings(&merged, HookEnvironment::new(folder.path()))?;
//! let plan = Plan::for_folder(folder.path()).with_hooks(hooks);
//! let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default()))?;
//!
//! let write = RawCall::new("Write", json!({"file_path": "a.txt", "content": "a\n"}));
//! let refusal = session.decide(&write).outcome.err().expect("a no");
//! assert!(refusal.message.contains("not on Fridays"));
//!
//! let read = RawCall::new("Glob", json!({"pattern": "*"}));
//! assert!(session.decide(&read).outcome.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Vocabulary
//! [`from_settings`], [`Configured`], [`Runner`], [`HookResult`], [`Notice`].
//!
//! # Invariants
//! 1. An answer that is not understood in full can say no and ask; it never allows, writes or grants.
//! 2. Whatever a hook does, it is over after its time, with everything it started that can be found; what is kept of
//!    its output is bounded.
//! 3. Where no hook is meant nothing is made: no process, no thread, no text.
//!
//! # What this does not stop
//! A command hook runs outside the sandbox, with all the rights of the person: it is their program. Who may write
//! hooks into settings is for settings and trust to say.
//!
//! # Platforms
//! Linux: what a hook started is found in `/proc`.

mod answer;
mod combine;
mod command;
mod configured;
mod hook_input;
mod http;
mod process_group;
mod runner;
mod started;

pub use configured::{Configured, HookEnvironment, HooksError, Notice, NoticeKind, from_settings};
pub use runner::{HookResult, Output, Runner};
pub use started::StartedHooks;

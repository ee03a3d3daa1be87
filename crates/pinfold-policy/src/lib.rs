//! Decisions: a call and the facts about it in, a verdict out.
//!
//! Everything here is pure: no file, no clock, no environment. A [`RawCall`] is understood once into a
//! [`ToolCall`]; [`Claims::from_call`] reads off what it says it will touch; a caller with access to files turns
//! claims into [`Facts`]; [`judge()`] decides.
//!
//! ```
//! use pinfold_policy::{Access, Case, Claims, Decision, Facts, Interaction, PathKind, PathFact, Policy, RawCall};
//! use pinfold_policy::{Grants, Scope, PathStatus, ToolCall, judge};
//!
//! let raw = RawCall::new("Write", serde_json::json!({"file_path": "/etc/motd", "content": "hi"}));
//! let call = ToolCall::parse(&raw)?;
//! let claims = Claims::from_call(&call);
//!
//! // The survey's part: here the claim leads outside.
//! let fact = |path_status| PathFact {
//!     shown: "/etc/motd".into(), operation: claims.paths[0].operation, asked: "/etc/motd".into(),
//!     real: Some("/etc/motd".into()), path_status, kind: PathKind::File, names: 1, guarded: None, path_scopes: None,
//!     other_mount: false, line_itself: false, guarded_below: None, denied_below: None, matched: Vec::new(),
//! };
//! let scope = Scope { root: "/w".into(), display_root: "/w".into(), enforce_write: false, allow_bash: true };
//! let (policy, grants) = (Policy::folder_is_granted(), Grants::default());
//! let decide = |path_status| {
//!     let facts = Facts { paths: vec![fact(path_status)], ..Facts::default() };
//!     judge(&Case {
//!         call: &call, claims: &claims, facts: &facts, scope: &scope, access: Access::ReadWrite,
//!         interaction: Interaction::Interactive, policy: &policy, grants: &grants, hook: None,
//!     }).decision
//! };
//! assert_eq!(decide(PathStatus::Inside), Decision::Allow);
//! assert_eq!(decide(PathStatus::Outside { disguise: None }), Decision::Ask);
//! # Ok::<(), pinfold_policy::BadCall>(())
//! ```
//!
//! # Vocabulary
//! [`ToolCall`], [`Claims`], [`Facts`], [`Case`], [`Verdict`], [`Decision`].
//!
//! # Invariants
//! 1. Judging is total: every case has a verdict, and a case without parts is denied.
//! 2. The strictest part of a call decides.
//! 3. A headless case never asks.
//! 4. A scope with enforced writes and a read-only session only ever take away.
//!
//! # What this does not stop
//! A wrong fact. The caller has to hold the surveyed objects until the operation; the gate does.

pub mod call;
mod call_text;
pub mod claim;
pub mod decision;
mod denied;
pub mod fact;
mod folder_choice;
pub mod foreign;
mod form;
#[cfg(test)]
#[path = "../../pinfold-commands/src/generated_docs.rs"]
mod generated_docs;
pub mod git_dir;
pub mod grant;
pub mod grant_options;
pub mod guard;
pub mod hook;
pub mod hosts;
pub mod input;
pub mod judge;
mod known_tools;
pub mod lint;
pub mod mcp;
pub mod merge;
pub mod mode;
pub mod patch;
pub mod path_scopes;
pub mod pattern;
pub mod policy;
pub mod process;
pub mod rule;
pub mod rules;
pub mod scope;
pub mod settings;
pub mod source;
pub mod tool;
pub mod visible;
pub mod way_in;

pub use call::{BadCall, RawCall, ToolCall};
pub use claim::{Claims, ShellClaim};
pub use decision::{Decision, Opinion, PartId, PathDecision, Reason, TrailEntry, Verdict};
pub use denied::{DeniedPaths, DeniedPattern};
pub use fact::{
    CommandFact, Disguise, Facts, GuardHit, NamedFact, PathFact, PathKind, PathStatus, ScopeHit,
    ShellConfinement, ShellFact, UnreachableHost, Why,
};
pub use folder_choice::{FolderChoice, NoProject};
pub use foreign::ForeignCall;
pub use form::BadField;
pub use grant::{Class, Grant, Grants};
pub use grant_options::{GrantOptions, GrantScope, PartOptions};
pub use guard::{Guard, GuardKind, Guards, KernelProtection};
pub use hook::{
    Hook, HookDecision, HookDecisionOrigin, HookEvent, HookGroup, HookKind, Matcher, Redefinition,
};
pub use hosts::{HostMatch, Hosts};
pub use judge::{Case, judge, path_decision, restricts_place};
pub use mcp::{ArgumentKind, McpCall, McpClass, Shape};
pub use merge::{Ignored, Layered, Merged, Renamed, WhyIgnored, merge};
pub use mode::{BashMode, MinSeverity, Mode, Reads, UnknownChoice};
pub use path_scopes::{
    BadScope, ExpandContext, PathScopes, ScopeViolation, ScopeViolationReason, ScopedTool, ToolScopes,
};
pub use pattern::Bases;
pub use pinfold_commands::{Assumption, Operation, Origin, PathClaim, PathText};
pub use pinfold_shell as shell;
pub use policy::Policy;
pub use process::{Connection, Preview, ProcessCall, ProcessEffect};
pub use rule::{BadRule, Effect, Rule, SourcedRule};
pub use rules::RuleSet;
pub use scope::{Access, Interaction, Principal, Scope};
pub use settings::{BadSetting, BadSettings, Flags, Settings};
pub use source::{Layer, Located, Source};
pub use tool::{Level, ToolName};
pub use visible::is_visible;
pub use way_in::WayIn;

//! Declared path scopes: the places that a person's settings or profile hold a tool to.
//!
//! A `tools:` section is parsed ([`ToolScopes`]), its entries are expanded and resolved once ([`ToolScopes::draw`]),
//! and what came out ([`PathScopes`]) says no to a tool, a path, or a text that cannot be audited. It never says yes:
//! what a scope lets pass is still judged by everything else.
//!
//! Trap: a declared scope sees paths that are named. What a program does behind its words is held by the kernel,
//! into which the same lists are compiled ([`PathScopes::kernel_lists`]).

mod bad;
mod drawn;
mod entry;
mod expand;
mod no;
mod parse;
mod section;
pub mod terminal;

pub use bad::BadScope;
pub use drawn::{KernelLists, PathMention, PathScopes, ScopedPath, ScopedTarget, ScopedTool};
pub use entry::may_fill_in;
pub use expand::ExpandContext;
pub use no::{ScopeViolation, ScopeViolationReason};
pub use section::{List, ListKind, McpEffect, ToolScope, ToolScopes};

#[cfg(test)]
use expand::tidy;
#[cfg(test)]
mod tests;

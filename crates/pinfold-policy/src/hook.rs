//! What hooks said about a call before it was judged.
//!
//! A hook's no is final, its wish to ask holds in every mode, and its yes waives the routine question alone: neither a
//! deny rule, nor a safeguard, nor an ask rule, nor the line, nor a mode that denies.

use crate::decision::Decision;

/// The strictest word of the hooks that spoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookWord {
    /// What it said.
    pub decision: Decision,
    /// Why, in its own words.
    pub reason: String,
    /// Which hook, for messages: its command or address, and where it is written.
    pub by: String,
}

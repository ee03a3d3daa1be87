//! The ruling of the gate: a permit, a question or a refusal.

use crate::permit::Permit;
use crate::question::Question;
use crate::refusal::Refusal;

/// The ruling of the gate. It never waits: a question is handed back to the caller.
#[must_use]
pub enum Ruling {
    /// Go ahead, once.
    Permit(Box<Permit>),
    /// A person has to be asked.
    Question(Box<Question>),
    /// No.
    Refusal(Box<Refusal>),
}

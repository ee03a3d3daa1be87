//! What the gate answers: go ahead, ask somebody, or no.

use crate::permit::Permit;
use crate::question::Question;
use crate::refusal::Refusal;

/// What the gate answers. It never waits: a question is handed to whoever can ask.
#[must_use]
pub enum Ruling {
    /// Go ahead, once.
    Permit(Box<Permit>),
    /// A person has to be asked.
    Question(Box<Question>),
    /// No.
    Refusal(Box<Refusal>),
}

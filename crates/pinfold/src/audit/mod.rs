//! What was decided and how it ended, one line each.

pub mod journal;
mod keep;
pub mod record;
#[cfg(test)]
mod schema;

pub use journal::{Discard, Journal, JsonLines, Memory};
pub use record::{
    AnswerTold, Cut, DecisionTold, EndTold, HookTold, NotWrittenTold, NoteTold, OutcomeTold, PartTold,
    Record, RecordKind, RecordedPath, Ruled, RunDenial, Seal, StartTold,
};

pub(crate) use keep::{kept_input, kept_text};

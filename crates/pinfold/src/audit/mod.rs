//! The audit log: each decision and each outcome, one line each.

pub mod journal;
mod keep;
pub mod ledger;
mod names;
pub mod read;
pub mod record;
#[cfg(test)]
mod schema;
pub mod seal;
pub mod verify;

pub use journal::{Discard, Journal, JsonLines, Memory};
pub use keep::kept_text;
pub use ledger::{Ledger, Limits};
pub use names::{call_number, session_name};
pub use read::Reader;
pub use record::{
    AnswerTold, Cut, DecisionTold, EndTold, HookTold, HostTold, NotWrittenTold, NoteTold, OutcomeTold,
    PartTold, Record, RecordKind, RecordedPath, Ruled, RunDenial, Seal, StartTold,
};
pub use seal::Hash;
pub use verify::{Misfit, Verified, verify};

pub(crate) use keep::{Kept, Secrets};

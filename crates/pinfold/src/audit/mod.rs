//! The audit log: each decision and each outcome, one line each.

pub mod event;
pub mod journal;
pub mod ledger;
mod names;
pub mod read;
pub mod record;
#[cfg(test)]
mod schema;
mod scrubbed_input;
pub mod seal;
pub mod verify;
pub(crate) mod word;

pub use event::{
    AnswerEvent, AuditEvent, Cut, DecisionEvent, EndEvent, NotWrittenEvent, NoteEvent, OutcomeEvent,
    RecordedApprover, RecordedHook, RecordedHost, RecordedInput, RecordedPart, RecordedPath, RefusalEvent,
    Ruled, Seal, StartEvent,
};
pub use journal::{Discard, Journal, JsonLines, Memory};
pub use ledger::{CannotAcknowledge, Ledger, Limits};
pub use names::{call_number, session_name};
pub use read::LogReader;
pub use record::Record;
pub use scrubbed_input::kept_text;
pub use seal::Hash;
pub use verify::{ChainBreak, Mismatch, Verified, verify, verify_end};
pub use word::FormatWord;

pub(crate) use scrubbed_input::{ScrubbedInput, Secrets};

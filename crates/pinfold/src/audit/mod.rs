//! What was decided and how it ended, one line each.

pub mod journal;
pub mod record;

pub use journal::{Discard, Journal, JsonLines, Memory};
pub use record::{Record, RecordKind, RecordedPath, Ruled};

//! Secret redaction: text in, the same text with `[REDACTED:kind]` in place of each secret out.
//!
//! Whole ([`Scrubber::scrub`]), in chunks of bytes as they come ([`Stream`]), or as JSON ([`Scrubber::scrub_json`]).
//! Pure: no file, no clock, no environment, no thread. What counts as a secret is data: `kinds.txt`, with examples
//! that are the tests.
//!
//! ```
//! use pinfold_scrub::Scrubber;
//!
//! let scrubber = Scrubber::default();
//! let line = concat!("DB_PASSWORD=", "Tr0ub4dor&3");
//! let scrubbed = scrubber.scrub(line);
//! assert_eq!(scrubbed.text, "DB_PASSWORD=[REDACTED:secret]");
//! assert_eq!(scrubbed.found.to_string(), "1 secret");
//!
//! // A placeholder is no secret, and the text is handed back as it is.
//! assert!(scrubber.scrub("DB_PASSWORD=changeme").found.is_empty());
//!
//! // Chunks may be cut anywhere.
//! let mut stream = scrubber.stream();
//! let mut said = stream.push(b"export DB_PASSWORD=Tr0ub");
//! assert_eq!(said, b"export DB_PASSWORD=");
//! said.extend(stream.push(b"4dor&3\nmake\n"));
//! said.extend(stream.finish());
//! assert_eq!(said, b"export DB_PASSWORD=[REDACTED:secret]\nmake\n");
//! ```
//!
//! # Vocabulary
//! [`Scrubber`], [`Scrubbed`], [`Stream`], [`SecretKind`], [`Counts`], [`Hit`].
//!
//! # Invariants
//! 1. However a text is cut into chunks, a stream gives what the whole text gives.
//! 2. Scrubbing what was scrubbed changes nothing.
//! 3. What is no secret stays as it is, byte for byte, whether it is UTF-8 or not; so do line breaks inside secrets:
//!    lines stay where they are.
//! 4. Time is linear in the text. A stream holds back at most [`MAX_HELD_BACK`] bytes, and only those of which it is not
//!    known yet whether they belong to a secret.
//!
//! # What this does not stop
//! A secret that is encoded, encrypted, split over lines, coloured in its middle or without any form that tells it from
//! other words. A process that can run commands can encode; this is for accidents, the sandbox is elsewhere.

mod conditions;
mod counts;
mod edge;
mod engine;
mod json;
mod keywords;
mod kind;
mod marker;
mod marker_writer;
mod run;
mod scan;
mod scrubber;
mod spelling;
mod stream;
mod table;
mod value;

#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use kind::SecretKind;
pub use marker::{Marker, markers};
pub use run::MAX_HELD_BACK;
pub use scrubber::{Hit, Scrubbed, Scrubber};
pub use stream::Stream;

/// For benches only: what is otherwise done once.
#[doc(hidden)]
pub mod measured {
    /// Reads the data.
    pub fn table() -> usize {
        crate::table::Table::new(crate::table::DATA).map_or(0, |table| table.kinds.len())
    }

    /// Compiles the patterns of one kind.
    pub fn patterns(kind: &str) -> usize {
        let table = crate::table::Table::get();
        let kinds = table.kinds.iter().filter(|known| known.name == kind);
        kinds.flat_map(|kind| &kind.forms).filter(|form| form.compile(&table.parts).is_ok()).count()
    }
}

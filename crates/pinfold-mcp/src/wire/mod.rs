//! The wire format: parsing of lines, bounded reading, and writing that does not block on a slow reader.

pub(crate) mod frame;
pub(crate) mod strict;
pub(crate) mod writer;

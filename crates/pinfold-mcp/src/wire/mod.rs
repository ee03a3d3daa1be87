//! The protocol as lines: what stands in one, how it is read with a bound, and how it is written without waiting for anybody.

pub(crate) mod frame;
pub(crate) mod outlet;
pub(crate) mod strict;

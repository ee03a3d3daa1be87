//! What stands in the parentheses of a rule: `*`, `**` and `?` are wildcards, everything else is itself.

mod command;
mod glob;
mod host;
mod name;
mod path;

pub use command::{CommandKey, CommandPattern, DYNAMIC, SEPARATOR};
pub use host::HostPattern;
pub use name::NamePattern;
pub use path::{Base, Bases, PathPattern, Segment};

pub(crate) use command::Rest;
pub(crate) use path::{Anchored, names};

pub(crate) use glob::Glob;

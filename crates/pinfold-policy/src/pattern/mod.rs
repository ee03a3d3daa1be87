//! Patterns in the parentheses of a rule: `*`, `**` and `?` are wildcards, everything else is itself.

mod command;
mod glob;
mod name;
mod path;

pub use command::{CommandKey, CommandPattern, DYNAMIC, SEPARATOR};
pub use name::NamePattern;
pub use path::{Base, Bases, PathPattern, Segment};

pub(crate) use command::{Rest, ends_its_quotes};
pub(crate) use path::{Anchored, DescendantReach, ReachedName, ReachedPaths, names};

pub(crate) use glob::Glob;

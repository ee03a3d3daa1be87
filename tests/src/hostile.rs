//! A machine that tries: random programs of file system calls, confined, in worlds with guarded places and repositories,
//! judged from outside.
//!
//! ```text
//! seed ──> world ──> program ──> runs ──> looks from outside ──> oracle ──> smallest program that still violates it
//!          worlds    sequences   actor     snapshot, roles        violations       cases
//! ```
//!
//! What programs are made of, the worlds and the cases are text: `tests/hostile`. How it is run by hand stands in
//! `tests/tests/hostile.rs`.

mod actor;
mod cases;
mod contents;
mod generate;
mod gits;
mod hunt;
mod log;
mod machine;
mod oracle;
mod program;
mod random;
mod report;
mod restore;
mod roles;
mod runs;
mod shrink;
mod snapshot;
mod spell;
mod text;
mod vocabulary;
mod world;
mod world_path;

pub use actor::Actor;
pub use cases::{Case, cases, read};
pub use hunt::{Bag, Failure, Hunt, hunt};
pub use machine::{Machine, Outcome, Person};
pub use oracle::Violation;
pub use program::Program;
pub use runs::{ActorProgram, Held};
pub use world_path::{Root, Roots, WorldPath};

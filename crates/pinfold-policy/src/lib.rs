//! What may happen: pure, without files, clock or environment.

pub mod guard;

pub use guard::{Guard, GuardKind, Guards, Held};

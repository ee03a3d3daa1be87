//! What a process can reach: kernel limits around a command and all its descendants.

mod profile;

pub use profile::{Layer, Limits, Network, Openings, Profile, Temp, Writes};

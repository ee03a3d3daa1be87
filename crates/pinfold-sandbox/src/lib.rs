//! What a process can reach: kernel limits around a command and all its descendants.

mod command;
mod linux;
mod placeholder;
mod probe;
mod profile;
mod self_test;
mod start;
mod strength;
mod sys;
mod watch;

pub use command::Command;
pub use placeholder::{is_placeholder, is_stand_in};
pub use probe::{Finding, probe, strongest};
pub use profile::{Detour, Layer, Limits, Network, Openings, Profile, StandIn, Temp, Writes};
pub use start::{Confined, End, Remote, Signalling, StartError, start};
pub use strength::Tier;
pub use watch::{Attempt, Blind, Intent, Reply, Watcher};

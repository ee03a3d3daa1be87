//! Containment cases: a tree, an act, what has to come of it. Run down the whole road, tools, gate and paths.

pub mod bed;
pub mod case;
pub mod run;
pub mod snapshot;

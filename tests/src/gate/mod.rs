//! The corpus of decisions: cases as data, the world that each describes, and what comes out.

pub mod case;
pub mod dialog;
pub mod disputes;
pub mod hooked;
pub mod lines;
pub mod ran;
pub mod tracker;
pub mod world;

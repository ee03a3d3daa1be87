//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod kit;
#[path = "kit/runs.rs"]
mod runs;
#[path = "kit/shells.rs"]
mod shells;

mod answers;
mod attacks;
mod attempts;
mod bash;
mod deeds;
mod limits;
mod patches;
mod schemas;
mod secrets;
mod table;
mod walks;
mod web;

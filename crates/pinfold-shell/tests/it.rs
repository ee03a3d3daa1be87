//! The tests of this crate from outside, as one program: a file of tests is a module here.

#[path = "kit/escapes.rs"]
mod escapes;
mod kit;

mod attacks;
mod bash;
mod listing;
mod properties;

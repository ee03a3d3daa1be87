//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod kit;

mod exchange;
mod hello;
mod limits;
mod requests;

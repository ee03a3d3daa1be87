//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod export;
mod heard;
mod honoured;
mod import;
mod schemas;

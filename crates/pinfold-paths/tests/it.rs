//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod kit;

mod deeds;
mod in_place;
mod line;
mod mounts;
mod oracle;
mod races;
mod trees;

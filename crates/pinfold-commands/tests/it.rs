//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod beside_bash;

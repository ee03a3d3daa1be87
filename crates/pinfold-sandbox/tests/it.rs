//! The tests of this crate from outside, as one program: a file of tests is a module here.

mod kit;

mod confine;
mod hold;
mod mediated;
mod moved;
mod relayed;
mod sockets;
mod umask;

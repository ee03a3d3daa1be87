//! What leaves over the network: a relay between a confined process and the hosts that somebody let it reach.
//!
//! In go the sockets at which everything arrives that is connected to inside ([`Doors`]), and whoever decides
//! ([`Doorkeeper`]); out come connections to hosts that were let pass, and words about those that were not. The crate has
//! no opinion about hosts: it finds out which one is meant, asks, and sees to it that nobody means another one than they
//! say.
//!
//! # Vocabulary
//! [`Relay`], [`Doors`], [`Doorkeeper`], [`Ask`], [`Mismatch`], [`Near`].
//!
//! # Invariants
//! 1. A connection is made only to an address that was looked at, after the doorkeeper let its host pass.
//! 2. An address on this machine or beside it is reached only where the doorkeeper says that it is named.
//! 3. What TLS says about its host, and each plain HTTP request, is the host of the connection.
//! 4. Inside, a name that the doorkeeper does not know does not exist, and nothing about it is asked outside.
//! 5. Nobody holds it up for others: what is slow, large or too much ends or waits.
//!
//! # What this does not stop
//! What is sent to a host that may be reached; other hosts behind the same address, within TLS. That there is no other
//! way out is for the sandbox to hold.
//!
//! # Platforms
//! Linux: bytes pass by `splice`.
#![forbid(unsafe_code)]

mod address;
mod dns;
mod doorkeeper;
mod first;
mod http;
mod names;
mod pool;
mod proxy;
mod relay;
mod stream;
mod synthetic;
mod upstream;

pub use address::{Near, near};
pub use doorkeeper::{Ask, Doorkeeper, Leads, Mismatch, No, Opened, Way};
pub use relay::{Doors, Limits, Relay};
pub use stream::Passed;

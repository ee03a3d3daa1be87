//! What leaves over the network: a relay between a confined process and the hosts that somebody let it reach.
//!
//! In go the sockets at which everything arrives that is connected to inside ([`Doors`]), and whoever decides
//! ([`Doorkeeper`]); out come connections to hosts that were let pass, and words about those that were not. The crate has
//! no opinion about hosts: it finds out which one is meant, asks, and sees to it that nobody means another one than they
//! say.
//!
//! # Vocabulary
//! [`Relay`], [`Doors`], [`Doorkeeper`], [`Map`], [`Ask`], [`Later`], [`Mismatch`], [`Near`]; [`Client`], [`Fetched`].
//!
//! # Invariants
//! 1. A connection is made only to an address that was looked at, after the doorkeeper let its host pass.
//! 2. An address on this machine or beside it is reached only where the doorkeeper says that it is named.
//! 3. What TLS says about its host, and each plain HTTP request, is the host of the connection.
//! 4. Inside, a name that the doorkeeper does not know does not exist. Nothing about any name is asked outside before its
//!    host was let pass.
//! 5. A page is fetched from an address that was looked at, by the name that was judged, and no redirect is followed here.
//! 6. Nobody holds it up for others: what is slow, large or too much ends or waits.
//!
//! # What this does not stop
//! What is sent to a host that may be reached; other hosts behind the same address, within TLS. That there is no other
//! way out is for the sandbox to hold.
//!
//! # Platforms
//! Linux: bytes pass by `splice`.
#![forbid(unsafe_code)]

mod dns;
mod doorkeeper;
mod exchange;
mod fetch;
mod first;
mod handed;
mod heads;
mod http;
mod later;
mod names;
mod open;
mod pool;
mod proxy;
mod published;
mod relay;
mod rounds;
mod stream;
mod synthetic;
mod tls;
mod unheard;
mod unpack;
mod upstream;

pub use doorkeeper::{Ask, Asker, Doorkeeper, Mismatch, No, Opened, Way};
pub use exchange::Exchange;
pub use fetch::{Client, Fetched, Method, Unfetched};
pub use handed::{Hand, Handed, hand_over};
pub use later::{Answer, Later};
pub use open::{Authority, Secret, Vault};
pub use pinfold_host::{Leads, Map, Near, near};
pub use published::{Inward, Published};
pub use relay::{Doors, Limits, Relay};
pub use stream::Passed;

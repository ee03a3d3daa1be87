//! What leaves over the network: a relay between a confined process and the hosts that somebody let it reach.
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
pub use dns::{Lookup, answer};
pub use doorkeeper::{Ask, Doorkeeper, Leads, Mismatch, No, Opened, Way};
pub use relay::{Doors, Limits, Relay};
pub use stream::Passed;
pub use synthetic::{Addresses, MOST_NAMES, Synthetic};

//! Which hosts may be reached: names in one form, rules about them, and the one list that all rules feed.
//!
//! Settings (`network.allow`, `network.deny`), flags (`--allow-host`) and rules (`WebFetch(domain:…)`) say it in their
//! own words; [`Hosts`] answers for all of them. Nothing here resolves a name.

mod address;
mod list;
mod name;
mod rule;
mod url;

#[cfg(test)]
mod tests;

pub use address::{Near, near};
pub use list::{DEFAULT_PORTS, Hosts, MOST_PORTS, Reach, TooManyPorts};
pub use name::{Host, Name};
pub use rule::{BadHost, HostRule};
pub use url::{Scheme, WebUrl};

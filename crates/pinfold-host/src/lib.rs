//! Names of hosts, rules about them, addresses of pages, and the classes of addresses that lie near.
//!
//! Pure: nothing here resolves a name. A [`Host`] has one form, so that two spellings of a host are equal; a [`HostRule`]
//! says which hosts a line of the settings means; [`classify_special_purpose`] says which addresses need a rule that names them.
//!
//! ```
//! use pinfold_host::{Host, HostRule, Name, classify_special_purpose};
//!
//! let rule = HostRule::parse("*.example.org")?;
//! let name = Name::parse("API.Example.org.").expect("a name");
//! assert!(rule.names(&name));
//! assert_eq!(Host::parse("api.example.org"), Some(Host::Name(name)));
//! assert!(classify_special_purpose("169.254.169.254".parse().expect("an address")).is_some());
//! # Ok::<(), pinfold_host::BadHost>(())
//! ```
//!
//! # Vocabulary
//! [`Host`], [`Name`], [`HostRule`], [`HostPattern`], [`WebUrl`], [`SpecialPurpose`], [`AddressPolicy`], [`HostsFile`], [`UnreachableAddress`].
//!
//! # Features
//! `idna` (default): names with letters beyond ASCII, in their encoded form (RFC 5891). Without it they are not names.
//!
//! # Invariants
//! 1. Two names are the same host exactly when they are equal.
//! 2. A rule about names never holds for an address.

mod address;
mod address_policy;
mod file_url;
mod hosts_file;
#[cfg_attr(not(feature = "idna"), path = "international_absent.rs")]
mod international;
mod name;
mod pattern;
mod rule;
mod url;

pub use address::{SpecialPurpose, classify_special_purpose};
pub use address_policy::{AddressPolicy, AddressRule};
pub use file_url::{file_url, percent_decoded, split_scheme};
pub use hosts_file::{AddressBar, HostsFile, UnreachableAddress, first_unreachable};
pub use name::{Host, Name};
pub use pattern::HostPattern;
pub use rule::{BadHost, HostRule};
pub use url::{Scheme, WebUrl};

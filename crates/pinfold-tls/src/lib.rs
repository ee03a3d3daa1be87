//! Whom this machine trusts to say who a server is, and clients that hold servers to it.
//!
//! No list of authorities is built in: it would age, and not know the authority of a company. The files of the system are
//! read, or one that somebody names (`SSL_CERT_FILE`), when the first server has to be verified.
//!
//! # Vocabulary
//! [`authorities`], [`verifying`], [`Clients`], [`bundle`].
//!
//! # Invariants
//! 1. A server is verified, or nothing is said to it. There is no way to switch that off.
//! 2. A client follows nobody: a redirect is an answer, and would take what is said to somebody who was not named.
//! 3. What the environment says about proxies is not looked at.

mod authorities;
mod clients;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

pub use authorities::{authorities, bundle, verifying};
pub use clients::{Clients, Configuring};

/// The ciphers that are used everywhere.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

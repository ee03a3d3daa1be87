//! TLS interception, only for hosts that have an injected secret.
//!
//! Towards the client the relay presents a certificate of a CA that only this run trusts; towards the host it is an ordinary
//! client that verifies the host's certificate. Between them go requests, each checked to be for that very host.

mod base64_fragments;
mod ephemeral_ca;
pub(crate) mod injector;
mod redactor;
pub(crate) mod serve;

pub use ephemeral_ca::EphemeralCa;
pub use injector::{InjectedSecret, SecretInjector};

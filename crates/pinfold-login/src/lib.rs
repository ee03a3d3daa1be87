//! An OAuth 2.1 client: login in the browser, a token store, and refresh of access tokens.
//!
//! [OAuth 2.1](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1) as the Model Context Protocol
//! [uses it](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization): protected resource metadata
//! (RFC 9728) names the authorization server, its metadata (RFC 8414) names the endpoints, the client registers there
//! (RFC 7591), and the user authorizes it in a browser. The authorization code comes back to a loopback port (RFC
//! 8252), bound to this client by PKCE (RFC 7636) and to one resource by resource indicators (RFC 8707).
//!
//! # Vocabulary
//! [`LoginOptions`], [`login`], [`Login`], [`TokenStore`], [`RefreshableLogin`], [`Connector`], [`Endpoint`],
//! [`LoginError`].
//!
//! # Invariants
//! 1. An access token is sent only to its resource server, and a refresh token only to its issuer; each over TLS, or to
//!    this machine.
//! 2. A resource server is the only source of its metadata, and an authorization server of its own: the identifiers are
//!    compared, so that neither can impersonate another (RFC 9728 §3.3, RFC 8414 §3.3, RFC 9207).
//! 3. An authorization code that was not requested by this login is not accepted (`state`, RFC 6749 §10.12).
//! 4. Tokens are stored where no other user and no agent can read them.
//!
//! # What this does not stop
//! A resource server that names a malicious authorization server: the user sees in the browser where they are.

#![forbid(unsafe_code)]

use std::fmt;

mod challenge;
mod discovery;
mod endpoint;
mod http_client;
mod login;
mod redirect;
mod refresh;
mod registration;
mod token_requests;
mod token_store;

pub use challenge::challenge_hint;
pub use endpoint::Endpoint;
pub use http_client::Connector;
pub use login::{LoginOptions, LoginUser, login, logout};
pub use refresh::RefreshableLogin;
pub use registration::PreRegisteredClient;
pub use token_store::{Login, TokenStore};

/// Why a login failed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginError {
    /// The error. Text of a server in it is escaped and can be shown.
    pub message: String,
    /// A remedy, where there is one.
    pub hint: Option<String>,
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl LoginError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

//! A person's login at a server of others: how it comes about in their browser, how it is kept, and how it is renewed.
//!
//! [OAuth 2.1](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1) as the Model Context Protocol
//! [has it](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization): the server says who lets people in
//! (RFC 9728), that one says how (RFC 8414), we make ourselves known to it (RFC 7591), and the person says yes there, in a
//! browser. A code comes back to a port of this machine (RFC 8252), good for whoever knows what was promised for it (PKCE).
//!
//! # Vocabulary
//! [`Wanted`], [`login`], [`Login`], [`Logins`], [`Renewal`], [`Way`], [`Place`], [`Trouble`].
//!
//! # Invariants
//! 1. A token is said to the server that it is for, and to whoever gave it; each only over TLS, or on this machine.
//! 2. What a server says about its login is said by itself, and whoever lets people in says who it is: neither can put another
//!    in its place.
//! 3. A code that was not asked for is not taken: not one of another start, not one of another login.
//! 4. What is kept is kept where nobody else reads it, and no agent.
//!
//! # What this does not stop
//! A server that sends its people to a bad place to log in: the person sees in the browser where they are.

#![forbid(unsafe_code)]

use std::fmt;

mod callback;
mod challenge;
mod client;
mod discovery;
mod grant;
mod kept;
mod login;
mod place;
mod renewal;
mod speech;

pub use challenge::hint;
pub use client::KnownClient;
pub use kept::{Login, Logins};
pub use login::{Person, Wanted, login, logout};
pub use place::Place;
pub use renewal::Renewal;
pub use speech::Way;

/// Why somebody is not logged in, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong. Words of others in it can be shown as they are.
    pub what: String,
    /// What to do, where something can be done.
    pub mend: Option<String>,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.mend.iter().try_for_each(|mend| write!(f, "; {mend}"))
    }
}

impl Trouble {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), mend: None }
    }

    pub(crate) fn mend(self, mend: impl Into<String>) -> Self {
        Self { mend: Some(mend.into()), ..self }
    }
}

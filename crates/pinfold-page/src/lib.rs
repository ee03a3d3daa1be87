//! The web page for approvals.
//!
//! A [`Page`] listens on this machine only. It shows the pending requests of all processes of the user, which it reads
//! from their sockets, and sends answers back. It decides nothing and stores nothing.
//!
//! # Vocabulary
//! [`Page`], [`PairingCode`], [`PageEvent`].
//!
//! # Invariants
//! 1. No request is sent to a browser, and no answer accepted, without the cookie *and* the token of a pairing.
//! 2. A code pairs once, within a few minutes, and expires after a few wrong tries.
//! 3. Only `Host` names of this machine are served, and only the page's own origin gets more than the static files.
//! 4. Everything shown is visible: no text of a request is markup, and invisible characters are spelled out before it
//!    is sent.
//! 5. Unpaired clients cost a bounded number of connections, each for a few seconds.
//!
//! # What this does not stop
//! A process that can act as the user, or within the user's browser, can answer for the user. A client that can connect
//! can use up the tries of a code and hold the connections for unpaired clients, so that the page is slow or has to be
//! paired again.

#![forbid(unsafe_code)]

mod board;
mod files;
mod guard;
mod page;
mod pairing;
mod request_json;
mod route;
mod stream;

pub use page::{Page, PageEvent};
pub use pairing::PairingCode;

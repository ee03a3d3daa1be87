//! The page on which questions are answered in a browser.
//!
//! A [`Page`] listens on this machine alone. It shows what waits in every process of the person, as those processes tell
//! it over their sockets, and carries answers back. It decides nothing and keeps nothing.
//!
//! # Vocabulary
//! [`Page`], [`Code`], [`News`].
//!
//! # Invariants
//! 1. Nothing of a request is sent to anybody, and no answer taken, without the cookie *and* the token that pairing gave.
//! 2. A code pairs once, for a few minutes, and dies after a few wrong ones.
//! 3. Only the names of this machine lead here, and only the page's own origin says more than "show me the page".
//! 4. What is shown can be seen: nothing of a request is markup, and what is invisible is written out before it is sent.
//! 5. Strangers cost a bounded number of connections, each for a few seconds.
//!
//! # What this does not stop
//! Who can act as the person, or within their browser, can answer for the person. Whoever can connect can use up the
//! tries of a code and hold the places for strangers, so that the page is slow or has to be paired again.

#![forbid(unsafe_code)]

mod board;
mod files;
mod guard;
mod page;
mod pairing;
mod route;
mod shown;
mod stream;

pub use page::{News, Page};
pub use pairing::Code;

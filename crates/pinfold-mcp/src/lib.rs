//! The Model Context Protocol as a way in: the tools of this project for whoever speaks it.
//!
//! [`Server`] offers them over the protocol, in its newest revision and the older ones that clients speak. It translates
//! and decides nothing: every call goes down the road that all calls go, and comes back as a result.
//!
//! # Vocabulary
//! [`Server`], [`Opener`], [`Opened`], [`Wish`], [`Folder`], [`Manner`], [`Door`].
//!
//! # Invariants
//! 1. What a client says widens nothing: its roots only narrow, and its answer counts for the question that it was shown.
//! 2. Whoever is gone is not waited for: their questions are taken back, their commands end.
//! 3. Nothing is opened, started or written before the first call.
//! 4. No message ends the server but the end of its input.
//!
//! # What this does not stop
//! A client that answers in place of its person.

#![forbid(unsafe_code)]

mod form;
mod http;
mod hub;
mod offer;
mod proxy;
mod reach;
mod serve;
mod stdio;
mod wire;

pub use http::{Door, PATH, serve_http};
pub use hub::{Member, hub};
pub use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
pub use pinfold_egress::OriginClient;
pub use proxy::{Behind, GRACE, KnownArgument, PinPlace, ProxyEnd, proxy};
pub use reach::{may_be_said, reach};
pub use serve::{Folder, Manner, Opened, Opener, Server, Visible, Wish};
pub use stdio::serve_stdio;

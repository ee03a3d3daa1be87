//! How something of ours is heard over HTTP: the page of the approvals, and the server of the Model Context Protocol.
//!
//! [`listen`] takes connections, so many at a time and each only so long; [`leads_here`] says whether the name that a
//! request was sent to is one of this machine.
//!
//! # Vocabulary
//! [`Manner`], [`listen`], [`bind`], [`places`], [`leads_here`], [`single`].
//!
//! # Invariants
//! 1. Strangers cost a bounded number of connections, each for a bounded time, and a bounded head.
//! 2. Whoever does not read what they asked for is let go of by the kernel; no task waits for them.
//! 3. A name that is none of this machine leads nowhere, whatever address it was looked up to.
//!
//! # What this does not stop
//! Whoever can connect can hold all places, for as long as a head may take. What is said goes over the wire as it is.

#![forbid(unsafe_code)]

mod listen;
mod names;

pub use listen::{Manner, bind, bind_at, listen, places};
pub use names::{leads_here, single};

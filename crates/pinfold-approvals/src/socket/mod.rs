//! Other terminals: each process that asks has a socket, and whoever may answer finds it in one directory.
//!
//! Nothing that pinfold confines gets an answer through. Three walls stand before it, each enough by itself: the
//! directory is hidden from runs, a secret that lies in it has to be said, and a process that is more confined than
//! this one, lives in other namespaces or descends from this one is turned away by the kernel's word about it.

mod client;
mod door;
mod draft;
mod everywhere;
mod frame;
mod named;
mod peer;
mod place;
mod presence;
mod protocol;
mod seat;
mod secret;
mod serve;
mod sessions;

pub use client::{Client, ClientError, Watching};
pub use door::{Door, Turned};
pub use everywhere::{Event, Everywhere, Following, Found, NotFound, What};
pub use frame::Frames;
pub use named::{Named, NotNamed};
pub use peer::{NotAdmitted, Peer};
pub use place::{Homes, Place, PlaceError};
pub use presence::Presence;
pub use protocol::{GrantShown, Heard, LastsShown, Order, Trouble, TroubleKind, VERSION, Waiting};
pub use secret::Secret;
pub use serve::Listening;
pub use sessions::Sessions;

//! How a question is asked at the terminal that a command has.
//!
//! A dialog is drawn on a [`Stage`]: something to write to, of a known size, that answers with keys. It is the same for
//! a terminal that nobody else uses at the moment ([`Alone`]) and for one that a running command believes to be its own.
//!
//! What every stage promises:
//!
//! - Whatever was on the screen is there again when the stage is dropped.
//! - No key answers a dialog that was not yet seen: keys count only after the first [`flush`](std::io::Write::flush) and
//!   a [quiet moment](QUIET), and again so after each [`Stage::renew`].
//! - What a terminal says by itself (reports, answers to questions that a command had put to it) is never a key, and a
//!   pasted text is one event, never keys.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod alone;
mod beside;
mod decoder;
pub mod dialog;
mod ears;
mod modes;
mod paused;
pub mod permissions;
mod person;
mod picture;
mod reach;
mod relay;
mod scan;
mod screen;
mod sent;
mod shared;
mod sheet;
#[cfg(test)]
mod simulation;
mod stage;
mod track;

pub use alone::Alone;
pub use beside::{Beside, Handle, Own};
pub use paused::Paused;
pub use ratatui_core::buffer::Buffer;
pub use reach::Reach;
pub use sheet::Painter;
pub use stage::{Event, Key, KeyCode, QUIET, Size, Stage, Typed};

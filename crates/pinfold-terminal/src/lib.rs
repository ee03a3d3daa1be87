//! Approval dialogs at the terminal of a command.
//!
//! A dialog is drawn on a [`DialogSurface`]: something to write to, of a known size, that answers with keys. It is the same for
//! a terminal that no other process uses at the moment ([`ExclusiveTty`]) and for one that a running command believes to be its own.
//!
//! What every surface promises:
//!
//! - The content of the screen is there again when the surface is dropped.
//! - No key answers a dialog that was not yet seen: keys count only after the first [`flush`](std::io::Write::flush) and
//!   a [quiet moment](QUIET), and again so after each [`DialogSurface::renew`].
//! - Bytes that a terminal sends by itself (reports, answers to questions that a command had put to it) are never keys, and a
//!   pasted text is one event, never keys.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod alt_screen;
mod decoder;
pub mod dialog;
mod exclusive_tty;
mod host_tty;
mod key_encoding;
mod key_input;
mod modes;
mod output_scanner;
pub mod permissions;
mod pty_dialog;
mod pty_relay;
mod pty_session;
mod relay_state;
mod screen;
mod sheet;
#[cfg(test)]
mod simulation;
mod surface;
mod tty_reach;
mod vt_state;

pub use exclusive_tty::ExclusiveTty;
pub use pty_dialog::PtyDialog;
pub use pty_session::{CommandTty, PtyHandle, PtySession};
pub use ratatui_core::buffer::Buffer;
pub use sheet::Painter;
pub use surface::{DialogSurface, Key, KeyCode, KeyTiming, QUIET, SurfaceEvent, TerminalSize};
pub use tty_reach::TtyReach;

//! Rendering of approval requests as blocks of text in which every character can be seen.
//!
//! A [`Body`] holds everything that an approver has to read, in the order in which it is read; [`offered`] lists what they
//! can answer. The dialog at a terminal and the page in a browser draw the same blocks, so that neither leaves out what
//! the other tells.
//!
//! ```
//! use pinfold_render::visible;
//!
//! assert_eq!(visible("ls\u{202e}\u{1b}[2J"), "ls‹U+202E›‹ESC›[2J");
//! ```
//!
//! # Vocabulary
//! [`Body`], [`Block`], [`Piece`], [`Answerable`].
//!
//! # Invariants
//! 1. Two different texts never look the same.
//! 2. No piece of a text acts on a screen, has no width, or changes where its neighbours stand.
//! 3. What is too long to be shown cannot be said yes to.
//!
//! # What this does not stop
//! Letters of other scripts that look like these: a display can mark what is not ASCII, as the dialog and the page do.

#![forbid(unsafe_code)]

mod answerable;
mod block;
mod body;
mod diff;
mod piece;

pub use answerable::{Answerable, default_answer, offered};
pub use block::{Block, LineBreaks, Tone};
pub use body::{Body, note, title};
pub use piece::{Piece, printable, visible};

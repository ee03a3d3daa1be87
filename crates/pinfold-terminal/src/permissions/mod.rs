//! A screen with all that holds: every rule, every grant of a running session, every folder that is trusted.
//!
//! A [`Screen`] is a machine without a terminal: keys in, a [picture](Screen::view) and now and then a [`Wish`] out.
//! [`show`] runs it on a [`Stage`](crate::Stage) and has the wishes fulfilled by a [`Holder`]. Nothing is removed that
//! was not shown with where it stands, and confirmed.

mod item;
mod model;
mod show;
mod view;

pub use item::{Holder, Item, Told};
pub use model::{Screen, Wish};
pub use show::show;

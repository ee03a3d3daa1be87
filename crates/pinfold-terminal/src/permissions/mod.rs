//! A screen with all that holds: every rule, every grant of a running session, every folder that is trusted.
//!
//! A [`Screen`] is a machine without a terminal: keys in, a [picture](Screen::view) and now and then a [`ScreenAction`] out.
//! [`show`] runs it on a [`DialogSurface`](crate::DialogSurface) and has the wishes fulfilled by a [`PermissionStore`]. Nothing is removed that
//! was not shown with where it stands, and confirmed.

mod item;
mod model;
mod show;
mod view;

pub use item::{LabelledLine, PermissionItem, PermissionStore};
pub use model::{Screen, ScreenAction};
pub use show::show;

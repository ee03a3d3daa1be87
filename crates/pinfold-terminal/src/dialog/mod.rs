//! The dialog in which a person is asked.
//!
//! A [`Dialog`] is a machine without a terminal: keys in, a [picture](Dialog::view) and at last a
//! [choice](pinfold::consent::Choice) out. [`show`] runs it on a [`DialogSurface`](crate::DialogSurface).
//!
//! What it promises:
//!
//! - All of what would be done can be read, and yes cannot be said before its end was on the screen.
//! - Nothing of a request draws where we draw: left of the gutter, or below the line under the text.
//! - Only what was offered is answered, and a grant only after its text was on the screen.

mod grant;
mod key_timing;
mod model;
mod options;
mod show;
mod view;

pub use key_timing::{PAUSE, SEEN, SILENCE};
pub use model::{Dialog, DialogContext};
pub use show::{DialogOutcome, DialogStyle, ExternalState, show};

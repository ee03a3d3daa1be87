//! The settings files of a session: their locations, what they say together, which are trusted, how they change.
//!
//! Nothing here decides about a call: [`load`] reads the files that [`Locations`] point at and merges them, by
//! [`pinfold_policy::merge()`]. A file that is missing says nothing; one that cannot be read in full stops the start.

mod accounts;
mod change;
mod expectations;
pub(crate) mod file;
mod git_tracked;
mod hook_files;
mod layers;
mod locations;
mod plan;
mod reload;
mod setup;
mod trust;
mod user_files;

pub use accounts::home_of_account;
pub use change::{ChangeError, Changed, Proposal, carry_out, change, propose};
pub use expectations::{FailedExpectation, failed_expectations};
pub use layers::{LoadedSettings, SettingsError, load};
pub use locations::{Locations, SettingsFile, project_root};
pub use plan::{NotApplied, Situation};
pub use reload::Watched;
pub(crate) use setup::closing_rules;
pub use setup::{ResolvedSettings, SessionSetup};
pub use trust::{Trust, TrustError, TrustedFolder, Widening, look_at};
pub use user_files::{is_persons_own, will_be_user_owned};

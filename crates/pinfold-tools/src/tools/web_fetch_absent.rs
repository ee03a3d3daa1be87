//! `WebFetch` in a build without the feature `web`: every call is refused.

use pinfold::consent::Caller;
use pinfold::policy::input::WebFetchInput;
use pinfold::{Failure, RefusalCode, Targets};

use crate::reply::ToolResult;

/// The tool can be carried out.
pub(super) const IS_BUILT: bool = false;

pub(super) fn perform(_: &WebFetchInput, _: &Targets, _: Caller<'_>) -> Result<ToolResult, Failure> {
    Err(Failure::plain(
        RefusalCode::NotHeld,
        "no page was fetched: this build has no fetcher (`pinfold-tools` without its feature `web`)",
        "do without it, or tell the user which page you need",
    ))
}

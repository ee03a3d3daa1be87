//! Where the record of this machine is kept.

use std::path::PathBuf;

use pinfold::Ambient;
use pinfold::audit::{Ledger, Limits, session_name};
use pinfold::policy::Guards;

use crate::exit::{FAILED, Failure, USAGE};
use crate::surroundings;

/// What to do where it cannot be written.
pub(crate) const MEND: &str = "set XDG_STATE_HOME to a directory that you can write, or say --no-record";

/// The directory of the record: one of its own, so that all of it can be hidden from those whom it is about.
pub(crate) fn directory() -> Result<PathBuf, Failure> {
    let home = surroundings::state_home()
        .ok_or_else(|| Failure::new(USAGE, "there is no home for the record").mend(MEND))?;
    Ok(home.join("record"))
}

/// The same, resolved, if it is there.
pub(crate) fn place() -> Option<PathBuf> {
    directory().ok()?.canonicalize().ok()
}

/// Guards it wherever it is: neither tools nor processes read or write what says what they did.
pub(crate) fn guarded(guards: Guards) -> Guards {
    const WHY: &str = "it is pinfold's own record";
    match place() {
        Some(place) => guards.with_own(&place, WHY),
        None => guards,
    }
}

/// The record, open. No record, no deed: what is wrong with it is told before anything else happens.
pub(crate) fn ledger(limits: Limits) -> Result<Ledger, Failure> {
    Ledger::open(&Ambient::claim(), directory()?, limits)
        .map_err(|e| Failure::new(USAGE, format!("nothing can be recorded: {e}")).mend(MEND))
}

/// A name for a session that nobody else has.
pub(crate) fn session(kind: &str) -> Result<String, Failure> {
    session_name(kind).map_err(|e| Failure::new(FAILED, format!("there are no random numbers: {e}")))
}

//! Where the record of this machine is kept.

use std::path::PathBuf;

use pinfold::Ambient;
use pinfold::audit::{Ledger, Limits, session_name};

use crate::exit::{FAILED, Failure, USAGE};
use crate::surroundings;

/// What to do where it cannot be written.
pub(crate) const MEND: &str = "set XDG_STATE_HOME to a directory that you can write, or say --no-record";

/// The directory of the record.
pub(crate) fn directory() -> Result<PathBuf, Failure> {
    surroundings::state_home()
        .ok_or_else(|| Failure::new(USAGE, "there is no home for the record").mend(MEND))
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

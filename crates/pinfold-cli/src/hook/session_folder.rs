//! The folder of a session whose agent tells its hooks only where a command would start, which the model can choose: kept
//! from the moment at which the session began.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pinfold::policy::Guards;
use tempfile::NamedTempFile;

use crate::env;
use crate::exit::{Failure, USAGE};

/// Age at which a session counts as abandoned.
const KEPT: Duration = Duration::from_hours(24 * 90);

fn directory() -> Result<PathBuf, Failure> {
    let home = env::state_home();
    home.map(|home| home.join("agents"))
        .ok_or_else(|| Failure::new(USAGE, "there is no home for the folders of sessions").mend("set HOME"))
}

/// Guards it wherever it is.
pub(super) fn guarded(guards: Guards) -> Guards {
    match directory().ok().and_then(|place| place.canonicalize().ok()) {
        Some(place) => guards.with_own(&place, "it says which folder an agent was started in"),
        None => guards,
    }
}

/// A session begins: this is its folder.
pub(super) fn keep(session: &str, folder: &Path) -> Result<(), Failure> {
    let place = directory()?;
    let failed = |e: io::Error| {
        Failure::new(USAGE, format!("the folder of the session cannot be kept in {}: {e}", place.display()))
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&place).map_err(failed)?;
    forget(&place);
    let mut beside = NamedTempFile::new_in(&place).map_err(failed)?;
    beside.write_all(folder.as_os_str().as_encoded_bytes()).map_err(failed)?;
    beside.persist(place.join(session)).map(drop).map_err(|e| failed(e.error))
}

/// The folder in which a session began.
pub(super) fn kept(session: &str) -> Result<PathBuf, Failure> {
    let unknown = || {
        Failure::new(USAGE, "it is not known in which folder the session began")
            .mend("start the agent again: `pinfold setup` makes it tell that, or say --folder")
    };
    let text = fs::read_to_string(directory()?.join(session)).map_err(|_| unknown())?;
    Some(PathBuf::from(text)).filter(|folder| folder.is_absolute()).ok_or_else(unknown)
}

/// Removes the files of abandoned sessions. One that cannot be removed does no harm.
fn forget(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let age =
            entry.metadata().and_then(|there| there.modified()).ok().and_then(|then| then.elapsed().ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

//! The directory in which trees are made that stay visible inside a run: none for temporary files.
//!
//! Inside a run the temporary directories of the host are covered by private ones. A world outside that lies there
//! would be out of sight, and every attack on it would fail for that reason alone.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::missing::left_out;
use crate::processes::is_superuser;

/// Names the directory, instead of looking for one.
const OVERRIDE: &str = "PINFOLD_TESTS_GROUND";

/// Directories that a run covers with private ones.
pub(crate) const COVERED: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev"];

/// A new directory, open to all, that goes when it is dropped.
///
/// # Panics
/// When none can be made.
pub fn new_place(prefix: &str) -> TempDir {
    place_in(ground(), prefix).expect("a new directory")
}

/// A directory in which every user can reach what stands in it, and which stays visible inside a run.
fn ground() -> &'static Path {
    static GROUND: OnceLock<PathBuf> = OnceLock::new();
    GROUND.get_or_init(|| {
        let usable = |at: &PathBuf| place_in(at, "pinfold-try.").is_ok();
        let covered = |at: &PathBuf| COVERED.iter().any(|c| at.starts_with(c));
        let found = candidates().into_iter().filter(|at| !covered(at) && !is_in_a_project(at)).find(usable);
        found.unwrap_or_else(|| {
            left_out("attacks on what is visible outside", "no place to write but the temporary directory");
            env::temp_dir()
        })
    })
}

fn candidates() -> Vec<PathBuf> {
    if let Some(at) = env::var_os(OVERRIDE) {
        return vec![at.into()];
    }
    if is_superuser() {
        // The ordinary user of the tests has to get there too, so neither /root nor the build directory will do.
        return ["/home", "/srv", "/opt", "/var/lib"].map(PathBuf::from).to_vec();
    }
    let build = env::current_exe().ok().and_then(|exe| Some(exe.ancestors().nth(3)?.to_owned()));
    build.into_iter().chain(env::home_dir()).collect()
}

/// Returns true if a place belongs to a project: what a test does in a folder there would be done to that project, such as this
/// checkout, whose build directory is the first place that comes to mind.
fn is_in_a_project(at: &Path) -> bool {
    let Ok(at) = at.canonicalize() else { return false };
    at.ancestors()
        .any(|folder| [".git", ".pinfold"].iter().any(|name| folder.join(name).symlink_metadata().is_ok()))
}

fn place_in(at: &Path, prefix: &str) -> io::Result<TempDir> {
    let place = tempfile::Builder::new().prefix(prefix).rand_bytes(6).tempdir_in(at)?;
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755))?;
    Ok(place)
}

//! The built `pinfold` binary, where every user can run it.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::ground::new_place;

/// Names a binary to test instead of the one that would be built.
const OVERRIDE: &str = "PINFOLD_BIN";

/// Set to `1`, it says that all programs are built: `cargo test` leaves them beside its tests. For an account that cannot run
/// cargo.
const BUILT: &str = "PINFOLD_TESTS_BUILT";

/// The binary of this workspace, built in the profile of the tests. A copy where an ordinary user can go and where a
/// run inside a run finds it.
///
/// # Panics
/// When it cannot be built.
pub fn pinfold() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let built = || if is_built() { beside(&["pinfold"]) } else { build("--bin", "pinfold") };
        offered("pinfold", &env::var_os(OVERRIDE).map_or_else(built, PathBuf::from))
    })
}

/// A program of the tests' own, likewise where every user can run it.
///
/// # Panics
/// When it cannot be copied.
pub fn offered(name: &str, built: &Path) -> PathBuf {
    static COPIES: AtomicU32 = AtomicU32::new(0);
    let at = shelf().join(name);
    // What is open for writing cannot be started. So it is copied by another program, since a descriptor of ours could live on in
    // a child that a test beside this one forks, and under another name, since that test may start the same one.
    let copy = shelf().join(format!("{name}.{}", COPIES.fetch_add(1, Ordering::Relaxed)));
    let copied = Command::new("cp").args([built, &copy]).status().expect("cp can be started");
    assert!(copied.success(), "{}", built.display());
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("mode of the copy");
    fs::rename(&copy, &at).expect("the name of the copy");
    at
}

/// A directory for what all tests of this process share and every user can read. Statics are not dropped, so each
/// test process takes away the shelves of those that have ended.
pub fn shelf() -> &'static Path {
    static SHELF: OnceLock<TempDir> = OnceLock::new();
    let shelf = SHELF.get_or_init(|| {
        let shelf = new_place(&format!("{SHELF_PREFIX}{}.", std::process::id()));
        sweep(shelf.path().parent().unwrap_or(Path::new("/")));
        shelf
    });
    shelf.path()
}

const SHELF_PREFIX: &str = "pinfold-tests.";

fn sweep(ground: &Path) {
    for entry in fs::read_dir(ground).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|n| n.strip_prefix(SHELF_PREFIX)?.split('.').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// An example of this workspace, built in the profile of the tests.
///
/// # Panics
/// When it cannot be built.
pub fn example(name: &str) -> PathBuf {
    if is_built() { beside(&["examples", name]) } else { build("--example", name) }
}

/// Returns whether cargo is not to be called: [`BUILT`].
pub fn is_built() -> bool {
    env::var_os(BUILT).is_some_and(|value| value == "1")
}

/// The path of a program in the directory that this test's own directory lies in.
fn beside(names: &[&str]) -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let mut at = test.ancestors().nth(2).expect("a directory of programs").to_owned();
    at.extend(names);
    at
}

/// How variables begin that cargo sets for one package.
const ABOUT_PACKAGES: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];

/// Builds a program in the profile of this test, and lets cargo say where it is. It is chosen from the whole workspace: for one
/// package cargo would choose other features of libraries, and compile most of them again. `kind`: `--bin` or `--example`.
fn build(kind: &str, name: &str) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--workspace", kind, name, "--message-format=json-render-diagnostics"]);
    cargo.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // What cargo tells a test about its package. Build scripts that look at such variables (`ring`'s) would run again
    // each time, and all that stands on them would be compiled again.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| ABOUT_PACKAGES.iter().any(|start| name.starts_with(start))) {
            cargo.env_remove(name);
        }
    }
    let built = cargo.stderr(Stdio::inherit()).output().expect("cargo can be started");
    assert!(built.status.success(), "{name} does not build");
    let messages = String::from_utf8(built.stdout).expect("cargo speaks JSON");
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the program")
}

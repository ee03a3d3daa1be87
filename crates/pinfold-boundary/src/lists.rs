//! Declared path scopes of the terminal, drawn for the kernel: what no list allows is not written and not seen, and
//! what one denies is neither, whatever words a command hides it behind.
//!
//! Trap: programs need the system. What belongs to it stays readable, and so do the places that programs are installed
//! in; a list for words can be narrower than that, a list for processes cannot.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_policy::path_scopes::KernelLists;

use crate::access_list::{Hold, PathAccess};
use crate::builder::BoundaryBuilder;
use crate::compile_error::CompileError;
use crate::request::SandboxRequest;

/// Places of the system, and places with a private part of the run over them: programs cannot do without.
const SYSTEM: [&str; 18] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/run",
    "/sbin", "/snap", "/sys", "/tmp", "/usr", "/var",
];

/// Directories below home in which programs for one user are installed.
const INSTALLED: [&str; 14] = [
    ".asdf",
    ".bun",
    ".cargo",
    ".deno",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/uv",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
];

/// Variables that name such places.
const NAMED_BY: [&str; 14] = [
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_INSTALL",
    "GOROOT",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Folders that the lists allow, for a grant that is otherwise everywhere.
pub(crate) fn folders(lists: &KernelLists) -> Vec<PathBuf> {
    let only = only(lists).unwrap_or_default();
    only.into_iter().filter(|place| place.is_dir() && !is_system(place)).collect()
}

/// Narrows a boundary that is drawn. `visible` is what was to be seen of covered directories.
pub(crate) fn apply(
    request: &SandboxRequest,
    home: Option<&Path>,
    cwd: &Path,
    visible: &mut Vec<PathBuf>,
    builder: &mut BoundaryBuilder,
) -> Result<(), CompileError> {
    let denied = &request.lists.denied;
    if let Some(place) = denied.iter().find(|place| cwd.starts_with(place)) {
        let why = format!("the denied `{}` holds it", place.display());
        return Err(CompileError::OutOfScope { path: cwd.to_owned(), why });
    }
    if let Some(only) = only(&request.lists) {
        let there: Vec<PathBuf> = only.iter().filter(|at| at.symlink_metadata().is_ok()).cloned().collect();
        builder.places.narrow(&there, request.private.path().ok());
        visible.retain(|place| only.iter().any(|allowed| place.starts_with(allowed)));
        cover(request, home, &only, builder);
        let seen = only.iter().any(|place| cwd.starts_with(place) || place.starts_with(cwd));
        if !seen && !is_system(cwd) {
            let why = "no allowed path of the terminal holds it, or lies in it".to_owned();
            return Err(CompileError::OutOfScope { path: cwd.to_owned(), why });
        }
    }
    visible.retain(|place| !denied.iter().any(|cover| place.starts_with(cover)));
    for place in denied {
        deny(place, builder);
    }
    Ok(())
}

/// The places that every list allows; `None` without a list that restricts.
fn only(lists: &KernelLists) -> Option<Vec<PathBuf>> {
    let everywhere = |list: &&Vec<PathBuf>| !list.iter().any(|place| place.parent().is_none());
    lists.allowed.iter().filter(everywhere).cloned().reduce(|one, other| both(&one, &other))
}

/// Returns the intersection of two lists of directories.
fn both(one: &[PathBuf], other: &[PathBuf]) -> Vec<PathBuf> {
    let deeper = |a: &PathBuf, b: &PathBuf| match (a.starts_with(b), b.starts_with(a)) {
        (true, _) => Some(a.clone()),
        (false, true) => Some(b.clone()),
        (false, false) => None,
    };
    one.iter().flat_map(|a| other.iter().filter_map(move |b| deeper(a, b))).collect()
}

/// Covers everything but the system, and lets through what is allowed and what programs are made of.
fn cover(request: &SandboxRequest, home: Option<&Path>, only: &[PathBuf], builder: &mut BoundaryBuilder) {
    let covers = non_system_directories(home);
    for place in &covers {
        // An allowed place above needs no cover.
        if !only.iter().any(|allowed| place.starts_with(allowed)) {
            builder.places.add(place.clone(), Hold::Covered, "no allowed path of the terminal holds it");
        }
    }
    let is_covered = |place: &Path| covers.iter().any(|cover| place.starts_with(cover) && place != cover);
    for place in only.iter().filter(|place| is_covered(place)) {
        match place.symlink_metadata() {
            Ok(_) => builder.places.add(place.clone(), Hold::Visible, "it is allowed"),
            Err(_) => {
                builder.findings.notes.push(format!("the allowed `{}` does not exist", place.display()));
            }
        }
    }
    for place in installed(request, home) {
        // Never home itself, or what holds it.
        if is_covered(&place) && !home.is_some_and(|home| home.starts_with(&place)) {
            builder.places.add(place, Hold::Visible, "programs are installed there");
        }
    }
}

/// The directories at the top that are not the system's, and home where it lies elsewhere.
fn non_system_directories(home: Option<&Path>) -> Vec<PathBuf> {
    let top = fs::read_dir("/").into_iter().flatten().flatten();
    let folders =
        top.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    let mut covers: Vec<PathBuf> = folders.filter(|place| !is_system(place)).collect();
    let elsewhere =
        |home: &&Path| home.is_dir() && is_system(home) && !PRIVATE.iter().any(|at| home.starts_with(at));
    covers.extend(home.filter(elsewhere).map(Path::to_owned));
    covers
}

/// Places that have a private part of the run over them already.
const PRIVATE: [&str; 4] = ["/dev", "/run", "/tmp", "/var/tmp"];

fn is_system(place: &Path) -> bool {
    SYSTEM.iter().any(|system| place.starts_with(system))
}

/// Returns the directories of programs outside of the system, by the environment and by convention.
fn installed(request: &SandboxRequest, home: Option<&Path>) -> Vec<PathBuf> {
    let value = |wanted: &str| {
        let found = request.environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_os_str())
    };
    let path = value("PATH").unwrap_or_default().as_bytes().split(|&b| b == b':');
    let path = path.map(|folder| PathBuf::from(OsStr::from_bytes(folder)));
    let named = NAMED_BY.iter().filter_map(|name| value(name)).map(PathBuf::from);
    let below = home.into_iter().flat_map(|home| INSTALLED.iter().map(|name| home.join(name)));
    path.chain(named)
        .chain(below)
        .filter(|at| at.is_absolute())
        .filter_map(|at| fs::canonicalize(at).ok())
        .collect()
}

/// Hides a denied place. One that does not exist yet cannot be made where something inside could make it.
fn deny(place: &Path, builder: &mut BoundaryBuilder) {
    const WHY: &str = "it is denied";
    let missing = place.ancestors().take_while(|at| at.symlink_metadata().is_err()).last();
    let Some(first) = missing else {
        return builder.places.add(place.to_owned(), Hold::Hidden, WHY);
    };
    match builder.places.access(first) {
        PathAccess::Writable => builder.places.add(first.to_owned(), Hold::Absent, WHY),
        PathAccess::Outside => builder.findings.notes.push(format!(
            "the denied `{}` does not exist; should it be made outside during the run, it can be read",
            place.display()
        )),
        PathAccess::ReadOnly(_) | PathAccess::Hidden(_) => {}
    }
}

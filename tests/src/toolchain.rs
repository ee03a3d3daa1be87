//! The Rust compiler and one crate of the local cache, as a user has them who installed Rust in their home.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::product::shelf;
use crate::{Bed, Who};

/// Programs and libraries of the toolchain, where `who` can read them.
pub fn toolchain(who: Who) -> Option<PathBuf> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    static FOR_OTHERS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let own = || OWN.get_or_init(sysroot).clone();
    match who.other_uid() {
        None => own(),
        Some(_) => FOR_OTHERS.get_or_init(|| share(&own()?)).clone(),
    }
}

fn sysroot() -> Option<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end())).filter(|p| p.is_dir())
}

/// A second name for every file that a build needs, in a place that is open to all.
fn share(own: &Path) -> Option<PathBuf> {
    let at = shelf().join("toolchain");
    fs::create_dir(&at).ok()?;
    for part in ["bin", "lib"] {
        let linked = Command::new("cp").arg("-al").arg(own.join(part)).arg(&at).output();
        if !linked.is_ok_and(|o| o.status.success()) {
            let copied = Command::new("cp").arg("-a").arg(own.join(part)).arg(&at).status().ok()?;
            copied.success().then_some(())?;
        }
    }
    Some(at)
}

/// Puts the registry index and the downloaded archive of one crate into the home of a bed; returns the version that
/// there is. The archive is not unpacked: that is the build's first write to the cache.
pub fn cache_crate(bed: &Bed, name: &str) -> Option<String> {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let registry = cargo.or_else(|| Some(env::home_dir()?.join(".cargo")))?.join("registry");
    let archive = walk(&registry.join("cache"))
        .into_iter()
        .find(|at| at.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&format!("{name}-"))))?;
    let version =
        archive.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".crate")?;
    let home = bed.home().join(".cargo/registry");
    let cache = home.join("cache").join(archive.parent()?.file_name()?);
    fs::create_dir_all(&cache).ok()?;
    fs::copy(&archive, cache.join(archive.file_name()?)).ok()?;
    let copied = Command::new("cp").arg("-a").arg(registry.join("index")).arg(&home).status().ok()?;
    copied.success().then(|| version.to_owned())
}

fn walk(at: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(at).into_iter().flatten().flatten().map(|e| e.path());
    below.flat_map(|p| if p.is_dir() { walk(&p) } else { vec![p] }).collect()
}

//! Places that a confined process cannot read: the credential stores that exist, and those that the user names.
//!
//! The places come from the guards for reading, so that the file tools ask about the same ones. A place that
//! does not exist at the start cannot be covered; a directory that is a store as a whole is covered as a whole,
//! so what appears in it later is unreadable too.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use pinfold_policy::{Guard, Guards, KernelProtection};
use pinfold_sandbox::open_plain_through_links;

/// Files are searched for marker words up to here; a login in a settings file stands near its top.
const MAX_SEARCHED: u64 = 256 * 1024;

/// The existing credential places, resolved.
pub(crate) fn existing(guards: &Guards, home: Option<&Path>) -> Vec<(PathBuf, String)> {
    let homes = homes(home);
    let mut found = Vec::new();
    for guard in guards.read_list().iter().filter(|g| g.kernel_protection() >= KernelProtection::WhenPresent)
    {
        let pattern = guard.pattern();
        if let Some(below) = pattern.strip_prefix("~/") {
            for home in homes.iter().filter(|h| h.may_hold(below)) {
                expand(&home.path.join(below), guard, guards, &home.path, &mut found);
            }
        } else if pattern.starts_with('/') {
            expand(Path::new(pattern), guard, guards, Path::new("/"), &mut found);
        }
    }
    found
}

/// A home directory with the names in it and in its `.config`: nearly all of the places that are looked for are
/// missing, and two listings are cheaper than a hundred look-ups.
pub(crate) struct Home {
    path: PathBuf,
    names: Option<Names>,
    config: Option<Names>,
}

/// The names in a directory, in order.
type Names = Vec<OsString>;

fn lists(names: &Names, name: &str) -> bool {
    names.binary_search_by(|known| known.as_encoded_bytes().cmp(name.as_bytes())).is_ok()
}

impl Home {
    pub(crate) fn new(path: PathBuf) -> Self {
        let names = names_in(&path);
        let configured = names.as_ref().is_none_or(|names| lists(names, ".config"));
        let config = if configured { names_in(&path.join(".config")) } else { None };
        Self { path, names, config }
    }

    /// False only when a listing shows that nothing can be there.
    pub(crate) fn may_hold(&self, below: &str) -> bool {
        let listed = |names: &Option<Names>, part: Option<&str>| match (names, part) {
            (Some(names), Some(part)) => lists(names, part),
            _ => true,
        };
        let mut parts = below.split('/');
        match parts.next() {
            Some(".config") if self.config.is_some() => listed(&self.config, parts.next()),
            first => listed(&self.names, first),
        }
    }
}

fn names_in(directory: &Path) -> Option<Names> {
    let entries = fs::read_dir(directory).ok()?;
    let mut names: Names = entries.map(|e| Some(e.ok()?.file_name())).collect::<Option<_>>()?;
    names.sort_unstable();
    Some(names)
}

/// The person's home and those of others that can be entered (all of them, for the superuser).
fn homes(home: Option<&Path>) -> Vec<Home> {
    let mut homes: Vec<PathBuf> = home.map(Path::to_owned).into_iter().collect();
    let listed = ["/home", "/Users"].iter().filter_map(|d| fs::read_dir(d).ok()).flatten().flatten();
    for other in listed.map(|e| e.path()).chain([PathBuf::from("/root")]) {
        // `.` can be looked up only where the directory may be entered.
        if !homes.contains(&other) && fs::symlink_metadata(other.join(".")).is_ok_and(|m| m.is_dir()) {
            homes.push(other);
        }
    }
    homes.into_iter().map(Home::new).collect()
}

/// A `*` stands in the last component only; its directory is listed and each name asked about.
fn expand(path: &Path, guard: &Guard, guards: &Guards, home: &Path, found: &mut Vec<(PathBuf, String)>) {
    let is_pattern = path.file_name().is_some_and(|n| n.as_encoded_bytes().contains(&b'*'));
    if !is_pattern {
        return keep(path, guard, found);
    }
    let Some(entries) = path.parent().and_then(|parent| fs::read_dir(parent).ok()) else { return };
    for entry in entries.flatten() {
        if guards.read(&entry.path(), Some(home), false).is_some() {
            keep(&entry.path(), guard, found);
        }
    }
}

fn keep(path: &Path, guard: &Guard, found: &mut Vec<(PathBuf, String)>) {
    let Ok(meta) = fs::metadata(path) else { return };
    if !(meta.is_file() || meta.is_dir()) || !counts(path, guard) {
        return;
    }
    if let Ok(real) = fs::canonicalize(path) {
        found.push((real, guard.why().to_owned()));
    }
}

/// Returns whether a guard counts for what is at a place now: one that goes by words in a file counts where they are.
pub(crate) fn counts(place: &Path, guard: &Guard) -> bool {
    guard.markers().is_empty() || is_marked(place, guard.markers())
}

/// A file that cannot be read by the person cannot be read inside either; it counts as marked.
fn is_marked(path: &Path, markers: &[&str]) -> bool {
    let mut text = Vec::new();
    let read = open_plain_through_links(path).and_then(|f| f.take(MAX_SEARCHED).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    read.is_err() || markers.iter().any(|m| text.contains(m))
}

/// The parts of `cover` that can be covered without covering anything in `open`.
pub(crate) fn coverable_parts(cover: &Path, open: &[PathBuf]) -> Vec<PathBuf> {
    if open.iter().any(|o| cover.starts_with(o)) {
        return Vec::new();
    }
    if !open.iter().any(|o| o.starts_with(cover)) {
        return vec![cover.to_owned()];
    }
    let Ok(entries) = fs::read_dir(cover) else { return Vec::new() };
    let plain = entries.flatten().filter(|e| e.file_type().is_ok_and(|t| !t.is_symlink()));
    plain.flat_map(|e| coverable_parts(&e.path(), open)).collect()
}

#[cfg(test)]
mod tests {
    use pinfold_testkit::TempTree;

    use super::*;

    #[test]
    fn a_file_counts_by_its_words_and_a_pipe_without_waiting_for_any() {
        let tree = TempTree::new();
        tree.write("with", "a\n_AuthToken=x");
        tree.write("without", "registry=x");
        tree.link("link", "without");
        tree.make_pipe("pipe");
        for (name, expected) in [("with", true), ("without", false), ("link", false), ("pipe", true)] {
            assert_eq!(is_marked(&tree.path(name), &["_authtoken"]), expected, "{name}");
        }
    }
}

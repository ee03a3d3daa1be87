//! Text of paths, taken apart as the kernel does ([path_resolution(7)](https://man7.org/linux/man-pages/man7/path_resolution.7.html)).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Joins what a path has behind a link, as far as that stays below it.
pub(super) fn join_below<'n>(link: PathBuf, behind: impl Iterator<Item = &'n [u8]>) -> PathBuf {
    let mut name = link;
    let mut depth = 0_usize;
    for component in behind.map(without_slashes) {
        match component {
            b"" | b"." => {}
            b".." if depth == 0 => break,
            b".." => {
                name.pop();
                depth -= 1;
            }
            plain => {
                name.push(OsStr::from_bytes(plain));
                depth += 1;
            }
        }
    }
    name
}

/// Splits a path before its last component; slashes behind that belong to it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let start =
        path.get(..end).and_then(|path| path.iter().rposition(|byte| *byte == b'/')).map_or(0, |at| at + 1);
    path.split_at_checked(start).unwrap_or_default()
}

/// Returns whether the last component of a path names nothing in its directory.
pub(super) fn is_no_name(name: &[u8]) -> bool {
    matches!(without_slashes(name), b"" | b"." | b"..")
}

/// Returns the last component of a path: `.`, `..`, and nothing for the root, where it has no name.
pub(super) fn last_component(path: &OsStr) -> &[u8] {
    without_slashes(split(path.as_bytes()).1)
}

/// Returns a component without the slashes behind it.
pub(super) fn without_slashes(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    name.get(..end).unwrap_or_default()
}

//! A path as it was written, and its spelling as an absolute path.
//!
//! Promise: spelling looks at nothing but the words; `..` is kept, since only the file system knows what it means.
//! Trap: `file://` and percent signs are ordinary letters here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::resolve::Why;

/// A path as the agent wrote it: an allegation. It may hold `..`, pass links, name nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathClaim(PathBuf);

impl PathClaim {
    /// Takes the words as they are; nothing is looked at.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Takes a path from bytes, for names that are not UTF-8.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(PathBuf::from(OsStr::from_bytes(bytes)))
    }

    /// The words, for showing; to act on them is what this crate exists to prevent.
    #[must_use]
    pub fn as_written(&self) -> &Path {
        &self.0
    }
}

/// Longest path that is looked at, in bytes: four times what the kernel takes in one call. Beyond it no program
/// could use the name, and the walk would only cost time.
const MAX_PATH_BYTES: usize = 4 * 4096;
/// Longest single name, in bytes, on every file system of Linux (`NAME_MAX`). A file system with shorter
/// names answers with an error in its turn.
pub(crate) const MAX_NAME_LEN: usize = 255;

/// An absolute path in words: single slashes, no `.`, no slash at the end; `..` is kept.
#[derive(Debug)]
pub(crate) struct Spelling {
    pub(crate) path: PathBuf,
    /// Number of bytes of `path` that come from the working directory.
    pub(crate) from_cwd: usize,
    /// The claim ends in a slash, `.` or `..`: only a folder can stand there.
    pub(crate) must_be_folder: bool,
    /// There is a `..` in it.
    pub(crate) climbs: bool,
}

/// Joins a claim to the working directory and expands `~`.
pub(crate) fn spell(cwd: &Path, home: Option<&Path>, claim: &PathClaim) -> Result<Spelling, Why> {
    let written = claim.0.as_os_str().as_bytes();
    if written.is_empty() {
        return Err(Why::Empty);
    }
    let mut words = ClaimBytes::new(cwd.as_os_str().len() + written.len());
    match tilde(written, home)? {
        Some((home, rest)) => {
            words.push(home.as_os_str().as_bytes())?;
            words.push(rest)?;
        }
        None if written.first() == Some(&b'/') => words.push(written)?,
        None if cwd.is_absolute() => {
            words.push(cwd.as_os_str().as_bytes())?;
            words.from_cwd = words.bytes.len();
            words.push(written)?;
        }
        None => return Err(Why::WorkingDirectory),
    }
    Ok(words.finish())
}

/// Splits `~` or `~/rest`; `~name` is another user's home and is not looked up.
fn tilde<'a>(written: &'a [u8], home: Option<&'a Path>) -> Result<Option<(&'a Path, &'a [u8])>, Why> {
    let Some(after) = written.strip_prefix(b"~") else { return Ok(None) };
    match after.first() {
        None | Some(b'/') => {
            let home = home.filter(|home| home.is_absolute()).ok_or(Why::NoHome)?;
            Ok(Some((home, after)))
        }
        Some(first) if first.is_ascii_alphabetic() || *first == b'_' => Err(Why::OtherUsersHome),
        // `~$report.docx`, `~1`: an ordinary name.
        Some(_) => Ok(None),
    }
}

struct ClaimBytes {
    bytes: Vec<u8>,
    from_cwd: usize,
    must_be_folder: bool,
    climbs: bool,
}

impl ClaimBytes {
    fn new(room: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(room.min(MAX_PATH_BYTES) + 2),
            from_cwd: 0,
            must_be_folder: false,
            climbs: false,
        }
    }

    fn push(&mut self, path: &[u8]) -> Result<(), Why> {
        if path.contains(&0) {
            return Err(Why::Nul);
        }
        if self.bytes.len() + path.len() > MAX_PATH_BYTES {
            return Err(Why::TooLong);
        }
        for name in path.split(|byte| *byte == b'/') {
            self.must_be_folder = matches!(name, b"" | b"." | b"..");
            self.climbs |= name == b"..";
            if !matches!(name, b"" | b".") {
                self.bytes.push(b'/');
                self.bytes.extend_from_slice(name);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Spelling {
        if self.bytes.is_empty() {
            self.bytes.push(b'/');
        }
        Spelling {
            path: PathBuf::from(OsString::from_vec(self.bytes)),
            from_cwd: self.from_cwd,
            must_be_folder: self.must_be_folder,
            climbs: self.climbs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(claim: &str) -> Result<Spelling, Why> {
        spell(Path::new("/w/./d/"), Some(Path::new("/home/u")), &PathClaim::new(claim))
    }

    #[test]
    fn words_become_an_absolute_path() {
        for (claim, path) in [
            ("a", "/w/d/a"),
            ("./a//b/.", "/w/d/a/b"),
            ("../a", "/w/d/../a"),
            ("/x//y/", "/x/y"),
            ("/", "/"),
            (".", "/w/d"),
            ("~", "/home/u"),
            ("~/x", "/home/u/x"),
            ("~$report.docx", "/w/d/~$report.docx"),
            ("file:///etc/passwd", "/w/d/file:/etc/passwd"),
            ("%2e%2e/x", "/w/d/%2e%2e/x"),
        ] {
            assert_eq!(spelled(claim).unwrap().path, Path::new(path), "{claim}");
        }
    }

    #[test]
    fn what_only_a_folder_can_answer_is_remembered() {
        for (claim, folder) in
            [("a", false), ("a/", true), ("a/.", true), ("a/..", true), ("~", true), (".", true)]
        {
            assert_eq!(spelled(claim).unwrap().must_be_folder, folder, "{claim}");
        }
        assert!(spelled("a/../b").unwrap().climbs);
        assert!(!spelled("a..b/...").unwrap().climbs);
    }

    #[test]
    fn words_that_cannot_be_a_path_are_refused() {
        assert_eq!(spelled("").unwrap_err(), Why::Empty);
        assert_eq!(spelled("a\0b").unwrap_err(), Why::Nul);
        assert_eq!(spelled("~root/x").unwrap_err(), Why::OtherUsersHome);
        assert_eq!(spelled(&"n/".repeat(9000)).unwrap_err(), Why::TooLong);
        assert_eq!(spell(Path::new("/"), None, &PathClaim::new("~/x")).unwrap_err(), Why::NoHome);
        assert_eq!(spell(Path::new("rel"), None, &PathClaim::new("x")).unwrap_err(), Why::WorkingDirectory);
    }
}

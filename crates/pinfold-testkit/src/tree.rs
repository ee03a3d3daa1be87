//! A temporary directory tree.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode};
use tempfile::TempDir;

use crate::ground::new_place;

/// A directory tree that is removed when it is dropped. Its paths are resolved: no part of them is a link.
#[derive(Debug)]
pub struct TempTree {
    top: PathBuf,
    _directory: TempDir,
}

impl Default for TempTree {
    fn default() -> Self {
        Self::new()
    }
}

impl TempTree {
    /// An empty tree below the directory for temporary files, where a run has a private one.
    pub fn new() -> Self {
        Self::own(tempfile::tempdir().expect("a temporary directory"))
    }

    /// An empty tree where a run has no private directory, so that it is visible inside: see [`ground`](crate::ground).
    /// A test that expects a refusal needs one.
    pub fn visible_inside() -> Self {
        Self::own(new_place("bed."))
    }

    fn own(directory: TempDir) -> Self {
        let top = directory.path().canonicalize().expect("the new directory");
        Self { top, _directory: directory }
    }

    /// The same tree with these directories.
    #[must_use]
    pub fn with_dirs<P: AsRef<Path>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        for path in paths {
            self.make_dir(path);
        }
        self
    }

    /// The same tree with these files, all of this content.
    #[must_use]
    pub fn with_files<P: AsRef<Path>>(self, paths: impl IntoIterator<Item = P>, content: &str) -> Self {
        for path in paths {
            self.write(path, content);
        }
        self
    }

    /// The same tree with what is named: directories (`NAME/`), empty files (`NAME`) and links (`NAME -> TEXT`).
    #[must_use]
    pub fn with_names(self, names: &[&str]) -> Self {
        for name in names {
            match name.split_once(" -> ") {
                Some((name, text)) => self.link(name, text),
                None if name.ends_with('/') => self.make_dir(name),
                None => self.write(name, ""),
            };
        }
        self
    }

    /// The directory that everything is below.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The path of something in the tree, whether or not it is there; the top for an empty name.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        // Joined to nothing it would end in a slash.
        if name.as_ref().as_os_str().is_empty() { self.top.clone() } else { self.top.join(name) }
    }

    /// Makes a directory and those above it.
    pub fn make_dir(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap_or_else(|failed| panic!("{}: {failed}", path.display()));
        path
    }

    /// Writes a file and makes the directories above it.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.with_parent(name.as_ref());
        fs::write(&path, content).unwrap_or_else(|failed| panic!("{}: {failed}", path.display()));
        path
    }

    /// Writes a file that can be executed.
    pub fn write_program(&self, name: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the mode of a program");
        path
    }

    /// Makes a symbolic link to `target`, which is taken as it is.
    pub fn link(&self, name: impl AsRef<Path>, target: impl AsRef<Path>) -> PathBuf {
        let path = self.with_parent(name.as_ref());
        symlink(target, &path).unwrap_or_else(|failed| panic!("{}: {failed}", path.display()));
        path
    }

    /// Makes a pipe with a name, with no process at either end: what opens it and waits is stuck.
    pub fn make_pipe(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        let made = rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RWXU, 0);
        made.unwrap_or_else(|failed| panic!("{}: {failed}", path.display()));
        path
    }

    /// Makes a git directory as `git init` does, so far as it counts as one.
    pub fn make_git_dir(&self, name: &str) -> PathBuf {
        for part in ["objects/info", "refs/heads", "logs", "hooks", "info"] {
            self.make_dir(Path::new(name).join(part));
        }
        self.write(Path::new(name).join("HEAD"), "ref: refs/heads/main\n");
        self.write(Path::new(name).join("config"), "[core]\n\tbare = false\n");
        self.path(name)
    }

    /// The content of a file.
    pub fn read(&self, name: impl AsRef<Path>) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|failed| panic!("{}: {failed}", path.display()))
    }

    /// The content of a file, if there is one.
    pub fn read_if_there(&self, name: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn with_parent(&self, name: &Path) -> PathBuf {
        let path = self.path(name);
        let parent = path.parent().expect("a file below a directory");
        fs::create_dir_all(parent).unwrap_or_else(|failed| panic!("{}: {failed}", parent.display()));
        path
    }
}

/// Everything below `tree`, a line each: path, mode, content or target. To compare before and after.
pub fn snapshot(tree: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut waiting = vec![tree.to_owned()];
    while let Some(at) = waiting.pop() {
        let found = at.symlink_metadata().expect("a listed place");
        let what = if found.is_dir() {
            waiting.extend(fs::read_dir(&at).expect("a directory").map(|e| e.expect("an entry").path()));
            String::new()
        } else if found.is_symlink() {
            fs::read_link(&at).expect("a link").to_string_lossy().into_owned()
        } else if found.is_file() {
            match fs::read(&at) {
                Ok(content) => String::from_utf8_lossy(&content).into_owned(),
                // Such as the file by which supervisors take turns.
                Err(closed) => closed.kind().to_string(),
            }
        } else {
            "special".into()
        };
        lines.push(format!("{} {:o} {what:?}", at.display(), found.permissions().mode()));
    }
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_what_was_put_there_and_goes_when_it_is_dropped() {
        let tree = TempTree::new().with_dirs(["a/b"]).with_files(["a/f", "g"], "x\n");
        tree.link("a/l", "f");
        tree.write_program("run", "#!/bin/sh\nexit 7\n");
        assert_eq!((tree.read("a/l").as_str(), tree.read_if_there("none")), ("x\n", None));
        assert_eq!(std::process::Command::new(tree.path("run")).status().expect("a start").code(), Some(7));
        let lines = snapshot(tree.top());
        assert_eq!(lines.len(), 7, "{lines:#?}");
        let top = tree.top().to_owned();
        drop(tree);
        assert!(!top.exists());
    }

    #[test]
    fn a_tree_that_is_visible_inside_lies_below_no_place_of_a_run() {
        let tree = TempTree::visible_inside();
        let covered = crate::ground::COVERED.iter().any(|covered| tree.top().starts_with(covered));
        // Where there is no other place to write, that was reported.
        assert!(!covered || tree.top().starts_with(std::env::temp_dir()), "{}", tree.top().display());
    }
}

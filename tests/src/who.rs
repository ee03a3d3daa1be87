//! Who runs a test: the superuser, an ordinary user, or both.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::missing::{SEARCH_PATH, left_out};

/// A number that nobody has: files of it belong to no account, and nothing else of its runs.
pub const STRANGER: u32 = 60_001;

/// A Unix user to run things as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// User 0.
    Superuser,
    /// Somebody without privileges: who runs the tests, or [`STRANGER`] when that is the superuser.
    Ordinary,
}

impl Who {
    /// Whom this process can be. The others are said to be left out.
    pub fn present() -> Vec<Self> {
        if is_superuser() {
            return vec![Self::Superuser, Self::Ordinary];
        }
        left_out("everything as the superuser", "the tests run as an ordinary user");
        vec![Self::Ordinary]
    }

    /// The user number to change to, when it is another than that of this process.
    pub fn other_uid(self) -> Option<u32> {
        (self == Self::Ordinary && is_superuser()).then_some(STRANGER)
    }

    /// A command that this user starts, with an environment of only [`SEARCH_PATH`], a language and `home`.
    pub fn command(self, program: impl AsRef<OsStr>, home: &Path) -> Command {
        let mut command = match self.other_uid() {
            None => Command::new(program),
            Some(uid) => {
                let mut command = Command::new("setpriv");
                let uid = uid.to_string();
                command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        command.env_clear().env("PATH", SEARCH_PATH).env("LANG", "C.UTF-8").env("HOME", home);
        command
    }

    /// Gives a tree to this user.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn give(self, tree: &Path) {
        let Some(uid) = self.other_uid() else { return };
        std::os::unix::fs::lchown(tree, Some(uid), Some(uid)).expect("changing the owner");
        if tree.symlink_metadata().is_ok_and(|m| m.is_dir()) {
            for entry in fs::read_dir(tree).expect("a tree that can be listed") {
                self.give(&entry.expect("an entry").path());
            }
        }
    }
}

pub(crate) fn is_superuser() -> bool {
    fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superuser => "superuser",
            Self::Ordinary => "ordinary",
        })
    }
}

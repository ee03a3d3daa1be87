//! Who runs a test: the superuser, an ordinary user, or both.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::missing::{SEARCH_PATH, left_out};
use crate::processes::is_superuser;

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

/// Set to `1`, it says that an ordinary user has run the same tests: the superuser tries only what differs.
const ALONE: &str = "PINFOLD_TESTS_SUPERUSER_ALONE";

impl Who {
    /// Returns the users to try things as: those that this process can be. The others are said to be left out.
    pub fn present() -> Vec<Self> {
        [Self::Superuser, Self::Ordinary].into_iter().filter(|who| who.is_present()).collect()
    }

    /// Returns whether things are to be tried as this user; if not, [`left_out`] has been told.
    pub fn is_present(self) -> bool {
        let why = match self {
            Self::Superuser if !is_superuser() => "the tests run as an ordinary user",
            Self::Ordinary if is_superuser() && is_alone() => "one has run the tests already",
            Self::Superuser | Self::Ordinary => return true,
        };
        left_out(&format!("everything as {self}"), why);
        false
    }

    /// Returns whether this process can be both users.
    pub fn can_be_both() -> bool {
        is_superuser()
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
        furnish(&mut command, home);
        command
    }

    /// The same command, with no program between that changes the user: it starts sooner, and cannot be put behind another one.
    pub fn direct_command(self, program: impl AsRef<OsStr>, home: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some(uid) = self.other_uid() {
            command.uid(uid).gid(uid);
        }
        furnish(&mut command, home);
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

fn furnish(command: &mut Command, home: &Path) {
    command.env_clear().env("PATH", SEARCH_PATH).env("LANG", "C.UTF-8").env("HOME", home);
}

/// Whether the superuser tries only what an ordinary user has not.
fn is_alone() -> bool {
    env::var_os(ALONE).is_some_and(|value| value == "1")
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superuser => "superuser",
            Self::Ordinary => "ordinary",
        })
    }
}

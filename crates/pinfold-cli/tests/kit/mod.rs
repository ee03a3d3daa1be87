//! A person with a project in their home, and pinfold as they call it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use pinfold_testkit::TempTree;
use pinfold_testkit::output::both;

/// A home and a project, gone at the end.
pub(crate) struct Bed {
    pub(crate) tree: TempTree,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

impl Bed {
    /// A home with a project in it, `proj`: both empty, but for what makes the project one.
    pub(crate) fn new() -> Self {
        Self::in_tree(TempTree::visible_inside().with_dirs(["home/proj/.pinfold"]), "home", "home/proj")
    }

    /// A home and a project at these places of a tree.
    pub(crate) fn in_tree(tree: TempTree, home: &str, project: &str) -> Self {
        let (home, project) = (tree.make_dir(home), tree.make_dir(project));
        Self { tree, home, project }
    }

    /// The directory of this person's audit log.
    pub(crate) fn record(&self) -> PathBuf {
        self.home.join(".local/state/pinfold/record")
    }

    /// The path of a file of their home.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Writes a file of their home.
    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        self.tree.write(self.at(name), text)
    }

    /// Writes their settings.
    pub(crate) fn put_settings(&self, text: &(impl Display + ?Sized)) {
        self.put(".config/pinfold/settings.json", &text.to_string());
    }

    /// The content of a file of their home, if it is there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        self.tree.read_if_there(self.at(name))
    }

    /// Calls pinfold in the project, without a terminal.
    pub(crate) fn pinfold(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// The same call before it is started.
    pub(crate) fn command(&self) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_pinfold"))
    }

    /// A call of another program in the same environment.
    pub(crate) fn command_of(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project).env_clear().stdin(Stdio::null());
        command.env("HOME", &self.home).env("PATH", "/usr/bin:/bin");
        command
    }

    /// The standard output of pinfold, which has to succeed.
    pub(crate) fn said(&self, args: &[&str]) -> String {
        let output = self.pinfold(args);
        assert!(output.status.success(), "{args:?}: {}", both(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

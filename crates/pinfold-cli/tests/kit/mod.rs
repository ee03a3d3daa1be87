//! A person with a project in their home, and pinfold as they call it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A home with a project in it, `proj`: gone at the end.
pub(crate) struct Bed {
    _top: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

#[allow(dead_code, reason = "each test uses a part of it")]
impl Bed {
    /// Both empty, but for what makes the project one.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (home, project) = (top.join("home"), top.join("home/proj"));
        fs::create_dir_all(project.join(".pinfold")).unwrap();
        Self { _top: folder, home, project }
    }

    /// Where the record of this person stands.
    pub(crate) fn record(&self) -> PathBuf {
        self.home.join(".local/state/pinfold/record")
    }

    /// A file of their home.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Writes a file of their home.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    /// What stands in a file of their home, if it is there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.at(name)).ok()
    }

    /// Calls pinfold in the project, where nobody sits.
    pub(crate) fn pinfold(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// The same, before it is started.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinfold"));
        command.current_dir(&self.project).env_clear().stdin(Stdio::null());
        command.env("HOME", &self.home).env("PATH", "/usr/bin:/bin");
        command
    }

    /// What pinfold says, when it ends well.
    pub(crate) fn said(&self, args: &[&str]) -> String {
        let output = self.pinfold(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// All that was said.
#[allow(dead_code, reason = "each test uses a part of it")]
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

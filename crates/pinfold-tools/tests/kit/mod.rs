//! A folder, a session in it, and calls.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold::audit::Memory;
use pinfold::policy::FolderChoice;
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_tools::{Ended, Reply, call};
use serde_json::{Value, json};

pub(crate) struct Bed {
    _temp: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) session: Session,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let session = session(&root);
        Self { _temp: temp, root, session }
    }

    pub(crate) fn call(&self, tool: &str, input: Value) -> Reply {
        call(&self.session, &RawCall::new(tool, input))
    }

    pub(crate) fn done(&self, tool: &str, input: Value) -> String {
        let reply = self.call(tool, input);
        assert_eq!(reply.ended, Ended::Done, "{tool}: {}", reply.text());
        reply.text()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub(crate) fn read(&self, path: &str) {
        self.done("Read", json!({"file_path": path}));
    }
}

pub(crate) fn session(root: &Path) -> Session {
    // The home lies in the folder here.
    let folder_choice = FolderChoice { said_twice: true, ..FolderChoice::default() };
    let plan = Plan::for_folder(root).with_home(root.join("home")).with_folder_choice(folder_choice);
    Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap()
}

//! A folder, a session in it, and calls.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use pinfold::policy::FolderChoice;
use pinfold::{Plan, RawCall, Session};
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use pinfold_tools::{CallEnding, Reply, call};
use serde_json::{Value, json};

pub(crate) struct Bed {
    tree: TempTree,
    pub(crate) root: PathBuf,
    pub(crate) session: Session,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let tree = TempTree::new();
        let root = tree.make_dir("root");
        let session = session(&root);
        Self { tree, root, session }
    }

    pub(crate) fn call(&self, tool: &str, input: Value) -> Reply {
        call(&self.session, &RawCall::new(tool, input))
    }

    pub(crate) fn done(&self, tool: &str, input: Value) -> String {
        let reply = self.call(tool, input);
        assert_eq!(reply.ended, CallEnding::Done, "{tool}: {}", reply.text());
        reply.text()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        self.tree.write(self.root.join(path), content);
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.tree.read(self.root.join(path))
    }

    pub(crate) fn read(&self, path: &str) {
        self.done("Read", json!({"file_path": path}));
    }
}

pub(crate) fn session(root: &Path) -> Session {
    // The home lies in the folder here.
    let folder_choice = FolderChoice { said_twice: true, ..FolderChoice::default() };
    let plan = Plan::for_folder(root).with_home(root.join("home")).with_folder_choice(folder_choice);
    open(plan)
}

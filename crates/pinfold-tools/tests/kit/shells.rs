//! A workspace with a folder in it, and a session whose shells are held to that folder.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

use pinfold::audit::Memory;
use pinfold::policy::{Access, Principal, Scope};
use pinfold::{Plan, RawCall, Session};
use pinfold_boundary::Network;
use pinfold_gate_testkit::session::open_recorded;
use pinfold_sandbox::Tier;
use pinfold_testkit::TempTree;
use pinfold_tools::{CallEnding, Reply, ShellOptions, Shells, call};
use serde_json::{Value, json};

pub(crate) struct ShellBed {
    _tree: TempTree,
    /// What the session reads relative to; nothing in it but the folder is writable.
    pub(crate) workspace: PathBuf,
    /// The folder.
    pub(crate) root: PathBuf,
    /// Where the session makes its private directory.
    pub(crate) private: PathBuf,
    pub(crate) journal: Arc<Memory>,
}

impl ShellBed {
    pub(crate) fn new() -> Self {
        let tree = TempTree::new().with_files(["ws/other/read-me"], "read\n");
        tree.make_git_dir("ws/root/.git");
        let (workspace, root) = (tree.path("ws"), tree.path("ws/root"));
        Self { workspace, root, private: tree.make_dir("private"), journal: Arc::default(), _tree: tree }
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan::for_folder(&self.root)
            .with_scope(Scope {
                root: self.root.clone(),
                display_root: self.workspace.clone(),
                enforce_write: true,
                allow_bash: true,
            })
            .with_principal(Principal::Subagent("builder".into()))
    }

    pub(crate) fn options(&self) -> ShellOptions {
        let mut options = ShellOptions::new(&self.private);
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        // Without home and shell bash would ask the name service for them.
        options.request.environment = vec![
            ("PATH".into(), path),
            ("HOME".into(), "/proc/nowhere".into()),
            ("SHELL".into(), "/bin/bash".into()),
        ];
        options
    }

    pub(crate) fn open(&self, mut plan: Plan, options: ShellOptions) -> Session {
        plan.shells = Some(Arc::new(Shells::from_plan(&plan, options).unwrap()));
        open_recorded(plan, self.journal.clone())
    }

    pub(crate) fn session(&self) -> Session {
        self.open(self.plan(), self.options())
    }

    pub(crate) fn reading(&self) -> Session {
        self.open(self.plan().with_access(Access::ReadOnly), self.options())
    }

    pub(crate) fn degraded(&self) -> Session {
        let tiers = ShellOptions { weakest: Tier::Landlock, strongest: Tier::Landlock, ..self.options() };
        self.open(self.plan(), tiers)
    }

    pub(crate) fn networked(&self) -> Session {
        let mut options = self.options();
        options.request.network = Network::Host;
        self.open(self.plan(), options)
    }

    /// The same command, in a script that the gate does not read: what it does is left to the kernel.
    pub(crate) fn sourced(&self, command: &str) -> String {
        fs::write(self.workspace.join("sourced.sh"), command).unwrap();
        ". ../sourced.sh".to_owned()
    }

    /// How many directories of sessions there are.
    pub(crate) fn temporary(&self) -> usize {
        let own: Vec<_> = fs::read_dir(&self.private).unwrap().map(|entry| entry.unwrap().path()).collect();
        own.iter().map(|own| fs::read_dir(own).unwrap().count()).sum()
    }

    /// Whether somebody holds the lock that `holding` commands take.
    pub(crate) fn is_locked(&self) -> bool {
        File::create(self.root.join("lock")).unwrap().try_lock().is_err()
    }
}

/// A command whose every process holds a lock, also those that tried to get away.
pub(crate) const HOLDING: &str = "exec 9>lock; flock 9; setsid sleep 300 & (sleep 300 & disown); trap '' TERM; echo held; sleep 300; sleep 300";

pub(crate) fn ask(session: &Session, tool: &str, input: Value) -> Reply {
    call(session, &RawCall::new(tool, input))
}

pub(crate) fn bash(session: &Session, command: &str) -> Reply {
    let reply = ask(session, "Bash", json!({"command": command}));
    assert_eq!(reply.ended, CallEnding::Done, "{command}: {}", reply.text());
    reply
}

/// Starts a background shell and gives its name.
pub(crate) fn begin(session: &Session, command: &str) -> String {
    let reply = ask(session, "Bash", json!({"command": command, "run_in_background": true}));
    assert_eq!(reply.ended, CallEnding::Done, "{}", reply.text());
    reply.structured["shell_id"].as_str().unwrap().to_owned()
}

/// Reads a background shell until `words` were said.
pub(crate) fn until(session: &Session, id: &str, words: &str) -> String {
    let mut said = String::new();
    while !said.contains(words) {
        let reply = ask(session, "BashOutput", json!({"bash_id": id, "wait": 600_000}));
        assert_eq!(reply.ended, CallEnding::Done, "{}", reply.text());
        said.push_str(reply.structured["output"].as_str().unwrap());
        assert!(reply.structured["status"] == "running" || said.contains(words), "{}", reply.text());
    }
    said
}

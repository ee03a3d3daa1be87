//! A session with hooks from settings, in a folder of its own, and whoever listens.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pinfold::policy::merge::{Layered, merge};
use pinfold::policy::{Layer, Policy, Settings};
use pinfold::{AssumedShells, GateResult, Plan, Session};
use pinfold_gate_testkit::TestApprover;
use pinfold_gate_testkit::calls::bash;
use pinfold_gate_testkit::session::open;
use pinfold_hooks::{HookEnvironment, Notice, from_settings};
use pinfold_testkit::TempTree;
use pinfold_testkit::processes::is_running;
use serde_json::{Value, json};

pub(crate) struct Bed {
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    approver: Arc<TestApprover>,
    told: Arc<Mutex<Vec<Notice>>>,
    tree: TempTree,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let tree = TempTree::new();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        Self {
            environment: vec![("PATH".into(), path)],
            folder: tree.top().to_owned(),
            approver: Arc::default(),
            told: Arc::default(),
            tree,
        }
    }

    /// A program in the folder.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        self.tree.write_program(name, text)
    }

    /// A session with these hooks.
    pub(crate) fn session(&self, hooks: &Value) -> Session {
        self.session_with(hooks, |_| {})
    }

    pub(crate) fn session_with(&self, hooks: &Value, change: impl FnOnce(&mut Plan)) -> Session {
        let text = json!({"hooks": hooks}).to_string();
        let settings = Settings::parse(text.as_bytes(), Layer::User, &"settings.json".into());
        let settings = settings.unwrap_or_else(|bad| panic!("{bad}"));
        let merged = merge(&[Layered { settings, trusted: true }]);
        let told = Arc::clone(&self.told);
        let around = HookEnvironment {
            environment: self.environment.clone(),
            listener: Arc::new(move |notice| told.lock().unwrap().push(notice.clone())),
            ..HookEnvironment::new(&self.folder)
        };
        let hooks = from_settings(&merged, around).unwrap();
        let mut plan = Plan::for_folder(&self.folder)
            .with_policy(Policy::default())
            .with_shells(Arc::new(AssumedShells::in_folder(&self.folder)))
            .with_hooks(hooks)
            .with_asking(self.approver.asking());
        change(&mut plan);
        open(plan)
    }

    /// A session with one hook before each call.
    pub(crate) fn before(&self, hook: &Value) -> Session {
        self.session(&json!({"PreToolUse": [{"hooks": [hook]}]}))
    }

    /// What comes of a command, in a word.
    pub(crate) fn decide(&self, session: &Session, command: &str) -> &'static str {
        self.outcome(&session.decide(&bash(command)))
    }

    pub(crate) fn outcome(&self, decided: &GateResult) -> &'static str {
        let asked = !self.approver.take_asked().is_empty();
        match decided.outcome {
            Ok(_) => "allow",
            Err(_) if asked => "ask",
            Err(_) => "deny",
        }
    }

    /// What was told to the person since it was last asked.
    pub(crate) fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap()).iter().map(ToString::to_string).collect()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        self.tree.read_if_there(name).unwrap_or_default()
    }
}

pub(crate) fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

pub(crate) fn with(mut hook: Value, key: &str, value: impl Into<Value>) -> Value {
    hook[key] = value.into();
    hook
}

/// Returns true if the process with this number runs.
pub(crate) fn runs(pid: &str) -> bool {
    pid.trim().parse().is_ok_and(is_running)
}

//! A session with hooks from settings, in a folder of its own, and whoever listens.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pinfold::audit::Memory;
use pinfold::consent::{Answer, Approver, ApproverResponse, Asking, By, Choice, Request, Via};
use pinfold::policy::merge::{Layered, merge};
use pinfold::policy::{Layer, Policy, Settings};
use pinfold::{Ambient, AssumedShells, Decided, Plan, RawCall, Session};
use pinfold_hooks::{HookEnvironment, Notice, from_settings};
use serde_json::{Value, json};

pub(crate) struct Bed {
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    person: Arc<Person>,
    told: Arc<Mutex<Vec<Notice>>>,
    _folder: tempfile::TempDir,
}

/// Says no, and remembers what was asked.
#[derive(Debug, Default)]
pub(crate) struct Person(AtomicUsize);

impl Approver for Person {
    fn ask(&self, request: &Request, _: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        self.0.fetch_add(1, Ordering::Relaxed);
        let by = By { via: Via::Embedder, who: None };
        let (id, digest) = (request.id.clone(), request.digest.clone());
        ApproverResponse::Answer(Answer { id, digest, choice: Choice::no(), by })
    }
}

impl Bed {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        Self {
            environment: vec![("PATH".into(), path)],
            folder: folder.path().canonicalize().unwrap(),
            person: Arc::default(),
            told: Arc::default(),
            _folder: folder,
        }
    }

    /// A program in the folder.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
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
        let asking =
            Asking { approver: self.person.clone(), patience: Duration::from_mins(1), locations: None };
        let mut plan = Plan::for_folder(&self.folder)
            .with_policy(Policy::default())
            .with_shells(Arc::new(AssumedShells::in_folder(self.folder.clone())))
            .with_hooks(hooks)
            .with_asking(asking);
        change(&mut plan);
        Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap()
    }

    /// A session with one hook before each call.
    pub(crate) fn before(&self, hook: &Value) -> Session {
        self.session(&json!({"PreToolUse": [{"hooks": [hook]}]}))
    }

    /// What comes of a command, in a word.
    pub(crate) fn decide(&self, session: &Session, command: &str) -> &'static str {
        self.outcome(&session.decide(&bash(command)))
    }

    pub(crate) fn outcome(&self, decided: &Decided) -> &'static str {
        let asked = self.person.0.swap(0, Ordering::Relaxed) > 0;
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
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

pub(crate) fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

pub(crate) fn with(mut hook: Value, key: &str, value: impl Into<Value>) -> Value {
    hook[key] = value.into();
    hook
}

pub(crate) fn bash(command: &str) -> RawCall {
    RawCall::new("Bash", json!({"command": command}))
}

/// Waits until something holds, for as long as a busy machine may take.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let from = Instant::now();
    while !holds() {
        assert!(from.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process runs.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

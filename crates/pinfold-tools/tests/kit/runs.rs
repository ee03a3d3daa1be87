//! Runs whose processes try things outside, and somebody who is asked.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pinfold::audit::Memory;
use pinfold::consent::{
    Act, Answer, Approver, ApproverResponse, Asking, By, Choice, Request, RequestedOperation, Via,
};
use pinfold::policy::Guards;
use pinfold::{Ambient, Plan, Session};
use pinfold_boundary::{Boundary, EscalationOutcome, SandboxRequest};
use pinfold_sandbox::{Command, Signalling, Tier, start};
use pinfold_tools::{SandboxEscalations, restrict_to_boundary};

pub(crate) const TIERS: [Tier; 2] = [Tier::Full, Tier::Landlock];

/// Places to write that a run does not cover with private ones: there the outside would be out of sight.
fn ground() -> Vec<PathBuf> {
    let build = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let others = ["/home", "/srv", "/var/lib"].map(PathBuf::from);
    let covered = |at: &PathBuf| ["/tmp", "/var/tmp", "/run", "/dev"].iter().any(|c| at.starts_with(c));
    [build].into_iter().chain(std::env::home_dir()).chain(others).filter(|at| !covered(at)).collect()
}

/// A folder, an outside and a home side by side.
pub(crate) struct RunBed {
    _all: tempfile::TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) home: PathBuf,
    private: tempfile::TempDir,
    pub(crate) journal: Arc<Memory>,
    /// Nobody answers; what is asked is waited for as long as it is asked.
    pub(crate) waits: bool,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) said: String,
    pub(crate) tried: EscalationOutcome,
    pub(crate) asked: Vec<Request>,
}

impl Ran {
    /// The places of the deeds that were asked about, with what would be done.
    pub(crate) fn acts(&self) -> Vec<String> {
        let name = |act: &Act| Path::new(&act.path).file_name().unwrap().display().to_string();
        self.asked_acts().map(|act| format!("{} {}", act.operation, name(&act))).collect()
    }

    /// The places alone, whole.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        self.asked_acts().map(|act| PathBuf::from(act.path)).collect()
    }

    fn asked_acts(&self) -> impl Iterator<Item = Act> {
        self.asked.iter().flat_map(|request| match &request.operation {
            RequestedOperation::Paths { acts } => acts.clone(),
            other => panic!("{other:?}"),
        })
    }
}

impl RunBed {
    pub(crate) fn new() -> Self {
        let all = ground().iter().find_map(|at| tempfile::tempdir_in(at).ok()).expect("a place to write");
        let top = all.path().canonicalize().unwrap();
        let [folder, outside, home] = ["folder", "outside", "home"].map(|name| top.join(name));
        for place in [&folder, &outside, &home] {
            fs::create_dir(place).unwrap();
        }
        Self {
            _all: all,
            folder,
            outside,
            home,
            private: tempfile::tempdir().unwrap(),
            journal: Arc::default(),
            waits: false,
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan::for_folder(&self.folder).with_home(self.home.clone())
    }

    /// Runs a script; `person` is asked.
    pub(crate) fn run(
        &self,
        tier: Tier,
        script: &str,
        person: impl Fn(&Request) -> Choice + Send + Sync + 'static,
    ) -> Ran {
        self.run_plan(tier, self.plan(), script, person)
    }

    pub(crate) fn run_plan(
        &self,
        tier: Tier,
        plan: Plan,
        script: &str,
        person: impl Fn(&Request) -> Choice + Send + Sync + 'static,
    ) -> Ran {
        let person =
            Arc::new(Person { answers: Box::new(person), waits: self.waits, asked: Mutex::default() });
        let asking = Asking { approver: person.clone(), patience: Duration::from_mins(5), locations: None };
        let plan = plan.with_asking(asking);
        let mut request = SandboxRequest::new(self.folder.clone());
        request.home.clone_from(&plan.home);
        request.private = pinfold_boundary::Private::existing(self.private.path());
        request.environment = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("OUT".into(), self.outside.clone().into()),
            ("HOME".into(), self.home.clone().into()),
            ("LC_ALL".into(), "C".into()),
            // Without it bash would ask the name service.
            ("SHELL".into(), "/bin/bash".into()),
        ];
        request.negotiable = true;
        let boundary = Boundary::compile(&request, &Guards::default(), tier).unwrap();
        let session =
            Session::open(&Ambient::claim(), restrict_to_boundary(plan, &boundary), self.journal.clone())
                .unwrap();
        assert!(session.may_let_processes_out());
        let (mut read, write) = std::io::pipe().unwrap();
        let error: OwnedFd = write.try_clone().unwrap().into();
        let args: [OsString; 2] = ["-c".into(), script.into()];
        let command = Command::new("bash").args(args).stdio([None, Some(write.into()), Some(error)]);
        let confined = start(boundary.profile(), command, tier, Signalling::Own, true).unwrap();
        let mut attempts = SandboxEscalations::new(&boundary, tier, Some(session.downgrade()));
        let reader = std::thread::spawn(move || {
            let mut said = Vec::new();
            read.read_to_end(&mut said).unwrap();
            String::from_utf8_lossy(&said).into_owned()
        });
        confined.supervise(&mut attempts).unwrap();
        let (tried, _) = attempts.finish();
        let asked = person.asked.lock().unwrap().clone();
        Ran { said: reader.join().unwrap(), tried, asked }
    }
}

type Answers = dyn Fn(&Request) -> Choice + Send + Sync;

struct Person {
    answers: Box<Answers>,
    /// Never answers, and sees whether it is still asked.
    waits: bool,
    asked: Mutex<Vec<Request>>,
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Person")
    }
}

impl Approver for Person {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        self.asked.lock().unwrap().push(request.clone());
        if self.waits {
            while still_asked() {
                std::thread::sleep(Duration::from_millis(10));
            }
            return ApproverResponse::NotAsked;
        }
        let choice = (self.answers)(request);
        let by = By { via: Via::Embedder, who: None };
        ApproverResponse::Answer(Answer {
            id: request.id.clone(),
            digest: request.digest.clone(),
            choice,
            by,
        })
    }
}

pub(crate) fn yes(_: &Request) -> Choice {
    Choice::Yes
}

pub(crate) fn no(_: &Request) -> Choice {
    Choice::No { message: Some("not there".to_owned()), process: false }
}

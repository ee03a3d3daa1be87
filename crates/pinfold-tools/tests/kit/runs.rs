//! Runs whose processes try things outside, and somebody who is asked.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pinfold::Plan;
use pinfold::audit::Memory;
use pinfold::consent::{ApprovalOptions, Choice, OperationShown, Request, RequestedOperation};
use pinfold::policy::Guards;
use pinfold_boundary::{Boundary, EscalationOutcome, SandboxRequest};
use pinfold_gate_testkit::TestApprover;
use pinfold_gate_testkit::session::open_recorded;
use pinfold_sandbox::{Command, Signalling, Tier, start};
use pinfold_testkit::TempTree;
use pinfold_tools::{SandboxEscalations, restrict_to_boundary};

pub(crate) const TIERS: [Tier; 2] = [Tier::Full, Tier::Landlock];

/// A folder, an outside and a home side by side.
pub(crate) struct RunBed {
    _tree: TempTree,
    pub(crate) folder: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) home: PathBuf,
    private: TempTree,
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
    /// The places of the operations that were asked about, with what would be done.
    pub(crate) fn acts(&self) -> Vec<String> {
        let name = |act: &OperationShown| Path::new(&act.path).file_name().unwrap().display().to_string();
        self.asked_acts().map(|act| format!("{} {}", act.operation, name(&act))).collect()
    }

    /// The places alone, whole.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        self.asked_acts().map(|act| PathBuf::from(act.path)).collect()
    }

    fn asked_acts(&self) -> impl Iterator<Item = OperationShown> {
        self.asked.iter().flat_map(|request| match &request.operation {
            RequestedOperation::Paths { acts } => acts.clone(),
            other => panic!("{other:?}"),
        })
    }
}

impl RunBed {
    pub(crate) fn new() -> Self {
        let tree = TempTree::visible_inside();
        let [folder, outside, home] = ["folder", "outside", "home"].map(|name| tree.make_dir(name));
        Self {
            _tree: tree,
            folder,
            outside,
            home,
            private: TempTree::new(),
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
        let approver =
            if self.waits { TestApprover::without_answer() } else { TestApprover::with_choice(person) };
        let approver = Arc::new(approver);
        let asking = ApprovalOptions { timeout: Duration::from_mins(5), ..approver.asking() };
        let plan = plan.with_asking(asking);
        let mut request = SandboxRequest::new(self.folder.clone());
        request.home.clone_from(&plan.home);
        request.private = pinfold_boundary::Private::existing(self.private.top());
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
        let session = open_recorded(restrict_to_boundary(plan, &boundary), self.journal.clone());
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
        Ran { said: reader.join().unwrap(), tried, asked: approver.asked() }
    }
}

pub(crate) fn yes(_: &Request) -> Choice {
    Choice::Yes
}

pub(crate) fn no(_: &Request) -> Choice {
    Choice::No { message: Some("not there".to_owned()), process: false }
}

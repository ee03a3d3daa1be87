//! Error of a start, and what was being done.

use std::fmt;
use std::io;

use crate::linux::init::{Report, Stage};
use crate::linux::plan::Plan;
use crate::self_test::Probe;
use crate::streams::Unusable;

/// Why a command could not be started. Nothing of it has run.
#[derive(Debug)]
pub struct StartError {
    pub(super) stage: Stage,
    pub(super) detail: String,
    pub(super) error: io::Error,
}

impl StartError {
    /// Returns whether this machine cannot build the sandbox of the tier, so that a weaker one is the only way.
    pub fn is_machine(&self) -> bool {
        matches!(
            self.stage,
            Stage::Identity
                | Stage::Mount
                | Stage::Loopback
                | Stage::RelaySocket
                | Stage::Fork
                | Stage::Landlock
                | Stage::Seccomp
        ) && matches!(
            self.error.raw_os_error(),
            Some(libc::EPERM | libc::EACCES | libc::ENOSPC | libc::EINVAL | libc::ENOSYS | libc::EUSERS)
        )
    }

    /// Returns whether a standard stream is none that a command can be given, so that the machine is not to blame.
    pub fn is_about_streams(&self) -> bool {
        self.stage == Stage::Streams
    }

    /// Returns whether this process or the machine may open no more files.
    pub fn is_out_of_files(&self) -> bool {
        matches!(self.error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
    }

    /// Returns whether the supervisor cannot carry calls out here, so that a profile without [`Profile::mediated`] is the only way.
    pub fn is_unmediated(&self) -> bool {
        self.stage == Stage::Seccomp && self.error.raw_os_error() == Some(libc::EBUSY)
    }

    /// Returns whether the program was not found (exit code 127) or could not be run (126).
    pub fn exit_code(&self) -> i32 {
        match (self.stage, self.error.raw_os_error()) {
            (Stage::Exec, Some(libc::ENOENT)) => 127,
            (Stage::Exec, _) => 126,
            _ => 125,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.detail, self.error)
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

pub(super) fn unusable(Unusable { stream, error }: Unusable) -> StartError {
    let detail = format!("{stream} cannot be given to the command");
    StartError { stage: Stage::Streams, detail, error }
}

/// Returns what was being done when the first process ended.
pub(super) fn explain(plan: &Plan, report: Option<Report>, program: &str) -> String {
    let Some(Report { stage, index, .. }) = report else { return "the first process died".into() };
    match stage {
        Stage::Fork if plan.limits.iter().any(|(resource, _)| *resource == libc::RLIMIT_NPROC) => {
            "starting the command under a limit of processes, which counts all of the user's where there is no user namespace".into()
        }
        Stage::Ready | Stage::Closed | Stage::Fork | Stage::Started | Stage::Stopped => {
            "starting the command".into()
        }
        Stage::Identity => "becoming the same user inside".into(),
        Stage::Loopback => "bringing up the private network".into(),
        Stage::Mount => plan.steps.get(usize::from(index)).map_or_else(String::new, ToString::to_string),
        Stage::Folder => format!("entering `{}`", plan.cwd.to_string_lossy()),
        Stage::Privileges => "giving up privileges".into(),
        Stage::Limits => "setting limits".into(),
        Stage::Landlock => "restricting file access (Landlock)".into(),
        Stage::Seccomp => "filtering system calls (seccomp)".into(),
        Stage::SelfTest => {
            let what = plan.self_test.get(usize::from(index)).map_or_else(String::new, Probe::describe);
            format!("the sandbox failed its self-test: {what}")
        }
        Stage::Terminal => "giving the command its terminal".into(),
        Stage::Streams => "giving the command its standard streams".into(),
        Stage::RelaySocket => {
            let socket = plan.relayed.as_ref().and_then(|relayed| relayed.sockets.get(usize::from(index)));
            let port = socket.map_or(0, |socket| socket.address.port());
            format!("listening on port {port} inside")
        }
        Stage::Exec => format!("starting `{program}`"),
    }
}

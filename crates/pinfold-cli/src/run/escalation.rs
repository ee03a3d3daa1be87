//! Escalations of a run to its approver: what a process tries outside is a call, judged by the settings of the folder and
//! asked about at the terminal that the run was started on.

use pinfold::paths::WorkspaceError;
use pinfold::policy::{Access, Interaction};
use pinfold::{Ambient, Session, SessionError, WeakSession};
use pinfold_boundary::{Network, SandboxMode, SandboxRequest};
use pinfold_terminal::PtySession;
use rustix::io::Errno;

use super::options::EscalationSettings;
use super::run_record::RunRecord;
use super::start::MORE_FILES;
use crate::approvers::{ApproverOptions, Asker, ReportTime};
use crate::args::RunArgs;
use crate::exit::{Failure, USAGE};

/// The approver of a run, and the session by which its calls are judged.
pub(super) struct Escalation {
    session: Session,
    asker: Option<Asker>,
}

impl Escalation {
    pub(super) fn new(
        run: &RunArgs,
        request: &SandboxRequest,
        escalation_settings: EscalationSettings,
        record: &RunRecord,
    ) -> Result<Self, Failure> {
        let EscalationSettings { plan, rules_to, approvals, .. } = escalation_settings;
        let reach = ApproverOptions { settings: &approvals, name: record.session(), rules_to };
        let asker = Asker::new(&run.asking, reach)?;
        let there = |place: &&std::path::PathBuf| place.exists();
        let access = match request.mode {
            SandboxMode::ReadOnly => Access::ReadOnly,
            SandboxMode::WorkspaceWrite | SandboxMode::DefaultWrite => Access::ReadWrite,
        };
        let interaction = if asker.is_some() { Interaction::Interactive } else { Interaction::Headless };
        let plan = plan
            .with_id(record.session())
            // What the kernel lets them write anyway is inside.
            .with_also_writable(request.add.iter().chain(&request.allow_write).filter(there).cloned())
            .with_access(access)
            .with_interaction(interaction)
            .with_asking(asker.as_ref().map(Asker::asking));
        let session = Session::open(&Ambient::claim(), plan, record.journal())
            .map_err(|error| Failure::new(USAGE, error.to_string()).mend(mend(&error)))?;
        if let Some(asker) = &asker {
            // What a run is held to stays as it was at its start.
            asker.know(&session, |_| {});
        }
        Ok(Self { session, asker })
    }

    /// Returns the request with what could be approved while the command waits.
    pub(super) fn extend(&self, request: SandboxRequest) -> SandboxRequest {
        let hosts = matches!(request.network, Network::Hosts(_)) && self.session.may_let_processes_reach();
        request.with_escalations(self.session.may_let_processes_out(), hosts)
    }

    /// Returns whether an approver is asked at the terminal about anything that a run with this request could try.
    pub(super) fn asks_at_terminal(&self, request: &SandboxRequest) -> bool {
        let at_terminal = self.asker.as_ref().is_some_and(Asker::is_at_terminal);
        at_terminal && (request.negotiable || request.asks_about_hosts)
    }

    /// Asks at the terminal that the command believes to be its own.
    pub(super) fn ask_on(&self, beside: &PtySession) -> Result<(), Failure> {
        let Some(asker) = &self.asker else { return Ok(()) };
        let handle = beside.handle();
        asker.ask_on_terminal(move || handle.pause(), ReportTime::Later)
    }

    /// Reports troubles with the terminal, now that it is ours to write to.
    pub(super) fn print_troubles(&self) {
        self.asker.iter().for_each(|asker| asker.troubles().print());
    }

    pub(super) fn session(&self) -> WeakSession {
        self.session.downgrade()
    }
}

/// Returns what the user can do where no session can be opened.
fn mend(error: &SessionError) -> &'static str {
    let cause = match error {
        SessionError::Workspace(WorkspaceError::Io { cause, .. }) => cause.raw_os_error(),
        _ => None,
    };
    match cause.map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => MORE_FILES,
        _ => "choose another with --folder",
    }
}

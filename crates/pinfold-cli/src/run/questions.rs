//! Questions of a run: what a process tries outside is a call, judged by the settings of the folder and asked about at
//! the terminal that the run was started on.

use pinfold::policy::{Access, Interaction};
use pinfold::{Ambient, Plan, Session, WeakSession};
use pinfold_boundary::{Grant, Network, SandboxMode};
use pinfold_terminal::PtySession;

use super::recorded::Recorded;
use super::wish::Judged;
use crate::args::Run;
use crate::asking::{Asker, Reach, Tell};
use crate::exit::{Failure, USAGE};

/// Who decides what processes may do outside.
pub(super) struct Questions {
    session: Session,
    asker: Option<Asker>,
}

impl Questions {
    pub(super) fn new(
        run: &Run,
        grant: &Grant,
        judged: Judged,
        recorded: &Recorded,
    ) -> Result<Self, Failure> {
        let Judged { plan, rules_to, approvals, .. } = judged;
        let reach = Reach { settings: &approvals, name: recorded.session(), rules_to };
        let asker = Asker::new(&run.asking, reach)?;
        let there = |place: &&std::path::PathBuf| place.exists();
        let plan = Plan {
            id: recorded.session().to_owned(),
            // What the kernel lets them write anyway is inside.
            also_writable: grant.add.iter().chain(&grant.allow_write).filter(there).cloned().collect(),
            access: match grant.mode {
                SandboxMode::ReadOnly => Access::ReadOnly,
                SandboxMode::WorkspaceWrite | SandboxMode::DefaultWrite => Access::ReadWrite,
            },
            interaction: if asker.is_some() { Interaction::Interactive } else { Interaction::Headless },
            asking: asker.as_ref().map(Asker::asking),
            ..plan
        };
        let session = Session::open(&Ambient::claim(), plan, recorded.journal())
            .map_err(|e| Failure::new(USAGE, e.to_string()).mend("choose another with --folder"))?;
        if let Some(asker) = &asker {
            // What a run is held to stays as it was at its start.
            asker.know(&session, |_| {});
        }
        Ok(Self { session, asker })
    }

    /// Whether anything outside could be let through.
    pub(super) fn may_let_processes_out(&self) -> bool {
        self.session.may_let_processes_out()
    }

    /// Whether somebody is asked about hosts that are not in the list.
    pub(super) fn may_let_processes_reach(&self, network: &Network) -> bool {
        matches!(network, Network::Hosts(_)) && self.session.may_let_processes_reach()
    }

    /// Whether somebody is asked at the terminal about anything that a run with this grant could try.
    pub(super) fn are_asked(&self, grant: &Grant) -> bool {
        let at_terminal = self.asker.as_ref().is_some_and(Asker::is_at_terminal);
        at_terminal && (grant.negotiable || grant.asks_about_hosts)
    }

    /// Asks at the terminal that the command believes to be its own.
    pub(super) fn at(&self, beside: &PtySession) -> Result<(), Failure> {
        let Some(asker) = &self.asker else { return Ok(()) };
        let handle = beside.handle();
        asker.at(move || handle.pause(), Tell::Later)
    }

    /// What was wrong with the terminal, told now that it is ours to write to.
    pub(super) fn tell_troubles(&self) {
        self.asker.iter().for_each(|asker| asker.troubles().tell());
    }

    pub(super) fn session(&self) -> WeakSession {
        self.session.downgrade()
    }
}

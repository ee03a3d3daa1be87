//! Approvers of this process: the terminal that it was started on, those that settings name, clients that watch
//! elsewhere, or none.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pinfold::Session;
use pinfold::consent::approver::DEFAULT_TIMEOUT;
use pinfold::consent::{
    AnsweredBy, ApprovalChannel, ApprovalOptions, Approver, ApproverResponse, Choice, Request,
};
use pinfold::policy::settings::ApprovalSettings;
use pinfold::settings::Locations;
use pinfold_approvals::{
    ApprovalChannels, ChannelError, ChannelOptions, ClosureResponder, PendingRequest, RequestResolution,
};
use pinfold_boundary::EnvOverride;
use pinfold_terminal::DialogSurface;
use pinfold_terminal::dialog::{DialogOutcome, DialogStyle, ExternalState, show};

use crate::args::{Ask, AskFlags};
use crate::env;
use crate::exit::{Failure, USAGE};
use crate::output::{self, warn};

/// The approvers of this process.
pub(crate) struct Asker {
    channels: Arc<ApprovalChannels>,
    asking: ApprovalOptions,
    at_terminal: bool,
    troubles: TerminalTroubles,
}

/// Moment at which troubles with the terminal are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportTime {
    /// As soon as no dialog has it.
    AtOnce,
    /// On [request](Troubles::print): a command has the terminal meanwhile.
    Later,
}

/// Troubles with the terminal while it could not be written to.
#[derive(Clone, Default)]
pub(crate) struct TerminalTroubles(Arc<Mutex<BTreeSet<String>>>);

impl TerminalTroubles {
    fn note(&self, trouble: &io::Error) {
        let text = format!("cannot ask at this terminal: {trouble}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text);
    }

    /// Tells each of them, once the terminal is ours to write to.
    pub(crate) fn print(&self) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .for_each(warn);
    }
}

/// Approvers, as settings name them.
pub(crate) struct ApproverOptions<'a> {
    pub(crate) settings: &'a ApprovalSettings,
    /// Name of the process on other terminals: its session.
    pub(crate) name: &'a str,
    /// Settings files in which rules for good are written; without them none are offered.
    pub(crate) rules_to: Option<Locations>,
}

impl Asker {
    /// Opens the approvers that flags and settings name; `None` where there is none.
    pub(crate) fn new(flags: &AskFlags, reach: ApproverOptions<'_>) -> Result<Option<Self>, Failure> {
        if flags.ask == Ask::None {
            return Ok(None);
        }
        let wanted = wanted(&reach);
        let channels = Arc::new(ApprovalChannels::open(&wanted).map_err(|e| cannot(&e))?);
        let at_terminal = match flags.ask {
            Ask::Auto => stderr().is_terminal() && channels.asks_at_terminal(),
            Ask::Terminal => true,
            Ask::None => false,
        };
        if !at_terminal && !channels.is_reached_elsewhere() {
            return Ok(None);
        }
        let asking = channels.asking(reach.rules_to);
        let timeout = flags.ask_timeout.unwrap_or(asking.timeout);
        let troubles = TerminalTroubles::default();
        Ok(Some(Self { channels, asking: ApprovalOptions { timeout, ..asking }, at_terminal, troubles }))
    }

    /// Opens the approvers elsewhere, for a process that may not use its terminal; `None` where there is none.
    pub(crate) fn open_remote(reach: ApproverOptions<'_>) -> Result<Option<Self>, Failure> {
        let channels = Arc::new(ApprovalChannels::open(&wanted(&reach)).map_err(|e| cannot(&e))?);
        if !channels.is_reached_elsewhere() {
            return Ok(None);
        }
        let asking = channels.asking(reach.rules_to);
        Ok(Some(Self { channels, asking, at_terminal: false, troubles: TerminalTroubles::default() }))
    }

    /// Returns the approver and its time limit for a session.
    pub(crate) fn asking(&self) -> ApprovalOptions {
        self.asking.clone()
    }

    /// Returns the troubles with the terminal, to be reported once no dialog uses it.
    pub(crate) fn troubles(&self) -> TerminalTroubles {
        self.troubles.clone()
    }

    /// Returns whether the terminal of this process asks.
    pub(crate) fn is_at_terminal(&self) -> bool {
        self.at_terminal
    }

    /// Shows the grants of this session to other terminals. While something waits, `follow` is called about once a
    /// second: for settings that were written elsewhere.
    pub(crate) fn know(&self, session: &Session, follow: impl Fn(&Session) + Send + Sync + 'static) {
        self.channels.sessions().add(session);
        let weak = session.downgrade();
        self.channels.broker().before_evaluation(move || weak.upgrade().iter().for_each(&follow));
    }

    /// Asks at a terminal, on a stage that is opened when there is something to ask.
    pub(crate) fn ask_on_terminal<S: DialogSurface + 'static>(
        &self,
        mut open: impl FnMut() -> io::Result<S> + Send + 'static,
        tell: ReportTime,
    ) -> Result<(), Failure> {
        let by = AnsweredBy { via: ApprovalChannel::Terminal, who: env::user() };
        let troubles = self.troubles.clone();
        let responder = ClosureResponder::new(by, move |showing| {
            let choice = answered(showing, &mut open, &troubles);
            if tell == ReportTime::AtOnce {
                troubles.print();
            }
            choice
        });
        let failed = |e| Failure::new(USAGE, format!("cannot ask at this terminal: {e}"));
        self.channels.broker().add(responder).map(drop).map_err(failed)
    }
}

/// Returns the approver of a process without a terminal of its own; `None` where no other can be reached.
pub(crate) fn remote_approvers(reach: ApproverOptions<'_>) -> Result<Option<ApprovalOptions>, Failure> {
    pinfold_approvals::asking(&wanted(&reach), reach.rules_to).map_err(|e| cannot(&e))
}

/// Returns the approvers beside a client, for questions that the client does not answer. `through_client`: the client
/// answers questions itself.
pub(crate) fn for_a_client(
    reach: ApproverOptions<'_>,
    through_client: bool,
    no_ask: bool,
    timeout: Option<Duration>,
) -> Result<(Option<Asker>, Option<ApprovalOptions>), Failure> {
    let usual = reach.settings.timeout.as_ref().map_or(DEFAULT_TIMEOUT, |timeout| timeout.value.0);
    let locations = reach.rules_to.clone();
    let asker = if no_ask { None } else { Asker::open_remote(reach)? };
    let client_alone = || ApprovalOptions { approver: Arc::new(NoOtherApprover), timeout: usual, locations };
    let asking = asker.as_ref().map(Asker::asking).or_else(|| through_client.then(client_alone));
    let asking =
        asking.map(|asking| ApprovalOptions { timeout: timeout.unwrap_or(asking.timeout), ..asking });
    Ok((asker, asking))
}

/// The approver beside a client that is the only one.
#[derive(Debug)]
struct NoOtherApprover;

impl Approver for NoOtherApprover {
    fn ask(&self, _request: &Request, _still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        ApproverResponse::NoApprover("the client did not answer, and there is no other approver".to_owned())
    }
}

fn cannot(e: &ChannelError) -> Failure {
    Failure::new(USAGE, output::lines(&e.to_string())).mend("see `approvals` in your settings")
}

/// Returns the removal of the webhook's secret from the environment of commands, whatever its variable is called.
pub(crate) fn own_secret(settings: &ApprovalSettings) -> Option<EnvOverride> {
    let name = settings.webhook.as_ref()?.value.secret_env.as_ref()?;
    Some(EnvOverride::Unset(name.into()))
}

/// Returns the channels that settings name. Inside another run that is the terminal alone: a confined process does not
/// reach the directory of the sockets, and the secret of a webhook is not in its environment.
fn wanted(reach: &ApproverOptions<'_>) -> ChannelOptions {
    let (settings, name) = (reach.settings.clone(), reach.name.to_owned());
    if env::is_inside_another() {
        let settings = ApprovalSettings { socket: None, webhook: None, ..settings };
        return ChannelOptions { settings, name, ..ChannelOptions::default() };
    }
    let (homes, environment) = (env::socket_homes(), env::variables());
    ChannelOptions { settings, name, homes, environment }
}

/// Time before a terminal that is taken is tried again.
const AGAIN: Duration = Duration::from_millis(300);

/// Shows one dialog. `None` without an answer here: the request is left to approvers elsewhere, and is denied where there
/// is none.
fn answered<S: DialogSurface>(
    showing: &PendingRequest<'_>,
    open: &mut dyn FnMut() -> io::Result<S>,
    troubles: &TerminalTroubles,
) -> Option<Choice> {
    let mut stage = loop {
        match open() {
            Ok(stage) => break stage,
            // In the background: the request is shown once this process is in the foreground again.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if showing.wait_resolution(AGAIN).is_some() {
                    return None;
                }
            }
            Err(e) => {
                troubles.note(&e);
                return None;
            }
        }
    };
    let look = DialogStyle { colours: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()) };
    let meanwhile = || ExternalState {
        waiting: showing.waiting() + 1,
        over: showing.resolution().as_ref().map(RequestResolution::describe),
    };
    match show(&mut stage, showing.request(), look, &meanwhile) {
        Ok(DialogOutcome::Chosen(choice)) => Some(choice),
        Ok(DialogOutcome::Silence | DialogOutcome::Over | DialogOutcome::Gone) => None,
        Err(e) => {
            troubles.note(&e);
            None
        }
    }
}

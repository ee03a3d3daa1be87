//! Who is asked where this process has a question: the terminal that it was started on, or nobody.

use std::io::{self, IsTerminal as _, stderr};
use std::sync::Arc;
use std::time::Duration;

use pinfold::consent::approver::PATIENCE;
use pinfold::consent::{Asking, By, Choice, Via};
use pinfold::policy::settings::ApprovalSettings;
use pinfold::settings::Locations;
use pinfold_approvals::{Broker, Closure, How, Showing};
use pinfold_terminal::Stage;
use pinfold_terminal::dialog::{Look, Meanwhile, Shown, show};

use crate::args::{Ask, AskFlags};
use crate::exit::{Failure, USAGE};
use crate::say::warn;

/// Whoever answers the questions of this process.
pub(crate) struct Asker {
    broker: Arc<Broker>,
    asking: Asking,
}

/// Whether the person at this terminal is to be asked: by the flags, and by settings where these leave it open.
pub(crate) fn is_at_terminal(flags: &AskFlags, settings: &ApprovalSettings) -> bool {
    match flags.ask {
        Ask::Auto => stderr().is_terminal() && settings.terminal.as_ref().is_none_or(|said| said.value),
        Ask::Terminal => true,
        Ask::Nobody => false,
    }
}

impl Asker {
    /// Somebody who can be asked. `locations`: where rules for good are written.
    pub(crate) fn new(flags: &AskFlags, settings: &ApprovalSettings, locations: Option<Locations>) -> Self {
        unused(settings).into_iter().for_each(warn);
        let broker = Arc::new(Broker::default());
        let said = settings.timeout.as_ref().map(|said| said.value.0);
        let patience = flags.ask_timeout.or(said).unwrap_or(PATIENCE);
        let asking = Asking { approver: broker.clone(), patience, locations };
        Self { broker, asking }
    }

    /// How a session asks.
    pub(crate) fn asking(&self) -> Asking {
        self.asking.clone()
    }

    /// Asks at a terminal, on a stage that is opened when there is something to ask.
    pub(crate) fn at<S: Stage + 'static>(
        &self,
        mut open: impl FnMut() -> io::Result<S> + Send + 'static,
    ) -> Result<(), Failure> {
        let by = By { via: Via::Terminal, who: std::env::var("USER").ok() };
        let responder = Closure::new(by, move |showing| answered(showing, &mut open));
        let failed = |e| Failure::new(USAGE, format!("nobody can be asked at this terminal: {e}"));
        self.broker.add(responder).map(drop).map_err(failed)
    }
}

/// What settings ask for and nothing here does yet.
fn unused(settings: &ApprovalSettings) -> Vec<String> {
    let told = |key: &str, source: &dyn std::fmt::Display| {
        format!("{source}: `approvals.{key}` is not used yet: only the terminal of the session is asked")
    };
    let webhook = settings.webhook.as_ref().map(|said| told("webhook", &said.source));
    let socket = settings.socket.as_ref().filter(|said| said.value).map(|said| told("socket", &said.source));
    webhook.into_iter().chain(socket).collect()
}

/// How long is waited before a terminal that is taken is tried again.
const AGAIN: Duration = Duration::from_millis(300);

/// One dialog. `None` when nobody answered here.
fn answered<S: Stage>(showing: &Showing<'_>, open: &mut dyn FnMut() -> io::Result<S>) -> Option<Choice> {
    let mut stage = loop {
        match open() {
            Ok(stage) => break stage,
            // In the background: whoever brings us back is asked then.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if showing.wait_over(AGAIN).is_some() {
                    return None;
                }
            }
            Err(e) => {
                warn(format_args!("nobody can be asked at this terminal: {e}"));
                return Some(Choice::No { message: None });
            }
        }
    };
    let look = Look { colours: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()) };
    let meanwhile = || Meanwhile { waiting: showing.waiting() + 1, over: showing.over().as_ref().map(words) };
    match show(&mut stage, showing.request(), look, &meanwhile) {
        Ok(Shown::Chosen(choice)) => Some(choice),
        Ok(Shown::Silence | Shown::Over) => None,
        Ok(Shown::Gone) | Err(_) => Some(Choice::No { message: None }),
    }
}

fn words(how: &How) -> String {
    how.words()
}

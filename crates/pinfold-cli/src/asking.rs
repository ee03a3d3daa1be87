//! Who is asked where this process has a question: the terminal that it was started on, or nobody.

use std::io::{self, IsTerminal as _, stderr};
use std::sync::Arc;
use std::time::Duration;

use pinfold::consent::approver::PATIENCE;
use pinfold::consent::{Asking, By, Choice, Via};
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

/// Whether the person at this terminal is to be asked.
pub(crate) fn is_at_terminal(flags: &AskFlags) -> bool {
    match flags.ask {
        Ask::Auto => stderr().is_terminal(),
        Ask::Terminal => true,
        Ask::Nobody => false,
    }
}

impl Asker {
    /// Somebody who can be asked; `None` where nobody is to be. `locations`: where rules for good are written.
    pub(crate) fn new(flags: &AskFlags, locations: &Locations, managed_rules_only: bool) -> Option<Self> {
        if flags.ask == Ask::Nobody {
            return None;
        }
        let broker = Arc::new(Broker::default());
        let patience = flags.ask_timeout.unwrap_or(PATIENCE);
        let locations = (!managed_rules_only).then(|| locations.clone());
        let asking = Asking { approver: broker.clone(), patience, locations };
        Some(Self { broker, asking })
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

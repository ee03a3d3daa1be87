//! Everything through which one process asks, made from settings.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pinfold::consent::approver::PATIENCE;
use pinfold::consent::{Approver, Asking, Heard, Request};
use pinfold::policy::settings::ApprovalSettings;
use pinfold::settings::Locations;

use crate::broker::{Broker, Standing};
use crate::socket::{Homes, Listening, Place, PlaceError, Sessions};
use crate::webhook::{Webhook, WebhookError};

/// How a process wants to ask.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// What settings say.
    pub settings: ApprovalSettings,
    /// What the process is called on other terminals: the name of its session.
    pub name: String,
    /// Where its socket can be.
    pub homes: Homes,
    /// The environment, as far as it is text: the secret of a webhook stands there.
    pub environment: std::collections::BTreeMap<String, String>,
}

/// Why a process cannot ask as settings say.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// Other terminals are to be waited for, and cannot come.
    #[error("`approvals.socket` is on, and no socket can be had: {0}")]
    NoPlace(#[from] PlaceError),
    /// The webhook cannot be asked.
    #[error("`approvals.webhook` {0}")]
    Webhook(#[from] WebhookError),
}

/// Everything through which one process asks. Dropping it closes all of it.
pub struct Desk {
    broker: Arc<Broker>,
    sessions: Sessions,
    patience: Duration,
    terminal: bool,
    place: Option<Place>,
    opened: Arc<OnceLock<Opened>>,
    /// Other terminals are waited for although nobody is there yet.
    waits: bool,
    has_webhook: bool,
}

/// What is open from the first question on.
struct Opened {
    listening: Listening,
    _standing: Option<Standing>,
}

impl Desk {
    /// Makes what settings ask for.
    ///
    /// # Errors
    /// When something that settings count on cannot be had. Without that they are asked who can be.
    pub fn open(wanted: &Wanted) -> Result<Self, DeskError> {
        let ApprovalSettings { timeout, terminal, socket, webhook } = &wanted.settings;
        let (broker, sessions) = (Arc::new(Broker::default()), Sessions::default());
        let opened = Arc::<OnceLock<Opened>>::default();
        let said = socket.as_ref().map(|socket| socket.value);
        let place = match said {
            Some(true) => Some(Place::open(&wanted.homes)?),
            // Whoever comes is welcome; nobody counts on it.
            None => Place::open(&wanted.homes).ok(),
            Some(false) => None,
        };
        if let Some(here) = place.clone() {
            // Whoever is here gets nowhere where there is no socket. What is open holds the broker, so the broker must not
            // hold what is open: none of it would ever be closed.
            let opened = Arc::downgrade(&opened);
            let is_open = move || opened.upgrade().is_some_and(|opened| opened.get().is_some());
            broker.elsewhere(move || is_open() && here.is_anybody_here());
        }
        let webhook = webhook.as_ref().map(|webhook| Webhook::new(&webhook.value, &wanted.environment));
        let webhook = webhook.transpose()?;
        let has_webhook = webhook.is_some();
        let waits = said == Some(true);
        let (name, sessions_of_ways) = (wanted.name.clone(), sessions.clone());
        let ways = Ways { place: place.clone(), name, sessions: sessions_of_ways, webhook, waits };
        let kept = Arc::clone(&opened);
        broker.at_first(move |broker| ways.open(broker, &kept));
        Ok(Self {
            patience: timeout.as_ref().map_or(PATIENCE, |timeout| timeout.value.0),
            terminal: terminal.as_ref().is_none_or(|terminal| terminal.value),
            broker,
            sessions,
            place,
            opened,
            waits,
            has_webhook,
        })
    }

    /// Whoever is asked.
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// The sessions that can be seen from elsewhere: a session that asks here is made known here.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Whether the terminal of the session may ask.
    pub fn asks_at_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether somebody else than the terminal could answer: settings wait for other terminals or name a webhook, or a
    /// person watches somewhere.
    pub fn is_reached_elsewhere(&self) -> bool {
        let here = || self.place.as_ref().is_some_and(Place::is_anybody_here);
        self.waits || self.has_webhook || here()
    }

    /// How long an answer is waited for.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// How a session asks here; the desk is kept as long as it does. `locations`: where rules for good are written;
    /// without it none are offered.
    pub fn asking(self: &Arc<Self>, locations: Option<Locations>) -> Asking {
        let approver: Arc<dyn Approver> = self.clone();
        Asking { approver, patience: self.patience, locations }
    }

    /// The name under which this process is found on other terminals, once it has asked something.
    pub fn name(&self) -> Option<&str> {
        self.opened.get().map(|opened| opened.listening.name())
    }
}

/// How a session asks that has no terminal of its own; `None` where nobody else could answer.
///
/// # Errors
/// When something that settings count on cannot be had.
pub fn asking(wanted: &Wanted, locations: Option<Locations>) -> Result<Option<Asking>, DeskError> {
    let desk = Arc::new(Desk::open(wanted)?);
    Ok(desk.is_reached_elsewhere().then(|| desk.asking(locations)))
}

impl Approver for Desk {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
        self.broker.ask(request, still_asked)
    }

    fn granted(&self) {
        self.broker.granted();
    }

    fn tell(&self, request: &Request, text: &str) {
        self.broker.tell(request, text);
    }
}

/// The ways that are opened with the first question, since most calls have none.
struct Ways {
    place: Option<Place>,
    name: String,
    sessions: Sessions,
    webhook: Option<Webhook>,
    waits: bool,
}

impl Ways {
    /// Opens them. Where one cannot be, those who are reached in another way answer, and nobody is waited for in vain.
    fn open(self, broker: &Broker, kept: &OnceLock<Opened>) {
        match self.place.as_ref().map(|place| broker.listen(place, &self.name, &self.sessions)) {
            Some(Ok(listening)) => {
                let _ = kept.set(Opened { listening, _standing: self.waits.then(|| broker.stand()) });
            }
            Some(Err(error)) => {
                let trouble = format!("other terminals cannot be reached: {error}");
                broker.shared().queue().trouble = Some(trouble);
            }
            None => {}
        }
        if let Some(webhook) = self.webhook {
            let _ = crate::webhook::start(broker.shared(), webhook);
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("broker", &self.broker)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// What is done with the first question, once.
pub(crate) type AtFirst = Mutex<Option<Box<dyn FnOnce(&Broker) + Send>>>;

impl Broker {
    /// Does this when the first question is asked, before it waits.
    pub(crate) fn at_first(&self, first: impl FnOnce(&Self) + Send + 'static) {
        *self.first().lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(first));
    }

    pub(crate) fn begin(&self) {
        // Held until it is done: a question that comes at the same time would find the ways closed.
        let mut first = self.first().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = first.take() {
            first(self);
        }
    }
}

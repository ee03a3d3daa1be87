//! All approval channels of one process, made from settings.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pinfold::consent::approver::DEFAULT_TIMEOUT;
use pinfold::consent::{ApprovalOptions, Approver, ApproverResponse, Request};
use pinfold::policy::settings::ApprovalSettings;
use pinfold::settings::Locations;

use crate::broker::{Broker, OpenChannel};
use crate::socket::{ApprovalSocket, SessionRegistry, SocketDir, SocketDirError, SocketHomes};
use crate::webhook::{Webhook, WebhookError};

/// The parameters of a process that asks for approval.
#[derive(Debug, Clone, Default)]
pub struct ChannelOptions {
    /// The settings.
    pub settings: ApprovalSettings,
    /// The name of the process on other terminals: the name of its session.
    pub name: String,
    /// The base directories of its socket.
    pub homes: SocketHomes,
    /// The environment, as far as it is text: it has the secret of a webhook.
    pub environment: std::collections::BTreeMap<String, String>,
}

/// Reason why the configured channels cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Settings require other terminals, and there is no directory for a socket.
    #[error("`approvals.socket` is on, and no socket can be created: {0}")]
    NoSocketDir(#[from] SocketDirError),
    /// The webhook cannot be used.
    #[error("`approvals.webhook` {0}")]
    Webhook(#[from] WebhookError),
}

/// The approval channels of one process. Dropping it closes them.
pub struct ApprovalChannels {
    broker: Arc<Broker>,
    sessions: SessionRegistry,
    timeout: Duration,
    terminal: bool,
    socket_dir: Option<SocketDir>,
    opened: Arc<OnceLock<OpenedChannels>>,
    /// Requests wait for other terminals although none is connected yet.
    waits: bool,
    has_webhook: bool,
}

/// The channels that are open from the first request on.
struct OpenedChannels {
    listening: ApprovalSocket,
    _standing: Option<OpenChannel>,
}

impl ApprovalChannels {
    /// Opens the configured channels.
    ///
    /// # Errors
    /// When a channel that settings require cannot be opened.
    pub fn open(options: &ChannelOptions) -> Result<Self, ChannelError> {
        let ApprovalSettings { timeout, terminal, socket, webhook } = &options.settings;
        let (broker, sessions) = (Arc::new(Broker::default()), SessionRegistry::default());
        let opened = Arc::<OnceLock<OpenedChannels>>::default();
        let said = socket.as_ref().map(|socket| socket.value);
        let socket_dir = match said {
            Some(true) => Some(SocketDir::open(&options.homes)?),
            // Optional: other terminals can connect, and requests do not depend on it.
            None => SocketDir::open(&options.homes).ok(),
            Some(false) => None,
        };
        if let Some(here) = socket_dir.clone() {
            // A watching approver cannot connect where there is no socket. The opened channels hold the broker, so the
            // broker has only a weak reference to them: a cycle would keep all of them open.
            let opened = Arc::downgrade(&opened);
            let is_open = move || opened.upgrade().is_some_and(|opened| opened.get().is_some());
            broker.set_elsewhere_check(move || is_open() && here.has_approver());
        }
        let webhook = webhook.as_ref().map(|webhook| Webhook::new(&webhook.value, &options.environment));
        let webhook = webhook.transpose()?;
        let has_webhook = webhook.is_some();
        let waits = said == Some(true);
        let (name, sessions_of_channels) = (options.name.clone(), sessions.clone());
        let channels = DeferredChannels {
            socket_dir: socket_dir.clone(),
            name,
            sessions: sessions_of_channels,
            webhook,
            waits,
        };
        let kept = Arc::clone(&opened);
        broker.on_first_request(move |broker| channels.open(broker, &kept));
        Ok(Self {
            timeout: timeout.as_ref().map_or(DEFAULT_TIMEOUT, |timeout| timeout.value.0),
            terminal: terminal.as_ref().is_none_or(|terminal| terminal.value),
            broker,
            sessions,
            socket_dir,
            opened,
            waits,
            has_webhook,
        })
    }

    /// The broker.
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// The sessions whose grants can be listed from elsewhere. Each session that asks here is added.
    pub fn sessions(&self) -> &SessionRegistry {
        &self.sessions
    }

    /// Returns whether the session's terminal may ask.
    pub fn asks_at_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns whether another channel than the terminal could answer: settings wait for other terminals or name a
    /// webhook, or an approver is watching.
    pub fn is_reached_elsewhere(&self) -> bool {
        let here = || self.socket_dir.as_ref().is_some_and(SocketDir::has_approver);
        self.waits || self.has_webhook || here()
    }

    /// The time limit for an answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The consent settings of a session that asks here; it keeps the channels open. `locations`: where permanent rules
    /// are written; without it none are offered.
    pub fn asking(self: &Arc<Self>, locations: Option<Locations>) -> ApprovalOptions {
        let approver: Arc<dyn Approver> = self.clone();
        ApprovalOptions { approver, timeout: self.timeout, locations }
    }

    /// The name of this process on other terminals, after its first request.
    pub fn name(&self) -> Option<&str> {
        self.opened.get().map(|opened| opened.listening.name())
    }
}

/// The consent settings of a session without a terminal; `None` where no other channel could answer.
///
/// # Errors
/// When a channel that settings require cannot be opened.
pub fn asking(
    options: &ChannelOptions,
    locations: Option<Locations>,
) -> Result<Option<ApprovalOptions>, ChannelError> {
    let channels = Arc::new(ApprovalChannels::open(options)?);
    Ok(channels.is_reached_elsewhere().then(|| channels.asking(locations)))
}

impl Approver for ApprovalChannels {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        self.broker.ask(request, still_asked)
    }

    fn granted(&self) {
        self.broker.granted();
    }

    fn show_message(&self, request: &Request, text: &str) {
        self.broker.show_message(request, text);
    }
}

/// Channels that are opened with the first request, since most calls need none.
struct DeferredChannels {
    socket_dir: Option<SocketDir>,
    name: String,
    sessions: SessionRegistry,
    webhook: Option<Webhook>,
    waits: bool,
}

impl DeferredChannels {
    /// Opens them. Where one fails, the others still answer, and no request waits for it.
    fn open(self, broker: &Broker, kept: &OnceLock<OpenedChannels>) {
        match self.socket_dir.as_ref().map(|socket_dir| broker.listen(socket_dir, &self.name, &self.sessions))
        {
            Some(Ok(listening)) => {
                let _ = kept
                    .set(OpenedChannels { listening, _standing: self.waits.then(|| broker.open_channel()) });
            }
            Some(Err(error)) => {
                let error = format!("the approval socket cannot be created: {error}");
                broker.shared().queue().channel_error = Some(error);
            }
            None => {}
        }
        if let Some(webhook) = self.webhook {
            let _ = crate::webhook::start(broker.shared(), webhook);
        }
    }
}

impl fmt::Debug for ApprovalChannels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalChannels")
            .field("broker", &self.broker)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// The action for the first request, run once.
pub(crate) type FirstRequestAction = Mutex<Option<Box<dyn FnOnce(&Broker) + Send>>>;

impl Broker {
    /// Sets an action that runs when the first request is made, before it waits.
    pub(crate) fn on_first_request(&self, first: impl FnOnce(&Self) + Send + 'static) {
        *self.first().lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(first));
    }

    pub(crate) fn run_first_request_action(&self) {
        // The lock is held until it is done: a concurrent request would find the channels closed.
        let mut first = self.first().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = first.take() {
            first(self);
        }
    }
}

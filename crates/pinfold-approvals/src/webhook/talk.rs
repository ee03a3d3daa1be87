//! One exchange: what is said, and how what comes back is understood.

use std::io::Read as _;
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Choice, Request};
use pinfold_tls::{Clients, Configuring};
use serde::{Deserialize, Serialize};
use ureq::Agent;
use ureq::http::Response;

use super::Webhook;
use super::origin::Origin;
use crate::over::Over;
use crate::socket::Secret;

/// The version of what is said.
const VERSION: u32 = 1;
/// The longest reply.
const LONGEST: u64 = 64 << 10;
/// How long one exchange may take: a program that thinks longer says that it is pending.
const EXCHANGE: Duration = Duration::from_mins(1);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long is waited before it is asked again, unless the reply says, and the bounds of what it may say.
const POLL: u64 = 2;
const POLLS: std::ops::RangeInclusive<u64> = 1..=60;

/// What is posted.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Told<'a> {
    Request { v: u32, request: &'a Request },
    Over { v: u32, over: &'a Over },
}

/// What comes back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    v: u32,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    answer: Option<Choice>,
    #[serde(default)]
    who: Option<String>,
    #[serde(default)]
    pending: Option<Pending>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pending {
    poll: String,
    #[serde(default)]
    after: Option<u64>,
}

/// What an exchange came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// An answer, and who gave it.
    Answer(Choice, Option<String>),
    /// It is to be asked for there, after a while.
    Pending(String, Duration),
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum No {
    /// It may be there another time.
    Yet(String),
    /// It will not come.
    Ever(String),
}

/// Talks to one webhook.
#[derive(Debug)]
pub(super) struct Talk {
    webhook: Webhook,
    clients: Clients,
}

impl Talk {
    pub(super) fn new(webhook: Webhook) -> Self {
        let clients = Clients::new(webhook.roots.clone().map(Into::into), limits);
        Self { webhook, clients }
    }

    fn agent(&self) -> Result<Agent, No> {
        self.clients.client(&self.webhook.url).map_err(No::Ever)
    }

    pub(super) fn host(&self) -> &str {
        self.webhook.origin.host()
    }

    /// Posts a question.
    pub(super) fn ask(&self, request: &Request, most: Duration) -> Result<Came, No> {
        let body = serde_json::to_string(&Told::Request { v: VERSION, request });
        let body = body.map_err(|error| No::Ever(error.to_string()))?;
        let said = Said::new("request")?;
        let sent = self.agent()?.post(&self.webhook.url).header("content-type", "application/json");
        let sent = self.signed(sent, &said, &body).config().timeout_global(Some(most.min(EXCHANGE))).build();
        self.understood(&said, request, sent.send(body.as_bytes()))
    }

    /// Asks for the answer to a question that was posted.
    pub(super) fn poll(&self, url: &str, request: &Request, most: Duration) -> Result<Came, No> {
        let said = Said::new("poll")?;
        let sent = self.signed(self.agent()?.get(url), &said, url);
        let sent = sent.config().timeout_global(Some(most.min(EXCHANGE))).build();
        self.understood(&said, request, sent.call())
    }

    /// Tells that a question is over. Whether that was heard changes nothing.
    pub(super) fn tell(&self, over: &Over) {
        let Ok(body) = serde_json::to_string(&Told::Over { v: VERSION, over }) else { return };
        let (Ok(said), Ok(agent)) = (Said::new("over"), self.agent()) else { return };
        let sent = agent.post(&self.webhook.url).header("content-type", "application/json");
        let sent = self.signed(sent, &said, &body).config().timeout_global(Some(CONNECT)).build();
        drop(sent.send(body.as_bytes()));
    }

    fn signed<B>(
        &self,
        request: ureq::RequestBuilder<B>,
        said: &Said,
        body: &str,
    ) -> ureq::RequestBuilder<B> {
        let request =
            request.header("pinfold-timestamp", &said.at).header("pinfold-nonce", said.nonce.text());
        match &self.webhook.key {
            None => request,
            Some(key) => {
                let parts = [said.what, &said.at, said.nonce.text(), body];
                request.header("pinfold-signature", key.sign(&parts))
            }
        }
    }

    fn understood(
        &self,
        said: &Said,
        request: &Request,
        came: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<Came, No> {
        let mut reply = came.map_err(|error| No::Yet(format!("it cannot be reached: {error}")))?;
        let status = reply.status().as_u16();
        match status {
            200..=299 => {}
            408 | 425 | 429 | 500..=599 => return Err(No::Yet(format!("it replied with {status}"))),
            _ => return Err(No::Ever(format!("it replied with {status}"))),
        }
        let signature = reply.headers().get("pinfold-signature").and_then(|value| value.to_str().ok());
        let signature = signature.unwrap_or_default().to_owned();
        let mut body = String::new();
        let read = reply.body_mut().with_config().limit(LONGEST).reader().read_to_string(&mut body);
        read.map_err(|error| No::Yet(format!("its reply cannot be read: {error}")))?;
        if let Some(key) = &self.webhook.key
            && !key.is_signed(&["reply", said.nonce.text(), &body], &signature)
        {
            return Err(No::Ever("its reply is not signed for this question".to_owned()));
        }
        self.came(&body, request)
    }

    fn came(&self, body: &str, request: &Request) -> Result<Came, No> {
        let unclear = |why: String| No::Ever(format!("its reply is not understood: {why}"));
        let reply: Reply = serde_json::from_str(body).map_err(|error| unclear(error.to_string()))?;
        match reply {
            Reply { v, .. } if v != VERSION => Err(unclear(format!("version {v}"))),
            Reply { pending: Some(Pending { poll, after }), answer: None, .. } => {
                if Origin::of(&poll).as_ref() != Some(&self.webhook.origin) {
                    return Err(unclear("it names an address of another origin".to_owned()));
                }
                let after = after.unwrap_or(POLL).clamp(*POLLS.start(), *POLLS.end());
                Ok(Came::Pending(poll, Duration::from_secs(after)))
            }
            Reply { pending: None, answer: Some(answer), digest, who, .. } => {
                if digest.as_deref() == Some(request.digest.as_str()) {
                    Ok(Came::Answer(answer, who))
                } else {
                    Err(unclear("it is about another question".to_owned()))
                }
            }
            Reply { pending: None, answer: None, .. } => Err(unclear("it holds no answer".to_owned())),
            Reply { pending: Some(_), answer: Some(_), .. } => {
                Err(unclear("it holds an answer and none".to_owned()))
            }
        }
    }
}

/// What an exchange is told by: when it was, and a number that was never used before.
struct Said {
    what: &'static str,
    at: String,
    nonce: Secret,
}

impl Said {
    fn new(what: &'static str) -> Result<Self, No> {
        let nonce = Secret::new().map_err(|error| No::Yet(error.to_string()))?;
        Ok(Self { what, at: Timestamp::now().as_second().to_string(), nonce })
    }
}

/// Limits of everything that is said.
fn limits(client: Configuring) -> Configuring {
    client.timeout_connect(Some(CONNECT)).accept("application/json").max_response_header_size(16 << 10)
}

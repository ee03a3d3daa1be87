//! One exchange: what is said, and how what comes back is understood.

use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Choice, Request};
use pinfold_net::{BlockingClient, ClientLimits, HttpError, HttpResponse};
use serde::{Deserialize, Serialize};

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
    client: BlockingClient,
}

impl Talk {
    pub(super) fn new(webhook: Webhook) -> Self {
        let client = BlockingClient::new(webhook.roots.clone().map(Into::into), limits);
        Self { webhook, client }
    }

    pub(super) fn host(&self) -> &str {
        self.webhook.origin.host()
    }

    /// Posts a question.
    pub(super) fn ask(&self, request: &Request, most: Duration) -> Result<Came, No> {
        let body = serde_json::to_string(&Told::Request { v: VERSION, request });
        let body = body.map_err(|error| No::Ever(error.to_string()))?;
        let said = Said::new("request")?;
        let reply = self.post(&said, &body, most.min(EXCHANGE));
        self.understood(&said, request, reply)
    }

    /// Asks for the answer to a question that was posted.
    pub(super) fn poll(&self, url: &str, request: &Request, most: Duration) -> Result<Came, No> {
        let said = Said::new("poll")?;
        let signature = self.signature(&said, url);
        let reply = self.client.get(url, &said.headers(signature.as_deref()), Some(most.min(EXCHANGE)));
        self.understood(&said, request, reply)
    }

    /// Tells that a question is over. Whether that was heard changes nothing.
    pub(super) fn tell(&self, over: &Over) {
        let Ok(body) = serde_json::to_string(&Told::Over { v: VERSION, over }) else { return };
        let Ok(said) = Said::new("over") else { return };
        drop(self.post(&said, &body, CONNECT));
    }

    fn post(&self, said: &Said, body: &str, timeout: Duration) -> Result<HttpResponse, HttpError> {
        let signature = self.signature(said, body);
        let headers = said.headers(signature.as_deref());
        self.client.post_json(&self.webhook.url, &headers, body.as_bytes(), Some(timeout))
    }

    fn signature(&self, said: &Said, body: &str) -> Option<String> {
        let key = self.webhook.key.as_ref()?;
        Some(key.sign(&[said.what, &said.at, said.nonce.text(), body]))
    }

    fn understood(
        &self,
        said: &Said,
        request: &Request,
        came: Result<HttpResponse, HttpError>,
    ) -> Result<Came, No> {
        let reply = came.map_err(|error| match error {
            HttpError::NoTrustRoots(why) => No::Ever(why),
            error => No::Yet(format!("it cannot be reached: {error}")),
        })?;
        let status = reply.status();
        match status {
            200..=299 => {}
            408 | 425 | 429 | 500..=599 => return Err(No::Yet(format!("it replied with {status}"))),
            _ => return Err(No::Ever(format!("it replied with {status}"))),
        }
        let signature = reply.header("pinfold-signature").unwrap_or_default().to_owned();
        let unread = |why: &dyn std::fmt::Display| No::Yet(format!("its reply cannot be read: {why}"));
        let body = reply.read(LONGEST).map_err(|error| unread(&error))?;
        let body = String::from_utf8(body).map_err(|error| unread(&error))?;
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

    fn headers<'a>(&'a self, signature: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
        let mut headers = vec![("pinfold-timestamp", self.at.as_str()), ("pinfold-nonce", self.nonce.text())];
        headers.extend(signature.map(|signature| ("pinfold-signature", signature)));
        headers
    }
}

/// Limits of everything that is said.
fn limits(client: ClientLimits) -> ClientLimits {
    client.timeout_connect(Some(CONNECT)).accept("application/json").max_response_header_size(16 << 10)
}

//! One exchange with a webhook: the signed request, and the checks on its reply.

use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Choice, Request};
use pinfold_net::{BlockingClient, ClientLimits, HttpError, HttpResponse};
use serde::{Deserialize, Serialize};

use super::Webhook;
use super::origin::UrlOrigin;
use crate::resolution::ResolvedRequest;
use crate::socket::AccessSecret;

/// The version of the webhook protocol.
const VERSION: u32 = 1;
/// The largest reply, in bytes.
const MAX_REPLY: u64 = 64 << 10;
/// The time limit for one exchange. A webhook that takes longer replies that the answer is pending.
const EXCHANGE_TIMEOUT: Duration = Duration::from_mins(1);
/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The polling interval in seconds where the reply has none, and the bounds of what the reply can set.
const POLL: u64 = 2;
const POLLS: std::ops::RangeInclusive<u64> = 1..=60;

/// The body of a post.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum WebhookPost<'a> {
    Request { v: u32, request: &'a Request },
    Over { v: u32, over: &'a ResolvedRequest },
}

/// The body of a reply.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyBody {
    v: u32,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    answer: Option<Choice>,
    #[serde(default)]
    who: Option<String>,
    #[serde(default)]
    pending: Option<PendingReply>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingReply {
    poll: String,
    #[serde(default)]
    after: Option<u64>,
}

/// The outcome of an exchange.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebhookReply {
    /// An answer, and its approver.
    Answer(Choice, Option<String>),
    /// The answer is to be polled for at this URL, after this time.
    Pending(String, Duration),
}

/// Reason why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebhookFailure {
    /// A temporary failure: try again.
    Temporary(String),
    /// A permanent failure.
    Permanent(String),
}

/// Talks to one webhook.
#[derive(Debug)]
pub(super) struct WebhookClient {
    webhook: Webhook,
    client: BlockingClient,
}

impl WebhookClient {
    pub(super) fn new(webhook: Webhook) -> Self {
        let client = BlockingClient::new(webhook.roots.clone().map(Into::into), limits);
        Self { webhook, client }
    }

    pub(super) fn host(&self) -> &str {
        self.webhook.origin.host()
    }

    /// Posts an approval request.
    pub(super) fn request_approval(
        &self,
        request: &Request,
        most: Duration,
    ) -> Result<WebhookReply, WebhookFailure> {
        let body = serde_json::to_string(&WebhookPost::Request { v: VERSION, request });
        let body = body.map_err(|error| WebhookFailure::Permanent(error.to_string()))?;
        let exchange = SignedExchange::new("request")?;
        let reply = self.post(&exchange, &body, most.min(EXCHANGE_TIMEOUT));
        self.check_reply(&exchange, request, reply)
    }

    /// Polls for the answer to a posted request.
    pub(super) fn poll(
        &self,
        url: &str,
        request: &Request,
        most: Duration,
    ) -> Result<WebhookReply, WebhookFailure> {
        let exchange = SignedExchange::new("poll")?;
        let signature = self.signature(&exchange, url);
        let reply =
            self.client.get(url, &exchange.headers(signature.as_deref()), Some(most.min(EXCHANGE_TIMEOUT)));
        self.check_reply(&exchange, request, reply)
    }

    /// Reports that a request is resolved. A failure is ignored.
    pub(super) fn report_resolution(&self, over: &ResolvedRequest) {
        let Ok(body) = serde_json::to_string(&WebhookPost::Over { v: VERSION, over }) else {
            return;
        };
        let Ok(exchange) = SignedExchange::new("over") else { return };
        drop(self.post(&exchange, &body, CONNECT_TIMEOUT));
    }

    fn post(
        &self,
        exchange: &SignedExchange,
        body: &str,
        timeout: Duration,
    ) -> Result<HttpResponse, HttpError> {
        let signature = self.signature(exchange, body);
        let headers = exchange.headers(signature.as_deref());
        self.client.post_json(&self.webhook.url, &headers, body.as_bytes(), Some(timeout))
    }

    fn signature(&self, exchange: &SignedExchange, body: &str) -> Option<String> {
        let key = self.webhook.key.as_ref()?;
        Some(key.sign(&[exchange.purpose, &exchange.at, exchange.nonce.as_str(), body]))
    }

    fn check_reply(
        &self,
        exchange: &SignedExchange,
        request: &Request,
        reply: Result<HttpResponse, HttpError>,
    ) -> Result<WebhookReply, WebhookFailure> {
        let reply = reply.map_err(|error| match error {
            HttpError::NoTrustRoots(why) => WebhookFailure::Permanent(why),
            error => WebhookFailure::Temporary(format!("it cannot be reached: {error}")),
        })?;
        let status = reply.status();
        match status {
            200..=299 => {}
            408 | 425 | 429 | 500..=599 => {
                return Err(WebhookFailure::Temporary(format!("it replied with {status}")));
            }
            _ => return Err(WebhookFailure::Permanent(format!("it replied with {status}"))),
        }
        let signature = reply.header("pinfold-signature").unwrap_or_default().to_owned();
        let unread = |why: &dyn std::fmt::Display| {
            WebhookFailure::Temporary(format!("its reply cannot be read: {why}"))
        };
        let body = reply.read(MAX_REPLY).map_err(|error| unread(&error))?;
        let body = String::from_utf8(body).map_err(|error| unread(&error))?;
        if let Some(key) = &self.webhook.key
            && !key.is_signed(&["reply", exchange.nonce.as_str(), &body], &signature)
        {
            return Err(WebhookFailure::Permanent("its reply is not signed for this request".to_owned()));
        }
        self.parse_reply(&body, request)
    }

    fn parse_reply(&self, body: &str, request: &Request) -> Result<WebhookReply, WebhookFailure> {
        let unclear = |why: String| WebhookFailure::Permanent(format!("its reply is invalid: {why}"));
        let reply: ReplyBody = serde_json::from_str(body).map_err(|error| unclear(error.to_string()))?;
        match reply {
            ReplyBody { v, .. } if v != VERSION => Err(unclear(format!("version {v}"))),
            ReplyBody { pending: Some(PendingReply { poll, after }), answer: None, .. } => {
                if UrlOrigin::parse(&poll).as_ref() != Some(&self.webhook.origin) {
                    return Err(unclear("it names a URL of another origin".to_owned()));
                }
                let after = after.unwrap_or(POLL).clamp(*POLLS.start(), *POLLS.end());
                Ok(WebhookReply::Pending(poll, Duration::from_secs(after)))
            }
            ReplyBody { pending: None, answer: Some(answer), digest, who, .. } => {
                if digest.as_deref() == Some(request.digest.as_str()) {
                    Ok(WebhookReply::Answer(answer, who))
                } else {
                    Err(unclear("it is for another request".to_owned()))
                }
            }
            ReplyBody { pending: None, answer: None, .. } => Err(unclear("it has no answer".to_owned())),
            ReplyBody { pending: Some(_), answer: Some(_), .. } => {
                Err(unclear("it has both an answer and `pending`".to_owned()))
            }
        }
    }
}

/// The signed parts of an exchange: its purpose, its time, and a nonce.
struct SignedExchange {
    purpose: &'static str,
    at: String,
    nonce: AccessSecret,
}

impl SignedExchange {
    fn new(purpose: &'static str) -> Result<Self, WebhookFailure> {
        let nonce = AccessSecret::new().map_err(|error| WebhookFailure::Temporary(error.to_string()))?;
        Ok(Self { purpose, at: Timestamp::now().as_second().to_string(), nonce })
    }

    fn headers<'a>(&'a self, signature: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
        let mut headers =
            vec![("pinfold-timestamp", self.at.as_str()), ("pinfold-nonce", self.nonce.as_str())];
        headers.extend(signature.map(|signature| ("pinfold-signature", signature)));
        headers
    }
}

/// Limits of every exchange.
fn limits(client: ClientLimits) -> ClientLimits {
    client
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .accept("application/json")
        .max_response_header_size(16 << 10)
}

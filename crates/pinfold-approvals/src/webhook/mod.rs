//! Approval by a program elsewhere, over HTTP.
//!
//! A request is posted; the answer comes in the reply, or later from a URL of the same origin that the reply names, so
//! that it works from behind a router. Requests are signed, and replies have to be signed for the nonce of the request,
//! so that neither can be forged or replayed. `docs/approvals.md` is its manual.
//!
//! Fails closed: any error means that there is no answer. Only a reply that names the digest can approve, and no error
//! denies on the approver's behalf.

mod client;
mod delivery;
mod origin;
mod sign;

use std::collections::BTreeMap;

use pinfold::policy::settings::WebhookSettings;

pub(crate) use delivery::start;
use origin::UrlOrigin;
use sign::SigningKey;

/// Reason why a webhook cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// Its URL is not valid.
    #[error("has an invalid URL: `{0}`")]
    InvalidUrl(String),
    /// Without a secret, any process on this machine could answer.
    #[error(
        "has no secret, and without one anything on this machine could answer\nname the variable that holds it: \"secretEnv\""
    )]
    NoSecret,
    /// The variable is not set.
    #[error("takes its secret from the variable `{0}`, which is not set")]
    NotSet(String),
    /// The secret is too short.
    #[error("takes its secret from the variable `{0}`, which holds less than 16 bytes")]
    TooShort(String),
}

/// A configured webhook.
#[derive(Debug, Clone)]
pub(crate) struct Webhook {
    url: String,
    origin: UrlOrigin,
    key: Option<SigningKey>,
    /// The file of trust roots that replaces the system's.
    roots: Option<String>,
}

/// The shortest secret, in bytes: shorter ones can be guessed.
const MIN_SECRET_BYTES: usize = 16;

impl Webhook {
    pub(crate) fn new(
        settings: &WebhookSettings,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, WebhookError> {
        let url = settings.url.as_ref().map(|url| url.as_str().to_owned()).unwrap_or_default();
        let origin = UrlOrigin::parse(&url).ok_or_else(|| WebhookError::InvalidUrl(url.clone()))?;
        let key = match &settings.secret_env {
            None if !origin.is_encrypted() => return Err(WebhookError::NoSecret),
            None => None,
            Some(name) => match environment.get(name) {
                None => return Err(WebhookError::NotSet(name.clone())),
                Some(secret) if secret.len() < MIN_SECRET_BYTES => {
                    return Err(WebhookError::TooShort(name.clone()));
                }
                Some(secret) => Some(SigningKey::new(secret)),
            },
        };
        Ok(Self { url, origin, key, roots: environment.get("SSL_CERT_FILE").cloned() })
    }
}

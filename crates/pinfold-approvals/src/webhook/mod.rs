//! A program elsewhere that is asked over HTTP.
//!
//! A question is posted; the answer comes in the reply, or later from an address of the same origin that the reply
//! names, so that it works from behind a router. What is sent is signed, and what comes back has to be signed for the
//! very question, so that neither can be made up or said twice. `docs/approvals.md` is its manual.
//!
//! Trap: whatever goes wrong is no answer. Nothing here says no for somebody, and nothing says yes but an answer that
//! names the digest.

mod courier;
mod origin;
mod sign;
mod talk;

use std::collections::BTreeMap;

use pinfold::policy::settings::WebhookSettings;

pub(crate) use courier::start;
use origin::Origin;
use sign::Key;

/// Why a webhook cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// Its address cannot be meant.
    #[error("cannot be asked: `{0}` is no address")]
    NoAddress(String),
    /// Anybody on this machine could answer.
    #[error(
        "has no secret, and without one anything on this machine could answer\nname the variable that holds it: \"secretEnv\""
    )]
    NoSecret,
    /// The variable is not set.
    #[error("takes its secret from the variable `{0}`, which is not set")]
    NotSet(String),
    /// It is too short to be one.
    #[error("takes its secret from the variable `{0}`, which holds less than 16 bytes")]
    TooShort(String),
}

/// A webhook as it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Webhook {
    url: String,
    origin: Origin,
    key: Option<Key>,
    /// A file with the certificates of authorities, where somebody says.
    roots: Option<String>,
}

/// A secret that can be guessed is none.
const SHORTEST_SECRET: usize = 16;

impl Webhook {
    pub(crate) fn new(
        settings: &WebhookSettings,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, WebhookError> {
        let url = settings.url.as_ref().map(|url| url.as_str().to_owned()).unwrap_or_default();
        let origin = Origin::of(&url).ok_or_else(|| WebhookError::NoAddress(url.clone()))?;
        let key = match &settings.secret_env {
            None if !origin.is_encrypted() => return Err(WebhookError::NoSecret),
            None => None,
            Some(name) => match environment.get(name) {
                None => return Err(WebhookError::NotSet(name.clone())),
                Some(secret) if secret.len() < SHORTEST_SECRET => {
                    return Err(WebhookError::TooShort(name.clone()));
                }
                Some(secret) => Some(Key::new(secret)),
            },
        };
        Ok(Self { url, origin, key, roots: environment.get("SSL_CERT_FILE").cloned() })
    }
}

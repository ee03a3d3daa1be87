//! Who we are to those who let people in: somebody that they know already, or who makes itself known now
//! ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::discovery::Found;
use crate::speech::Speech;
use crate::{Place, Trouble};

/// A client that the person has registered themselves.
#[derive(Clone)]
pub struct KnownClient {
    /// What it is called there.
    pub id: String,
    /// Its password, where it has one.
    pub secret: Option<String>,
}

impl fmt::Debug for KnownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownClient").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A client as it is known there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    /// The password stands in a header, not in what is said.
    pub(crate) in_header: bool,
}

/// Ways to show who one is, as they are named.
const NO_SECRET: &str = "none";
const IN_HEADER: &str = "client_secret_basic";
const IN_BODY: &str = "client_secret_post";

/// What comes of making ourselves known.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl Client {
    /// The one that the person names, or a new one, to which the browser comes back at `redirect`.
    pub(crate) async fn of(
        speech: &Speech<'_>,
        found: &Found,
        known: Option<&KnownClient>,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Self, Trouble> {
        if let Some(KnownClient { id, secret }) = known {
            let in_header = found.methods.as_ref().is_none_or(|all| all.iter().any(|one| one == IN_HEADER));
            return Ok(Self { id: id.clone(), secret: secret.clone(), in_header });
        }
        let place = found.register.as_ref().ok_or_else(|| {
            Trouble::new("it lets in only clients that it knows").mend(format!(
                "register one there, with {redirect} as the address that it leads back to (--port keeps it the same), and say --client-id"
            ))
        })?;
        Self::registered(speech, place, found, redirect, scope).await
    }

    async fn registered(
        speech: &Speech<'_>,
        place: &Place,
        found: &Found,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Self, Trouble> {
        let method = method(found.methods.as_deref());
        let mut about = json!({
            "client_name": "pinfold",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "application_type": "native",
            "token_endpoint_auth_method": method,
        });
        if let (Some(about), Some(scope)) = (about.as_object_mut(), scope) {
            about.insert("scope".to_owned(), scope.into());
        }
        let answer = speech.post(place, &about).await?;
        if !answer.status.is_success() {
            return Err(answer.refused(place));
        }
        let said: Registered = answer.json(place)?;
        let method = said.token_endpoint_auth_method.as_deref().unwrap_or(method);
        Ok(Self { id: said.client_id, secret: said.client_secret, in_header: method == IN_HEADER })
    }
}

/// The way with the least to keep.
fn method(said: Option<&[String]>) -> &'static str {
    let takes = |method: &str| said.is_none_or(|all| all.iter().any(|one| one == method));
    [NO_SECRET, IN_HEADER, IN_BODY].into_iter().find(|method| takes(method)).unwrap_or(NO_SECRET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_kept_where_none_has_to_be() {
        let of = |all: &[&str]| method(Some(&all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>()));
        assert_eq!(method(None), NO_SECRET);
        assert_eq!(of(&[IN_BODY, IN_HEADER, NO_SECRET]), NO_SECRET);
        assert_eq!(of(&[IN_BODY, IN_HEADER]), IN_HEADER);
        assert_eq!(of(&[IN_BODY, "private_key_jwt"]), IN_BODY);
    }
}

//! The OAuth client: registered in advance by the user, or dynamically
//! ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::discovery::ServerMetadata;
use crate::http_client::HttpClient;
use crate::{Endpoint, LoginError};

/// A client that the user has registered in advance.
#[derive(Clone)]
pub struct PreRegisteredClient {
    /// The client identifier.
    pub id: String,
    /// The client secret, if it has one.
    pub secret: Option<String>,
}

impl fmt::Debug for PreRegisteredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreRegisteredClient").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A registered client.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    /// Authenticates with `client_secret_basic`, not in the request body.
    #[serde(alias = "in_header")]
    pub(crate) uses_basic_auth: bool,
}

/// Client authentication methods of the token endpoint.
const AUTH_NONE: &str = "none";
const AUTH_BASIC: &str = "client_secret_basic";
const AUTH_POST: &str = "client_secret_post";

/// A client registration response.
#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl OAuthClient {
    /// Returns the client that the user names, or registers a new one with the redirect URI.
    pub(crate) async fn obtain(
        http: &HttpClient<'_>,
        metadata: &ServerMetadata,
        known: Option<&PreRegisteredClient>,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Self, LoginError> {
        if let Some(PreRegisteredClient { id, secret }) = known {
            let uses_basic_auth =
                metadata.auth_methods.as_ref().is_none_or(|all| all.iter().any(|one| one == AUTH_BASIC));
            return Ok(Self { id: id.clone(), secret: secret.clone(), uses_basic_auth });
        }
        let endpoint = metadata.registration_endpoint.as_ref().ok_or_else(|| {
            LoginError::new("the authorization server accepts only registered clients").with_hint(format!(
                "register a client there with the redirect URI {redirect} (--port fixes its port), and pass --client-id"
            ))
        })?;
        Self::register(http, endpoint, metadata, redirect, scope).await
    }

    async fn register(
        http: &HttpClient<'_>,
        endpoint: &Endpoint,
        metadata: &ServerMetadata,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Self, LoginError> {
        let method = auth_method(metadata.auth_methods.as_deref());
        let mut request = json!({
            "client_name": "pinfold",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "application_type": "native",
            "token_endpoint_auth_method": method,
        });
        if let (Some(fields), Some(scope)) = (request.as_object_mut(), scope) {
            fields.insert("scope".to_owned(), scope.into());
        }
        let answer = http.post(endpoint, &request).await?;
        if !answer.status.is_success() {
            return Err(answer.unexpected_status(endpoint));
        }
        let response: RegistrationResponse = answer.json(endpoint)?;
        let method = response.token_endpoint_auth_method.as_deref().unwrap_or(method);
        Ok(Self {
            id: response.client_id,
            secret: response.client_secret,
            uses_basic_auth: method == AUTH_BASIC,
        })
    }
}

/// Selects the supported method with the fewest secrets.
fn auth_method(supported: Option<&[String]>) -> &'static str {
    let is_supported = |method: &str| supported.is_none_or(|all| all.iter().any(|one| one == method));
    [AUTH_NONE, AUTH_BASIC, AUTH_POST].into_iter().find(|method| is_supported(method)).unwrap_or(AUTH_NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_with_the_fewest_secrets_is_selected() {
        let of = |all: &[&str]| auth_method(Some(&all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>()));
        assert_eq!(auth_method(None), AUTH_NONE);
        assert_eq!(of(&[AUTH_POST, AUTH_BASIC, AUTH_NONE]), AUTH_NONE);
        assert_eq!(of(&[AUTH_POST, AUTH_BASIC]), AUTH_BASIC);
        assert_eq!(of(&[AUTH_POST, "private_key_jwt"]), AUTH_POST);
    }
}

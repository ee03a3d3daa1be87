//! Authorization and token requests, through the `oauth2` crate: authorization code, refresh, revocation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use oauth2::basic::{BasicClient, BasicErrorResponseType, BasicRequestTokenError, BasicTokenResponse};
use oauth2::url::Url;
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope, TokenResponse as _, TokenUrl,
};
use pinfold_render::visible;
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use crate::discovery::ServerMetadata;
use crate::http_client::{HttpClient, RequestError, invalid_response};
use crate::registration::OAuthClient;
use crate::{Endpoint, LoginError};

/// An authorization request.
pub(crate) struct AuthorizationRequest {
    /// The URL that the user opens.
    pub(crate) url: Url,
    /// The `state`, which binds the response to this request.
    pub(crate) state: CsrfToken,
    verifier: PkceCodeVerifier,
}

/// Tokens, with their expiry and scope.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenSet {
    #[serde(alias = "access")]
    pub(crate) access_token: String,
    #[serde(alias = "refresh")]
    pub(crate) refresh_token: Option<String>,
    #[serde(alias = "until")]
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) scope: Option<String>,
}

impl AuthorizationRequest {
    pub(crate) fn new(
        metadata: &ServerMetadata,
        client: &OAuthClient,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Self, LoginError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let oauth_client = oauth_client(client)
            .set_auth_uri(AuthUrl::from_url(url(&metadata.authorization_endpoint)?))
            .set_redirect_uri(
                RedirectUrl::new(redirect.to_owned()).map_err(|e| LoginError::new(e.to_string()))?,
            );
        let scopes = scope.into_iter().flat_map(|all| all.split(' ')).filter(|one| !one.is_empty());
        let (url, state) = oauth_client
            .authorize_url(CsrfToken::new_random)
            .add_scopes(scopes.map(|one| Scope::new(one.to_owned())))
            .set_pkce_challenge(challenge)
            .add_extra_param("resource", metadata.resource.clone())
            .url();
        Ok(Self { url, state, verifier })
    }

    /// Exchanges the authorization code for tokens.
    pub(crate) async fn exchange_code(
        self,
        http: &HttpClient<'_>,
        metadata: &ServerMetadata,
        client: &OAuthClient,
        redirect: &str,
        code: String,
    ) -> Result<TokenSet, LoginError> {
        let oauth_client = oauth_client(client)
            .set_token_uri(TokenUrl::from_url(url(&metadata.token_endpoint)?))
            .set_redirect_uri(
                RedirectUrl::new(redirect.to_owned()).map_err(|e| LoginError::new(e.to_string()))?,
            );
        let tokens = oauth_client
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(self.verifier)
            .add_extra_param("resource", metadata.resource.clone())
            .request_async(http)
            .await;
        let response = tokens.map_err(|why| token_error(&metadata.token_endpoint, why))?;
        TokenSet::from_response(&metadata.token_endpoint, &response)
    }
}

impl TokenSet {
    /// # Errors
    /// When the access token is none that a request can carry.
    fn from_response(endpoint: &Endpoint, response: &BasicTokenResponse) -> Result<Self, LoginError> {
        if !is_bearer_token(response.access_token().secret()) {
            return Err(invalid_response(
                endpoint,
                "the access token is no bearer token (RFC 6750 §2.1): it is empty, or holds other characters than letters, \
                 digits and -._~+/",
            ));
        }
        let time = response.expires_in().and_then(|time| SignedDuration::try_from(time).ok());
        let scopes =
            response.scopes().map(|all| all.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" "));
        Ok(Self {
            access_token: response.access_token().secret().clone(),
            refresh_token: response.refresh_token().map(|token| token.secret().clone()),
            expires_at: time.and_then(|time| Timestamp::now().checked_add(time).ok()),
            scope: scopes,
        })
    }
}

/// Returns `true` for a `token68` ([RFC 9110 §11.2](https://www.rfc-editor.org/rfc/rfc9110#section-11.2)), which a bearer token is
/// ([RFC 6750 §2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)).
fn is_bearer_token(text: &str) -> bool {
    let plain = text.trim_end_matches('=');
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !plain.is_empty() && plain.bytes().all(is_of_token)
}

/// Reason why there are no tokens.
pub(crate) enum TokenError {
    /// The grant has expired or was revoked.
    InvalidGrant,
    Other(LoginError),
}

impl From<TokenError> for LoginError {
    fn from(why: TokenError) -> Self {
        match why {
            TokenError::InvalidGrant => Self::new("the authorization server rejected the grant"),
            TokenError::Other(trouble) => trouble,
        }
    }
}

/// Requests new tokens with a refresh token.
pub(crate) async fn refresh_tokens(
    http: &HttpClient<'_>,
    token: &Endpoint,
    client: &OAuthClient,
    resource: &str,
    refresh: &str,
) -> Result<TokenSet, TokenError> {
    let oauth_client =
        oauth_client(client).set_token_uri(TokenUrl::from_url(url(token).map_err(TokenError::Other)?));
    let tokens = oauth_client
        .exchange_refresh_token(&RefreshToken::new(refresh.to_owned()))
        .add_extra_param("resource", resource.to_owned())
        .request_async(http)
        .await;
    let response = tokens.map_err(|why| token_error(token, why))?;
    TokenSet::from_response(token, &response).map_err(TokenError::Other)
}

/// Revokes a refresh token ([RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)). The crate's own
/// revocation requires TLS, also on this machine.
pub(crate) async fn revoke_token(
    http: &HttpClient<'_>,
    revoke: &Endpoint,
    client: &OAuthClient,
    refresh: &str,
) -> Result<(), LoginError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let mut said = form_urlencoded::Serializer::new(String::new());
    said.extend_pairs([("token", refresh), ("token_type_hint", "refresh_token"), ("client_id", &client.id)]);
    match &client.secret {
        Some(secret) if client.uses_basic_auth => {
            headers.insert(AUTHORIZATION, basic_auth(&client.id, secret)?);
        }
        Some(secret) => {
            said.append_pair("client_secret", secret);
        }
        None => {}
    }
    let answer = http.send(&Method::POST, revoke, headers, said.finish().into()).await?;
    if answer.status.is_success() { Ok(()) } else { Err(answer.unexpected_status(revoke)) }
}

/// Client authentication by `Basic` ([RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)).
fn basic_auth(id: &str, secret: &str) -> Result<HeaderValue, LoginError> {
    let [id, secret] =
        [id, secret].map(|text| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>());
    let value = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    let mut value = HeaderValue::from_str(&value).map_err(|why| LoginError::new(why.to_string()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The client in the types of the `oauth2` crate.
fn oauth_client(client: &OAuthClient) -> BasicClient {
    let kind = if client.uses_basic_auth { AuthType::BasicAuth } else { AuthType::RequestBody };
    let oauth_client = BasicClient::new(ClientId::new(client.id.clone())).set_auth_type(kind);
    match &client.secret {
        Some(secret) => oauth_client.set_client_secret(ClientSecret::new(secret.clone())),
        None => oauth_client,
    }
}

fn url(endpoint: &Endpoint) -> Result<Url, LoginError> {
    Url::parse(&endpoint.to_string()).map_err(|why| LoginError::new(format!("{endpoint}: {why}")))
}

fn token_error(token: &Endpoint, why: BasicRequestTokenError<RequestError>) -> TokenError {
    TokenError::Other(match why {
        RequestTokenError::ServerResponse(said) if *said.error() == BasicErrorResponseType::InvalidGrant => {
            return TokenError::InvalidGrant;
        }
        RequestTokenError::ServerResponse(said) => {
            LoginError::new(format!("{token} issued no token: {}", visible(&said.to_string())))
        }
        RequestTokenError::Request(RequestError(trouble)) => trouble,
        // The parse error may quote the token, so it is not shown.
        RequestTokenError::Parse(..) => invalid_response(token, "it is not a token response"),
        RequestTokenError::Other(why) => invalid_response(token, &visible(&why)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_is_what_a_header_can_carry() {
        for token in ["a-1", "eyJhbGciOi.J9_x.y~+/z", "YWJj==", "0"] {
            assert!(is_bearer_token(token), "{token}");
        }
        for other in ["", "=", "A TOK", "a\r\nX: y", "a\n", "a\t", "tök", "a=b", "a,b", "\"a\"", "a\0"] {
            assert!(!is_bearer_token(other), "{other:?}");
        }
    }
}

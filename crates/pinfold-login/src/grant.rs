//! What is asked of whoever lets people in, by the library for it: a code for a yes, tokens for a code, newer ones for old ones.

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

use crate::client::Client;
use crate::discovery::Found;
use crate::speech::{Speech, Unsaid, no_answer};
use crate::{Place, Trouble};

/// What the person says yes to, in their browser.
pub(crate) struct Question {
    /// Where.
    pub(crate) url: Url,
    /// What comes back with the answer to this question and to no other.
    pub(crate) state: CsrfToken,
    verifier: PkceCodeVerifier,
}

/// Tokens, and what they are good for.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) scope: Option<String>,
}

impl Question {
    pub(crate) fn new(
        found: &Found,
        client: &Client,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Self, Trouble> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let speaker =
            speaker(client).set_auth_uri(AuthUrl::from_url(url(&found.authorize)?)).set_redirect_uri(
                RedirectUrl::new(redirect.to_owned()).map_err(|e| Trouble::new(e.to_string()))?,
            );
        let scopes = scope.into_iter().flat_map(|all| all.split(' ')).filter(|one| !one.is_empty());
        let (url, state) = speaker
            .authorize_url(CsrfToken::new_random)
            .add_scopes(scopes.map(|one| Scope::new(one.to_owned())))
            .set_pkce_challenge(challenge)
            .add_extra_param("resource", found.resource.clone())
            .url();
        Ok(Self { url, state, verifier })
    }

    /// Takes tokens for the code of a yes.
    pub(crate) async fn answered(
        self,
        speech: &Speech<'_>,
        found: &Found,
        client: &Client,
        redirect: &str,
        code: String,
    ) -> Result<Tokens, Trouble> {
        let speaker = speaker(client).set_token_uri(TokenUrl::from_url(url(&found.token)?)).set_redirect_uri(
            RedirectUrl::new(redirect.to_owned()).map_err(|e| Trouble::new(e.to_string()))?,
        );
        let tokens = speaker
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(self.verifier)
            .add_extra_param("resource", found.resource.clone())
            .request_async(speech)
            .await;
        tokens.map(|said| Tokens::of(&said)).map_err(|why| refused(&found.token, why).into())
    }
}

impl Tokens {
    fn of(said: &BasicTokenResponse) -> Self {
        let time = said.expires_in().and_then(|time| SignedDuration::try_from(time).ok());
        let scopes =
            said.scopes().map(|all| all.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" "));
        Self {
            access: said.access_token().secret().clone(),
            refresh: said.refresh_token().map(|token| token.secret().clone()),
            until: time.and_then(|time| Timestamp::now().checked_add(time).ok()),
            scope: scopes,
        }
    }
}

/// Why there are no tokens.
pub(crate) enum Refused {
    /// The login is over.
    Over,
    Other(Trouble),
}

impl From<Refused> for Trouble {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Over => Self::new("whoever lets people in does not take what it gave"),
            Refused::Other(trouble) => trouble,
        }
    }
}

/// Takes newer tokens for an old one.
pub(crate) async fn renewed(
    speech: &Speech<'_>,
    token: &Place,
    client: &Client,
    resource: &str,
    refresh: &str,
) -> Result<Tokens, Refused> {
    let speaker = speaker(client).set_token_uri(TokenUrl::from_url(url(token).map_err(Refused::Other)?));
    let tokens = speaker
        .exchange_refresh_token(&RefreshToken::new(refresh.to_owned()))
        .add_extra_param("resource", resource.to_owned())
        .request_async(speech)
        .await;
    tokens.map(|said| Tokens::of(&said)).map_err(|why| refused(token, why))
}

/// Gives back what was given: nobody takes it any more ([RFC 7009, 2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)).
/// The library does so over TLS alone, and not on this machine.
pub(crate) async fn revoked(
    speech: &Speech<'_>,
    revoke: &Place,
    client: &Client,
    refresh: &str,
) -> Result<(), Trouble> {
    let mut heads = HeaderMap::new();
    heads.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let mut said = form_urlencoded::Serializer::new(String::new());
    said.extend_pairs([("token", refresh), ("token_type_hint", "refresh_token"), ("client_id", &client.id)]);
    match &client.secret {
        Some(secret) if client.in_header => {
            heads.insert(AUTHORIZATION, basic(&client.id, secret)?);
        }
        Some(secret) => {
            said.append_pair("client_secret", secret);
        }
        None => {}
    }
    let answer = speech.send(&Method::POST, revoke, heads, said.finish().into()).await?;
    if answer.status.is_success() { Ok(()) } else { Err(answer.refused(revoke)) }
}

/// A name and a password in a header ([RFC 6749, 2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)).
fn basic(id: &str, secret: &str) -> Result<HeaderValue, Trouble> {
    let [id, secret] =
        [id, secret].map(|text| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>());
    let word = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    let mut word = HeaderValue::from_str(&word).map_err(|why| Trouble::new(why.to_string()))?;
    word.set_sensitive(true);
    Ok(word)
}

/// The client as the library has it.
fn speaker(client: &Client) -> BasicClient {
    let kind = if client.in_header { AuthType::BasicAuth } else { AuthType::RequestBody };
    let speaker = BasicClient::new(ClientId::new(client.id.clone())).set_auth_type(kind);
    match &client.secret {
        Some(secret) => speaker.set_client_secret(ClientSecret::new(secret.clone())),
        None => speaker,
    }
}

fn url(place: &Place) -> Result<Url, Trouble> {
    Url::parse(&place.to_string()).map_err(|why| Trouble::new(format!("{place}: {why}")))
}

fn refused(token: &Place, why: BasicRequestTokenError<Unsaid>) -> Refused {
    Refused::Other(match why {
        RequestTokenError::ServerResponse(said) if *said.error() == BasicErrorResponseType::InvalidGrant => {
            return Refused::Over;
        }
        RequestTokenError::ServerResponse(said) => {
            Trouble::new(format!("{token} gives no token: {}", visible(&said.to_string())))
        }
        RequestTokenError::Request(Unsaid(trouble)) => trouble,
        // Neither what was said nor what is wrong with it is told: it may hold a token.
        RequestTokenError::Parse(..) => no_answer(token, "it has another form than tokens have"),
        RequestTokenError::Other(why) => no_answer(token, &visible(&why)),
    })
}

//! A login in use: the `Authorization` header, and refresh when the access token has expired or was rejected.

use hyper::header::HeaderValue;
use tokio::sync::Mutex;

use crate::http_client::HttpClient;
use crate::token_requests::{self, TokenError};
use crate::{Connector, Endpoint, Login, LoginError, TokenStore};

/// A login that refreshes its access token.
pub struct RefreshableLogin {
    logins: TokenStore,
    server: Endpoint,
    connector: Box<dyn Connector>,
    /// The scope when it was loaded.
    scope: Option<String>,
    current: Mutex<Login>,
}

impl RefreshableLogin {
    /// Loads the stored login for a server. `connector`: to its issuer.
    ///
    /// # Errors
    /// When the stored login cannot be read.
    pub fn load(
        logins: TokenStore,
        server: Endpoint,
        connector: Box<dyn Connector>,
    ) -> Result<Option<Self>, LoginError> {
        let stored = logins.get(&server)?;
        let scope = |login: &Login| login.scope().map(str::to_owned);
        Ok(stored.map(|login| Self {
            logins,
            server,
            connector,
            scope: scope(&login),
            current: Mutex::new(login),
        }))
    }

    /// Its scope, extended by `more`.
    pub(crate) fn scope_with(&self, more: &str) -> String {
        let known = self.scope.as_deref().unwrap_or_default().split(' ');
        let more = more.split(' ').filter(|one| !known.clone().any(|known| known == *one));
        known.clone().chain(more).filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The `Authorization` header for the resource server.
    ///
    /// # Errors
    /// When the login has expired and cannot be refreshed.
    pub async fn authorization_header(&self) -> Result<HeaderValue, LoginError> {
        let mut now = self.current.lock().await;
        if now.is_expired() && now.is_renewable() {
            self.refresh(&mut now).await?;
        }
        authorization_header(&now)
    }

    /// Handles a 401 response to `header`: refreshes the token, and returns whether there is another one to try.
    ///
    /// # Errors
    /// When the login has expired.
    pub async fn handle_rejection(&self, header: &HeaderValue) -> Result<bool, LoginError> {
        let mut now = self.current.lock().await;
        if authorization_header(&now)? != header {
            // It was refreshed meanwhile, for another request.
            return Ok(true);
        }
        if !now.is_renewable() {
            return Ok(false);
        }
        self.refresh(&mut now).await?;
        Ok(true)
    }

    /// Refreshes the tokens, one process at a time. A refresh by another process is taken over from the store.
    async fn refresh(&self, now: &mut Login) -> Result<(), LoginError> {
        let (logins, server) = (self.logins.clone(), self.server.clone());
        let locked = tokio::task::spawn_blocking(move || logins.lock(&server)).await;
        let _locked = locked.map_err(|why| LoginError::new(why.to_string()))??;
        let stored = self.logins.get(&self.server)?.ok_or_else(|| self.expired("it was logged out here"))?;
        let is_newer = stored.tokens.access_token != now.tokens.access_token;
        *now = stored;
        if is_newer && !now.is_expired() {
            return Ok(());
        }
        let refresh =
            now.tokens.refresh_token.clone().ok_or_else(|| self.expired("it has no refresh token"))?;
        let token = Endpoint::parse(&now.about.token_endpoint).map_err(LoginError::new)?;
        let http = HttpClient::new(&*self.connector);
        let refreshed =
            token_requests::refresh_tokens(&http, &token, &now.about.client, &now.about.resource, &refresh)
                .await;
        let tokens = refreshed.map_err(|why| match why {
            TokenError::InvalidGrant => self.expired("the issuer rejected the refresh token"),
            TokenError::Other(trouble) => trouble,
        })?;
        *now = now.clone().with_tokens(tokens);
        // Refresh tokens rotate: the old one is void, so the new one has to be stored before it is used.
        self.logins.save(now)
    }

    fn expired(&self, why: &str) -> LoginError {
        LoginError::new(format!("the login at {} has expired: {why}", self.server))
            .with_hint(format!("pinfold mcp login {}", self.server))
    }
}

fn authorization_header(login: &Login) -> Result<HeaderValue, LoginError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", login.tokens.access_token))
        .map_err(|_| LoginError::new("the stored token is not valid in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

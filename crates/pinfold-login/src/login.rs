//! Login and logout, from discovery to tokens.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, channel};

use crate::discovery::{ServerMetadata, discover};
use crate::http_client::HttpClient;
use crate::redirect::{ExpectedResponse, RedirectListener};
use crate::registration::OAuthClient;
use crate::token_requests::{self, AuthorizationRequest};
use crate::token_store::LoginMetadata;
use crate::{Connector, Endpoint, Login, LoginError, PreRegisteredClient, TokenStore};

/// The parameters of a login.
#[derive(Debug, Clone)]
pub struct LoginOptions {
    /// The resource server.
    pub server: Endpoint,
    /// The scope, in place of the one that the server requires.
    pub scope: Option<String>,
    /// The client, in place of dynamic registration.
    pub client: Option<PreRegisteredClient>,
    /// The loopback port of the redirect URI, in place of any free one.
    pub port: Option<u16>,
}

/// The user who logs in.
pub trait LoginUser: Send + Sync {
    /// Shows the authorization URL.
    fn open_authorization_url(&self, url: &str);

    /// Waits for a line of input: the URL that the browser was redirected to, where the browser is on another machine.
    /// `None` at the end of input.
    fn read_line(&self) -> Option<String>;
}

/// Logs the user in.
///
/// # Errors
/// Why the login failed.
pub fn login(
    options: &LoginOptions,
    connector: &dyn Connector,
    user: &Arc<dyn LoginUser>,
) -> Result<Login, LoginError> {
    let runtime = runtime()?;
    let login = runtime.block_on(run_login(options, connector, user));
    // A thread may still wait for input.
    runtime.shutdown_background();
    login
}

fn runtime() -> Result<Runtime, LoginError> {
    Builder::new_current_thread().enable_all().build().map_err(|why| LoginError::new(why.to_string()))
}

async fn run_login(
    options: &LoginOptions,
    connector: &dyn Connector,
    user: &Arc<dyn LoginUser>,
) -> Result<Login, LoginError> {
    let http = HttpClient::new(connector);
    let metadata = discover(&http, &options.server).await?;
    // The host is checked before the user is sent anywhere.
    http.client_for(&metadata.token_endpoint)?;
    let scope = options.scope.as_deref().or(metadata.scope.as_deref());
    let listener = RedirectListener::bind(options.port)?;
    let redirect = listener.redirect_uri();
    let client = OAuthClient::obtain(&http, &metadata, options.client.as_ref(), &redirect, scope).await?;
    let request = AuthorizationRequest::new(&metadata, &client, &redirect, scope)?;
    user.open_authorization_url(request.url.as_str());
    let expected = ExpectedResponse {
        state: request.state.secret().clone(),
        issuer: metadata.issuer.clone(),
        requires_issuer: metadata.requires_issuer,
    };
    let code = listener.wait_for_code(expected, pasted_lines(user)).await?;
    let tokens = request.exchange_code(&http, &metadata, &client, &redirect, code).await?;
    let scope = scope.map(str::to_owned);
    Ok(Login::new(login_metadata(&options.server, metadata, client), tokens, scope))
}

/// The lines that the user pastes.
fn pasted_lines(user: &Arc<dyn LoginUser>) -> Receiver<String> {
    let (send, lines) = channel(1);
    let user = Arc::clone(user);
    // Without a thread for pasted input, the browser can still redirect.
    let _ = thread::Builder::new().name("pinfold-paste".into()).spawn(move || {
        while let Some(line) = user.read_line() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn login_metadata(server: &Endpoint, metadata: ServerMetadata, client: OAuthClient) -> LoginMetadata {
    LoginMetadata {
        server: server.to_string(),
        resource: metadata.resource,
        issuer: metadata.issuer,
        token_endpoint: metadata.token_endpoint.to_string(),
        revocation_endpoint: metadata.revocation_endpoint.map(|endpoint| endpoint.to_string()),
        client,
    }
}

/// Removes a login and revokes its refresh token. Returns whether there was one, and the outcome of the revocation.
///
/// # Errors
/// When the stored login cannot be removed.
pub fn logout(
    logins: &TokenStore,
    server: &Endpoint,
    connector: &dyn Connector,
) -> Result<(bool, Result<(), LoginError>), LoginError> {
    let known = logins.get(server);
    // This also removes one that cannot be read.
    let was = logins.remove(server)?;
    let Ok(Some(login)) = known else { return Ok((was, Ok(()))) };
    Ok((was, runtime()?.block_on(revoke_login(&login, connector))))
}

async fn revoke_login(login: &Login, connector: &dyn Connector) -> Result<(), LoginError> {
    let (Some(revoke), Some(refresh)) = (&login.about.revocation_endpoint, &login.tokens.refresh_token)
    else {
        return Err(LoginError::new("the issuer supports no revocation; the login expires by itself"));
    };
    let revoke = Endpoint::parse(revoke).map_err(LoginError::new)?;
    token_requests::revoke_token(&HttpClient::new(connector), &revoke, &login.about.client, refresh).await
}

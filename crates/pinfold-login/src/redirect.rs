//! The redirection endpoint: a loopback port that receives the authorization response
//! ([RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).

use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
};
use hyper::{Method, Request, Response, StatusCode};
use pinfold_net::{ListenerOptions, bind_loopback, connection_slots, is_own_host, serve, single_header};
use pinfold_render::visible;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::form_urlencoded;

use crate::LoginError;

/// The time limit for the user.
const TIMEOUT: Duration = Duration::from_mins(10);

const PATH: &str = "/callback";
const CONNECTIONS: usize = 16;
const LISTENER: ListenerOptions =
    ListenerOptions { header_timeout: Duration::from_secs(10), keep_alive: false, loopback_only: true };

/// A bound loopback port.
pub(crate) struct RedirectListener {
    listeners: Vec<std::net::TcpListener>,
    port: u16,
}

/// The parameters that the authorization response must have.
#[derive(Clone)]
pub(crate) struct ExpectedResponse {
    pub(crate) state: String,
    pub(crate) issuer: String,
    /// The authorization server always sends `iss`.
    pub(crate) requires_issuer: bool,
}

/// An authorization response.
#[derive(Debug, PartialEq, Eq)]
enum AuthorizationResponse {
    /// A response to another request, or no response at all.
    Unrelated,
    Code(String),
    Error(LoginError),
}

impl RedirectListener {
    /// Binds the given port, or a free one.
    pub(crate) fn bind(port: Option<u16>) -> Result<Self, LoginError> {
        let failed = |why: std::io::Error| {
            LoginError::new(format!("no redirect URI can be served on this machine: {why}"))
                .with_hint("choose a free port (--port)")
        };
        let listeners = bind_loopback(port).map_err(failed)?;
        let first = listeners.first().ok_or_else(|| failed(std::io::ErrorKind::AddrNotAvailable.into()))?;
        let port = first.local_addr().map_err(failed)?.port();
        Ok(Self { listeners, port })
    }

    /// The redirect URI.
    pub(crate) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the authorization code: from the browser, or in a URL that the user pastes.
    pub(crate) async fn wait_for_code(
        self,
        expected: ExpectedResponse,
        pasted: Receiver<String>,
    ) -> Result<String, LoginError> {
        let (send, mut responses) = channel(1);
        let mut tasks = JoinSet::new();
        let (port, slots) = (self.port, connection_slots(CONNECTIONS));
        for listener in self.listeners {
            let listener = TcpListener::from_std(listener).map_err(|why| LoginError::new(why.to_string()))?;
            let (send, expected, slots) = (send.clone(), expected.clone(), Arc::clone(&slots));
            tasks.spawn(async move {
                let handler = move |request| ready(respond(&request, port, &expected, &send));
                serve(listener, slots, LISTENER, handler).await;
            });
        }
        tasks.spawn(read_pasted(pasted, expected, send));
        let response = timeout(TIMEOUT, responses.recv()).await;
        let response =
            response.map_err(|_| LoginError::new("the login timed out: no response from the browser"))?;
        // The browser still loads the final page.
        tokio::time::sleep(Duration::from_millis(100)).await;
        match response {
            Some(AuthorizationResponse::Code(code)) => Ok(code),
            Some(AuthorizationResponse::Error(error)) => Err(error),
            Some(AuthorizationResponse::Unrelated) | None => {
                Err(LoginError::new("the browser did not come back"))
            }
        }
    }
}

/// Reads URLs that the user pastes, whose browser is on another machine.
async fn read_pasted(
    mut pasted: Receiver<String>,
    expected: ExpectedResponse,
    send: Sender<AuthorizationResponse>,
) {
    while let Some(line) = pasted.recv().await {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let query = line.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
        let response = match parse_response(query, &expected) {
            AuthorizationResponse::Unrelated => AuthorizationResponse::Error(LoginError::new(
                "the pasted text is not the redirect URL of this login",
            )),
            response => response,
        };
        let _ = send.send(response).await;
    }
    // At the end of input the browser can still redirect.
    pending::<Infallible>().await;
}

fn respond(
    request: &Request<Incoming>,
    port: u16,
    expected: &ExpectedResponse,
    send: &Sender<AuthorizationResponse>,
) -> Response<Full<Bytes>> {
    let is_own = single_header(request.headers(), "host").is_some_and(|host| is_own_host(host, port, &[]));
    if !is_own || request.method() != Method::GET || request.uri().path() != PATH {
        return html_page(StatusCode::NOT_FOUND, "Not found.");
    }
    match parse_response(request.uri().query().unwrap_or_default(), expected) {
        // A foreign request does not end the login.
        AuthorizationResponse::Unrelated => {
            html_page(StatusCode::BAD_REQUEST, "This is not the response to the current login.")
        }
        response => {
            let words = match &response {
                AuthorizationResponse::Error(_) => "Authorization failed. See the terminal for the reason.",
                AuthorizationResponse::Code(_) | AuthorizationResponse::Unrelated => {
                    "You can close this page. pinfold continues in the terminal."
                }
            };
            // A second response is ignored.
            let _ = send.try_send(response);
            html_page(StatusCode::OK, words)
        }
    }
}

/// Parses an authorization response ([RFC 6749 §4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2),
/// [RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)).
fn parse_response(query: &str, expected: &ExpectedResponse) -> AuthorizationResponse {
    let once = |name: &str| {
        let mut all = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        match (all.next(), all.next()) {
            (Some((_, value)), None) => Ok(Some(value.into_owned())),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(()),
        }
    };
    let (Ok(Some(state)), Ok(issuer), Ok(error), Ok(code)) =
        (once("state"), once("iss"), once("error"), once("code"))
    else {
        return AuthorizationResponse::Unrelated;
    };
    if !bool::from(state.as_bytes().ct_eq(expected.state.as_bytes())) {
        return AuthorizationResponse::Unrelated;
    }
    // Issuers are compared as strings (RFC 9207 §2.4).
    let is_expected = issuer.map(|issuer| issuer == expected.issuer);
    if !is_expected.unwrap_or(!expected.requires_issuer) {
        return AuthorizationResponse::Error(LoginError::new(
            "the response is from another issuer (`iss`, RFC 9207)",
        ));
    }
    match (error, code) {
        (Some(error), _) => {
            let about =
                once("error_description").ok().flatten().map_or(String::new(), |text| format!(": {text}"));
            AuthorizationResponse::Error(LoginError::new(format!(
                "authorization was refused ({})",
                visible(&format!("{error}{about}"))
            )))
        }
        (None, Some(code)) => AuthorizationResponse::Code(code),
        (None, None) => {
            AuthorizationResponse::Error(LoginError::new("the response has neither a code nor an error"))
        }
    }
}

/// A static page without scripts.
fn html_page(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let html = format!("<!doctype html><meta charset=utf-8><title>pinfold</title><p>{text}</p>\n");
    let mut response = Response::new(Full::new(html.into()));
    *response.status_mut() = status;
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let headers = headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value)));
    *response.headers_mut() = headers.collect();
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(query: &str, requires_issuer: bool) -> AuthorizationResponse {
        let expected = ExpectedResponse {
            state: "s-1".to_owned(),
            issuer: "https://auth.example".to_owned(),
            requires_issuer,
        };
        parse_response(query, &expected)
    }

    #[test]
    fn only_the_expected_response_is_accepted() {
        let code = |code: &str| AuthorizationResponse::Code(code.to_owned());
        for (query, expected) in [
            ("code=c%201&state=s-1", code("c 1")),
            ("state=s-1&code=c&iss=https%3A%2F%2Fauth.example&x=y", code("c")),
            ("code=c&state=s-2", AuthorizationResponse::Unrelated),
            ("code=c&state=s-1x", AuthorizationResponse::Unrelated),
            ("code=c", AuthorizationResponse::Unrelated),
            ("code=c&state=", AuthorizationResponse::Unrelated),
            ("code=c&state=s-1&state=s-1", AuthorizationResponse::Unrelated),
            ("code=c&code=d&state=s-1", AuthorizationResponse::Unrelated),
            ("", AuthorizationResponse::Unrelated),
        ] {
            assert_eq!(response(query, false), expected, "{query}");
        }
        for (query, says, words) in [
            ("code=c&state=s-1&iss=https://evil.example", false, "another issuer"),
            ("code=c&state=s-1&iss=https://auth.example/", false, "another issuer"),
            ("code=c&state=s-1", true, "another issuer"),
            ("error=access_denied&error_description=a%1bb&state=s-1", false, "access_denied: a"),
            ("error=access_denied&code=c&state=s-1", false, "access_denied"),
            ("state=s-1", false, "neither"),
        ] {
            let AuthorizationResponse::Error(why) = response(query, says) else { panic!("{query}") };
            assert!(why.message.contains(words) && !why.message.contains('\x1b'), "{query}: {why:?}");
        }
    }
}

//! Where the browser comes back to: a port of this machine, for as long as somebody logs in.

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

use crate::Trouble;

/// How long the person may take.
const PATIENCE: Duration = Duration::from_mins(10);

const PATH: &str = "/callback";
const CONNECTIONS: usize = 16;
const LISTENER: ListenerOptions =
    ListenerOptions { header_timeout: Duration::from_secs(10), keep_alive: false, loopback_only: true };

/// A port that is listened on.
pub(crate) struct Callback {
    listeners: Vec<std::net::TcpListener>,
    port: u16,
}

/// What tells the answer to one question from all others.
#[derive(Clone)]
pub(crate) struct Expected {
    pub(crate) state: String,
    pub(crate) issuer: String,
    /// Whoever lets people in always says who it is.
    pub(crate) says_issuer: bool,
}

/// What came back.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// The answer to something else, or to nothing.
    Other,
    Yes(String),
    No(Trouble),
}

impl Callback {
    /// On a port that is free, where none is wanted.
    pub(crate) fn open(port: Option<u16>) -> Result<Self, Trouble> {
        let failed = |why: std::io::Error| {
            Trouble::new(format!("the browser cannot come back here: {why}"))
                .mend("choose a port that is free (--port)")
        };
        let listeners = bind_loopback(port).map_err(failed)?;
        let first = listeners.first().ok_or_else(|| failed(std::io::ErrorKind::AddrNotAvailable.into()))?;
        let port = first.local_addr().map_err(failed)?.port();
        Ok(Self { listeners, port })
    }

    /// Where the browser is sent.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer: from the browser, or as an address that the person pastes.
    pub(crate) async fn code(self, expected: Expected, pasted: Receiver<String>) -> Result<String, Trouble> {
        let (send, mut heard) = channel(1);
        let mut tasks = JoinSet::new();
        let (port, slots) = (self.port, connection_slots(CONNECTIONS));
        for listener in self.listeners {
            let listener = TcpListener::from_std(listener).map_err(|why| Trouble::new(why.to_string()))?;
            let (send, expected, slots) = (send.clone(), expected.clone(), Arc::clone(&slots));
            tasks.spawn(async move {
                let answer = move |request| ready(answer(&request, port, &expected, &send));
                serve(listener, slots, LISTENER, answer).await;
            });
        }
        tasks.spawn(typed(pasted, expected, send));
        let came = timeout(PATIENCE, heard.recv()).await;
        let came = came.map_err(|_| Trouble::new("nobody has logged in; it is not waited any longer"))?;
        // The page that says so is on its way.
        tokio::time::sleep(Duration::from_millis(100)).await;
        match came {
            Some(Heard::Yes(code)) => Ok(code),
            Some(Heard::No(trouble)) => Err(trouble),
            Some(Heard::Other) | None => Err(Trouble::new("nothing came back from the browser")),
        }
    }
}

/// What is pasted by a person whose browser is on another machine.
async fn typed(mut pasted: Receiver<String>, expected: Expected, send: Sender<Heard>) {
    while let Some(line) = pasted.recv().await {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let query = line.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
        let heard = match read(query, &expected) {
            Heard::Other => {
                Heard::No(Trouble::new("what was pasted is not the address at which this login ends"))
            }
            heard => heard,
        };
        let _ = send.send(heard).await;
    }
    // Nobody types any more; the browser may still come.
    pending::<Infallible>().await;
}

fn answer(
    request: &Request<Incoming>,
    port: u16,
    expected: &Expected,
    send: &Sender<Heard>,
) -> Response<Full<Bytes>> {
    let is_here = single_header(request.headers(), "host").is_some_and(|host| is_own_host(host, port, &[]));
    if !is_here || request.method() != Method::GET || request.uri().path() != PATH {
        return page(StatusCode::NOT_FOUND, "There is nothing here.");
    }
    match read(request.uri().query().unwrap_or_default(), expected) {
        // Whoever it was, it is not the end of the login.
        Heard::Other => page(StatusCode::BAD_REQUEST, "This is not the answer that pinfold waits for."),
        heard => {
            let words = match &heard {
                Heard::No(_) => "pinfold was not let in. What is wrong stands in the terminal.",
                Heard::Yes(_) | Heard::Other => "You can close this page. pinfold goes on in the terminal.",
            };
            // A second one comes too late.
            let _ = send.try_send(heard);
            page(StatusCode::OK, words)
        }
    }
}

/// Reads an answer ([RFC 6749, 4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2),
/// [RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)).
fn read(query: &str, expected: &Expected) -> Heard {
    let once = |name: &str| {
        let mut all = form_urlencoded::parse(query.as_bytes()).filter(|(said, _)| said == name);
        match (all.next(), all.next()) {
            (Some((_, value)), None) => Ok(Some(value.into_owned())),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(()),
        }
    };
    let (Ok(Some(state)), Ok(issuer), Ok(error), Ok(code)) =
        (once("state"), once("iss"), once("error"), once("code"))
    else {
        return Heard::Other;
    };
    if !bool::from(state.as_bytes().ct_eq(expected.state.as_bytes())) {
        return Heard::Other;
    }
    // As it is written, to the letter.
    let is_expected = issuer.map(|issuer| issuer == expected.issuer);
    if !is_expected.unwrap_or(!expected.says_issuer) {
        return Heard::No(Trouble::new("the answer comes from somebody else than was asked"));
    }
    match (error, code) {
        (Some(error), _) => {
            let about =
                once("error_description").ok().flatten().map_or(String::new(), |text| format!(": {text}"));
            Heard::No(Trouble::new(format!("the answer was no ({})", visible(&format!("{error}{about}")))))
        }
        (None, Some(code)) => Heard::Yes(code),
        (None, None) => Heard::No(Trouble::new("the answer says neither yes nor no")),
    }
}

/// A page of a few words, which nothing follows from.
fn page(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    let html = format!("<!doctype html><meta charset=utf-8><title>pinfold</title><p>{words}</p>\n");
    let mut response = Response::new(Full::new(html.into()));
    *response.status_mut() = status;
    let heads: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let heads = heads.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value)));
    *response.headers_mut() = heads.collect();
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(query: &str, says_issuer: bool) -> Heard {
        let expected =
            Expected { state: "s-1".to_owned(), issuer: "https://auth.example".to_owned(), says_issuer };
        read(query, &expected)
    }

    #[test]
    fn only_the_answer_that_was_waited_for_is_taken() {
        let yes = |code: &str| Heard::Yes(code.to_owned());
        for (query, expected) in [
            ("code=c%201&state=s-1", yes("c 1")),
            ("state=s-1&code=c&iss=https%3A%2F%2Fauth.example&x=y", yes("c")),
            ("code=c&state=s-2", Heard::Other),
            ("code=c&state=s-1x", Heard::Other),
            ("code=c", Heard::Other),
            ("code=c&state=", Heard::Other),
            ("code=c&state=s-1&state=s-1", Heard::Other),
            ("code=c&code=d&state=s-1", Heard::Other),
            ("", Heard::Other),
        ] {
            assert_eq!(heard(query, false), expected, "{query}");
        }
        for (query, says, words) in [
            ("code=c&state=s-1&iss=https://evil.example", false, "somebody else"),
            ("code=c&state=s-1&iss=https://auth.example/", false, "somebody else"),
            ("code=c&state=s-1", true, "somebody else"),
            ("error=access_denied&error_description=a%1bb&state=s-1", false, "access_denied: a"),
            ("error=access_denied&code=c&state=s-1", false, "access_denied"),
            ("state=s-1", false, "neither"),
        ] {
            let Heard::No(why) = heard(query, says) else { panic!("{query}") };
            assert!(why.what.contains(words) && !why.what.contains('\x1b'), "{query}: {why:?}");
        }
    }
}

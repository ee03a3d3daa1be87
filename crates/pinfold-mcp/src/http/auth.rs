//! Authentication of requests: the bearer token, a `Host` header of this server, and no foreign `Origin`.

use hyper::header::{AUTHORIZATION, HOST, ORIGIN};
use hyper::{Request, StatusCode};
use pinfold_net::{is_own_host, single_header};

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// The authentication scheme. [RFC 6750 §2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)
const BEARER: &str = "Bearer";

/// Authenticates requests.
pub struct Authenticator {
    /// The port of the listener.
    pub port: u16,
    /// Further `Host` values of this server, with the port where clients send it.
    pub names: Vec<String>,
    /// Only connections from this machine are served.
    pub loopback_only: bool,
    /// Compares a token, in constant time.
    pub token_matches: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Reason why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// Its `Host` is not one of this server (DNS rebinding).
    Name,
    /// Its `Origin` is a web page elsewhere.
    Page,
    /// There is no such path.
    Path,
    /// No valid token.
    Token,
}

impl Rejection {
    pub(super) fn status(self) -> (StatusCode, &'static str) {
        match self {
            Self::Name => (StatusCode::FORBIDDEN, "this is not a name of this server (see --http-host)"),
            Self::Page => (StatusCode::FORBIDDEN, "pages of others say nothing here"),
            Self::Path => (StatusCode::NOT_FOUND, "there is nothing here but /mcp"),
            Self::Token => {
                (StatusCode::UNAUTHORIZED, "say the token of this server as `Authorization: Bearer …`")
            }
        }
    }
}

impl Authenticator {
    pub(super) fn authenticate<T>(&self, request: &Request<T>) -> Result<(), Rejection> {
        let headers = request.headers();
        let is_ours = |host: &&str| is_own_host(host, self.port, &self.names);
        let host = single_header(headers, HOST.as_str()).filter(is_ours).ok_or(Rejection::Name)?;
        // A request in absolute form names its host twice.
        if request.uri().authority().is_some_and(|authority| authority.as_str() != host) {
            return Err(Rejection::Name);
        }
        if headers.contains_key(ORIGIN) {
            let origin =
                single_header(headers, ORIGIN.as_str()).and_then(|origin| origin.strip_prefix("http://"));
            origin.filter(|origin| *origin == host).ok_or(Rejection::Page)?;
        }
        if request.uri().path() != PATH {
            return Err(Rejection::Path);
        }
        let said = single_header(headers, AUTHORIZATION.as_str()).and_then(|said| said.split_once(' '));
        let said = said.filter(|(kind, _)| kind.eq_ignore_ascii_case(BEARER)).map(|(_, token)| token.trim());
        said.filter(|token| (self.token_matches)(token)).map(drop).ok_or(Rejection::Token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers = &'static [(&'static str, &'static str)];

    #[test]
    fn only_who_says_the_token_to_us_is_let_in() {
        const HOST: (&str, &str) = ("host", "127.0.0.1:7463");
        const TOKEN: (&str, &str) = ("authorization", "Bearer right");
        let authenticator = Authenticator {
            port: 7463,
            names: vec!["box.example".to_owned()],
            loopback_only: true,
            token_matches: Box::new(|token| token == "right"),
        };
        let cases: [(Option<Rejection>, &str, Headers); 20] = [
            (None, "/mcp", &[HOST, TOKEN]),
            (None, "/mcp?x=1", &[HOST, TOKEN]),
            (None, "/mcp", &[("host", "box.example"), TOKEN]),
            (None, "/mcp", &[HOST, ("authorization", "bearer  right ")]),
            (None, "/mcp", &[HOST, TOKEN, ("origin", "http://127.0.0.1:7463")]),
            (None, "http://127.0.0.1:7463/mcp", &[HOST, TOKEN]),
            (Some(Rejection::Name), "/mcp", &[TOKEN]),
            (Some(Rejection::Name), "/mcp", &[HOST, HOST, TOKEN]),
            (Some(Rejection::Name), "/mcp", &[("host", "evil.example:7463"), TOKEN]),
            (Some(Rejection::Name), "http://evil.example:7463/mcp", &[HOST, TOKEN]),
            (Some(Rejection::Page), "/mcp", &[HOST, TOKEN, ("origin", "http://evil.example")]),
            (Some(Rejection::Page), "/mcp", &[HOST, TOKEN, ("origin", "http://127.0.0.1:3000")]),
            (Some(Rejection::Page), "/mcp", &[HOST, TOKEN, ("origin", "null")]),
            (Some(Rejection::Page), "/mcp", &[HOST, TOKEN, ("origin", "https://127.0.0.1:7463")]),
            (Some(Rejection::Path), "/", &[HOST, TOKEN]),
            (Some(Rejection::Path), "/mcp/x", &[HOST, TOKEN]),
            (Some(Rejection::Token), "/mcp", &[HOST]),
            (Some(Rejection::Token), "/mcp", &[HOST, ("authorization", "Basic right")]),
            (Some(Rejection::Token), "/mcp", &[HOST, ("authorization", "Bearer wrong")]),
            (Some(Rejection::Token), "/mcp", &[HOST, TOKEN, TOKEN]),
        ];
        for (turned, uri, headers) in cases {
            let mut request = Request::builder().method("POST").uri(uri);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(()).unwrap();
            assert_eq!(authenticator.authenticate(&request).err(), turned, "{uri} {headers:?}");
        }
    }
}

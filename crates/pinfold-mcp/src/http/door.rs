//! Who is let in: whoever says the token, to a name of ours, and not from a page.

use hyper::header::{AUTHORIZATION, HOST, ORIGIN};
use hyper::{Request, StatusCode};
use pinfold_net::{is_own_host, single_header};

/// Where the protocol is spoken.
pub const PATH: &str = "/mcp";

/// How a token is said. [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)
const BEARER: &str = "Bearer";

/// Decides who is let in.
pub struct Door {
    /// The port that is listened on.
    pub port: u16,
    /// Other names than those of this machine that lead here, with their port where it is said.
    pub names: Vec<String>,
    /// Nobody from elsewhere is answered.
    pub here_alone: bool,
    /// Whether this is the token, in a time that does not depend on where it differs.
    pub knows: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// The name is somebody else's: a page whose name was made to lead here says it.
    Name,
    /// A page of somebody else says it.
    Page,
    /// There is nothing.
    Path,
    /// Without the token.
    Token,
}

impl Turned {
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

impl Door {
    pub(super) fn lets_in<T>(&self, request: &Request<T>) -> Result<(), Turned> {
        let headers = request.headers();
        let is_ours = |host: &&str| is_own_host(host, self.port, &self.names);
        let host = single_header(headers, HOST.as_str()).filter(is_ours).ok_or(Turned::Name)?;
        // A request to a proxy names its host twice.
        if request.uri().authority().is_some_and(|authority| authority.as_str() != host) {
            return Err(Turned::Name);
        }
        if headers.contains_key(ORIGIN) {
            let origin =
                single_header(headers, ORIGIN.as_str()).and_then(|origin| origin.strip_prefix("http://"));
            origin.filter(|origin| *origin == host).ok_or(Turned::Page)?;
        }
        if request.uri().path() != PATH {
            return Err(Turned::Path);
        }
        let said = single_header(headers, AUTHORIZATION.as_str()).and_then(|said| said.split_once(' '));
        let said = said.filter(|(kind, _)| kind.eq_ignore_ascii_case(BEARER)).map(|(_, token)| token.trim());
        said.filter(|token| (self.knows)(token)).map(drop).ok_or(Turned::Token)
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
        let door = Door {
            port: 7463,
            names: vec!["box.example".to_owned()],
            here_alone: true,
            knows: Box::new(|token| token == "right"),
        };
        let cases: [(Option<Turned>, &str, Headers); 20] = [
            (None, "/mcp", &[HOST, TOKEN]),
            (None, "/mcp?x=1", &[HOST, TOKEN]),
            (None, "/mcp", &[("host", "box.example"), TOKEN]),
            (None, "/mcp", &[HOST, ("authorization", "bearer  right ")]),
            (None, "/mcp", &[HOST, TOKEN, ("origin", "http://127.0.0.1:7463")]),
            (None, "http://127.0.0.1:7463/mcp", &[HOST, TOKEN]),
            (Some(Turned::Name), "/mcp", &[TOKEN]),
            (Some(Turned::Name), "/mcp", &[HOST, HOST, TOKEN]),
            (Some(Turned::Name), "/mcp", &[("host", "evil.example:7463"), TOKEN]),
            (Some(Turned::Name), "http://evil.example:7463/mcp", &[HOST, TOKEN]),
            (Some(Turned::Page), "/mcp", &[HOST, TOKEN, ("origin", "http://evil.example")]),
            (Some(Turned::Page), "/mcp", &[HOST, TOKEN, ("origin", "http://127.0.0.1:3000")]),
            (Some(Turned::Page), "/mcp", &[HOST, TOKEN, ("origin", "null")]),
            (Some(Turned::Page), "/mcp", &[HOST, TOKEN, ("origin", "https://127.0.0.1:7463")]),
            (Some(Turned::Path), "/", &[HOST, TOKEN]),
            (Some(Turned::Path), "/mcp/x", &[HOST, TOKEN]),
            (Some(Turned::Token), "/mcp", &[HOST]),
            (Some(Turned::Token), "/mcp", &[HOST, ("authorization", "Basic right")]),
            (Some(Turned::Token), "/mcp", &[HOST, ("authorization", "Bearer wrong")]),
            (Some(Turned::Token), "/mcp", &[HOST, TOKEN, TOKEN]),
        ];
        for (turned, uri, headers) in cases {
            let mut request = Request::builder().method("POST").uri(uri);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(()).unwrap();
            assert_eq!(door.lets_in(&request).err(), turned, "{uri} {headers:?}");
        }
    }
}

//! URLs that credentials may be sent to.

use std::fmt;

use pinfold_host::{Host, Scheme, WebUrl};

/// A URL that credentials may be sent to: over TLS, or on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(WebUrl);

impl Endpoint {
    /// Parses a URL.
    ///
    /// # Errors
    /// Why no credentials may be sent there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = WebUrl::parse(text).map_err(|found| format!("this is {found}"))?;
        if url.scheme() == Scheme::Http && !is_loopback(url.host()) {
            return Err("credentials would be sent there unencrypted".to_owned());
        }
        Ok(Self(url))
    }

    /// Parses a URL that a server at `source` names. A server elsewhere cannot name this machine (server-side request
    /// forgery).
    pub(crate) fn parse_named_by(source: &Self, text: &str) -> Result<Self, String> {
        let named = Self::parse(text)?;
        if named.is_loopback() && !source.is_loopback() {
            return Err("it is on this machine, and the server that names it is not".to_owned());
        }
        Ok(named)
    }

    /// The URL.
    pub fn url(&self) -> &WebUrl {
        &self.0
    }

    /// Returns whether it is on this machine, by its host.
    pub fn is_loopback(&self) -> bool {
        is_loopback(self.0.host())
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.0.scheme().as_str(), self.0.authority())
    }

    /// The path, without the query.
    pub(crate) fn path(&self) -> &str {
        self.0.target().split('?').next().unwrap_or_default()
    }

    /// The well-known URLs for this one, the more specific first: with its path, and for the whole host.
    /// [RFC 8615](https://www.rfc-editor.org/rfc/rfc8615),
    /// [RFC 8414 §3.1](https://www.rfc-editor.org/rfc/rfc8414#section-3.1)
    pub(crate) fn well_known_urls(&self, name: &str) -> Vec<String> {
        let origin = self.origin();
        let whole = format!("{origin}/.well-known/{name}");
        match self.path().trim_end_matches('/') {
            "" => vec![whole],
            path => vec![format!("{whole}{path}"), whole],
        }
    }

    /// Returns whether this URL is `other`, or below it on the same origin.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let (mine, whole) = (self.path(), other.path().trim_end_matches('/'));
        let rest = mine.strip_prefix(whole);
        self.origin() == other.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns whether a host is loopback. Names below `localhost` resolve to this machine and nowhere else
/// ([RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)).
fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(name) => name.as_str() == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Endpoint {
        Endpoint::parse(text).unwrap()
    }

    #[test]
    fn credentials_are_sent_over_tls_or_on_this_machine() {
        for (text, allowed) in [
            ("https://mcp.example.org/mcp", true),
            ("http://127.0.0.1:8000/mcp", true),
            ("http://[::1]:8000/mcp", true),
            ("http://localhost:8000/mcp", true),
            ("http://mcp.example.org/mcp", false),
            ("http://localhost.example.org/", false),
            ("http://10.0.0.1/", false),
            ("ftp://mcp.example.org/", false),
            ("https://user@mcp.example.org/", false),
        ] {
            assert_eq!(Endpoint::parse(text).is_ok(), allowed, "{text}");
        }
    }

    #[test]
    fn a_server_elsewhere_cannot_name_this_machine() {
        let (here, there) = (endpoint("http://127.0.0.1:1/mcp"), endpoint("https://mcp.example.org/mcp"));
        for named in ["http://127.0.0.1:9/token", "https://localhost/token", "https://[::1]/token"] {
            assert!(Endpoint::parse_named_by(&there, named).is_err(), "{named}");
            assert!(Endpoint::parse_named_by(&here, named).is_ok(), "{named}");
        }
        assert!(Endpoint::parse_named_by(&here, "https://auth.example.org/token").is_ok());
    }

    #[test]
    fn well_known_urls_insert_the_path_or_are_for_the_whole_host() {
        let all = |text: &str| endpoint(text).well_known_urls("x");
        assert_eq!(all("https://a.example"), ["https://a.example/.well-known/x"]);
        assert_eq!(
            all("https://a.example:8443/p/q/?r"),
            ["https://a.example:8443/.well-known/x/p/q", "https://a.example:8443/.well-known/x"]
        );
    }

    #[test]
    fn a_url_is_within_another_by_whole_path_segments() {
        let is = |mine: &str, other: &str| endpoint(mine).is_within(&endpoint(other));
        assert!(is("https://a.example/mcp", "https://a.example"));
        assert!(is("https://a.example/mcp", "https://a.example/mcp/"));
        assert!(is("https://a.example/mcp/x?y", "https://a.example/mcp"));
        assert!(!is("https://a.example/mcp2", "https://a.example/mcp"));
        assert!(!is("https://a.example/", "https://a.example/mcp"));
        assert!(!is("https://a.example/mcp", "https://b.example/"));
        assert!(!is("https://a.example/mcp", "https://a.example:8443/"));
    }
}

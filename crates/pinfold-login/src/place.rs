//! Addresses to which a secret may be said.

use std::fmt;

use pinfold_host::{Host, Scheme, WebUrl};

/// An address to which a secret may be said: over TLS, or on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(WebUrl);

impl Place {
    /// Reads an address.
    ///
    /// # Errors
    /// Why nothing may be said there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = WebUrl::parse(text).map_err(|found| format!("this is {found}"))?;
        if url.scheme() == Scheme::Http && !is_here(url.host()) {
            return Err("all that is said would go there unencrypted".to_owned());
        }
        Ok(Self(url))
    }

    /// An address that somebody at `at` names. Whoever is elsewhere does not send us to this machine.
    pub(crate) fn named_by(at: &Self, text: &str) -> Result<Self, String> {
        let named = Self::parse(text)?;
        if named.is_here() && !at.is_here() {
            return Err("it is one of this machine, and who names it is not here".to_owned());
        }
        Ok(named)
    }

    /// The address.
    pub fn url(&self) -> &WebUrl {
        &self.0
    }

    /// Whether it is on this machine, by what stands there.
    pub fn is_here(&self) -> bool {
        is_here(self.0.host())
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.0.scheme().as_str(), self.0.authority())
    }

    /// The path, without what is asked for there.
    pub(crate) fn path(&self) -> &str {
        self.0.target().split('?').next().unwrap_or_default()
    }

    /// The place where something is known about this one, by [RFC 8615](https://www.rfc-editor.org/rfc/rfc8615): before its
    /// path, or for the whole host.
    pub(crate) fn well_known(&self, name: &str) -> Vec<String> {
        let origin = self.origin();
        let whole = format!("{origin}/.well-known/{name}");
        match self.path().trim_end_matches('/') {
            "" => vec![whole],
            path => vec![format!("{whole}{path}"), whole],
        }
    }

    /// Whether `self` is `other`, or a place below it on the same host.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let (mine, whole) = (self.path(), other.path().trim_end_matches('/'));
        let rest = mine.strip_prefix(whole);
        self.origin() == other.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names below `localhost` lead to this machine and nowhere else
/// ([RFC 6761, 6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)).
fn is_here(host: &Host) -> bool {
    match host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(name) => name.as_str() == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn a_secret_is_said_over_tls_or_on_this_machine() {
        for (text, may) in [
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
            assert_eq!(Place::parse(text).is_ok(), may, "{text}");
        }
    }

    #[test]
    fn nobody_elsewhere_sends_us_to_this_machine() {
        let (here, there) = (place("http://127.0.0.1:1/mcp"), place("https://mcp.example.org/mcp"));
        for named in ["http://127.0.0.1:9/token", "https://localhost/token", "https://[::1]/token"] {
            assert!(Place::named_by(&there, named).is_err(), "{named}");
            assert!(Place::named_by(&here, named).is_ok(), "{named}");
        }
        assert!(Place::named_by(&here, "https://auth.example.org/token").is_ok());
    }

    #[test]
    fn what_is_known_stands_before_the_path_or_for_the_whole_host() {
        let all = |text: &str| place(text).well_known("x");
        assert_eq!(all("https://a.example"), ["https://a.example/.well-known/x"]);
        assert_eq!(
            all("https://a.example:8443/p/q/?r"),
            ["https://a.example:8443/.well-known/x/p/q", "https://a.example:8443/.well-known/x"]
        );
    }

    #[test]
    fn a_place_is_within_another_by_whole_parts_of_its_path() {
        let is = |mine: &str, other: &str| place(mine).is_within(&place(other));
        assert!(is("https://a.example/mcp", "https://a.example"));
        assert!(is("https://a.example/mcp", "https://a.example/mcp/"));
        assert!(is("https://a.example/mcp/x?y", "https://a.example/mcp"));
        assert!(!is("https://a.example/mcp2", "https://a.example/mcp"));
        assert!(!is("https://a.example/", "https://a.example/mcp"));
        assert!(!is("https://a.example/mcp", "https://b.example/"));
        assert!(!is("https://a.example/mcp", "https://a.example:8443/"));
    }
}

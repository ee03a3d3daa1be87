//! The address of a page, in the one form in which it is judged, asked for and remembered.

use std::fmt::{self, Write as _};

use crate::name::Host;

/// Scheme of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// As it stands.
    Http,
    /// Within TLS.
    Https,
}

impl Scheme {
    /// The scheme as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port where none is written.
    pub fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The address of a page. Built only by [`WebUrl::parse`]; a client connects by these parts and parses no text again, so
/// that there are no two readings of one address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebUrl {
    scheme: Scheme,
    host: Host,
    port: u16,
    /// Path and query, as they are sent.
    target: Box<str>,
}

/// The longest address that is read; servers take less.
const MAX_URL_LEN: usize = 8 * 1024;

impl WebUrl {
    /// Reads an address. Strict, since programs disagree about everything else: `http` or `https`, a plain ASCII name or
    /// an address, no user. A fragment is left out: it is not sent (RFC 9110 §7.1).
    ///
    /// Follows [RFC 3986, 3.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2).
    ///
    /// # Errors
    /// What was found that is not taken.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_URL_LEN {
            return Err("one that is longer than 8 KiB");
        }
        if text.bytes().any(|b| b <= b' ' || b == b'\\' || b == 0x7f) {
            return Err("one with a backslash, a blank or a control character");
        }
        let (scheme, rest) = text.split_once("://").ok_or("something without `://`")?;
        let scheme = [Scheme::Http, Scheme::Https]
            .into_iter()
            .find(|known| scheme.eq_ignore_ascii_case(known.as_str()))
            .ok_or("another scheme than http and https")?;
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("one with a user in front of the host");
        }
        let host = Some(authority).filter(|authority| authority.is_ascii()).and_then(Host::parse_with_port);
        let (host, port) = host.ok_or("no plain ASCII name of a host (write others in their `xn--` form)")?;
        let port = port.unwrap_or(scheme.usual_port());
        if port == 0 {
            return Err("port 0");
        }
        let target = rest.split('#').next().unwrap_or_default();
        Ok(Self { scheme, host, port, target: sent(target).into() })
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port, written or usual.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query, as they are sent.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Host and port as a `Host` header has them.
    pub fn authority(&self) -> String {
        let host = match &self.host {
            Host::Address(address) if address.is_ipv6() => format!("[{address}]"),
            host => host.to_string(),
        };
        if self.port == self.scheme.usual_port() { host } else { format!("{host}:{}", self.port) }
    }
}

/// A path and query with all that no request line has in its encoded form.
fn sent(target: &str) -> String {
    let mut sent = String::with_capacity(target.len() + 1);
    if !target.starts_with('/') {
        sent.push('/');
    }
    for byte in target.bytes() {
        let plain = byte.is_ascii_graphic() && !b"\"<>^`{|}".contains(&byte);
        if plain {
            sent.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(sent, "%{byte:02X}");
        }
    }
    sent
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.target)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_has_one_form_or_none() {
        for (text, form) in [
            ("https://GitHub.com/x", Some("https://github.com/x")),
            ("HTTPS://github.com:443", Some("https://github.com/")),
            ("http://a.b:80?x=@c#frag", Some("http://a.b/?x=@c")),
            ("http://a.b:8080/a?b", Some("http://a.b:8080/a?b")),
            ("http://[::1]:80/", Some("http://[::1]/")),
            ("https://a.b./", Some("https://a.b/")),
            ("https://a.b/ä\"{x}", Some("https://a.b/%C3%A4%22%7Bx%7D")),
            ("https://a.b/%2e%2E/%zz", Some("https://a.b/%2e%2E/%zz")),
            ("https://xn--bcher-kva.example/", Some("https://xn--bcher-kva.example/")),
            ("https://github.com@evil.com/", None),
            ("https://evil.com\\@good.com/", None),
            ("https://a.b/\0", None),
            ("https://a.b/\r\nHost: c", None),
            ("file:///etc/passwd", None),
            ("gopher://a.b/", None),
            ("javascript:alert(1)", None),
            ("https:///x", None),
            ("https://", None),
            ("https://gіthub.com/", None),
            ("http://2130706433/", None),
            ("http://0x7f.1/", None),
            ("http://127.1/", None),
            ("http://a.b:0/", None),
            ("http://a.b:99999/", None),
            ("http://a.b:+80/", None),
            ("http://[::1%25eth0]/", None),
            ("github.com", None),
        ] {
            assert_eq!(WebUrl::parse(text).ok().map(|url| url.to_string()).as_deref(), form, "{text}");
        }
        assert!(WebUrl::parse(&format!("https://a.b/{}", "x".repeat(MAX_URL_LEN))).is_err());
    }

    proptest! {
        #[test]
        fn the_form_of_an_address_is_its_own_form(text in "https?://[a-z0-9.:@\\[\\]-]{1,20}[/?#]?\\PC{0,20}") {
            if let Ok(url) = WebUrl::parse(&text) {
                prop_assert_eq!(WebUrl::parse(&url.to_string()), Ok(url));
            }
        }
    }
}

//! The name of a host, in the one form in which names are compared.

use std::fmt;
use std::net::IpAddr;

use crate::international::encode;

/// The name of a host: ASCII, lower case, without a dot at the end; letters beyond ASCII in their encoded form.
///
/// Built only by [`Name::parse`], so that two names are the same host exactly when they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<str>);

/// The longest name of the domain name system.
/// [RFC 1035](https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4)
const MAX_NAME_LEN: usize = 253;

impl Name {
    /// Reads a name. `None` for what is no name of a host: an address, an empty label, a character that no host has.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        // More than a name can have, before anything is computed about it.
        if text.is_empty() || text.len() > 4 * MAX_NAME_LEN {
            return None;
        }
        let ascii = if text.is_ascii() { text.to_ascii_lowercase() } else { encode(text)? };
        let label = |label: &str| {
            let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(known)
        };
        let named = ascii.len() <= MAX_NAME_LEN && ascii.split('.').all(label) && !looks_like_address(&ascii);
        named.then(|| Self(ascii.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that some programs take for an address: `127.1`, `0x7f000001`, `2130706433`. The last label of a real name is never
/// a number.
/// [WHATWG URL, ends in a number](https://url.spec.whatwg.org/#ends-in-a-number-checker)
fn looks_like_address(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    hexadecimal || last.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A requested host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// By name.
    Name(Name),
    /// By address.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as it stands in a `Host` header or a request to a proxy, without its port. Brackets are taken off
    /// an address of version 6.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            return inner.strip_suffix(']')?.parse().ok().map(Self::Address);
        }
        match text.parse() {
            Ok(address) => Some(Self::Address(address)),
            Err(_) => Name::parse(text).map(Self::Name),
        }
    }

    /// Reads `host` or `host:port`.
    pub fn parse_with_port(text: &str) -> Option<(Self, Option<u16>)> {
        let bracketed = text.starts_with('[');
        let (host, port) = match text.rsplit_once(':') {
            // Several colons without brackets are an address of version 6 without a port.
            Some((host, _)) if host.contains(':') && !bracketed => (text, None),
            Some((host, port)) if !bracketed || host.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            Some(_) => return None,
            None => None,
        };
        Some((Self::parse(host)?, port))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        for (text, form) in [
            ("GitHub.com", Some("github.com")),
            ("github.com.", Some("github.com")),
            ("_dmarc.example.org", Some("_dmarc.example.org")),
            ("localhost", Some("localhost")),
            ("bücher.example", cfg!(feature = "idna").then_some("xn--bcher-kva.example")),
            ("xn--bcher-kva.example", Some("xn--bcher-kva.example")),
            ("github.com..", None),
            ("", None),
            (".", None),
            ("a..b", None),
            ("127.0.0.1", None),
            ("127.1", None),
            ("0x7f.1", None),
            ("2130706433", None),
            ("0x7f000001", None),
            ("a b", None),
            ("a/b", None),
            ("a\0b", None),
            ("a%2eb", None),
            ("user@host", None),
        ] {
            assert_eq!(Name::parse(text).as_ref().map(Name::as_str), form, "{text:?}");
        }
        assert_eq!(Name::parse(&"a".repeat(64)), None);
        assert_eq!(Name::parse(&["a"; 200].join(".")), None);
    }

    #[test]
    fn hosts_are_read_with_their_ports() {
        let read = |text: &str| Host::parse_with_port(text).map(|(host, port)| (host.to_string(), port));
        for (text, host, port) in [
            ("a.b", "a.b", None),
            ("a.b:443", "a.b", Some(443)),
            ("127.0.0.1:80", "127.0.0.1", Some(80)),
            ("[::1]:80", "::1", Some(80)),
            ("[::1]", "::1", None),
            ("::1", "::1", None),
        ] {
            assert_eq!(read(text), Some((host.to_owned(), port)), "{text}");
        }
        for text in ["a.b:", "a.b:x", "a.b:99999", "[::1", "[::1]x:1", ":80", "a.b:+80", "[a.b]:1", "a@b:1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

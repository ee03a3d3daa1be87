//! One rule about hosts: `github.com`, `*.example.org`, `db.internal:5432`, `10.0.0.5`, `10.0.0.0/8`, `[::1]:8080`, `*`.

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Serialize, Serializer};

use crate::name::Name;
use crate::pattern::HostPattern;

/// A rule about hosts, as it was written and as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    text: String,
    of: HostScope,
    port: Option<u16>,
}

/// Which hosts a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HostScope {
    /// Hosts with a matching name.
    Names(HostPattern),
    /// Hosts with an address in this network.
    Network(IpNet),
}

/// Why a text is no rule about hosts: one clause, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no host: {why}\n{mend}")]
pub struct BadHost {
    /// The text.
    pub text: String,
    /// The mistake.
    pub why: &'static str,
    /// The text to write instead.
    pub mend: &'static str,
}

/// Port of DNS. Inside a run its server is pinfold itself.
const NAME_SERVICE: u16 = 53;

impl HostRule {
    /// Understands a rule.
    ///
    /// # Errors
    /// [`BadHost`] says what is wrong and what to write instead.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        let bad = |why, mend| BadHost { text: shortened(text), why, mend };
        let name = "write `example.org`, `*.example.org`, an address or a network, with `:PORT` behind it if need be";
        if text.contains("://") {
            return Err(bad(
                "it is an address of a page",
                "write the host alone, with `:PORT` behind it if need be",
            ));
        }
        let (host, port) =
            split(text).ok_or_else(|| bad("its port is no port", "write a number from 1 to 65535"))?;
        if port == Some(NAME_SERVICE) {
            let why = "names are asked for at port 53, and inside that is pinfold";
            return Err(bad(why, "allow the host at the port that it is used at"));
        }
        let of = parse_host(host).ok_or_else(|| bad("it is neither a name nor an address", name))?;
        Ok(Self { text: text.to_owned(), of, port })
    }

    /// The rule that a pattern of `WebFetch` is, at every port. `text` is how it was written.
    pub fn from_pattern(text: &str, pattern: &HostPattern) -> Self {
        // `domain:127.0.0.1` names an address.
        let of = pattern.exact().and_then(parse_host).unwrap_or_else(|| HostScope::Names(pattern.clone()));
        Self { text: text.to_owned(), of, port: None }
    }

    /// Rules about every host, by name and by address.
    pub fn everything() -> [Self; 3] {
        let v4 = IpNet::V4(Ipv4Net::default());
        let v6 = IpNet::V6(Ipv6Net::default());
        let network = |of: IpNet| Self { text: of.to_string(), of: HostScope::Network(of), port: None };
        [
            Self { text: "*".to_owned(), of: HostScope::Names(HostPattern::any()), port: None },
            network(v4),
            network(v6),
        ]
    }

    /// The port that it is about; `None` for those of the list.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it is about a name, at some port.
    pub fn names(&self, name: &Name) -> bool {
        matches!(&self.of, HostScope::Names(pattern) if pattern.matches(name.as_str()))
    }

    /// Returns whether it is about one name, and not about those below it.
    pub fn is_one_name(&self) -> bool {
        matches!(&self.of, HostScope::Names(pattern) if pattern.exact().is_some())
    }

    /// Returns whether it is about an address, at some port. A rule about names never is.
    pub fn holds(&self, address: IpAddr) -> bool {
        matches!(&self.of, HostScope::Network(net) if net.contains(&address.to_canonical()))
    }
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`. `None` when what stands there as a port is none.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let number = |digits: &str| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse().ok().filter(|port| plain && *port != 0)
    };
    if let Some((inner, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(digits) => Some((inner, Some(number(digits)?))),
            None if rest.is_empty() => Some((inner, None)),
            None => None,
        };
    }
    match text.rsplit_once(':') {
        // Several colons without brackets are an address of version 6.
        Some((host, digits)) if !host.contains(':') => Some((host, Some(number(digits)?))),
        _ => Some((text, None)),
    }
}

fn parse_host(host: &str) -> Option<HostScope> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(HostScope::Network(address.to_canonical().into()));
    }
    if let Ok(net) = host.parse::<IpNet>() {
        return Some(HostScope::Network(net.trunc()));
    }
    let pattern = match host.strip_prefix("*.") {
        _ if host == "*" => "domain:*".to_owned(),
        Some(below) => format!("domain:*.{}", Name::parse(below)?),
        None => format!("domain:{}", Name::parse(host)?),
    };
    HostPattern::parse(&pattern).ok().map(HostScope::Names)
}

fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 80;
    text.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect()
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_host_is_told() {
        for text in [
            "https://github.com",
            "github.com/x",
            "github.com:",
            "github.com:0",
            "github.com:99999",
            "github.com:53",
            "github.com:+80",
            "a*b.com",
            "*.",
            "**",
            "*.*.com",
            "a b",
            "user@host",
            "a\0b",
            "10.0.0.0/99",
            "[::1",
            "[::1]x",
            "127.1",
            "",
        ] {
            assert!(HostRule::parse(text).is_err(), "{text}");
        }
    }
}

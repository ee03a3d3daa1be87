//! Patterns for hosts: `domain:example.org` is that host, `domain:*.example.org` every host below it.

use std::borrow::Cow;

use crate::international::encode;

/// A pattern for hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// Lower case, without port and final dot.
    host: Box<str>,
    /// Hosts below it, and not itself.
    below: bool,
    any: bool,
}

impl HostPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// One clause.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(host) = text.strip_prefix("domain:") else { return Err("it does not start with `domain:`") };
        let host = host.trim().to_lowercase();
        // A name that stays as it is written would match nothing: a rule that denies it would be lost in silence.
        let host = ascii(&host).ok_or(NOT_ENCODED)?;
        let host = bare(&host);
        let (below, name) = host.strip_prefix("*.").map_or((false, host), |rest| (true, rest));
        let any = host == "*";
        if any {
            return Ok(Self::any());
        }
        if name.is_empty() || name.contains(['*', '?', '/', '@', ' ']) {
            return Err("a host is a name, with `*.` in front for the hosts below it");
        }
        Ok(Self { host: name.into(), below, any })
    }

    /// Matches every host.
    pub fn any() -> Self {
        Self { host: "".into(), below: false, any: true }
    }

    /// The one host that it matches, if it is one.
    pub fn exact(&self) -> Option<&str> {
        (!self.any && !self.below).then_some(&*self.host)
    }

    /// Returns whether every host that `other` matches is matched by this.
    pub fn covers(&self, other: &Self) -> bool {
        match (other.any, other.below) {
            (true, _) => self.any,
            // Below itself, and below whatever it covers.
            (false, true) => self.any || self.below && (self.host == other.host || self.matches(&other.host)),
            (false, false) => self.matches(&other.host),
        }
    }

    /// Returns whether a host matches; it is compared without case, port and final dot.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.to_lowercase();
        let host = ascii(&host).unwrap_or(Cow::Borrowed(&host));
        match bare(&host).strip_suffix(&*self.host) {
            _ if self.any => true,
            Some("") => !self.below,
            Some(above) => self.below && above.ends_with('.') && above.len() > 1,
            None => false,
        }
    }
}

/// Reason for refusing a name that has no form in ASCII.
const NOT_ENCODED: &str = if cfg!(feature = "idna") {
    "it is no name that could be looked up"
} else {
    "this build knows only names in ASCII (pinfold-host without its feature `idna`): write the form that begins with `xn--`"
};

/// Letters beyond ASCII in their encoded form, in which programs ask for them.
fn ascii(host: &str) -> Option<Cow<'_, str>> {
    if host.is_ascii() { Some(Cow::Borrowed(host)) } else { encode(host).map(Cow::Owned) }
}

/// Strips port and final dot.
fn bare(host: &str) -> &str {
    let bare = match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    bare.strip_suffix('.').unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_one_host_and_a_star_stands_for_those_below() {
        for (pattern, host, matches) in [
            ("domain:github.com", "GitHub.com", true),
            ("domain:github.com", "github.com:443", true),
            ("domain:github.com", "github.com.", true),
            ("domain:github.com", "api.github.com", false),
            ("domain:github.com", "evilgithub.com", false),
            ("domain:*.github.com", "api.github.com", true),
            ("domain:*.github.com", "github.com", false),
            ("domain:*.github.com", "evilgithub.com", false),
            ("domain:*", "x", true),
            ("domain:bücher.example", "xn--bcher-kva.example", true),
            ("domain:xn--bcher-kva.example", "BÜCHER.example:443", true),
        ] {
            if !(cfg!(feature = "idna") || pattern.is_ascii() && host.is_ascii()) {
                assert!(pattern.is_ascii() || HostPattern::parse(pattern).is_err(), "{pattern}");
                continue;
            }
            assert_eq!(HostPattern::parse(pattern).map(|p| p.matches(host)), Ok(matches), "{pattern} {host}");
        }
        for bad in ["github.com", "domain:", "domain:a*b.com", "domain:https://x"] {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
    }
}

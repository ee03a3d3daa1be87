//! The origin of a URL: scheme, host and port.

use pinfold_net::Uri;

/// Scheme, host and port ([RFC 6454](https://www.rfc-editor.org/rfc/rfc6454)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UrlOrigin {
    encrypted: bool,
    host: String,
    port: u16,
}

/// Loopback, by names that need no resolver.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

impl UrlOrigin {
    /// The origin of a URL that may be used: `https`, or this machine.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let encrypted = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        let host = authority.host().to_ascii_lowercase();
        let plain = !host.is_empty() && !authority.as_str().contains('@');
        if !plain || (!encrypted && !LOOPBACK.contains(&host.as_str())) {
            return None;
        }
        let port = authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        Some(Self { encrypted, host, port })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// The host, for the audit log.
    pub(super) fn host(&self) -> &str {
        &self.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_same_origin_is_one_by_scheme_host_and_port() {
        let here = UrlOrigin::parse("https://a.example/x").unwrap();
        for same in ["https://a.example:443/y?z", "https://A.EXAMPLE", "https://a.example/x/../y"] {
            assert_eq!(UrlOrigin::parse(same).as_ref(), Some(&here), "{same}");
        }
        for other in [
            "http://a.example/x",
            "https://a.example:444/",
            "https://a.example.evil.example/",
            "https://evil.example/a.example",
            "https://a.example@evil.example/",
            "https://evil@a.example/",
            "//a.example/x",
            "/x",
            "x",
            "",
            "ftp://a.example",
        ] {
            assert_ne!(UrlOrigin::parse(other).as_ref(), Some(&here), "{other}");
        }
        assert!(
            UrlOrigin::parse("http://127.0.0.1:9/").is_some()
                && UrlOrigin::parse("http://127.0.0.2/").is_none()
        );
    }
}

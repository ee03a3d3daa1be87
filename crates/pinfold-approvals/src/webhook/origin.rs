//! Where an address leads: scheme, host and port.

use pinfold_net::Uri;

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    encrypted: bool,
    host: String,
    port: u16,
}

/// This machine, by names that no resolver is asked about.
const HERE: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

impl Origin {
    /// The origin of an address that may be asked: encrypted, or this machine.
    pub(super) fn of(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let encrypted = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        let host = authority.host().to_ascii_lowercase();
        let plain = !host.is_empty() && !authority.as_str().contains('@');
        if !plain || (!encrypted && !HERE.contains(&host.as_str())) {
            return None;
        }
        let port = authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        Some(Self { encrypted, host, port })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// What it is called in the record.
    pub(super) fn host(&self) -> &str {
        &self.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_same_origin_is_one_by_scheme_host_and_port() {
        let here = Origin::of("https://a.example/x").unwrap();
        for same in ["https://a.example:443/y?z", "https://A.EXAMPLE", "https://a.example/x/../y"] {
            assert_eq!(Origin::of(same).as_ref(), Some(&here), "{same}");
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
            assert_ne!(Origin::of(other).as_ref(), Some(&here), "{other}");
        }
        assert!(Origin::of("http://127.0.0.1:9/").is_some() && Origin::of("http://127.0.0.2/").is_none());
    }
}

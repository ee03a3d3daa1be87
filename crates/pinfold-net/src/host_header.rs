//! The `Host` header of requests to this machine, as the defence against DNS rebinding: a web page elsewhere whose name
//! was made to resolve to this machine sends its own name.

use hyper::header::HeaderMap;

/// Returns whether a `Host` header is a loopback name of this machine with the port that is listened on, or is one of
/// `aliases`.
pub fn is_own_host(host: &str, port: u16, aliases: &[String]) -> bool {
    // Clients leave out the default port.
    let (name, given) = match host.rsplit_once(':') {
        Some((name, given)) if !given.ends_with(']') => (name, Some(given)),
        Some(_) | None => (host, None),
    };
    let is_port = match given {
        Some(given) => given == port.to_string(),
        None => port == 80,
    };
    let is_loopback = matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost");
    (is_port && is_loopback) || aliases.iter().any(|alias| alias.eq_ignore_ascii_case(host))
}

/// The value of a header that occurs exactly once, where it is text.
pub fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_with_the_port_are_own_hosts() {
        let is_own = |host: &str, port| is_own_host(host, port, &[]);
        for host in ["127.0.0.1:8765", "[::1]:8765", "localhost:8765", "LocalHost:8765"] {
            assert!(is_own(host, 8765), "{host}");
        }
        let others = [
            "127.0.0.1",
            "127.0.0.1:8766",
            "[::1]",
            "localhost",
            "example.com:8765",
            "127.0.0.1.example.com:8765",
            "localhost.:8765",
            "127.0.0.2:8765",
            "0.0.0.0:8765",
            "[::]:8765",
            "127.1:8765",
            "2130706433:8765",
            "user@127.0.0.1:8765",
            "127.0.0.1:08765",
            "",
            ":8765",
            "localhost:8765:8765",
        ];
        for host in others {
            assert!(!is_own(host, 8765), "{host}");
        }
        assert!(is_own("127.0.0.1", 80) && is_own("[::1]", 80) && is_own("localhost:80", 80));
    }

    #[test]
    fn an_alias_is_an_own_host_exactly_as_given() {
        let aliases = ["Box.example".to_owned(), "box.example:9000".to_owned()];
        for host in ["box.example", "box.example:9000", "BOX.example:9000", "localhost:7463"] {
            assert!(is_own_host(host, 7463, &aliases), "{host}");
        }
        for host in ["box.example:7463", "box.example.evil", "a.box.example", "", "localhost:9000"] {
            assert!(!is_own_host(host, 7463, &aliases), "{host}");
        }
    }
}

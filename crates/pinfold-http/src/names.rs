//! Which names lead here. A page elsewhere whose name is made to lead to this machine says another one.

use hyper::header::HeaderMap;

/// Whether a `Host` says one of the names of this machine, or one of `more`, and the port that is listened on.
pub fn leads_here(host: &str, port: u16, more: &[String]) -> bool {
    // Where the port is the usual one, clients do not say it.
    let (name, said) = match host.rsplit_once(':') {
        Some((name, said)) if !said.ends_with(']') => (name, Some(said)),
        Some(_) | None => (host, None),
    };
    let is_port = match said {
        Some(said) => said == port.to_string(),
        None => port == 80,
    };
    let is_here = matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost");
    (is_port && is_here) || more.iter().any(|one| one.eq_ignore_ascii_case(host))
}

/// A header that stands once.
pub fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
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
    fn only_names_of_this_machine_lead_here() {
        let is_ours = |host: &str, port| leads_here(host, port, &[]);
        for host in ["127.0.0.1:8765", "[::1]:8765", "localhost:8765", "LocalHost:8765"] {
            assert!(is_ours(host, 8765), "{host}");
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
            assert!(!is_ours(host, 8765), "{host}");
        }
        assert!(is_ours("127.0.0.1", 80) && is_ours("[::1]", 80) && is_ours("localhost:80", 80));
    }

    #[test]
    fn a_name_that_was_added_leads_here_as_it_was_written() {
        let more = ["Box.example".to_owned(), "box.example:9000".to_owned()];
        for host in ["box.example", "box.example:9000", "BOX.example:9000", "localhost:7463"] {
            assert!(leads_here(host, 7463, &more), "{host}");
        }
        for host in ["box.example:7463", "box.example.evil", "a.box.example", "", "localhost:9000"] {
            assert!(!leads_here(host, 7463, &more), "{host}");
        }
    }
}

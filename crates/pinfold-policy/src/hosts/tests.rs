//! Meaning of rules about hosts, and answers of the list.

use std::sync::Arc;

use pinfold_host::Host;

use super::*;
use crate::rule::{Effect, Rule, SourcedRule};
use crate::settings::{NetworkSettings, Settings};
use crate::source::{Layer, Source};

fn parse_network(text: &str) -> NetworkSettings {
    let text = format!("{{\"network\": {text}}}");
    Settings::parse(text.as_bytes(), Layer::User, &Arc::from("f")).unwrap().says.network
}

fn hosts(text: &str, rules: &[(Effect, &str)]) -> Hosts {
    let sourced = |(effect, text): &(Effect, &str)| SourcedRule {
        effect: *effect,
        rule: Rule::parse(text).unwrap(),
        source: Source::plain(Layer::User),
    };
    Hosts::new(&parse_network(text), &rules.iter().map(sourced).collect::<Vec<_>>()).unwrap()
}

/// `+` allowed, `-` denied, `?` to be asked about, `.` not named.
fn answer(hosts: &Hosts, host: &str, port: u16) -> char {
    let reach = match Host::parse(host).unwrap() {
        Host::Name(name) => hosts.name(&name, port),
        Host::Address(address) => hosts.address(address, port),
    };
    match reach {
        HostMatch::Allowed(_) => '+',
        HostMatch::Denied(_) => '-',
        HostMatch::Asked(_) => '?',
        HostMatch::Unnamed => '.',
    }
}

#[test]
fn a_list_answers_for_each_host_and_port() {
    let list = hosts(
        r#"{"allow": ["GitHub.com", "*.example.org", "db.internal:5432", "10.0.0.5", "192.168.0.0/16:8080", "[fd00::1]:443",
            "bücher.example"], "deny": ["evil.example.org", "git.example.org:22", "192.168.9.0/24"]}"#,
        &[
            (Effect::Allow, "WebFetch(domain:docs.rs)"),
            (Effect::Ask, "WebFetch(domain:ask.example.org)"),
            (Effect::Deny, "WebFetch(domain:*.bad.example.org)"),
            (Effect::Deny, "WebFetch"),
            (Effect::Allow, "WebFetch(domain:127.0.0.1)"),
        ],
    );
    for (host, port, expected) in [
        ("github.com", 443, '+'),
        ("GITHUB.com.", 22, '+'),
        ("github.com", 8443, '.'),
        ("api.github.com", 443, '.'),
        ("evilgithub.com", 443, '.'),
        ("github.com.evil.example", 443, '.'),
        ("a.example.org", 443, '+'),
        ("a.b.example.org", 80, '+'),
        ("example.org", 443, '.'),
        ("evil.example.org", 443, '-'),
        ("evil.example.org", 9, '-'),
        ("git.example.org", 22, '-'),
        ("git.example.org", 443, '+'),
        ("x.bad.example.org", 443, '-'),
        ("ask.example.org", 443, '?'),
        ("db.internal", 5432, '+'),
        ("db.internal", 443, '.'),
        ("xn--bcher-kva.example", 443, '+'),
        ("docs.rs", 443, '+'),
        ("10.0.0.5", 443, '+'),
        ("::ffff:10.0.0.5", 443, '+'),
        ("10.0.0.6", 443, '.'),
        ("192.168.1.1", 8080, '+'),
        ("192.168.1.1", 443, '.'),
        ("192.168.9.1", 8080, '-'),
        ("fd00::1", 443, '+'),
        ("127.0.0.1", 80, '+'),
        ("8.8.8.8", 443, '.'),
    ] {
        assert_eq!(answer(&list, host, port), expected, "{host} {port}");
    }
    assert_eq!(list.reachable_ports().into_iter().collect::<Vec<_>>(), [22, 80, 443, 5432, 8080]);
    let knows = |name: &str| list.knows(&Name::parse(name).unwrap());
    assert!(knows("db.internal") && knows("github.com") && knows("git.example.org"));
    assert!(!knows("evil.example.org") && !knows("example.org") && !knows("ask.example.org"));
}

#[test]
fn a_star_stands_for_names_and_never_for_addresses() {
    let list = hosts(r#"{"allow": ["*"], "ports": [443]}"#, &[]);
    assert_eq!(answer(&list, "any.example", 443), '+');
    assert_eq!(answer(&list, "any.example", 80), '.');
    for address in ["8.8.8.8", "127.0.0.1", "::1", "169.254.169.254"] {
        assert_eq!(answer(&list, address, 443), '.', "{address}");
    }
}

#[test]
fn an_empty_list_allows_nothing() {
    let list = hosts(r#"{"ports": [443]}"#, &[(Effect::Deny, "WebFetch(domain:*)")]);
    assert!(list.is_empty() && list.reachable_ports().is_empty());
    assert_eq!(answer(&hosts("{}", &[]), "a.example", 443), '.');
}

#[test]
fn pins_and_ports_are_read() {
    let list = hosts(r#"{"allow": ["a.example"], "hosts": {"A.example": ["10.0.0.5", "::1"]}}"#, &[]);
    assert_eq!(list.pinned(&Name::parse("a.example").unwrap()).map(<[_]>::len), Some(2));
    for bad in [
        r#"{"hosts": {"a": ["x"]}}"#,
        r#"{"hosts": {"a b": ["::1"]}}"#,
        r#"{"ports": [53]}"#,
        r#"{"ports": [0]}"#,
    ] {
        let text = format!("{{\"network\": {bad}}}");
        assert!(Settings::parse(text.as_bytes(), Layer::User, &Arc::from("f")).is_err(), "{bad}");
    }
    let many: Vec<String> = (1000..1100).map(|port| format!("\"a.example:{port}\"")).collect();
    assert!(Hosts::new(&parse_network(&format!("{{\"allow\": [{}]}}", many.join(","))), &[]).is_err());
}

#[test]
fn a_closed_list_denies_every_host() {
    let hosts = Hosts::closed(&Source::plain(Layer::BuiltIn));
    for host in ["a.test", "localhost", "127.0.0.1", "8.8.8.8", "::1", "2606:4700::1"] {
        let reach = hosts.host(&Host::parse(host).unwrap(), 443);
        assert!(matches!(reach, HostMatch::Denied(_)), "{host}: {reach:?}");
    }
}

//! The policy of an egress proxy: the list of hosts, carried out, and refusals by it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold_egress::{
    AddressPolicy, AddressRule, ConnectDecision, ConnectRefusal, ConnectRequest, DnsClient, EgressPolicy,
    HostMismatch, NameMatch, TransferredBytes,
};
use pinfold_host::{Host, HostRule, Name};
use pinfold_policy::Connection;
use pinfold_policy::hosts::{HostMatch, Hosts};
use pinfold_policy::source::Located;

use super::asked::{HostApprover, PendingHosts, Refuse};
use super::contacts::{Contacts, HostContacts};
use super::program::Who;
use super::refusals::{Refusals, Unreached};
use crate::hosts::HostList;
use crate::outcome::Refused;

/// Egress policy of a run: the list of hosts, and an approver for hosts that it does not name.
#[derive(Debug)]
pub(super) struct HostPolicy {
    hosts: HostList,
    /// Why a host is not reached of which no rule says anything.
    unnamed: &'static str,
    /// List that held at the last question.
    last: Mutex<Arc<Hosts>>,
    /// List that held when connections were looked at last.
    looked_at: Mutex<Arc<Hosts>>,
    /// The first process inside.
    init: i32,
    refusals: Arc<Refusals>,
    contacts: Contacts,
    asked: Option<Arc<PendingHosts>>,
}

impl HostPolicy {
    /// `off`: whatever rules say, nothing is reached.
    pub(super) fn new(hosts: HostList, off: bool, init: i32, names: Option<String>) -> Self {
        let said = hosts.configured();
        Self {
            unnamed: if off { "the network is off" } else { "no rule allows this host" },
            last: Mutex::new(Arc::clone(said)),
            looked_at: Mutex::new(Arc::clone(said)),
            hosts,
            init,
            refusals: Arc::new(Refusals::new(init, names)),
            contacts: Contacts::default(),
            asked: None,
        }
    }

    /// The list that holds from now on.
    fn renewed(&self) -> Arc<Hosts> {
        let now = self.hosts.now();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&now);
        now
    }

    /// Returns the list of the last decision, for the steps that belong to it.
    fn last(&self) -> Arc<Hosts> {
        Arc::clone(&self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an approver.
    pub(super) fn asking(self, decides: Arc<dyn HostApprover>) -> Self {
        Self { asked: Some(Arc::new(PendingHosts::new(decides, self.init))), ..self }
    }

    /// Adds what was refused to what else was.
    pub(super) fn append_refused(&self, refused: &mut Vec<Refused>, more: &mut u64) {
        self.refusals.append_refused(refused, more);
    }

    /// The hosts that were let pass.
    pub(super) fn contacts(&self) -> HostContacts {
        self.contacts.take()
    }

    fn refuse(&self, tried: &'static str, place: String, no: Unreached, who: Who<'_>) -> ConnectRefusal {
        self.refusals.refuse(tried, place, no, Some(who))
    }

    /// The narrowest rule that allows this.
    fn rule_for(&self, host: &Host, port: u16) -> String {
        if self.last().is_usual(port) { host.to_string() } else { named(host, port) }
    }

    /// Returns the refusal of a connection that an approver was asked about: as without one, for the reason that was given.
    fn refusing(&self, place: String, unasked: Unreached) -> Box<Refuse> {
        let refusals = Arc::clone(&self.refusals);
        let Unreached { rule, to_allow, .. } = unasked;
        Box::new(move |why, who| {
            let no = Unreached { why: why.to_owned().into(), rule: rule.clone(), to_allow: to_allow.clone() };
            refusals.refuse("reach", place.clone(), no, Some(who))
        })
    }
}

fn asking(client: DnsClient) -> Who<'static> {
    match client {
        DnsClient::Udp(port) => Who::Asking(port),
        DnsClient::Tcp(port) => Who::At(port),
    }
}

fn named(host: &Host, port: u16) -> String {
    Connection { host: host.clone(), port, is_usual: false }.to_string()
}

/// Why a host is not reached of which the list says this; `unnamed` where it says nothing.
fn why(reach: HostMatch<'_>, add: &str, unnamed: &'static str) -> Option<Unreached> {
    let ruled = |why: &'static str, rule: &Located<HostRule>, to_allow: &'static str| Unreached {
        why: why.into(),
        rule: Some(rule.clone()),
        to_allow: to_allow.into(),
    };
    match reach {
        HostMatch::Allowed(_) => None,
        HostMatch::Denied(rule) => {
            Some(ruled("a rule denies it", rule, "take that rule away if it should be reached"))
        }
        HostMatch::Asked(rule) => {
            let to_allow = "take that rule away if it needs no question";
            Some(ruled("a rule wants it asked about, and no approver can be asked here", rule, to_allow))
        }
        HostMatch::Unnamed => Some(Unreached {
            why: unnamed.into(),
            rule: None,
            to_allow: format!("start with --allow-host {add}").into(),
        }),
    }
}

impl AddressPolicy for HostPolicy {
    fn address_rule(&self, address: IpAddr, port: u16) -> AddressRule {
        self.last().address_rule(address, port)
    }

    fn pinned_addresses(&self, name: &Name) -> Option<Vec<IpAddr>> {
        AddressPolicy::pinned_addresses(&*self.last(), name)
    }
}

impl EgressPolicy for HostPolicy {
    fn resolves(&self, name: &Name, asker: DnsClient) -> NameMatch {
        let hosts = self.renewed();
        let all = || {
            let ports = hosts.reachable_ports().into_iter().chain(hosts.usual_ports());
            ports.map(|port| hosts.name(name, port))
        };
        let matched = |pattern: &str| {
            self.contacts.looked_up(name);
            if hosts.is_named_exactly(name) {
                NameMatch::Exact
            } else {
                NameMatch::Pattern(pattern.to_owned())
            }
        };
        let mut reaches = hosts.reachable_ports().into_iter().map(|port| hosts.name(name, port));
        if let Some(HostMatch::Allowed(rule)) = reaches.find(|reach| matches!(reach, HostMatch::Allowed(_))) {
            return matched(rule.value.text());
        }
        // Names of addresses are asked for to print them.
        let is_reverse = [".in-addr.arpa", ".ip6.arpa"].iter().any(|end| name.as_str().ends_with(end));
        let is_open = || all().any(|reach| matches!(reach, HostMatch::Unnamed | HostMatch::Asked(_)));
        if self.asked.is_some() && PendingHosts::could_be_named(name.as_str()) && is_open() {
            return matched("names that need approval");
        }
        let worst = all().find(|reach| *reach != HostMatch::Unnamed).unwrap_or(HostMatch::Unnamed);
        if let Some(why) = why(worst, name.as_str(), self.unnamed).filter(|_| !is_reverse) {
            self.refuse("look up", name.to_string(), why, asking(asker));
        }
        NameMatch::Unknown
    }

    fn report_many_names(&self, pattern: &str, limit: usize, asker: DnsClient) {
        let no = Unreached {
            why: format!("{limit} names of this kind were looked up already").into(),
            rule: None,
            to_allow: "name the hosts one by one: --allow-host NAME".into(),
        };
        self.refuse("look up", pattern.to_owned(), no, asking(asker));
    }

    fn decide(&self, ask: &ConnectRequest) -> ConnectDecision {
        let hosts = self.renewed();
        let place = named(&ask.host, ask.port);
        let rule = self.rule_for(&ask.host, ask.port);
        let reach = hosts.host(&ask.host, ask.port);
        let could_be_asked =
            matches!(reach, HostMatch::Unnamed | HostMatch::Asked(_)) && PendingHosts::could_be(&ask.host);
        let Some(why) = why(reach, &rule, self.unnamed) else { return ConnectDecision::Allow };
        match &self.asked {
            Some(asked) if could_be_asked => {
                asked.take(ask, hosts.is_usual(ask.port), self.refusing(place, why))
            }
            Some(_) | None => {
                ConnectDecision::Deny(self.refuse("reach", place, why, Who::At(ask.source_port)))
            }
        }
    }

    fn report_mismatch(&self, ask: &ConnectRequest, mismatch: &HostMismatch) -> ConnectRefusal {
        let place = named(&ask.host, ask.port);
        let hosts = self.last();
        let rule_of = |address: &IpAddr| match hosts.address(*address, ask.port) {
            HostMatch::Denied(rule) | HostMatch::Asked(rule) => Some(rule.clone()),
            HostMatch::Allowed(_) | HostMatch::Unnamed => None,
        };
        let (why, rule, to_allow): (_, _, Cow<'static, str>) = match mismatch {
            HostMismatch::ServerName(Some(host)) => {
                (format!("its TLS hello names `{host}`"), None, NAMES_ANOTHER.into())
            }
            HostMismatch::ServerName(None) => {
                ("its TLS hello names no host".to_owned(), None, NAMES_NONE.into())
            }
            HostMismatch::HostHeader(host) if host.is_empty() => {
                ("its request names no host, or two".to_owned(), None, NAMES_NONE.into())
            }
            HostMismatch::HostHeader(host) => {
                (format!("its request names `{host}`"), None, NAMES_ANOTHER.into())
            }
            HostMismatch::ConflictingLengths => {
                let why = "its length is said twice, so that it can be read in two ways".to_owned();
                (why, None, "nothing allows that: send one `Content-Length`, or `Transfer-Encoding`".into())
            }
            HostMismatch::TransferCoding => {
                let why = "its body has a transfer coding other than `chunked`, or two".to_owned();
                (why, None, "nothing allows that: send `Transfer-Encoding: chunked`, or a length".into())
            }
            HostMismatch::Http2Cleartext => {
                let why = "it speaks HTTP/2 without TLS, where each request can name another host".to_owned();
                (why, None, "nothing allows that: use TLS, or HTTP/1.1".into())
            }
            HostMismatch::Malformed => {
                let why = "what it says is broken, too long, or came too slowly".to_owned();
                (why, None, "nothing allows that".into())
            }
            HostMismatch::NearAddress(address, near) => {
                let at = self.rule_for(&Host::Address(*address), ask.port);
                let to_allow = format!("name the address too: --allow-host {at}").into();
                (format!("it leads to {address}, and {}", near.reason()), None, to_allow)
            }
            HostMismatch::DeniedAddress(address) => {
                let to_allow = "take that rule away if it should be reached".into();
                (format!("it leads to {address}, which a rule denies"), rule_of(address), to_allow)
            }
        };
        self.refuse("reach", place, Unreached { why: why.into(), rule, to_allow }, Who::At(ask.source_port))
    }

    fn report_invalid_target(&self, said: &str, from: u16) -> ConnectRefusal {
        let why = "this is no host, or not one alone".into();
        let no = Unreached { why, rule: None, to_allow: NAMES_NONE.into() };
        self.refuse("reach", said.escape_debug().to_string(), no, Who::At(from))
    }

    fn report_datagram(&self, host: &Host, port: u16, from: u16) {
        let no = Unreached {
            why: "datagrams reach only the DNS server".into(),
            rule: None,
            to_allow: "nothing allows that: use TCP, as HTTP/3 does by itself".into(),
        };
        self.refuse("send", named(host, port), no, Who::Asking(from));
    }

    fn report_lost_datagrams(&self, count: u64) {
        self.refusals.more(count);
    }

    fn report_after_end(&self, ask: &ConnectRequest) {
        let hosts = self.renewed();
        let rule = self.rule_for(&ask.host, ask.port);
        if let Some(why) = why(hosts.host(&ask.host, ask.port), &rule, self.unnamed) {
            self.refuse("reach", named(&ask.host, ask.port), why, Who::At(ask.source_port));
        }
    }

    fn report_full(&self, most: usize) {
        let no = Unreached {
            why: "it may have no more descriptors; others wait until some have ended".into(),
            rule: None,
            to_allow: "start it with a higher limit of open files (`ulimit -n`)".into(),
        };
        self.refusals.refuse("hold", format!("more than {most} connections"), no, None);
    }

    fn has_changed(&self) -> bool {
        let now = self.renewed();
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        !Arc::ptr_eq(&std::mem::replace(&mut *looked_at, Arc::clone(&now)), &now)
    }

    fn is_denied(&self, ask: &ConnectRequest, address: IpAddr) -> bool {
        let hosts = self.last();
        let rules = [hosts.host(&ask.host, ask.port), hosts.address(address, ask.port)];
        rules.iter().any(|rule| matches!(rule, HostMatch::Denied(_)))
    }

    fn report_connected(&self, ask: &ConnectRequest, is_made: bool) {
        self.contacts.connected(&ask.host, ask.port, is_made);
    }

    fn report_closed(&self, _: &ConnectRequest, _: TransferredBytes) {}
}

const NAMES_ANOTHER: &str = "nothing allows that: connect to the host that is meant, under its own name";
const NAMES_NONE: &str = "nothing allows that: connect with the name of the host";

#[cfg(test)]
mod tests {
    use pinfold_egress::ConnectMethod;
    use pinfold_policy::Layer;
    use pinfold_policy::settings::Settings;

    use super::*;

    fn hosts(text: &str) -> Arc<Hosts> {
        let said = format!(r#"{{"network": {text}}}"#);
        let said = Settings::parse(said.as_bytes(), Layer::User, &Arc::from("f")).unwrap();
        Arc::new(Hosts::new(&said.says.network, &[]).unwrap())
    }

    #[test]
    fn a_name_resolves_by_the_rule_that_names_it_alone_first() {
        let list = hosts(r#"{"allow": ["*.wide.test", "a.wide.test", "*"], "deny": ["no.wide.test"]}"#);
        let policy = HostPolicy::new(HostList::from((*list).clone()), false, 1, None);
        let pattern = |text: &str| NameMatch::Pattern(text.to_owned());
        for (name, expected) in [
            ("a.wide.test", NameMatch::Exact),
            ("b.wide.test", pattern("*.wide.test")),
            ("b.test", pattern("*")),
            ("no.wide.test", NameMatch::Unknown),
        ] {
            assert_eq!(policy.resolves(&Name::parse(name).unwrap(), DnsClient::Udp(1)), expected, "{name}");
        }
        for _ in 0..3 {
            policy.report_many_names("*.wide.test", 8192, DnsClient::Udp(1));
        }
        let (mut refused, mut more) = (Vec::new(), 0);
        policy.append_refused(&mut refused, &mut more);
        let told = refused.iter().filter(|one| one.place.ends_with("*.wide.test")).collect::<Vec<_>>();
        assert!(told.len() == 1 && told[0].times == 3, "{refused:?}");
    }

    #[test]
    fn a_new_rule_denies_open_connections_by_name_and_by_address() {
        for (deny, expected) in
            [("a.test", true), ("8.8.8.8", true), ("8.8.0.0/16", true), ("b.test", false), ("8.8.8.9", false)]
        {
            let before = hosts(r#"{"allow": ["a.test"]}"#);
            let after = hosts(&format!(r#"{{"allow": ["a.test"], "deny": ["{deny}"]}}"#));
            let list = HostList::from((*before).clone()).following(move || Arc::clone(&after));
            let policy = HostPolicy::new(list, false, 1, None);
            let request = ConnectRequest {
                host: Host::parse("a.test").unwrap(),
                port: 443,
                method: ConnectMethod::Direct,
                source_port: 1,
            };
            let address = "8.8.8.8".parse().unwrap();
            assert!(!policy.is_denied(&request, address), "the control");
            assert!(policy.has_changed());
            assert_eq!(policy.is_denied(&request, address), expected, "{deny}");
        }
    }
}

//! The policy of an egress proxy: the list of hosts, carried out, and refusals by it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold_egress::{
    AddressPolicy, AddressRule, ConnectDecision, ConnectRefusal, ConnectRequest, DnsClient, EgressPolicy,
    EgressViolation, LocalNames, NameMatch, TransferredBytes, first_unreachable,
};
use pinfold_host::{Host, HostRule, Name};
use pinfold_policy::Connection;
use pinfold_policy::hosts::{HostMatch, Hosts};
use pinfold_policy::source::Located;

use super::asked::{ConnectionRefusalCause, PendingHosts, RefuseConnection};
use super::contacts::{Contacts, HostContacts};
use super::host_request::HostApprover;
use super::program::ConnectingProcess;
use super::refusals::{PendingRefusal, REACH, Refusals};
use crate::hosts::HostList;
use crate::outcome::EscalationOutcome;

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
    local_names: LocalNames,
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
            local_names: LocalNames::default(),
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

    /// Withdraws the questions that are open, and refuses what waits for them. The run has ended by then.
    pub(super) fn end_questions(&self) {
        if let Some(asked) = &self.asked {
            asked.end_all();
        }
    }

    /// Adds what was refused and approved to what else was. The relay is closed by then.
    pub(super) fn append_to(&self, tried: &mut EscalationOutcome) {
        if let Some(asked) = &self.asked {
            asked.append_approved(&mut tried.approved);
        }
        self.refusals.append_refused(&mut tried.refused, &mut tried.omitted_count);
    }

    /// The hosts that were let pass.
    pub(super) fn contacts(&self) -> HostContacts {
        self.contacts.take()
    }

    fn refuse(
        &self,
        tried: &'static str,
        place: String,
        no: PendingRefusal,
        who: ConnectingProcess<'_>,
    ) -> ConnectRefusal {
        self.refusals.refuse(tried, place, no, Some(who))
    }

    /// Returns the refusal of a connection that an approver was asked about: as without one, for the reason that was given.
    fn refusing(&self, ask: &ConnectRequest, unasked: PendingRefusal) -> Box<RefuseConnection> {
        let (refusals, hosts, ask) = (Arc::clone(&self.refusals), self.last(), ask.clone());
        let PendingRefusal { rule, to_allow, .. } = unasked;
        Box::new(move |why, who| {
            let no = match why {
                ConnectionRefusalCause::Clause(why) => PendingRefusal {
                    why: why.to_owned().into(),
                    rule: rule.clone(),
                    to_allow: to_allow.clone(),
                },
                ConnectionRefusalCause::Violation(violation) => unmet(&hosts, &ask, violation),
            };
            refusals.refuse(REACH, named(&ask.host, ask.port), no, Some(who))
        })
    }

    /// Returns the address of a host that no approval opens, as far as it is known without a query to a name server: no
    /// approver is asked about that.
    fn unopenable(
        &self,
        hosts: &Hosts,
        asked: &PendingHosts,
        ask: &ConnectRequest,
    ) -> Option<EgressViolation> {
        let known = || {
            let addresses = self.local_names.addresses(&ask.host, hosts);
            first_unreachable(&ask.host, &addresses, ask.port, hosts)
        };
        asked
            .known_unopened(&connection(hosts, ask))
            .filter(|violation| {
                let address = violation.unreachable_address();
                address.is_some_and(|address| address.is_still_refused(ask.port, hosts))
            })
            .or_else(known)
    }
}

fn connection(hosts: &Hosts, ask: &ConnectRequest) -> Connection {
    Connection { host: ask.host.clone(), port: ask.port, is_usual: hosts.is_usual(ask.port) }
}

fn asking(client: DnsClient) -> ConnectingProcess<'static> {
    match client {
        DnsClient::Udp(port) => ConnectingProcess::Asking(port),
        DnsClient::Tcp(port) => ConnectingProcess::At(port),
    }
}

/// The narrowest rule that allows this.
fn rule_for(hosts: &Hosts, host: &Host, port: u16) -> String {
    if hosts.is_usual(port) { host.to_string() } else { named(host, port) }
}

fn named(host: &Host, port: u16) -> String {
    Connection { host: host.clone(), port, is_usual: false }.to_string()
}

/// Why a host is not reached of which the list says this; `unnamed` where it says nothing.
fn why(reach: HostMatch<'_>, add: &str, unnamed: &'static str) -> Option<PendingRefusal> {
    let ruled = |why: &'static str, rule: &Located<HostRule>, to_allow: &'static str| PendingRefusal {
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
        HostMatch::Unnamed => Some(PendingRefusal {
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
        let no = PendingRefusal {
            why: format!("{limit} names of this kind were looked up already").into(),
            rule: None,
            to_allow: "name the hosts one by one: --allow-host NAME".into(),
        };
        self.refuse("look up", pattern.to_owned(), no, asking(asker));
    }

    fn decide(&self, ask: &ConnectRequest) -> ConnectDecision {
        let hosts = self.renewed();
        let rule = rule_for(&hosts, &ask.host, ask.port);
        let reach = hosts.host(&ask.host, ask.port);
        let could_be_asked = matches!(reach, HostMatch::Unnamed | HostMatch::Asked(_));
        let Some(why) = why(reach, &rule, self.unnamed) else { return ConnectDecision::Allow };
        let Some(asked) = self.asked.as_ref().filter(|_| could_be_asked) else {
            let place = named(&ask.host, ask.port);
            return ConnectDecision::Deny(self.refuse(
                REACH,
                place,
                why,
                ConnectingProcess::At(ask.source_port),
            ));
        };
        match self.unopenable(&hosts, asked, ask) {
            Some(violation) => ConnectDecision::Deny(self.report_violation(ask, &violation)),
            None => asked.take(ask, hosts.is_usual(ask.port), self.refusing(ask, why)),
        }
    }

    fn report_violation(&self, ask: &ConnectRequest, violation: &EgressViolation) -> ConnectRefusal {
        let hosts = self.last();
        if let (Some(asked), Some(_)) = (&self.asked, violation.unreachable_address()) {
            asked.unopened(&connection(&hosts, ask), violation);
        }
        let no = unmet(&hosts, ask, violation);
        self.refuse(REACH, named(&ask.host, ask.port), no, ConnectingProcess::At(ask.source_port))
    }

    fn report_invalid_target(&self, said: &str, from: u16) -> ConnectRefusal {
        let why = "this is no host, or not one alone".into();
        let no = PendingRefusal { why, rule: None, to_allow: NAMES_NONE.into() };
        self.refuse(REACH, said.escape_debug().to_string(), no, ConnectingProcess::At(from))
    }

    fn report_datagram(&self, host: &Host, port: u16, from: u16) {
        let no = PendingRefusal {
            why: "datagrams reach only the DNS server".into(),
            rule: None,
            to_allow: "nothing allows that: use TCP, as HTTP/3 does by itself".into(),
        };
        self.refuse("send", named(host, port), no, ConnectingProcess::Asking(from));
    }

    fn report_lost_datagrams(&self, count: u64) {
        self.refusals.more(count);
    }

    fn report_after_end(&self, ask: &ConnectRequest) {
        let hosts = self.renewed();
        let rule = rule_for(&hosts, &ask.host, ask.port);
        if let Some(why) = why(hosts.host(&ask.host, ask.port), &rule, self.unnamed) {
            self.refuse(REACH, named(&ask.host, ask.port), why, ConnectingProcess::At(ask.source_port));
        }
    }

    fn report_full(&self, most: usize) {
        let no = PendingRefusal {
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

/// Why a connection is refused although its host is allowed: one clause.
pub(super) fn reason(ask: &Host, violation: &EgressViolation) -> String {
    match violation {
        EgressViolation::ServerName(Some(host)) => format!("its TLS hello names `{host}`"),
        EgressViolation::ServerName(None) => "its TLS hello names no host".to_owned(),
        EgressViolation::HostHeader(host) if host.is_empty() => {
            "its request names no host, or two".to_owned()
        }
        EgressViolation::HostHeader(host) => format!("its request names `{host}`"),
        EgressViolation::ConflictingLengths => {
            "its length is said twice, so that it can be read in two ways".to_owned()
        }
        EgressViolation::TransferCoding => {
            "its body has a transfer coding other than `chunked`, or two".to_owned()
        }
        EgressViolation::Http2Cleartext => {
            "it speaks HTTP/2 without TLS, where each request can name another host".to_owned()
        }
        EgressViolation::Malformed => "what it says is broken, too long, or came too slowly".to_owned(),
        EgressViolation::SpecialPurposeAddress(address, near) => {
            let reason = near.reason();
            match ask {
                Host::Address(named) if named == address => format!("{reason}: {ONLY_A_RULE}"),
                Host::Address(_) | Host::Name(_) => {
                    format!("it leads to {address}, and {reason}: {ONLY_A_RULE}")
                }
            }
        }
        EgressViolation::DeniedAddress(address) => format!("it leads to {address}, which a rule denies"),
        EgressViolation::AskedAddress(address) => {
            format!("it leads to {address}, which a rule asks about: an approval of a name does not open it")
        }
    }
}

/// Returns the refusal of a connection whose host is allowed.
fn unmet(hosts: &Hosts, ask: &ConnectRequest, violation: &EgressViolation) -> PendingRefusal {
    let (rule, to_allow): (_, Cow<'static, str>) = match violation {
        EgressViolation::ServerName(Some(_)) => (None, NAMES_ANOTHER.into()),
        EgressViolation::HostHeader(host) if !host.is_empty() => (None, NAMES_ANOTHER.into()),
        EgressViolation::ServerName(None) | EgressViolation::HostHeader(_) => (None, NAMES_NONE.into()),
        EgressViolation::ConflictingLengths => {
            (None, "nothing allows that: send one `Content-Length`, or `Transfer-Encoding`".into())
        }
        EgressViolation::TransferCoding => {
            (None, "nothing allows that: send `Transfer-Encoding: chunked`, or a length".into())
        }
        EgressViolation::Http2Cleartext => (None, "nothing allows that: use TLS, or HTTP/1.1".into()),
        EgressViolation::Malformed => (None, "nothing allows that".into()),
        EgressViolation::SpecialPurposeAddress(address, _) => near_rule(hosts, ask, *address),
        EgressViolation::DeniedAddress(address) => {
            (rule_of(hosts, *address, ask.port), "take that rule away if it should be reached".into())
        }
        EgressViolation::AskedAddress(address) => {
            (rule_of(hosts, *address, ask.port), "take that rule away if it needs no question".into())
        }
    };
    PendingRefusal { why: reason(&ask.host, violation).into(), rule, to_allow }
}

/// The rule that says something else about an address.
fn rule_of(hosts: &Hosts, address: IpAddr, port: u16) -> Option<Located<HostRule>> {
    match hosts.address(address, port) {
        HostMatch::Denied(rule) | HostMatch::Asked(rule) => Some(rule.clone()),
        HostMatch::Allowed(_) | HostMatch::Unnamed => None,
    }
}

/// The rule, and the advice, for an address that only a rule opens.
fn near_rule(
    hosts: &Hosts,
    ask: &ConnectRequest,
    address: IpAddr,
) -> (Option<Located<HostRule>>, Cow<'static, str>) {
    let at = rule_for(hosts, &Host::Address(address), ask.port);
    let asked = rule_of(hosts, address, ask.port);
    let is_allowed = matches!(hosts.host(&ask.host, ask.port), HostMatch::Allowed(_));
    let to_allow = match (&asked, &ask.host) {
        (Some(_), _) => format!("take that rule away, and name the address: --allow-host {at}"),
        (None, Host::Name(_)) if is_allowed => format!("name the address too: --allow-host {at}"),
        (None, Host::Name(_)) => {
            let name = rule_for(hosts, &ask.host, ask.port);
            format!("start with --allow-host {name} --allow-host {at}")
        }
        (None, Host::Address(_)) => format!("start with --allow-host {at}"),
    };
    (asked, to_allow.into())
}

/// Reason of a refusal of an address on this machine and its networks.
const ONLY_A_RULE: &str = "only a rule that names the address allows it";

const NAMES_ANOTHER: &str = "nothing allows that: connect to the host that is meant, under its own name";
const NAMES_NONE: &str = "nothing allows that: connect with the name of the host";

#[cfg(test)]
mod tests {
    use pinfold_egress::ConnectMethod;
    use pinfold_policy::Layer;
    use pinfold_policy::rule::{Effect, Rule, SourcedRule};
    use pinfold_policy::settings::Settings;
    use pinfold_policy::source::Source;

    use super::super::host_request::{HostApproval, HostRequest};
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
        let mut tried = EscalationOutcome::default();
        policy.append_to(&mut tried);
        let refused = tried.refused;
        let told = refused.iter().filter(|one| one.place.ends_with("*.wide.test")).collect::<Vec<_>>();
        assert!(told.len() == 1 && told[0].times == 3, "{refused:?}");
    }

    /// Says neither yes nor no: a question is a failure of the test.
    #[derive(Debug)]
    struct Unasked;

    impl HostApprover for Unasked {
        fn may_connect(
            &self,
            request: &HostRequest,
            _: &(dyn Fn() -> bool + Sync),
        ) -> Result<Box<dyn HostApproval>, String> {
            panic!("{request:?}")
        }

        fn denies(&self, _: &HostRequest) -> Option<String> {
            None
        }
    }

    fn request(host: &str) -> ConnectRequest {
        // No process inside has the port, so that nothing is asked about those that wait.
        ConnectRequest {
            host: Host::parse(host).unwrap(),
            port: 443,
            method: ConnectMethod::HttpProxy,
            source_port: 1,
        }
    }

    fn asking_policy(list: &Arc<Hosts>) -> HostPolicy {
        HostPolicy::new(HostList::from((**list).clone()), false, 1, None).asking(Arc::new(Unasked))
    }

    const HOSTS: &str = r#"{"deny": ["9.9.9.9"], "hosts": {"near.test": ["10.9.8.7"], "far.test": ["8.8.8.8"],
        "both.test": ["8.8.8.8", "10.9.8.7"], "denied.test": ["9.9.9.9"], "asked.test": ["1.1.1.1"]}}"#;

    fn with_asked_addresses() -> Arc<Hosts> {
        let said = format!(r#"{{"network": {HOSTS}}}"#);
        let said = Settings::parse(said.as_bytes(), Layer::User, &Arc::from("f")).unwrap();
        let ask = |text: &str| SourcedRule {
            effect: Effect::Ask,
            rule: Rule::parse(text).unwrap(),
            source: Source::plain(Layer::User),
        };
        let rules = [ask("WebFetch(domain:1.1.1.1)"), ask("WebFetch(domain:10.1.1.1)")];
        Arc::new(Hosts::new(&said.says.network, &rules).unwrap())
    }

    #[test]
    fn what_no_approval_opens_is_refused_without_a_question() {
        let policy = asking_policy(&with_asked_addresses());
        for (host, why, to_allow) in [
            (
                "10.1.2.3",
                "it is an address of a private network: only a rule",
                "start with --allow-host 10.1.2.3",
            ),
            ("169.254.169.254", "it is a link-local address", "start with --allow-host 169.254.169.254"),
            ("127.0.0.2", "it is an address of this machine", "start with --allow-host 127.0.0.2"),
            ("240.0.0.1", "it is a reserved address", "start with --allow-host 240.0.0.1"),
            ("localhost", "it leads to 127.0.0.1, and it is an address of this machine", ""),
            ("a.localhost", "it leads to 127.0.0.1, and it is an address of this machine", ""),
            (
                "near.test",
                "it leads to 10.9.8.7, and it is an address of a private network",
                "start with --allow-host near.test --allow-host 10.9.8.7",
            ),
            ("both.test", "it leads to 10.9.8.7", "start with --allow-host both.test --allow-host 10.9.8.7"),
            ("denied.test", "it leads to 9.9.9.9, which a rule denies", "take that rule away"),
            ("asked.test", "it leads to 1.1.1.1, which a rule asks about", "take that rule away"),
            (
                "10.1.1.1",
                "it is an address of a private network",
                "take that rule away, and name the address",
            ),
        ] {
            let ConnectDecision::Deny(no) = policy.decide(&request(host)) else {
                panic!("{host} is asked about")
            };
            assert!(no.message.contains(host) && no.message.contains(why), "{host}: {no:?}");
            let mut tried = EscalationOutcome::default();
            policy.append_to(&mut tried);
            let told = tried.refused.iter().find(|one| one.place.to_str() == Some(&format!("{host}:443")));
            assert!(told.is_some_and(|told| told.to_allow.starts_with(to_allow)), "{host}: {told:?}");
        }
        // The control: addresses that an approval opens, one with a rule that asks about it, and names that only DNS knows.
        for host in ["8.8.8.8", "1.1.1.1", "far.test", "unknown.test"] {
            let decision = policy.decide(&request(host));
            assert!(matches!(decision, ConnectDecision::Pending(_)), "{host}: {decision:?}");
        }
    }

    #[test]
    fn a_host_that_led_where_no_approval_opens_it_is_not_asked_about_again_while_it_does() {
        let before = hosts("{}");
        let after = hosts(r#"{"allow": ["10.9.8.7"]}"#);
        let policy = asking_policy(&before);
        let is_asked = |policy: &HostPolicy, port| {
            matches!(
                policy.decide(&ConnectRequest { port, ..request("a.test") }),
                ConnectDecision::Pending(_)
            )
        };
        assert!(is_asked(&policy, 443), "the control");
        let violation = EgressViolation::SpecialPurposeAddress(
            "10.9.8.7".parse().unwrap(),
            pinfold_egress::SpecialPurpose::Private,
        );
        policy.report_violation(&request("a.test"), &violation);
        assert!(!is_asked(&policy, 443));
        assert!(is_asked(&policy, 80), "at another port it is another question");
        let other = EgressViolation::ServerName(None);
        policy.report_violation(&ConnectRequest { port: 80, ..request("a.test") }, &other);
        assert!(is_asked(&policy, 80), "what a program said wrong is not what the host leads to");
        let policy = HostPolicy { hosts: HostList::from((*after).clone()), ..policy };
        assert!(is_asked(&policy, 443), "a rule allows the address by now");
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

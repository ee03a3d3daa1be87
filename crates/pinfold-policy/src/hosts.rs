//! The one list of hosts that may be reached, to which settings, flags and rules all contribute.
//!
//! Settings (`network.allow`, `network.deny`), flags (`--allow-host`) and rules (`WebFetch(domain:…)`) say it in their
//! own words; [`Hosts`] answers for all of them. Nothing here resolves a name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pinfold_host::{AddressPolicy, AddressRule, Host, HostRule, Name};
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use crate::rule::{Effect, RuleSubject, SourcedRule};
use crate::settings::NetworkSettings;
use crate::source::{Located, Source};

/// Default ports of a host whose rule names none: ssh, http and https.
pub const DEFAULT_PORTS: [u16; 3] = [22, 80, 443];

/// Most different ports of a list.
pub const MAX_PORTS: usize = 64;

/// The hosts that may be reached, with pinned addresses of names. An empty list allows none.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts {
    allow: Vec<Located<HostRule>>,
    ask: Vec<Located<HostRule>>,
    deny: Vec<Located<HostRule>>,
    /// Ports of rules that name none.
    ports: BTreeSet<u16>,
    pins: BTreeMap<Name, Vec<IpAddr>>,
}

/// Result of looking up a host and port in the list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostMatch<'a> {
    /// Allowed by a rule.
    Allowed(&'a Located<HostRule>),
    /// Denied by a rule, whatever allows it.
    Denied(&'a Located<HostRule>),
    /// A person is to be asked, whatever allows it.
    Asked(&'a Located<HostRule>),
    /// No rule names it.
    Unnamed,
}

/// More ports than can be listened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("hosts are allowed at {0} ports\nname at most {MAX_PORTS}")]
pub struct TooManyPorts(usize);

/// The rules as they are written, without where they stand.
impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { allow, ask, deny, ports, pins } = self;
        let rules = |list: &[Located<HostRule>]| -> Vec<String> {
            list.iter().map(|rule| rule.value.to_string()).collect()
        };
        let pins: BTreeMap<String, &Vec<IpAddr>> =
            pins.iter().map(|(name, addresses)| (name.to_string(), addresses)).collect();
        let mut form = to.serialize_struct("Hosts", 5)?;
        form.serialize_field("allow", &rules(allow))?;
        form.serialize_field("ask", &rules(ask))?;
        form.serialize_field("deny", &rules(deny))?;
        form.serialize_field("ports", ports)?;
        form.serialize_field("pins", &pins)?;
        form.end()
    }
}

impl Default for Hosts {
    /// Returns the list without any rule.
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            ports: BTreeSet::from(DEFAULT_PORTS),
            pins: BTreeMap::new(),
        }
    }
}

impl Hosts {
    /// Builds the list from settings and from rules about `WebFetch`. A rule about the whole tool is not about hosts.
    ///
    /// # Errors
    /// [`TooManyPorts`].
    pub fn new(settings: &NetworkSettings, rules: &[SourcedRule]) -> Result<Self, TooManyPorts> {
        let mut hosts =
            Self { allow: settings.allow.clone(), deny: settings.deny.clone(), ..Self::default() };
        for rule in rules {
            let RuleSubject::Host(pattern) = rule.rule.covers() else { continue };
            let value = HostRule::from_pattern(rule.rule.text(), pattern);
            let located = Located { value, source: rule.source.clone() };
            match rule.effect {
                Effect::Allow => hosts.allow.push(located),
                Effect::Ask => hosts.ask.push(located),
                Effect::Deny => hosts.deny.push(located),
            }
        }
        if !settings.ports.is_empty() {
            hosts.ports = settings.ports.iter().map(|port| port.value.0).collect();
        }
        hosts.pins = settings.hosts.as_ref().map(|pins| pins.value.0.clone()).unwrap_or_default();
        let ports = hosts.reachable_ports().len();
        if ports > MAX_PORTS { Err(TooManyPorts(ports)) } else { Ok(hosts) }
    }

    /// Returns the list that denies every host without a question, by `source`.
    pub fn closed(source: &Source) -> Self {
        let deny = HostRule::everything().map(|value| Located { value, source: source.clone() });
        Self { deny: deny.into(), ..Self::default() }
    }

    /// Returns whether nothing may be reached unasked.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty()
    }

    /// Looks up a host at a port.
    pub fn host(&self, host: &Host, port: u16) -> HostMatch<'_> {
        match host {
            Host::Name(name) => self.name(name, port),
            Host::Address(address) => self.address(*address, port),
        }
    }

    /// Looks up a name at a port.
    pub fn name(&self, name: &Name, port: u16) -> HostMatch<'_> {
        self.find(port, |rule| rule.names(name))
    }

    /// Looks up an address at a port.
    pub fn address(&self, address: IpAddr, port: u16) -> HostMatch<'_> {
        self.find(port, |rule| rule.holds(address))
    }

    /// Returns whether a name may be reached at any port. Others do not exist inside.
    pub fn knows(&self, name: &Name) -> bool {
        self.reachable_ports().iter().any(|port| matches!(self.name(name, *port), HostMatch::Allowed(_)))
    }

    /// Returns whether a rule that allows or asks is about this name alone.
    pub fn is_named_exactly(&self, name: &Name) -> bool {
        self.allow.iter().chain(&self.ask).any(|rule| rule.value.is_one_name() && rule.value.names(name))
    }

    /// The ports at which anything may be reached.
    pub fn reachable_ports(&self) -> BTreeSet<u16> {
        let ports = |rule: &Located<HostRule>| match rule.value.port() {
            Some(port) => vec![port],
            None => self.ports.iter().copied().collect(),
        };
        self.allow.iter().flat_map(ports).collect()
    }

    /// The ports at which a host is allowed whose rule names none.
    pub fn usual_ports(&self) -> impl Iterator<Item = u16> {
        self.ports.iter().copied()
    }

    /// Returns whether a host that is allowed without a port can be reached at this one.
    pub fn is_usual(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// Returns the pinned addresses of a name.
    pub fn pinned(&self, name: &Name) -> Option<&[IpAddr]> {
        self.pins.get(name).map(Vec::as_slice)
    }

    fn find(&self, port: u16, is_meant: impl Fn(&HostRule) -> bool) -> HostMatch<'_> {
        let first = |list: &'_ [Located<HostRule>], anywhere: bool| {
            let here = |rule: &HostRule| match rule.port() {
                Some(own) => own == port,
                None => anywhere || self.ports.contains(&port),
            };
            list.iter().position(|rule| here(&rule.value) && is_meant(&rule.value))
        };
        // Without a port of its own a rule that narrows holds at every port, and one that widens at those of the list.
        let found = |list: &'_ Vec<Located<HostRule>>, anywhere| first(list, anywhere);
        if let Some(rule) = found(&self.deny, true).and_then(|at| self.deny.get(at)) {
            return HostMatch::Denied(rule);
        }
        if let Some(rule) = found(&self.ask, true).and_then(|at| self.ask.get(at)) {
            return HostMatch::Asked(rule);
        }
        match found(&self.allow, false).and_then(|at| self.allow.get(at)) {
            Some(rule) => HostMatch::Allowed(rule),
            None => HostMatch::Unnamed,
        }
    }
}

impl AddressPolicy for Hosts {
    fn address_rule(&self, address: IpAddr, port: u16) -> AddressRule {
        match self.address(address, port) {
            HostMatch::Allowed(_) => AddressRule::Allowed,
            HostMatch::Denied(_) => AddressRule::Denied,
            HostMatch::Asked(_) => AddressRule::Asked,
            HostMatch::Unnamed => AddressRule::Unlisted,
        }
    }

    fn pinned_addresses(&self, name: &Name) -> Option<Vec<IpAddr>> {
        self.pinned(name).map(<[_]>::to_vec)
    }
}

#[cfg(test)]
mod tests;

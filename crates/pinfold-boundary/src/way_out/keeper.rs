//! What the list of hosts says, carried out, and what was refused by it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinfold_egress::{Ask, Doorkeeper, Leads, Mismatch, No, Opened, Passed};
use pinfold_policy::host::{Host, HostRule, Hosts, Name, Reach};
use pinfold_policy::source::Located;

use super::program;
use crate::witness::{MOST, Refused};

/// What whoever runs inside can do instead.
const INSTEAD: &str = "do without it, and tell the person which host is needed and for what";

/// Decides by the list.
#[derive(Debug)]
pub(super) struct Keeper {
    hosts: Arc<Hosts>,
    /// The first process inside.
    init: i32,
    /// What the names of refusals begin with.
    names: Option<String>,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    refused: BTreeMap<Key, Refused>,
    more: u64,
}

/// What was tried, where, and why not.
type Key = (&'static str, String, Cow<'static, str>);

/// A refusal in the making.
struct Unreached {
    why: Cow<'static, str>,
    rule: Option<Located<HostRule>>,
    to_allow: Cow<'static, str>,
}

impl Keeper {
    pub(super) fn new(hosts: Arc<Hosts>, init: i32, names: Option<String>) -> Self {
        Self { hosts, init, names, told: Mutex::default() }
    }

    /// Adds what was refused to what else was.
    pub(super) fn told(&self, refused: &mut Vec<Refused>, more: &mut u64) {
        let told = self.lock();
        refused.extend(told.refused.values().cloned());
        *more += told.more;
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a refusal. `from` is the port of the caller, where it has one.
    fn refuse(&self, tried: &'static str, place: String, unreached: Unreached, from: Option<u16>) -> No {
        let Unreached { why, rule, to_allow } = unreached;
        let known = |told: &mut Told, key: &Key| {
            let refused = told.refused.get_mut(key)?;
            refused.times += 1;
            Some(refused.id.clone().unwrap_or_default())
        };
        let message = message(&place, &why, rule.as_ref());
        let key = (tried, place, why);
        if let Some(id) = known(&mut self.lock(), &key) {
            return No { id, message };
        }
        // Looked for without the lock, and once only.
        let program = from.map(|port| program::of(self.init, port)).filter(|name| !name.is_empty());
        let mut told = self.lock();
        if told.refused.len() >= MOST {
            told.more += 1;
            return No { id: String::new(), message };
        }
        let id = self.names.as_ref().map(|names| format!("{names}{}", told.refused.len() + 1));
        let (tried, place, why) = &key;
        let refused = Refused {
            id: id.clone(),
            tried,
            place: PathBuf::from(place),
            program: program.unwrap_or_else(|| "a program".to_owned()),
            times: 1,
            why: why.clone().into_owned(),
            rule: rule.as_ref().map(|rule| rule.value.to_string()),
            source: rule.as_ref().map(|rule| rule.source.to_string()),
            instead: INSTEAD,
            to_allow,
        };
        told.refused.insert(key, refused);
        No { id: id.unwrap_or_default(), message }
    }

    /// The narrowest rule that allows this.
    fn rule_for(&self, host: &Host, port: u16) -> String {
        if self.hosts.is_usual(port) { host.to_string() } else { named(host, port) }
    }

    fn reach(&self, host: &Host, port: u16) -> Reach<'_> {
        match host {
            Host::Name(name) => self.hosts.name(name, port),
            Host::Address(address) => self.hosts.address(*address, port),
        }
    }
}

/// For whoever runs inside: never how the line is widened.
fn message(place: &str, why: &str, rule: Option<&Located<HostRule>>) -> String {
    let rule = rule.map(|rule| format!(" (`{}`, {})", rule.value, rule.source)).unwrap_or_default();
    format!("{place} is not reached: {why}{rule}; {INSTEAD}")
}

fn named(host: &Host, port: u16) -> String {
    match host {
        Host::Address(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        host => format!("{host}:{port}"),
    }
}

/// Why a host is not reached of which the list says this.
fn why(reach: Reach<'_>, add: &str) -> Option<Unreached> {
    let ruled = |why: &'static str, rule: &Located<HostRule>, to_allow: &'static str| Unreached {
        why: why.into(),
        rule: Some(rule.clone()),
        to_allow: to_allow.into(),
    };
    match reach {
        Reach::Allowed(_) => None,
        Reach::Denied(rule) => {
            Some(ruled("a rule denies it", rule, "take that rule away if it should be reached"))
        }
        Reach::Asked(rule) => {
            let to_allow = "take that rule away if it needs no question";
            Some(ruled("a rule wants it asked about, and nobody can be asked here", rule, to_allow))
        }
        Reach::Unnamed => Some(Unreached {
            why: "no rule allows this host".into(),
            rule: None,
            to_allow: format!("start with --allow-host {add}").into(),
        }),
    }
}

impl Doorkeeper for Keeper {
    fn knows(&self, name: &Name) -> bool {
        if self.hosts.knows(name) {
            return true;
        }
        // Names of addresses are asked for to print them.
        let is_reverse = [".in-addr.arpa", ".ip6.arpa"].iter().any(|end| name.as_str().ends_with(end));
        if !is_reverse {
            let denied = self.hosts.reachable_ports().into_iter().map(|port| self.hosts.name(name, port));
            let worst = denied.fold(Reach::Unnamed, |worst, reach| match (worst, reach) {
                (Reach::Unnamed, other) => other,
                (worst, _) => worst,
            });
            if let Some(why) = why(worst, name.as_str()) {
                self.refuse("look up", name.to_string(), why, None);
            }
        }
        false
    }

    fn open(&self, ask: &Ask) -> Opened {
        let place = named(&ask.host, ask.port);
        let rule = self.rule_for(&ask.host, ask.port);
        let Some(why) = why(self.reach(&ask.host, ask.port), &rule) else { return Opened::Yes };
        if let Host::Address(address) = &ask.host
            && (address.is_loopback() || address.is_unspecified())
        {
            // Looking for a neighbour is no attempt to leave.
            return Opened::No(No { id: String::new(), message: message(&place, &why.why, None) });
        }
        Opened::No(self.refuse("reach", place, why, Some(ask.from)))
    }

    fn leads(&self, address: IpAddr, port: u16) -> Leads {
        match self.hosts.address(address, port) {
            Reach::Allowed(_) => Leads::Named,
            Reach::Denied(_) | Reach::Asked(_) => Leads::Forbidden,
            Reach::Unnamed => Leads::Unnamed,
        }
    }

    fn pinned(&self, name: &Name) -> Option<Vec<IpAddr>> {
        self.hosts.pinned(name).map(<[_]>::to_vec)
    }

    fn mismatch(&self, ask: &Ask, mismatch: &Mismatch) -> No {
        let place = named(&ask.host, ask.port);
        let rule_of = |address: &IpAddr| match self.hosts.address(*address, ask.port) {
            Reach::Denied(rule) | Reach::Asked(rule) => Some(rule.clone()),
            Reach::Allowed(_) | Reach::Unnamed => None,
        };
        let (why, rule, to_allow): (_, _, Cow<'static, str>) = match mismatch {
            Mismatch::ServerName(Some(host)) => {
                (format!("its TLS hello names `{host}`"), None, NAMES_ANOTHER.into())
            }
            Mismatch::ServerName(None) => ("its TLS hello names no host".to_owned(), None, NAMES_NONE.into()),
            Mismatch::HostHeader(host) if host.is_empty() => {
                ("its request names no host, or two".to_owned(), None, NAMES_NONE.into())
            }
            Mismatch::HostHeader(host) => (format!("its request names `{host}`"), None, NAMES_ANOTHER.into()),
            Mismatch::Broken => {
                let why = "its first bytes are broken, or came too slowly".to_owned();
                (why, None, "nothing allows that".into())
            }
            Mismatch::Near(address, near) => {
                let at = self.rule_for(&Host::Address(*address), ask.port);
                let to_allow = format!("name the address too: --allow-host {at}").into();
                (format!("it leads to {address}, and {}", near.why()), None, to_allow)
            }
            Mismatch::Forbidden(address) => {
                let to_allow = "take that rule away if it should be reached".into();
                (format!("it leads to {address}, which a rule denies"), rule_of(address), to_allow)
            }
        };
        self.refuse("reach", place, Unreached { why: why.into(), rule, to_allow }, Some(ask.from))
    }

    fn ended(&self, _: &Ask, _: Passed) {}
}

const NAMES_ANOTHER: &str = "nothing allows that: connect to the host that is meant, under its own name";
const NAMES_NONE: &str = "nothing allows that: connect with the name of the host";

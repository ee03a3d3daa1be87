//! The hosts that a run looked up, connected to, or was refused: each once for what came of it, for the record.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pinfold_host::{Host, Name};
use serde::Serialize;

use crate::outcome::Refused;

/// Different ones that are kept; others are counted.
const MAX_DISTINCT: usize = 256;

/// Outcome of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostOutcome {
    /// A connection was made.
    Reached,
    /// Allowed, and no connection came about.
    Unreachable,
    /// Refused.
    Refused,
    /// Its name was asked for and may be known, and nothing more.
    LookedUp,
}

impl HostOutcome {
    /// The outcome in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::LookedUp => "looked-up",
        }
    }
}

/// A host, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostContact {
    /// Its name or address.
    pub host: Host,
    /// Its port, where one was said.
    pub port: Option<u16>,
    /// Outcome of it.
    pub outcome: HostOutcome,
    /// Number of times.
    pub times: u64,
}

type Key = (HostOutcome, String, Option<u16>);

/// The hosts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostContacts {
    found: BTreeMap<Key, (Host, u64)>,
    more: u64,
}

impl HostContacts {
    fn add(&mut self, outcome: HostOutcome, host: &Host, port: Option<u16>, times: u64) {
        let key = (outcome, host.to_string(), port);
        if self.found.len() >= MAX_DISTINCT && !self.found.contains_key(&key) {
            self.more += 1;
            return;
        }
        let (_, known) = self.found.entry(key).or_insert_with(|| (host.clone(), 0));
        *known = known.saturating_add(times);
    }

    /// Adds refused contacts of any source. A refusal without a host (a socket of this machine, a broken request) is not a
    /// contact.
    pub fn add_refused(&mut self, refused: &[Refused]) {
        const OF_HOSTS: [&str; 4] = ["connect", "look up", "reach", "send"];
        for one in refused.iter().filter(|one| OF_HOSTS.contains(&one.tried)) {
            if let Some((host, port)) = one.place.to_str().and_then(Host::parse_with_port) {
                self.add(HostOutcome::Refused, &host, port, one.times);
            }
        }
    }

    /// All of them. A name that was looked up on the way to a connection is not there a second time.
    pub fn all(&self) -> impl Iterator<Item = HostContact> + '_ {
        let is_there = |host: &str| {
            self.found.keys().any(|(outcome, other, _)| *outcome != HostOutcome::LookedUp && other == host)
        };
        let shown = move |(outcome, host, _): &Key| *outcome != HostOutcome::LookedUp || !is_there(host);
        let contact = |(key, (host, times)): (&Key, &(Host, u64))| {
            let &(outcome, _, port) = key;
            HostContact { host: host.clone(), port, outcome, times: *times }
        };
        self.found.iter().filter(move |(key, _)| shown(key)).map(contact)
    }

    /// Returns the number of contacts that the list left out.
    pub fn more(&self) -> u64 {
        self.more
    }
}

/// The hosts of a run that goes on.
#[derive(Debug, Default)]
pub(super) struct Contacts(Mutex<HostContacts>);

impl Contacts {
    pub(super) fn looked_up(&self, name: &Name) {
        self.lock().add(HostOutcome::LookedUp, &Host::Name(name.clone()), None, 1);
    }

    pub(super) fn connected(&self, host: &Host, port: u16, is_made: bool) {
        let outcome = if is_made { HostOutcome::Reached } else { HostOutcome::Unreachable };
        self.lock().add(outcome, host, Some(port), 1);
    }

    pub(super) fn take(&self) -> HostContacts {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HostContacts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn host(text: &str) -> Host {
        Host::parse(text).unwrap()
    }

    fn refused(tried: &'static str, place: &str) -> Refused {
        Refused {
            id: None,
            tried,
            place: PathBuf::from(place),
            program: "curl".to_owned(),
            times: 2,
            why: String::new(),
            rule: None,
            source: None,
            instead: "",
            to_allow: "".into(),
        }
    }

    fn shown(contacts: &HostContacts) -> Vec<String> {
        let one = |found: HostContact| {
            let port = found.port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("{} {}{port} {}", found.outcome.as_str(), found.host, found.times)
        };
        contacts.all().map(one).collect()
    }

    #[test]
    fn each_host_is_there_once_for_what_came_of_it() {
        let contacts = Contacts::default();
        for name in ["a.test", "a.test", "only.test"] {
            contacts.looked_up(&Name::parse(name).unwrap());
        }
        contacts.connected(&host("a.test"), 443, true);
        contacts.connected(&host("a.test"), 443, true);
        contacts.connected(&host("a.test"), 80, false);
        let mut contacts = contacts.take();
        contacts.add_refused(&[
            refused("look up", "b.test"),
            refused("reach", "[::1]:25"),
            refused("connect", "/run/docker.sock"),
            refused("connect", "@abstract"),
            refused("reach", "no host at all"),
            refused("create", "c.test"),
        ]);
        let expected = [
            "reached a.test:443 2",
            "unreachable a.test:80 1",
            "refused ::1:25 2",
            "refused b.test 2",
            "looked-up only.test 1",
        ];
        assert_eq!(shown(&contacts), expected);
        assert_eq!(contacts.more(), 0);
    }

    #[test]
    fn their_number_is_bounded() {
        let contacts = Contacts::default();
        for n in 0..MAX_DISTINCT + 7 {
            contacts.connected(&host(&format!("h{n}.test")), 443, true);
        }
        contacts.connected(&host("h0.test"), 443, true);
        let contacts = contacts.take();
        assert_eq!((contacts.all().count(), contacts.more()), (MAX_DISTINCT, 7));
    }
}

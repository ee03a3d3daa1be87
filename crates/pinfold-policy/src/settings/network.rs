//! Settings of hosts.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;

use jsonc_parser::ast::Value;
use pinfold_host::{HostRule, Name};
use serde::Serialize;
use serde_json::json;

use super::fetch::{FetchSize, Fetches};
use super::reader::{SettingsReader, quoted, span};
use super::secrets::Secrets;
use super::section::section;
use super::value::Setting;
use crate::source::Located;

section! {
    /// Hosts that can be reached, and no others.
    NetworkSettings {
        /// Hosts that can be reached: `github.com`, `*.example.org`, `db.internal:5432`, an address or a network.
        allow = "allow": Vec<Located<HostRule>>,
        /// Hosts that cannot, whatever allows them.
        deny = "deny": Vec<Located<HostRule>>,
        /// The ports at which a host can be reached that is allowed without one.
        ports = "ports": Vec<Located<Port>>,
        /// Addresses of names, for the way out: these and no others.
        hosts = "hosts": Option<Located<Pins>>,
        /// Secrets that stay outside: inside a placeholder stands in the variable of that name, and the way out puts the
        /// secret into one header for one host. Counts in user and managed settings only.
        secrets = "secrets": Option<Located<Secrets>>,
        /// Sockets of programs on this machine that commands can connect to, or folders of such: paths from `/` or `~/`.
        /// Counts in user and managed settings only.
        sockets = "sockets": Vec<Located<SocketPlace>>,
        /// The most pages that one agent may fetch in one session, each redirect one of its own.
        fetches = "fetches": Option<Located<Fetches>>,
        /// The most bytes of them that it may fetch: a number with K, M or G.
        fetch_size = "fetchSize": Option<Located<FetchSize>>,
    }
}

/// A port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Port(pub u16);

/// A socket of a program on this machine, or a folder of such. `~/` is the home directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SocketPlace(pub PathBuf);

/// Addresses of names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins(pub BTreeMap<Name, Vec<IpAddr>>);

impl Serialize for Pins {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, at)| (name.as_str(), at)))
    }
}

impl Setting for HostRule {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        let told = |bad: pinfold_host::BadHost| {
            reader.report(span(value), format!("{} names no host: {}", quoted(&text), bad.why), bad.mend);
        };
        Self::parse(&text).map_err(told).ok()
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "minLength": 1, "examples": ["github.com", "*.example.org", "db.internal:5432", "10.0.0.0/8"]})
    }
}

impl Setting for Port {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::NumberLit(number) = value else { return reader.wrong_type(value, "a port") };
        let port = number.value.parse().ok().filter(|port| ![0, 53].contains(port)).map(Self);
        if port.is_none() {
            let what = format!("{} is no port that can be reached", quoted(number.value));
            reader.report(span(value), what, "write a whole number from 1 to 65535, other than 53");
        }
        port
    }

    fn schema() -> serde_json::Value {
        json!({"type": "integer", "minimum": 1, "maximum": u16::MAX})
    }
}

impl Setting for SocketPlace {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        if text.starts_with('/') || text.starts_with("~/") {
            return Some(Self(text.into()));
        }
        let what = format!("{} is no path of a socket", quoted(&text));
        reader.report(span(value), what, "write a path from / or ~/, as `/run/postgresql`");
        None
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "pattern": "^(/|~/)", "examples": ["/run/postgresql", "~/project/db.sock"]})
    }
}

impl Setting for Pins {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::Object(object) = value else {
            return reader.wrong_type(value, "names with their addresses");
        };
        let mut seen = HashSet::with_capacity(object.properties.len());
        let mut pins = BTreeMap::new();
        for entry in &object.properties {
            if !reader.is_first(entry, &mut seen) {
                continue;
            }
            let text = entry.name.as_str();
            let Some(name) = Name::parse(text) else {
                let what = format!("{} is no name of a host", quoted(text));
                reader.report(span(&entry.name), what, "write a name as `db.internal`");
                continue;
            };
            let addresses: Vec<IpAddr> = Vec::<String>::read(&entry.value, reader)?
                .iter()
                .filter_map(|text| text.parse().ok())
                .collect();
            let all = matches!(&entry.value, Value::Array(list) if list.elements.len() == addresses.len());
            if addresses.is_empty() || !all {
                let what = format!("{} has no list of addresses", quoted(text));
                reader.report(span(&entry.value), what, "write [\"10.0.0.5\"]");
                continue;
            }
            pins.insert(name, addresses);
        }
        Some(Self(pins))
    }

    fn schema() -> serde_json::Value {
        json!({"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "examples": [{"db.internal": ["10.0.0.5"]}]})
    }
}

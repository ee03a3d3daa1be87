//! The network of a profile: the ports that are listened on inside, and the variables that name the proxy.

use std::collections::BTreeSet;

use pinfold_policy::hosts::{Hosts, MAX_PORTS};
use pinfold_sandbox::{InnerListeners, Network};

use crate::hosts::HostList;

/// Ports for the proxy, of which the first is taken that no rule names. No process inside may listen below 1024, so that
/// none of them is in the way.
const PROXY_PORTS: std::ops::Range<u16> = 808..1023;

/// Returns the listeners inside for these hosts, and for questions about others.
pub(crate) fn entrances(hosts: &Hosts, asks: bool) -> InnerListeners {
    let mut ports = hosts.reachable_ports();
    let room = MAX_PORTS.saturating_sub(ports.len());
    let further: Vec<u16> =
        hosts.usual_ports().filter(|port| asks && !ports.contains(port)).take(room).collect();
    ports.extend(further);
    let proxy = proxy_port(&ports);
    InnerListeners { ports: ports.into_iter().collect(), proxy: Some(proxy), callers: 0 }
}

/// The port of the proxy where these are taken.
pub(crate) fn proxy_port(taken: &BTreeSet<u16>) -> u16 {
    PROXY_PORTS.clone().find(|port| !taken.contains(port)).unwrap_or(PROXY_PORTS.start)
}

/// Returns whether any host can be reached from inside: elsewhere it is only heard which ones are wanted. `asks`: an approver
/// can open hosts that the list does not name.
pub(crate) fn reaches_hosts(network: &Network, hosts: Option<&HostList>, asks: bool) -> bool {
    match network {
        Network::Off => false,
        Network::Relayed(entrances) => !entrances.ports.is_empty(),
        Network::Proxied(_) => asks || hosts.is_some_and(|hosts| !hosts.configured().is_empty()),
        Network::Host => true,
    }
}

/// Returns the proxy variables for programs. All of them name the HTTP proxy: some programs cannot even start with one of
/// another kind. `reaches`: a host can be reached by it.
pub(crate) fn proxy_variables(network: &Network, reaches: bool) -> Vec<(&'static str, String)> {
    const PROXIED: [&str; 6] =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];
    /// Variable without which Node.js ignores proxy variables. With it each start of Node.js costs more and may print a warning,
    /// which is too much where no host is reached.
    const NODE: (&str, &str) = ("NODE_USE_ENV_PROXY", "1");
    let (proxy, direct, more) = match network {
        Network::Relayed(InnerListeners { proxy: Some(proxy), .. }) => {
            (*proxy, "localhost,127.0.0.1,::1", None)
        }
        // Nothing is reached but by the proxy.
        Network::Proxied(proxy) => (*proxy, "", reaches.then_some(NODE)),
        Network::Relayed(InnerListeners { proxy: None, .. }) | Network::Off | Network::Host => {
            return Vec::new();
        }
    };
    let proxied = PROXIED.map(|name| (name, format!("http://127.0.0.1:{proxy}")));
    let direct = DIRECT.map(|name| (name, direct.to_owned()));
    let more = more.map(|(name, value)| (name, value.to_owned()));
    proxied.into_iter().chain(direct).chain(more).collect()
}

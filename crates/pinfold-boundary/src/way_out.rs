//! The way out of a run that may reach some hosts and no others: what the list says is carried out here, and what was
//! refused is remembered.

mod asked;
mod contacts;
mod keeper;
mod program;
mod refusals;

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use pinfold_egress::{EgressRelay, Listeners, PortForward, PortForwards, RelayLimits, proxy_handoff};
use pinfold_policy::hosts::{Hosts, MOST_PORTS};
use pinfold_sandbox::{Confined, Entrances, Network};

use crate::boundary::Boundary;
use crate::secrets::Kept;
use crate::witness::Refused;
pub use asked::{Decides, Wish};
pub use contacts::{HostContact, HostContacts, HostOutcome};
use keeper::Keeper;
pub(crate) use program::is_listened_on;

/// Ports on which the relay is asked as a proxy, the first that no rule names. Nobody inside may listen below 1024, so
/// that none of them is in anybody's way.
const PROXY_PORTS: std::ops::Range<u16> = 808..1023;

/// What is listened on inside so that these hosts can be reached, and others asked about.
pub(crate) fn entrances(hosts: &Hosts, asks: bool) -> Entrances {
    let mut ports = hosts.reachable_ports();
    let room = MOST_PORTS.saturating_sub(ports.len());
    let further: Vec<u16> =
        hosts.usual_ports().filter(|port| asks && !ports.contains(port)).take(room).collect();
    ports.extend(further);
    let proxy = proxy_port(&ports);
    Entrances { ports: ports.into_iter().collect(), proxy: Some(proxy), callers: 0 }
}

/// The port of the proxy where these are taken.
pub(crate) fn proxy_port(taken: &BTreeSet<u16>) -> u16 {
    PROXY_PORTS.clone().find(|port| !taken.contains(port)).unwrap_or(PROXY_PORTS.start)
}

/// Whether any host can be reached from inside: elsewhere it is only heard which ones are looked up.
pub(crate) fn reaches_hosts(network: &Network) -> bool {
    match network {
        Network::Off => false,
        Network::Relayed(entrances) => !entrances.ports.is_empty(),
        Network::Proxied(_) | Network::Host => true,
    }
}

/// What programs are told that use a proxy. One by HTTP for all of it: some cannot even start where a proxy of another
/// kind is named.
pub(crate) fn proxy_variables(network: &Network) -> Vec<(&'static str, String)> {
    const PROXIED: [&str; 6] =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];
    /// Without it node asks no proxy.
    const NODE: (&str, &str) = ("NODE_USE_ENV_PROXY", "1");
    let (proxy, direct, more) = match network {
        Network::Relayed(Entrances { proxy: Some(proxy), .. }) => (*proxy, "localhost,127.0.0.1,::1", None),
        // Nothing is reached but by the proxy.
        Network::Proxied(proxy) => (*proxy, "", Some(NODE)),
        Network::Relayed(Entrances { proxy: None, .. }) | Network::Off | Network::Host => return Vec::new(),
    };
    let proxied = PROXIED.map(|name| (name, format!("http://127.0.0.1:{proxy}")));
    let direct = DIRECT.map(|name| (name, direct.to_owned()));
    let more = more.map(|(name, value)| (name, value.to_owned()));
    proxied.into_iter().chain(direct).chain(more).collect()
}

/// What a way out has beside the list of hosts.
#[derive(Debug, Default)]
pub struct Means {
    /// What the names of its refusals begin with; without it they have none.
    pub names: Option<String>,
    /// Who is asked about hosts of which no rule says anything; without them such hosts are refused.
    pub decides: Option<Arc<dyn Decides>>,
    /// Ports inside that are published on this machine.
    pub published: Vec<PortForward>,
}

/// The way out of one run, for as long as it lives.
#[derive(Debug)]
pub struct WayOut {
    relay: EgressRelay,
    keeper: Arc<Keeper>,
}

impl WayOut {
    /// Opens the way out of a run, if it has one: no host is wanted, or this machine has no way to hold the run to some.
    ///
    /// # Errors
    /// When the relay cannot start. Then nothing gets out.
    pub fn open(boundary: &Boundary, confined: &mut Confined, means: Means) -> io::Result<Option<Self>> {
        let Some(hosts) = boundary.hosts() else { return Ok(None) };
        let limits = RelayLimits::default();
        let Some(doors) = doors(confined, means.published, limits) else { return Ok(None) };
        let keeper = Keeper::new(hosts.clone(), boundary.network_is_off(), confined.pid(), means.names);
        let keeper = Arc::new(match means.decides {
            Some(decides) => keeper.asking(decides),
            None => keeper,
        });
        if !boundary.reaches_hosts() && doors.forwards.forwards.is_empty() {
            let relay = EgressRelay::start_on_demand(doors, Arc::clone(&keeper) as Arc<_>, limits)?;
            return Ok(Some(Self { relay, keeper }));
        }
        // Read only now: the command was forked from this process, and has none of it.
        let vault = boundary.secrets().map(Kept::open).transpose()?;
        let relay = EgressRelay::start(doors, Arc::clone(&keeper) as Arc<_>, limits, vault)?;
        Ok(Some(Self { relay, keeper }))
    }

    /// Closes it. What was refused on it is added to what else was refused, where addresses that stood for names become
    /// names. Comes back with the hosts that were let pass.
    pub fn close(self, refused: &mut Vec<Refused>, more: &mut u64) -> HostContacts {
        for one in refused.iter_mut() {
            if let Some((address, port)) = connected_to(one)
                && let Some(name) = self.relay.name_at(address)
            {
                one.place = PathBuf::from(format!("{name}:{port}"));
                one.to_allow = format!("start with --allow-host {name}:{port}").into();
            }
        }
        drop(self.relay);
        self.keeper.told(refused, more);
        self.keeper.contacts()
    }
}

/// Where what is sent to hosts comes out; `None` where nothing of the kind can be had.
fn doors(confined: &mut Confined, published: Vec<PortForward>, limits: RelayLimits) -> Option<Listeners> {
    if let Some(doors) = confined.doors() {
        return Some(Listeners {
            ports: doors.ports,
            dns_udp: doors.names,
            dns_tcp: doors.names_by_connection,
            proxies: doors.proxies,
            dropped_udp: doors.unheard,
            handoff: None,
            forwards: PortForwards { sockets: doors.callers, forwards: published },
        });
    }
    let (sender, handoff) = proxy_handoff(limits.connections);
    let taken = confined.connections_go_to(Box::new(move |connection| sender.send(connection)));
    taken.then(|| Listeners { handoff: Some(handoff), ..Listeners::default() })
}

fn connected_to(refused: &Refused) -> Option<(IpAddr, u16)> {
    let address: SocketAddr = refused.place.to_str().filter(|_| refused.tried == "connect")?.parse().ok()?;
    Some((address.ip(), address.port()))
}

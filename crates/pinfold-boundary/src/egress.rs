//! The way out of a run that may reach some hosts and no others: what the list says is carried out here, and what was
//! refused is remembered.

mod asked;
mod contacts;
mod host_policy;
mod host_request;
pub(crate) mod network;
mod program;
mod refusals;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use pinfold_egress::{EgressRelay, Listeners, PortForward, PortForwards, RelayLimits, proxy_handoff};
use pinfold_sandbox::RunningSandbox;

use crate::boundary::Boundary;
use crate::outcome::{EscalationOutcome, Refused};
use crate::secrets::SecretPlaceholders;
pub use contacts::{HostContact, HostContacts, HostOutcome};
use host_policy::HostPolicy;
pub use host_request::{HostApproval, HostApprover, HostRequest};
pub(crate) use program::is_listened_on;

/// Options of an egress proxy.
#[derive(Debug, Default)]
pub struct EgressOptions {
    /// Prefix of the names of its refusals; without it they have none.
    pub names: Option<String>,
    /// Ports inside that are published on this machine.
    pub published: Vec<PortForward>,
}

/// The egress proxy of one run, for as long as it lives.
#[derive(Debug)]
pub(crate) struct EgressProxy {
    relay: EgressRelay,
    keeper: Arc<HostPolicy>,
}

impl EgressProxy {
    /// Opens the egress proxy of a run. `None` where no host is wanted, or where this machine cannot hold the run to some.
    /// `approver` is asked about hosts of which no rule says anything; without it such hosts are refused.
    ///
    /// # Errors
    /// When the relay cannot start. Then nothing gets out.
    pub(crate) fn open(
        boundary: &Boundary,
        confined: &mut RunningSandbox,
        options: EgressOptions,
        approver: Option<Arc<dyn HostApprover>>,
    ) -> io::Result<Option<Self>> {
        let Some(hosts) = boundary.hosts() else { return Ok(None) };
        let limits = limits(boundary);
        let Some(listeners) = listeners(confined, options.published, limits) else { return Ok(None) };
        let keeper = HostPolicy::new(hosts.clone(), boundary.network_is_off(), confined.pid(), options.names);
        let keeper = Arc::new(match approver {
            Some(approver) => keeper.asking(approver),
            None => keeper,
        });
        if !boundary.reaches_hosts() && listeners.forwards.forwards.is_empty() {
            let relay = EgressRelay::start_on_demand(listeners, Arc::clone(&keeper) as Arc<_>, limits)?;
            return Ok(Some(Self { relay, keeper }));
        }
        // Read only now: the command was forked from this process, and has none of it.
        let vault = boundary.secrets().map(SecretPlaceholders::open).transpose()?;
        let relay = EgressRelay::start(listeners, Arc::clone(&keeper) as Arc<_>, limits, vault)?;
        Ok(Some(Self { relay, keeper }))
    }

    /// Closes it. What was refused and approved on it is added to what else was, where addresses that stood for names become
    /// names. Comes back with the hosts that were let pass.
    pub(crate) fn close(self, tried: &mut EscalationOutcome) -> HostContacts {
        for one in &mut tried.refused {
            if let Some((address, port)) = connected_to(one)
                && let Some(name) = self.relay.name_at(address)
            {
                one.place = PathBuf::from(format!("{name}:{port}"));
                one.to_allow = format!("start with --allow-host {name}:{port}").into();
            }
        }
        self.keeper.end_questions();
        drop(self.relay);
        self.keeper.append_to(tried);
        self.keeper.contacts()
    }
}

/// Returns the limits of the relay. Where no host is reached a connection only names one: a program that takes many sockets is not
/// to use up the descriptors of a supervisor that made no room for them.
fn limits(boundary: &Boundary) -> RelayLimits {
    const NAMING_CONNECTIONS: usize = 64;
    let usual = RelayLimits::default();
    if boundary.reaches_hosts() {
        return usual;
    }
    RelayLimits { connections: usual.connections.min(NAMING_CONNECTIONS), ..usual }
}

/// Takes the listeners inside the run for the relay; `None` where there are none.
fn listeners(
    confined: &mut RunningSandbox,
    published: Vec<PortForward>,
    limits: RelayLimits,
) -> Option<Listeners> {
    if let Some(sockets) = confined.relay_sockets() {
        return Some(Listeners {
            ports: sockets.ports,
            dns_udp: sockets.names,
            dns_tcp: sockets.names_by_connection,
            proxies: sockets.proxies,
            dropped_udp: sockets.unheard,
            handoff: None,
            forwards: PortForwards { sockets: sockets.callers, forwards: published },
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

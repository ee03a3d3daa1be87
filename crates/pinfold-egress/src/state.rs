//! The state that all connections of a relay share: the policy, the fake addresses, the limits, and the end of the run.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pinfold_host::{AddressPolicy, Host, Name};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use crate::dns_answer::Lookup;
use crate::fake_ip::{FakeIpPool, MAX_PATTERN_NAMES, NameMatch};
use crate::limits::RelayLimits;
use crate::permitted::{PermittedConnection, Slot};
use crate::policy::{ConnectDecision, ConnectRefusal, ConnectRequest, DnsClient, EgressPolicy};
use crate::tls_intercept::injector::SecretInjector;
use crate::upstream::{Upstream, UpstreamError};

/// The interval at which open connections are checked against changed rules.
const RECHECK: Duration = Duration::from_secs(1);

/// State that all connections share.
pub(crate) struct RelayState {
    pub(crate) policy: Arc<dyn EgressPolicy>,
    pub(crate) limits: RelayLimits,
    pub(crate) injector: Option<SecretInjector>,
    upstream: Upstream,
    fake_ips: Arc<Mutex<FakeIpPool>>,
    slots: Arc<Semaphore>,
    /// Signals that the rules have changed.
    rule_changes: watch::Sender<()>,
    /// Signals that the run has ended: queued requests are recorded, and none is served.
    ended: watch::Sender<bool>,
}

/// Reason why there is no connection to a host.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The policy refused it.
    Refused(ConnectRefusal),
    /// The network failed.
    Unreachable(String),
}

impl ConnectError {
    fn ended() -> Self {
        Self::Unreachable("the run is over".to_owned())
    }
}

impl RelayState {
    pub(crate) fn new(
        policy: Arc<dyn EgressPolicy>,
        limits: RelayLimits,
        injector: Option<SecretInjector>,
    ) -> Arc<Self> {
        Arc::new(Self {
            policy,
            limits,
            injector,
            upstream: Upstream::default(),
            fake_ips: Arc::default(),
            slots: Arc::new(Semaphore::new(limits.connections)),
            rule_changes: watch::Sender::new(()),
            ended: watch::Sender::new(false),
        })
    }

    pub(crate) fn fake_ips(&self) -> Arc<Mutex<FakeIpPool>> {
        Arc::clone(&self.fake_ips)
    }

    /// Watches the policy's rules, and signals their changes to all connections.
    pub(crate) async fn watch_rules(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RECHECK).await;
            if self.policy.has_changed() {
                self.rule_changes.send_replace(());
            }
        }
    }

    /// Waits until changed rules deny an allowed connection, by its host or the address that it leads to, or the run has
    /// ended.
    pub(crate) async fn wait_until_denied(&self, request: &ConnectRequest, address: IpAddr) {
        let denied = async {
            let mut changes = self.rule_changes.subscribe();
            // The first check covers changes that came while the connection was made.
            while !self.policy.is_denied(request, address) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = denied => {}
            () = self.wait_for_end() => {}
        }
    }

    /// The host that an address inside stands for.
    pub(crate) fn host_at(&self, address: IpAddr) -> Host {
        let pool = self.fake_ips.lock().unwrap_or_else(PoisonError::into_inner);
        pool.name_at(address).map_or(Host::Address(address.to_canonical()), |name| Host::Name(name.clone()))
    }

    /// Answers a DNS query inside.
    pub(crate) fn look_up(&self, name: &Name, client: DnsClient) -> Lookup {
        let by = self.policy.resolves(name, client);
        if by == NameMatch::Unknown {
            return Lookup::Unknown;
        }
        let assigned = self.fake_ips.lock().unwrap_or_else(PoisonError::into_inner).assign(name, &by);
        match (assigned, by) {
            (Some(addresses), _) => return Lookup::Known(addresses),
            (None, NameMatch::Pattern(pattern)) => {
                self.policy.report_many_names(&pattern, MAX_PATTERN_NAMES, client);
            }
            (None, NameMatch::Exact | NameMatch::Unknown) => {}
        }
        Lookup::Unknown
    }

    /// Waits for a connection slot.
    pub(crate) async fn acquire_slot(&self) -> Option<Slot> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Some(Arc::new(slot));
        }
        self.policy.report_full(self.limits.connections);
        Arc::clone(&self.slots).acquire_owned().await.ok().map(Arc::new)
    }

    /// Waits until no connection holds a slot.
    pub(crate) async fn wait_until_unused(&self) {
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        let _ = self.slots.acquire_many(all).await;
    }

    /// Signals the end of the run.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Returns whether the run has ended.
    pub(crate) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Waits until the run has ended.
    pub(crate) async fn wait_for_end(&self) {
        // An error means that the sender is gone, which is an end as well.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Connects to a host, if the policy allows it.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        request: ConnectRequest,
        slot: &Slot,
    ) -> Result<PermittedConnection, ConnectError> {
        if self.has_ended() {
            self.policy.report_after_end(&request);
            return Err(ConnectError::ended());
        }
        let stream = tokio::select! {
            biased;
            connected = self.decide_and_connect(&request) => connected?,
            () = self.wait_for_end() => return Err(ConnectError::ended()),
        };
        PermittedConnection::new(self, request, stream, slot)
            .map_err(|error| ConnectError::Unreachable(error.to_string()))
    }

    async fn decide_and_connect(&self, request: &ConnectRequest) -> Result<TcpStream, ConnectError> {
        let approval = match self.policy.decide(request) {
            ConnectDecision::Allow => None,
            ConnectDecision::Deny(refusal) => return Err(ConnectError::Refused(refusal)),
            ConnectDecision::Pending(pending) => Some(pending.wait().await.map_err(ConnectError::Refused)?),
        };
        match self.upstream.connect(&request.host, request.port, &*self.policy as &dyn AddressPolicy).await {
            Ok(stream) => {
                self.policy.report_connected(request, true);
                Ok(stream)
            }
            Err(UpstreamError::Refused(violation)) => {
                let refusal = self.policy.report_violation(request, &violation);
                if let Some(approval) = approval {
                    approval.refused(violation);
                }
                Err(ConnectError::Refused(refusal))
            }
            Err(UpstreamError::Unreachable(why)) => {
                self.policy.report_connected(request, false);
                Err(ConnectError::Unreachable(why))
            }
        }
    }
}

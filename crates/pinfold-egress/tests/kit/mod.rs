//! A policy that lets everything pass, and a relay by it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pinfold_egress::{
    AddressPolicy, AddressRule, ConnectDecision, ConnectRefusal, ConnectRequest, DnsClient, EgressPolicy,
    EgressRelay, EgressViolation, Listeners, NameMatch, RelayLimits, TransferredBytes,
};
use pinfold_host::{Host, Name};

/// A policy that lets everything pass, and keeps what was refused after all, and how connections ended.
#[derive(Debug)]
pub(crate) struct OpenPolicy {
    pub(crate) violations: Mutex<Vec<EgressViolation>>,
    pub(crate) passed: Mutex<Vec<TransferredBytes>>,
    pub(crate) full: Mutex<Vec<usize>>,
    /// The addresses that names lead to, one after the other; the last one from then on.
    pub(crate) pinned: Mutex<Vec<IpAddr>>,
    /// The rule for an address.
    pub(crate) rule: fn(IpAddr) -> AddressRule,
    /// By now a rule denies the address of the server.
    pub(crate) is_denied: AtomicBool,
}

impl Default for OpenPolicy {
    fn default() -> Self {
        Self {
            violations: Mutex::default(),
            passed: Mutex::default(),
            full: Mutex::default(),
            pinned: Mutex::new(vec![[127, 0, 0, 1].into()]),
            rule: |_| AddressRule::Allowed,
            is_denied: AtomicBool::new(false),
        }
    }
}

impl AddressPolicy for OpenPolicy {
    fn address_rule(&self, address: IpAddr, _: u16) -> AddressRule {
        (self.rule)(address)
    }

    fn pinned_addresses(&self, _: &Name) -> Option<Vec<IpAddr>> {
        let mut pinned = self.pinned.lock().unwrap();
        let next = if pinned.len() > 1 { Some(pinned.remove(0)) } else { pinned.first().copied() };
        next.map(|address| vec![address])
    }
}

impl EgressPolicy for OpenPolicy {
    fn resolves(&self, _: &Name, _: DnsClient) -> NameMatch {
        NameMatch::Exact
    }

    fn report_many_names(&self, _: &str, _: usize, _: DnsClient) {}

    fn decide(&self, _: &ConnectRequest) -> ConnectDecision {
        ConnectDecision::Allow
    }

    fn report_violation(&self, _: &ConnectRequest, violation: &EgressViolation) -> ConnectRefusal {
        self.violations.lock().unwrap().push(violation.clone());
        ConnectRefusal { id: "n1".to_owned(), message: "no".to_owned() }
    }

    fn report_invalid_target(&self, _: &str, _: u16) -> ConnectRefusal {
        ConnectRefusal { id: String::new(), message: String::new() }
    }

    fn report_datagram(&self, _: &Host, _: u16, _: u16) {}

    fn report_lost_datagrams(&self, _: u64) {}

    fn report_after_end(&self, _: &ConnectRequest) {}

    fn report_full(&self, most: usize) {
        self.full.lock().unwrap().push(most);
    }

    fn has_changed(&self) -> bool {
        self.is_denied.load(Ordering::Relaxed)
    }

    fn is_denied(&self, _: &ConnectRequest, address: IpAddr) -> bool {
        self.is_denied.load(Ordering::Relaxed) && address == IpAddr::from([127, 0, 0, 1])
    }

    fn report_closed(&self, _: &ConnectRequest, passed: TransferredBytes) {
        self.passed.lock().unwrap().push(passed);
    }
}

/// A relay with one proxy, and a server that it is asked for.
pub(crate) struct Relayed {
    pub(crate) policy: Arc<OpenPolicy>,
    _relay: EgressRelay,
    pub(crate) proxy: SocketAddr,
    pub(crate) server: SocketAddr,
}

impl Relayed {
    /// Starts both; `serve` has each connection to the server on a thread of its own.
    pub(crate) fn start<T: 'static>(
        policy: OpenPolicy,
        limits: RelayLimits,
        serve: impl Fn(TcpStream) -> T + Copy + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = listener.local_addr().unwrap();
        let policy = Arc::new(policy);
        let listeners = Listeners { proxies: vec![listener], ..Listeners::default() };
        let relay = EgressRelay::start(listeners, Arc::clone(&policy) as Arc<_>, limits, None).unwrap();
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listening.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listening.incoming().flatten() {
                thread::spawn(move || drop(serve(stream)));
            }
        });
        Self { policy, _relay: relay, proxy, server }
    }

    /// A connection to the proxy, on which nothing is waited for longer than ten seconds.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    /// A tunnel to the server under the name `a.test`, by SOCKS.
    pub(crate) fn tunnel(&self) -> TcpStream {
        let mut stream = self.connect();
        let port = self.server.port().to_be_bytes();
        stream.write_all(&[&[5, 1, 0, 5, 1, 0, 3, 6][..], b"a.test", &port].concat()).unwrap();
        let mut said = [0; 12];
        stream.read_exact(&mut said).unwrap();
        assert_eq!(said.get(..4), Some(&[5, 0, 5, 0][..]));
        stream
    }
}

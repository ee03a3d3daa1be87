//! The relay: a thread that accepts the connections and queries inside, and serves them until the run has ended.

use std::io::{self, PipeReader, PipeWriter};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pinfold_host::Name;
use rustix::event::{PollFd, PollFlags};
use rustix::net::SocketFlags;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::direct;
use crate::dns_server;
use crate::dropped_udp;
use crate::fake_ip::FakeIpPool;
use crate::handoff::{ProxyHandoff, RelayThread};
use crate::limits::RelayLimits;
use crate::policy::EgressPolicy;
use crate::port_forward::{self, PortForwards};
use crate::proxy;
use crate::state::RelayState;
use crate::tls_intercept::injector::SecretInjector;

/// The sockets inside, created there and passed out.
#[derive(Debug, Default)]
pub struct Listeners {
    /// One listener for each port that can be connected to, on every address.
    pub ports: Vec<TcpListener>,
    /// Sockets for DNS queries. Each reports the queried address (`IP_PKTINFO`).
    pub dns_udp: Vec<UdpSocket>,
    /// Listeners for DNS queries over TCP.
    pub dns_tcp: Vec<TcpListener>,
    /// Listeners of the HTTP and SOCKS proxy.
    pub proxies: Vec<TcpListener>,
    /// Sockets on which the kernel reports datagrams that no process received.
    pub dropped_udp: Vec<UdpSocket>,
    /// Proxy connections that are accepted elsewhere.
    pub handoff: Option<ProxyHandoff>,
    /// Ports inside that are reachable from this machine.
    pub forwards: PortForwards,
}

/// A relay on a thread of its own. Dropped, it ends with all its connections.
#[derive(Debug)]
pub struct EgressRelay {
    fake_ips: Arc<Mutex<FakeIpPool>>,
    /// The pipe whose closing ends the relay.
    end: Option<PipeWriter>,
    thread: Arc<Mutex<RelayThread>>,
}

impl Drop for EgressRelay {
    fn drop(&mut self) {
        drop(self.end.take());
        // In a statement of its own: the lock is not held while the thread ends.
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).end();
        if let Some(thread) = thread {
            // A panic of the thread was printed there; there is nothing to add.
            let _ = thread.join();
        }
    }
}

impl EgressRelay {
    /// Starts a relay. `injector`: the secrets that are put into requests on their way, if any.
    ///
    /// # Errors
    /// When a socket cannot be watched, or no thread can be started.
    pub fn start(
        listeners: Listeners,
        policy: Arc<dyn EgressPolicy>,
        limits: RelayLimits,
        injector: Option<SecretInjector>,
    ) -> io::Result<Self> {
        let state = RelayState::new(policy, limits, injector);
        let fake_ips = state.fake_ips();
        let runtime = RelayRuntime::new(listeners, state)?;
        Self::spawn(fake_ips, move |end| runtime.run(end))
    }

    /// Starts a relay once a first connection or query arrives. For runs in which most often none does: until then it costs a
    /// waiting thread, and where connections are handed over not even that.
    ///
    /// # Errors
    /// When no thread or pipe can be created.
    pub fn start_on_demand(
        listeners: Listeners,
        policy: Arc<dyn EgressPolicy>,
        limits: RelayLimits,
    ) -> io::Result<Self> {
        let state = RelayState::new(policy, limits, None);
        let fake_ips = state.fake_ips();
        if let Some(handoff) = &listeners.handoff {
            let thread = Arc::clone(&handoff.thread);
            return Self::spawn_with_first(fake_ips, thread, move |end| {
                if let Ok(runtime) = RelayRuntime::new(listeners, state) {
                    runtime.run(end);
                }
            });
        }
        Self::spawn(fake_ips, move |end| {
            // Without a runtime nothing is served, and nothing gets out either.
            if listeners.wait(&end)
                && let Ok(runtime) = RelayRuntime::new(listeners, state)
            {
                runtime.run(end);
            }
        })
    }

    fn spawn(
        fake_ips: Arc<Mutex<FakeIpPool>>,
        run: impl FnOnce(PipeReader) + Send + 'static,
    ) -> io::Result<Self> {
        let (ended, end) = io::pipe()?;
        let thread = thread_builder().spawn(move || run(ended))?;
        Ok(Self { fake_ips, end: Some(end), thread: Arc::new(Mutex::new(RelayThread::running(thread))) })
    }

    /// Leaves the start of the thread to the sender of the first connection.
    fn spawn_with_first(
        fake_ips: Arc<Mutex<FakeIpPool>>,
        thread: Arc<Mutex<RelayThread>>,
        run: impl FnOnce(PipeReader) + Send + 'static,
    ) -> io::Result<Self> {
        let (ended, end) = io::pipe()?;
        let start = Box::new(move || thread_builder().spawn(move || run(ended)).ok());
        thread.lock().unwrap_or_else(PoisonError::into_inner).starts_with_first(start);
        Ok(Self { fake_ips, end: Some(end), thread })
    }

    /// The name that an address inside stands for.
    pub fn name_at(&self, address: IpAddr) -> Option<Name> {
        self.fake_ips.lock().unwrap_or_else(PoisonError::into_inner).name_at(address).cloned()
    }
}

fn thread_builder() -> std::thread::Builder {
    std::thread::Builder::new().name("pinfold-relay".to_owned())
}

/// The listeners as tasks, and the runtime that runs them.
struct RelayRuntime {
    runtime: Runtime,
    tasks: JoinSet<()>,
    state: Arc<RelayState>,
}

impl RelayRuntime {
    fn new(listeners: Listeners, state: Arc<RelayState>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let tasks = {
            let _entered = runtime.enter();
            spawn_tasks(listeners, &state)?
        };
        Ok(Self { runtime, tasks, state })
    }

    /// Serves until the other end of the pipe is closed.
    fn run(self, end: PipeReader) {
        let Self { runtime, tasks, state } = self;
        runtime.block_on(async {
            // A pipe that cannot be watched could not end the relay, so it ends now.
            if let Ok(end) = tokio::net::unix::pipe::Receiver::from_owned_fd(end.into()) {
                let _ = end.readable().await;
            }
            let _ = timeout(DRAIN, drain(tasks, &state)).await;
        });
        runtime.shutdown_background();
    }
}

impl Listeners {
    /// Waits until a connection or query arrives (true), or the other end of the pipe is closed.
    fn wait(&self, end: &PipeReader) -> bool {
        let mut fds = vec![PollFd::new(end, PollFlags::IN)];
        let tcp = self.ports.iter().chain(&self.dns_tcp).chain(&self.proxies);
        fds.extend(tcp.map(|listener| PollFd::new(listener, PollFlags::IN)));
        let udp = self.dns_udp.iter().chain(&self.dropped_udp);
        fds.extend(udp.map(|socket| PollFd::new(socket, PollFlags::IN)));
        loop {
            match rustix::event::poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
                Ok(_) => return fds.iter().skip(1).any(|fd| !fd.revents().is_empty()),
            }
        }
    }
}

/// The time limit for recording what is still queued when the run ends.
const DRAIN: Duration = Duration::from_millis(250);

/// Records queued connections, queries and datagrams of processes that have exited already, so that the report is complete.
async fn drain(tasks: JoinSet<()>, state: &RelayState) {
    state.end();
    tasks.join_all().await;
    state.wait_until_unused().await;
}

fn spawn_tasks(listeners: Listeners, state: &Arc<RelayState>) -> io::Result<JoinSet<()>> {
    let mut tasks = JoinSet::new();
    let tcp = [
        (listeners.ports, ListenerKind::Direct),
        (listeners.dns_tcp, ListenerKind::Dns),
        (listeners.proxies, ListenerKind::Proxy),
    ];
    port_forward::spawn(listeners.forwards, state.limits.idle)?;
    for (sockets, kind) in tcp {
        for socket in sockets {
            socket.set_nonblocking(true)?;
            tasks.spawn(accept(tokio::net::TcpListener::from_std(socket)?, kind, Arc::clone(state)));
        }
    }
    tokio::spawn(Arc::clone(state).watch_rules());
    if let Some(handoff) = listeners.handoff {
        tokio::spawn(handoff.serve(Arc::clone(state)));
    }
    for socket in listeners.dns_udp {
        socket.set_nonblocking(true)?;
        tasks.spawn(dns_server::serve_udp(tokio::net::UdpSocket::from_std(socket)?, Arc::clone(state)));
    }
    for socket in listeners.dropped_udp {
        socket.set_nonblocking(true)?;
        tasks.spawn(dropped_udp::report(tokio::net::UdpSocket::from_std(socket)?, Arc::clone(state)));
    }
    Ok(tasks)
}

/// The purpose of a listener.
#[derive(Clone, Copy)]
enum ListenerKind {
    Direct,
    Dns,
    Proxy,
}

/// Accepts connections. While all slots are taken one waits here, and more in the kernel's backlog.
async fn accept(listener: tokio::net::TcpListener, kind: ListenerKind, state: Arc<RelayState>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = state.wait_for_end() => accept_queued(&listener),
        };
        match accepted {
            Ok((stream, source)) => {
                let Some(slot) = state.acquire_slot().await else { return };
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    let _ = stream.set_nodelay(true);
                    match kind {
                        ListenerKind::Direct => direct::serve(&state, stream, source, &slot).await,
                        ListenerKind::Dns => dns_server::serve_tcp(&state, stream).await,
                        ListenerKind::Proxy => Box::pin(proxy::serve(&state, stream, source, &slot)).await,
                    }
                    drop(slot);
                });
            }
            // The backlog is empty.
            Err(_) if state.has_ended() => return,
            // For instance EMFILE: accepting is tried again.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Accepts a connection from the backlog, whether or not the runtime has been notified of it.
fn accept_queued(listener: &tokio::net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (stream, source) = rustix::net::acceptfrom_with(listener, flags)?;
    let source = source.and_then(|source| SocketAddr::try_from(source).ok());
    let unknown = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    Ok((TcpStream::from_std(stream.into())?, source.unwrap_or(unknown)))
}

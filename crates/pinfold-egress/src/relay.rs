//! The relay: takes connections inside, finds out where they lead, asks whether they may, and passes bytes.
//!
//! Inside, every address is local, so that whatever a program connects to arrives here, and the address that it
//! connected to is the local address of the socket.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::dns::{self, Lookup};
use crate::doorkeeper::{Ask, Doorkeeper, Mismatch, Opened, Way};
use crate::first::{self, First};
use crate::http;
use crate::name::{Host, Name};
use crate::stream::{Passed, pass};
use crate::synthetic::Synthetic;
use crate::upstream::Upstream;

/// The sockets inside, made there and handed out.
#[derive(Debug)]
pub struct Doors {
    /// One for each port that can be connected to, on every address.
    pub ports: Vec<TcpListener>,
    /// Where names are asked for.
    pub names: Vec<UdpSocket>,
    /// Where the relay is asked as a proxy.
    pub proxies: Vec<TcpListener>,
}

/// How much is taken on.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at one time; more wait until others have ended.
    pub connections: usize,
    /// How long nothing may move before a connection is ended.
    pub idle: Duration,
    /// How long a client may take to say which host it means, where its protocol says so.
    pub hello: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 8192, idle: Duration::from_mins(60), hello: Duration::from_secs(30) }
    }
}

/// What all connections have in common.
pub(crate) struct Shared {
    pub(crate) keeper: Arc<dyn Doorkeeper>,
    pub(crate) upstream: Upstream,
    pub(crate) limits: Limits,
    names: Mutex<Synthetic>,
    room: Arc<Semaphore>,
}

impl Shared {
    /// The host that an address inside stands for.
    fn host(&self, address: IpAddr) -> Host {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.name(address).map_or(Host::Address(address.to_canonical()), |name| Host::Name(name.clone()))
    }

    fn look_up(&self, name: &Name) -> Lookup {
        if !self.keeper.knows(name) {
            return Lookup::Unknown;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.addresses(name).map_or(Lookup::Unknown, Lookup::Known)
    }

    /// Asks the doorkeeper, who may have to wait for a person.
    pub(crate) async fn open(&self, ask: &Ask) -> Opened {
        let (keeper, asked) = (Arc::clone(&self.keeper), ask.clone());
        let answer = tokio::task::spawn_blocking(move || keeper.open(&asked)).await;
        answer.unwrap_or_else(|e| {
            Opened::No(crate::doorkeeper::No {
                id: String::new(),
                message: format!("nobody could decide: {e}"),
            })
        })
    }
}

/// A relay that runs. Dropped, it ends with all its connections.
#[derive(Debug)]
pub struct Relay {
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Relay {
    /// Starts on the runtime that it is called on.
    ///
    /// # Errors
    /// When a socket cannot be watched, or it cannot be found out whom this machine asks for names.
    pub fn start(doors: Doors, keeper: Arc<dyn Doorkeeper>, limits: Limits) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            keeper,
            upstream: Upstream::new()?,
            limits,
            names: Mutex::default(),
            room: Arc::new(Semaphore::new(limits.connections)),
        });
        let mut relay = Self { tasks: Vec::new() };
        let ports = doors.ports.into_iter().map(|listener| (listener, Kind::Port));
        let proxies = doors.proxies.into_iter().map(|listener| (listener, Kind::Proxy));
        for (listener, kind) in ports.chain(proxies) {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            relay.tasks.push(tokio::spawn(take(listener, kind, Arc::clone(&shared))));
        }
        for socket in doors.names {
            socket.set_nonblocking(true)?;
            let socket = tokio::net::UdpSocket::from_std(socket)?;
            relay.tasks.push(tokio::spawn(answer(socket, Arc::clone(&shared))));
        }
        Ok(relay)
    }
}

/// What a listener is for.
#[derive(Clone, Copy)]
enum Kind {
    Port,
    Proxy,
}

/// Takes connections as long as there is room; more wait in the kernel.
async fn take(listener: tokio::net::TcpListener, kind: Kind, shared: Arc<Shared>) {
    loop {
        let Ok(room) = Arc::clone(&shared.room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, from)) => {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _room = room;
                    let _ = stream.set_nodelay(true);
                    match kind {
                        Kind::Port => lead(&shared, stream, from).await,
                        Kind::Proxy => crate::proxy::lead(&shared, stream, from).await,
                    }
                });
            }
            // No descriptors are left: some will be.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The largest query that is answered: all that fits without extensions, and what extensions ask for in practice.
const LARGEST_QUERY: usize = 4096;

async fn answer(socket: tokio::net::UdpSocket, shared: Arc<Shared>) {
    let mut query = vec![0; LARGEST_QUERY];
    loop {
        let Ok((len, from)) = socket.recv_from(&mut query).await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let answer = dns::answer(query.get(..len).unwrap_or_default(), |name| shared.look_up(name));
        if let Some(answer) = answer {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// One connection, from its first byte to its last.
async fn lead(shared: &Arc<Shared>, inside: TcpStream, from: SocketAddr) {
    let Ok(to) = inside.local_addr() else { return };
    let ask = Ask { host: shared.host(to.ip()), port: to.port(), way: Way::Direct, from: from.port() };
    let Opened::Yes = shared.open(&ask).await else {
        refuse(&inside);
        return;
    };
    match shared.upstream.connect(&ask.host, ask.port, &*shared.keeper).await {
        Ok(host) => carry(shared, &ask, inside, Bytes::new(), host).await,
        Err(mismatch) => {
            shared.keeper.mismatch(&ask, &mismatch);
            refuse(&inside);
        }
    }
}

/// Passes what two sides say, once the first bytes have shown that they mean the host that was let pass. `early`: what
/// has been read of them already.
pub(crate) async fn carry(shared: &Arc<Shared>, ask: &Ask, inside: TcpStream, early: Bytes, host: TcpStream) {
    let mut passed = Passed::default();
    match meant(shared, ask, &inside, &early, &host).await {
        Ok(Meant::Requests) if early.is_empty() => http::serve(shared, ask, inside, host).await,
        // Requests that came with the one for a tunnel: nobody does that, and it could not be taken back.
        Ok(Meant::Requests) => refuse(&inside),
        // How it ends between the two of them is theirs to see.
        Ok(Meant::Bytes) => {
            if write_all(&host, &early).await.is_ok() {
                let _ = pass(&inside, &host, shared.limits.idle, &mut passed).await;
            }
        }
        Err(mismatch) => {
            shared.keeper.mismatch(ask, &mismatch);
            refuse(&inside);
        }
    }
    shared.keeper.ended(ask, passed);
}

/// Ends a connection so that the other side sees at once that it is over, and not well.
fn refuse(inside: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(inside, Some(Duration::ZERO));
}

/// What a connection carries.
enum Meant {
    /// Bytes that name no host, or have named the right one.
    Bytes,
    /// Plain HTTP, which names a host in each request.
    Requests,
}

/// Waits until it is known which host the client means. The bytes stay in the socket. A host that speaks first is not
/// kept waiting: what it says flows while nothing has come from inside.
async fn meant(
    shared: &Shared,
    ask: &Ask,
    inside: &TcpStream,
    early: &[u8],
    host: &TcpStream,
) -> Result<Meant, Mismatch> {
    let mut bytes = early.to_vec();
    let started = tokio::time::Instant::now();
    loop {
        match peek(inside, early, &mut bytes) {
            Ok(Some(0)) => return Ok(Meant::Bytes),
            Ok(_) => {}
            Err(e) => return Err(Mismatch::Unreachable(e.to_string())),
        }
        match first::read(&bytes) {
            First::Other => return Ok(Meant::Bytes),
            First::Broken => return Err(Mismatch::Broken),
            First::Tls(named) if named.as_ref() == Some(&ask.host) => return Ok(Meant::Bytes),
            // Addresses are not named in hellos.
            First::Tls(None) if matches!(ask.host, Host::Address(_)) => return Ok(Meant::Bytes),
            First::Tls(named) => return Err(Mismatch::ServerName(named)),
            First::Http => return Ok(Meant::Requests),
            First::More => {}
        }
        if !bytes.is_empty() && started.elapsed() > shared.limits.hello {
            return Err(Mismatch::Broken);
        }
        wait_or_greet(inside, host, bytes.is_empty(), shared.limits).await?;
    }
}

async fn wait_or_greet(
    inside: &TcpStream,
    host: &TcpStream,
    quiet: bool,
    limits: Limits,
) -> Result<(), Mismatch> {
    let lost = |e: io::Error| Mismatch::Unreachable(e.to_string());
    let more = async {
        if quiet {
            inside.ready(Interest::READABLE).await.map(drop)
        } else {
            // What is there already was not enough, and stays readable.
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(())
        }
    };
    let greeting = async {
        host.ready(Interest::READABLE).await?;
        greet(host, inside).await
    };
    let either = async {
        tokio::select! {
            more = more => more,
            greeted = greeting => greeted,
        }
    };
    match timeout(limits.idle, either).await {
        Ok(moved) => moved.map_err(lost),
        Err(_) => Err(lost(io::ErrorKind::TimedOut.into())),
    }
}

/// Passes on what the host says before the client has said anything.
async fn greet(host: &TcpStream, inside: &TcpStream) -> io::Result<()> {
    let mut text = [0; 4096];
    let said = match host.try_read(&mut text) {
        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(said) => said,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        Err(e) => return Err(e),
    };
    write_all(inside, text.get(..said).unwrap_or_default()).await
}

async fn write_all(to: &TcpStream, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        to.ready(Interest::WRITABLE).await?;
        match to.try_write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// What the client has sent so far, left where it is: `Some(0)` at its end, `None` when nothing has come.
fn peek(inside: &TcpStream, early: &[u8], bytes: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut seen = vec![0; first::MOST];
    let read = || {
        let (len, _) = rustix::net::recv(inside, seen.as_mut_slice(), rustix::net::RecvFlags::PEEK)?;
        Ok(len)
    };
    match inside.try_io(Interest::READABLE, read) {
        Ok(len) => {
            seen.truncate(len);
            *bytes = [early, seen.as_slice()].concat();
            Ok(Some(len))
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

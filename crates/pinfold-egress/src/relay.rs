//! The relay: takes connections inside, finds out where they lead, asks whether they may, and passes bytes.
//!
//! Inside, every address is local, so that whatever a program connects to arrives here, and the address that it
//! connected to is the local address of the socket.

use std::io::{self, PipeReader, PipeWriter};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::Bytes;
use pinfold_host::{Host, Map, Name};
use rustix::event::{PollFd, PollFlags};
use rustix::net::SocketFlags;
use rustix::process::{Resource, getrlimit};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::dns::Lookup;
use crate::doorkeeper::{Ask, Asker, Doorkeeper, Mismatch, No, Opened, Way};
use crate::first::{self, First};
use crate::handed::Handed;
use crate::http;
use crate::names;
use crate::open::{self, Vault};
use crate::published::{self, Inward};
use crate::stream::{Passed, pass};
use crate::synthetic::Synthetic;
use crate::unheard;
use crate::upstream::{Apart, Upstream};

/// The sockets inside, made there and handed out.
#[derive(Debug, Default)]
pub struct Doors {
    /// One for each port that can be connected to, on every address.
    pub ports: Vec<TcpListener>,
    /// Where names are asked for. Each tells at which address (`IP_PKTINFO`).
    pub names: Vec<UdpSocket>,
    /// Where names are asked for by a connection.
    pub names_by_connection: Vec<TcpListener>,
    /// Where the relay is asked as a proxy.
    pub proxies: Vec<TcpListener>,
    /// Where the kernel tells of datagrams that nobody took.
    pub unheard: Vec<UdpSocket>,
    /// Connections to the relay as a proxy that somebody else has taken.
    pub handed: Option<Handed>,
    /// What somebody outside can connect to inside.
    pub inward: Inward,
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
    /// As many connections as this process has descriptors for, with room for all else that it does.
    fn default() -> Self {
        const OTHERS: u64 = 128;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let pairs = usize::try_from(descriptors.saturating_sub(OTHERS) / 2).unwrap_or(usize::MAX);
        Self {
            connections: pairs.clamp(16, 16_384),
            idle: Duration::from_hours(1),
            hello: Duration::from_secs(30),
        }
    }
}

/// What all connections have in common.
pub(crate) struct Shared {
    pub(crate) keeper: Arc<dyn Doorkeeper>,
    pub(crate) upstream: Upstream,
    pub(crate) limits: Limits,
    vault: Option<Vault>,
    names: Arc<Mutex<Synthetic>>,
    room: Arc<Semaphore>,
    /// Says that what is decided by has changed.
    changes: watch::Sender<()>,
    /// Says that the run is over: what still waits is looked at for the record, and nothing comes of it.
    over: watch::Sender<bool>,
}

/// After how long connections are looked at whose host may be denied by now.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Tells all connections when what is decided by has changed.
async fn tell_changes(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if shared.keeper.has_changed() {
            shared.changes.send_replace(());
        }
    }
}

impl Shared {
    /// Waits until a connection that was let pass is denied.
    pub(crate) async fn denied(&self, ask: &Ask) {
        let mut changes = self.changes.subscribe();
        // What changed while it was made is known by now.
        while !self.keeper.denies(ask) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// The host that an address inside stands for.
    pub(crate) fn host(&self, address: IpAddr) -> Host {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.name(address).map_or(Host::Address(address.to_canonical()), |name| Host::Name(name.clone()))
    }

    pub(crate) fn look_up(&self, name: &Name, asker: Asker) -> Lookup {
        if !self.keeper.knows(name, asker) {
            return Lookup::Unknown;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.addresses(name).map_or(Lookup::Unknown, Lookup::Known)
    }

    /// Whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until the run is over.
    pub(crate) async fn over(&self) {
        // An error says that nobody could end it any more.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// A connection to a host, if it may be made.
    pub(crate) async fn reach(&self, ask: &Ask) -> Result<TcpStream, Unmet> {
        if self.is_over() {
            self.keeper.too_late(ask);
            return Err(Unmet::over());
        }
        tokio::select! {
            biased;
            reached = self.try_to_reach(ask) => reached,
            () = self.over() => Err(Unmet::over()),
        }
    }

    async fn try_to_reach(&self, ask: &Ask) -> Result<TcpStream, Unmet> {
        match self.keeper.open(ask) {
            Opened::Yes => {}
            Opened::No(no) => return Err(Unmet::Refused(no)),
            Opened::Later(later) => later.wait().await.map_err(Unmet::Refused)?,
        }
        match self.upstream.connect(&ask.host, ask.port, &*self.keeper as &dyn Map).await {
            Ok(host) => {
                self.keeper.connected(ask, true);
                Ok(host)
            }
            Err(Apart::Refused(mismatch)) => Err(Unmet::Refused(self.keeper.mismatch(ask, &mismatch))),
            Err(Apart::Unreachable(why)) => {
                self.keeper.connected(ask, false);
                Err(Unmet::Unreachable(why))
            }
        }
    }
}

/// Why there is no connection to a host.
#[derive(Debug)]
pub(crate) enum Unmet {
    /// It may not be.
    Refused(No),
    /// It cannot be.
    Unreachable(String),
}

impl Unmet {
    fn over() -> Self {
        Self::Unreachable("the run is over".to_owned())
    }
}

/// A relay that runs on a thread of its own. Dropped, it ends with all its connections.
#[derive(Debug)]
pub struct Relay {
    names: Arc<Mutex<Synthetic>>,
    /// Closed, it ends the relay.
    end: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing left to say.
            let _ = thread.join();
        }
    }
}

impl Relay {
    /// Starts.
    ///
    /// # Errors
    /// When a socket cannot be watched, or no thread is to be had.
    pub fn start(doors: Doors, keeper: Arc<dyn Doorkeeper>, limits: Limits) -> io::Result<Self> {
        Self::start_with(doors, keeper, limits, None)
    }

    /// The same with secrets that are put in on the way.
    ///
    /// # Errors
    /// As [`Relay::start`].
    pub fn start_with(
        doors: Doors,
        keeper: Arc<dyn Doorkeeper>,
        limits: Limits,
        vault: Option<Vault>,
    ) -> io::Result<Self> {
        let shared = shared(keeper, limits, vault);
        let names = Arc::clone(&shared.names);
        let serving = Serving::new(doors, shared)?;
        Self::spawn(names, move |end| serving.run(end))
    }

    /// Starts once anything arrives. For doors at which nothing does in most runs: until then it costs a thread that waits.
    ///
    /// # Errors
    /// When no thread or pipe is to be had.
    pub fn start_when_asked(doors: Doors, keeper: Arc<dyn Doorkeeper>, limits: Limits) -> io::Result<Self> {
        let shared = shared(keeper, limits, None);
        let names = Arc::clone(&shared.names);
        Self::spawn(names, move |end| {
            // Without the means for it nothing is heard, and nothing gets out either.
            if doors.wait(&end)
                && let Ok(serving) = Serving::new(doors, shared)
            {
                serving.run(end);
            }
        })
    }

    fn spawn(
        names: Arc<Mutex<Synthetic>>,
        run: impl FnOnce(PipeReader) + Send + 'static,
    ) -> io::Result<Self> {
        let (ended, end) = io::pipe()?;
        let thread = std::thread::Builder::new().name("pinfold-relay".to_owned());
        let thread = thread.spawn(move || run(ended))?;
        Ok(Self { names, end: Some(end), thread: Some(thread) })
    }

    /// The name that an address inside stands for.
    pub fn name(&self, address: IpAddr) -> Option<Name> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).name(address).cloned()
    }
}

fn shared(keeper: Arc<dyn Doorkeeper>, limits: Limits, vault: Option<Vault>) -> Arc<Shared> {
    Arc::new(Shared {
        keeper,
        upstream: Upstream::default(),
        limits,
        vault,
        names: Arc::default(),
        room: Arc::new(Semaphore::new(limits.connections)),
        changes: watch::Sender::new(()),
        over: watch::Sender::new(false),
    })
}

/// Doors that are watched, and the runtime that watches them.
struct Serving {
    runtime: Runtime,
    doors: JoinSet<()>,
    shared: Arc<Shared>,
}

impl Serving {
    fn new(doors: Doors, shared: Arc<Shared>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let doors = {
            let _entered = runtime.enter();
            open(doors, &shared)?
        };
        Ok(Self { runtime, doors, shared })
    }

    /// Serves until the other end of the pipe is closed.
    fn run(self, end: PipeReader) {
        let Self { runtime, doors, shared } = self;
        runtime.block_on(async {
            // Without a look at it nobody could end the relay: then it ends now.
            if let Ok(end) = tokio::net::unix::pipe::Receiver::from_owned_fd(end.into()) {
                let _ = end.readable().await;
            }
            let _ = timeout(LAST_LOOK, look_last(doors, &shared)).await;
        });
        runtime.shutdown_background();
    }
}

impl Doors {
    /// Waits until anything arrives at a door (true), or the other end of the pipe is closed.
    fn wait(&self, end: &PipeReader) -> bool {
        let mut fds = vec![PollFd::new(end, PollFlags::IN)];
        let listeners = self.ports.iter().chain(&self.names_by_connection).chain(&self.proxies);
        fds.extend(listeners.map(|door| PollFd::new(door, PollFlags::IN)));
        fds.extend(self.names.iter().map(|door| PollFd::new(door, PollFlags::IN)));
        fds.extend(self.unheard.iter().map(|door| PollFd::new(door, PollFlags::IN)));
        loop {
            match rustix::event::poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
                Ok(_) => return fds.iter().skip(1).any(|door| !door.revents().is_empty()),
            }
        }
    }
}

/// How long what waits when the run is over may take to be looked at.
const LAST_LOOK: Duration = Duration::from_millis(250);

/// Looks at what nobody has looked at yet, once the run is over: who asked has gone, and left what was said.
async fn look_last(doors: JoinSet<()>, shared: &Shared) {
    shared.over.send_replace(true);
    doors.join_all().await;
    let all = u32::try_from(shared.limits.connections).unwrap_or(u32::MAX);
    // Each connection gives its room back when it has been looked at.
    let _ = shared.room.acquire_many(all).await;
}

fn open(doors: Doors, shared: &Arc<Shared>) -> io::Result<JoinSet<()>> {
    let mut open = JoinSet::new();
    let kinds =
        [(doors.ports, Kind::Port), (doors.names_by_connection, Kind::Names), (doors.proxies, Kind::Proxy)];
    published::open(doors.inward, shared.limits.idle)?;
    for (listeners, kind) in kinds {
        for listener in listeners {
            listener.set_nonblocking(true)?;
            open.spawn(take(tokio::net::TcpListener::from_std(listener)?, kind, Arc::clone(shared)));
        }
    }
    tokio::spawn(tell_changes(Arc::clone(shared)));
    if let Some(handed) = doors.handed {
        tokio::spawn(handed.serve(Arc::clone(shared)));
    }
    for socket in doors.names {
        socket.set_nonblocking(true)?;
        open.spawn(names::by_datagrams(tokio::net::UdpSocket::from_std(socket)?, Arc::clone(shared)));
    }
    for socket in doors.unheard {
        socket.set_nonblocking(true)?;
        open.spawn(unheard::tell(tokio::net::UdpSocket::from_std(socket)?, Arc::clone(shared)));
    }
    Ok(open)
}

/// What a listener is for.
#[derive(Clone, Copy)]
enum Kind {
    Port,
    Names,
    Proxy,
}

/// Takes connections. Where there is no room one waits here, and more in the kernel.
async fn take(listener: tokio::net::TcpListener, kind: Kind, shared: Arc<Shared>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.over() => accept_now(&listener),
        };
        match accepted {
            Ok((stream, from)) => {
                let Some(room) = room(&shared).await else { return };
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _room = room;
                    let _ = stream.set_nodelay(true);
                    match kind {
                        Kind::Port => lead(&shared, stream, from).await,
                        Kind::Names => names::by_connection(&shared, stream).await,
                        Kind::Proxy => Box::pin(crate::proxy::lead(&shared, stream, from)).await,
                    }
                });
            }
            // Nothing waits any more.
            Err(_) if shared.is_over() => return,
            // No descriptors are left: some will be.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// A connection that waits in the kernel, whether or not that has been told.
fn accept_now(listener: &tokio::net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (stream, from) = rustix::net::acceptfrom_with(listener, flags)?;
    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
    let nobody = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);
    Ok((TcpStream::from_std(stream.into())?, from.unwrap_or(nobody)))
}

/// A place among those that there is room for, once there is one.
async fn room(shared: &Shared) -> Option<OwnedSemaphorePermit> {
    if let Ok(room) = Arc::clone(&shared.room).try_acquire_owned() {
        return Some(room);
    }
    shared.keeper.is_full(shared.limits.connections);
    Arc::clone(&shared.room).acquire_owned().await.ok()
}

/// One connection, from its first byte to its last.
async fn lead(shared: &Arc<Shared>, inside: TcpStream, from: SocketAddr) {
    let Ok(to) = inside.local_addr() else { return };
    let ask = Ask { host: shared.host(to.ip()), port: to.port(), way: Way::Direct, from: from.port() };
    match shared.reach(&ask).await {
        Ok(host) => carry(shared, &ask, inside, Bytes::new(), host).await,
        Err(Unmet::Refused(no)) => Box::pin(refuse_in_words(shared, inside, no)).await,
        Err(Unmet::Unreachable(_)) => refuse(&inside),
    }
}

/// Passes what two sides say, once the first bytes have shown that they mean the host that was let pass. `early`: what
/// has been read of them already.
pub(crate) async fn carry(shared: &Arc<Shared>, ask: &Ask, inside: TcpStream, early: Bytes, host: TcpStream) {
    let mut passed = Passed::default();
    tokio::select! {
        () = carry_all(shared, ask, inside, early, host, &mut passed) => {}
        () = shared.denied(ask) => {}
        () = shared.over() => {}
    }
    shared.keeper.ended(ask, passed);
}

async fn carry_all(
    shared: &Arc<Shared>,
    ask: &Ask,
    inside: TcpStream,
    early: Bytes,
    host: TcpStream,
    passed: &mut Passed,
) {
    match meant(shared, ask, &inside, &early, &host).await {
        Ok(Meant::Requests) if early.is_empty() => Box::pin(http::serve(shared, ask, inside, host)).await,
        Ok(Meant::Opened) if early.is_empty() => {
            if let Some(vault) = &shared.vault {
                Box::pin(open::serve(shared, vault, ask, inside, host)).await;
            }
        }
        // Requests that came with the one for a tunnel: nobody does that, and it could not be taken back.
        Ok(Meant::Requests | Meant::Opened) | Err(Unmeant::Lost) => refuse(&inside),
        // How it ends between the two of them is theirs to see.
        Ok(Meant::Bytes) => {
            if write_all(&host, &early).await.is_ok() {
                let _ = pass(&inside, &host, shared.limits.idle, passed).await;
            }
        }
        Err(Unmeant::Refused(mismatch)) => {
            shared.keeper.mismatch(ask, &mismatch);
            refuse(&inside);
        }
    }
}

/// Ends a connection so that the other side sees at once that it is over, and not well.
pub(crate) fn refuse(side: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(side, Some(Duration::ZERO));
}

/// How long a refused client has to show that it would understand words.
const WORDS: Duration = Duration::from_secs(2);

/// Refuses a connection in the words of its protocol, where it turns out to have some.
async fn refuse_in_words(shared: &Shared, inside: TcpStream, no: No) {
    let mut bytes = Vec::new();
    let speaks_http = async {
        loop {
            inside.readable().await.ok()?;
            match peek(&inside, &[], &mut bytes).ok()? {
                Some(0) => return None,
                Some(_) => {}
                None => continue,
            }
            match first::read(&bytes, 0) {
                First::Http => return Some(()),
                First::More => tokio::time::sleep(Duration::from_millis(5)).await,
                First::Tls(_) | First::Http2 | First::Other | First::Broken => return None,
            }
        }
    };
    match timeout(WORDS, speaks_http).await {
        Ok(Some(())) => http::refuse_all(shared.limits.hello, inside, &no).await,
        Ok(None) | Err(_) => refuse(&inside),
    }
}

/// What a connection carries.
enum Meant {
    /// Bytes that name no host, or have named the right one.
    Bytes,
    /// Plain HTTP, which names a host in each request.
    Requests,
    /// TLS with a host that a secret is for: it is opened.
    Opened,
}

/// Why a connection goes no further.
enum Unmeant {
    /// It means another host, or cannot be understood.
    Refused(Mismatch),
    /// A side is gone, or said nothing for too long.
    Lost,
}

/// Waits until it is known which host the client means. The bytes stay in the socket. A host that speaks first is not
/// kept waiting: what it says flows while nothing has come from inside.
async fn meant(
    shared: &Shared,
    ask: &Ask,
    inside: &TcpStream,
    early: &[u8],
    host: &TcpStream,
) -> Result<Meant, Unmeant> {
    let refused = |mismatch| Err(Unmeant::Refused(mismatch));
    let mut bytes = early.to_vec();
    let mut began = None;
    let mut pause = Duration::from_millis(1);
    loop {
        match peek(inside, early, &mut bytes) {
            Ok(Some(0)) => return Ok(Meant::Bytes),
            Ok(_) => {}
            Err(_) => return Err(Unmeant::Lost),
        }
        match first::read(&bytes, ask.port) {
            First::Other => return Ok(Meant::Bytes),
            First::Broken => return refused(Mismatch::Broken),
            First::Http2 => return refused(Mismatch::Http2),
            First::Tls(named) if named.as_ref() == Some(&ask.host) => {
                let opened = shared.vault.as_ref().is_some_and(|vault| vault.is_for(ask));
                return Ok(if opened { Meant::Opened } else { Meant::Bytes });
            }
            // Addresses are not named in hellos.
            First::Tls(None) if matches!(ask.host, Host::Address(_)) => return Ok(Meant::Bytes),
            First::Tls(named) => return refused(Mismatch::ServerName(named)),
            First::Http => return Ok(Meant::Requests),
            First::More => {}
        }
        if bytes.is_empty() {
            wait_or_greet(inside, host, shared.limits).await.map_err(|_| Unmeant::Lost)?;
            continue;
        }
        // What is there already was not enough, and keeps the socket readable.
        if began.get_or_insert_with(Instant::now).elapsed() > shared.limits.hello {
            return refused(Mismatch::Broken);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

async fn wait_or_greet(inside: &TcpStream, host: &TcpStream, limits: Limits) -> io::Result<()> {
    let either = async {
        tokio::select! {
            ready = inside.ready(Interest::READABLE) => ready.map(drop),
            ready = host.ready(Interest::READABLE) => {
                ready?;
                greet(host, inside).await
            }
        }
    };
    timeout(limits.idle, either).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Passes on what the host says before the client has said anything.
async fn greet(host: &TcpStream, inside: &TcpStream) -> io::Result<()> {
    // On the heap: it would be part of every connection otherwise, for as long as that lasts.
    let mut text = vec![0; 4096];
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
    // Nearly every hello fits into the first.
    for room in [4096, first::MOST] {
        let mut seen = vec![0; room];
        let read = || {
            let (len, _) = rustix::net::recv(inside, seen.as_mut_slice(), rustix::net::RecvFlags::PEEK)?;
            Ok(len)
        };
        match inside.try_io(Interest::READABLE, read) {
            Ok(len) if len == room && room < first::MOST => {}
            Ok(len) => {
                *bytes = [early, seen.get(..len).unwrap_or_default()].concat();
                return Ok(Some(len));
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

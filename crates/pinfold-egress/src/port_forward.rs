//! Port forwarding from this machine into the sandbox, for instance to a server under development.
//!
//! No process outside can create a socket in the network namespace inside, so a few are created there at the start and
//! passed out with the listeners. Each connects to one server at a time and is reused.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::connect_unspec;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::splice::{TransferredBytes, relay_bytes, reset};

/// A forwarded port.
#[derive(Debug)]
pub struct PortForward {
    /// The listeners outside.
    pub listeners: Vec<TcpListener>,
    /// The port inside that they lead to, on loopback.
    pub port: u16,
}

/// All forwarded ports, and the sockets that connect to them.
#[derive(Debug, Default)]
pub struct PortForwards {
    /// Unconnected sockets of the network namespace inside, IPv4 and IPv6. The number of IPv4 sockets limits the
    /// connections at a time; more wait.
    pub sockets: Vec<OwnedFd>,
    /// The forwarded ports.
    pub forwards: Vec<PortForward>,
}

/// The time limit for connecting to a server inside.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Accepts connections from outside until the runtime ends.
pub(crate) fn spawn(forwards: PortForwards, idle: Duration) -> io::Result<()> {
    let pool = Arc::new(SocketPool::new(forwards.sockets)?);
    for PortForward { listeners, port } in forwards.forwards {
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(accept(listener, port, Arc::clone(&pool), idle));
        }
    }
    Ok(())
}

async fn accept(listener: tokio::net::TcpListener, port: u16, pool: Arc<SocketPool>, idle: Duration) {
    loop {
        match listener.accept().await {
            Ok((outside, _)) => {
                let Some(socket) = SocketPool::acquire(&pool).await else { return };
                tokio::spawn(serve(socket, outside, port, idle));
            }
            // For instance EMFILE: accepting is tried again.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn serve(socket: PooledSocket, outside: TcpStream, port: u16, idle: Duration) {
    let _ = outside.set_nodelay(true);
    match socket.connect(port).await {
        Ok(inside) => {
            let _ = inside.set_nodelay(true);
            // How the connection ends is between its two ends.
            let _ = relay_bytes(&outside, &inside, idle, &mut TransferredBytes::default()).await;
        }
        Err(_) => reset(&outside),
    }
}

/// The sockets that are not in use.
#[derive(Debug)]
struct SocketPool {
    free: Mutex<FreeSockets>,
    slots: Arc<Semaphore>,
}

/// Sockets of both families: one that has connected over IPv4 cannot connect over IPv6 later.
#[derive(Debug, Default)]
struct FreeSockets {
    v4: Vec<OwnedFd>,
    v6: Vec<OwnedFd>,
}

impl SocketPool {
    fn new(sockets: Vec<OwnedFd>) -> io::Result<Self> {
        let mut free = FreeSockets::default();
        for socket in sockets {
            let socket = std::net::TcpStream::from(socket);
            let is_v6 = socket.local_addr()?.is_ipv6();
            if is_v6 { &mut free.v6 } else { &mut free.v4 }.push(socket.into());
        }
        Ok(Self { slots: Arc::new(Semaphore::new(free.v4.len())), free: Mutex::new(free) })
    }

    /// Waits for a free socket.
    async fn acquire(pool: &Arc<Self>) -> Option<PooledSocket> {
        let slot = Arc::clone(&pool.slots).acquire_owned().await.ok()?;
        let (v4, v6) = {
            let mut free = pool.free();
            (Some(free.v4.pop()?), free.v6.pop())
        };
        Some(PooledSocket { v4, v6, pool: Arc::clone(pool), slot: Some(slot) })
    }

    fn free(&self) -> MutexGuard<'_, FreeSockets> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket of each family, returned to the pool when dropped.
struct PooledSocket {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
    pool: Arc<SocketPool>,
    slot: Option<OwnedSemaphorePermit>,
}

impl PooledSocket {
    /// Connects to a server on loopback inside, over either family.
    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let servers = [(&self.v4, Ipv4Addr::LOCALHOST.into()), (&self.v6, Ipv6Addr::LOCALHOST.into())];
        let mut last = io::Error::from(io::ErrorKind::ConnectionRefused);
        for (socket, address) in servers {
            let Some(socket) = socket else { continue };
            // A duplicate, since a failed connect closes the descriptor that it was given.
            let stream = std::net::TcpStream::from(socket.try_clone()?);
            stream.set_nonblocking(true)?;
            let to = SocketAddr::new(address, port);
            match timeout(CONNECT_TIMEOUT, TcpSocket::from_std_stream(stream).connect(to)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

impl Drop for PooledSocket {
    fn drop(&mut self) {
        // Disconnecting also drops the last connection's state. A socket that cannot be disconnected is not reused.
        let reusable = |socket: Option<OwnedFd>| socket.filter(|socket| connect_unspec(socket).is_ok());
        let (v4, v6) = (reusable(self.v4.take()), reusable(self.v6.take()));
        if v4.is_none() {
            self.slot.take().into_iter().for_each(OwnedSemaphorePermit::forget);
        }
        let mut free = self.pool.free();
        free.v4.extend(v4);
        free.v6.extend(v6);
    }
}

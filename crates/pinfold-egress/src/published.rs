//! Ports inside to which somebody on this machine can connect, such as that of a server under development.
//!
//! Nobody outside can make a socket in the network inside, so some are made there at the start and handed out with the
//! doors. Each calls one server at a time and is used again afterwards.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::connect_unspec;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::relay::refuse;
use crate::stream::{Passed, pass};

/// A port inside, and where it is published.
#[derive(Debug)]
pub struct Published {
    /// Where connections are taken outside.
    pub listeners: Vec<TcpListener>,
    /// The port inside that they lead to, on loopback.
    pub port: u16,
}

/// All that is published, and the sockets by which it is reached.
#[derive(Debug, Default)]
pub struct Inward {
    /// Sockets of the network inside that are not connected, of both versions. So many connections as there are of version 4
    /// there can be at one time; more wait.
    pub callers: Vec<OwnedFd>,
    /// The ports.
    pub published: Vec<Published>,
}

/// How long a server inside may take to accept.
const PATIENCE: Duration = Duration::from_secs(20);

/// Takes connections from outside until the runtime ends.
pub(crate) fn open(inward: Inward, idle: Duration) -> io::Result<()> {
    let callers = Arc::new(Callers::new(inward.callers)?);
    for Published { listeners, port } in inward.published {
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(take(listener, port, Arc::clone(&callers), idle));
        }
    }
    Ok(())
}

async fn take(listener: tokio::net::TcpListener, port: u16, callers: Arc<Callers>, idle: Duration) {
    loop {
        match listener.accept().await {
            Ok((outside, _)) => {
                let Some(caller) = Callers::take(&callers).await else { return };
                tokio::spawn(lead(caller, outside, port, idle));
            }
            // No descriptors are left: some will be.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn lead(caller: Caller, outside: TcpStream, port: u16, idle: Duration) {
    let _ = outside.set_nodelay(true);
    match caller.connect(port).await {
        Ok(inside) => {
            let _ = inside.set_nodelay(true);
            // How it ends between the two of them is theirs to see.
            let _ = pass(&outside, &inside, idle, &mut Passed::default()).await;
        }
        Err(_) => refuse(&outside),
    }
}

/// The sockets that call nobody at the moment.
#[derive(Debug)]
struct Callers {
    free: Mutex<Free>,
    room: Arc<Semaphore>,
}

/// A socket that has connected to one version cannot connect to the other any more, so there are some of each.
#[derive(Debug, Default)]
struct Free {
    v4: Vec<OwnedFd>,
    v6: Vec<OwnedFd>,
}

impl Callers {
    fn new(sockets: Vec<OwnedFd>) -> io::Result<Self> {
        let mut free = Free::default();
        for socket in sockets {
            let socket = std::net::TcpStream::from(socket);
            let is_v6 = socket.local_addr()?.is_ipv6();
            if is_v6 { &mut free.v6 } else { &mut free.v4 }.push(socket.into());
        }
        Ok(Self { room: Arc::new(Semaphore::new(free.v4.len())), free: Mutex::new(free) })
    }

    /// Waits for one that is free.
    async fn take(callers: &Arc<Self>) -> Option<Caller> {
        let room = Arc::clone(&callers.room).acquire_owned().await.ok()?;
        let (v4, v6) = {
            let mut free = callers.free();
            (Some(free.v4.pop()?), free.v6.pop())
        };
        Some(Caller { v4, v6, callers: Arc::clone(callers), room: Some(room) })
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sockets of the network inside. Dropped, they are free again.
struct Caller {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
    callers: Arc<Callers>,
    room: Option<OwnedSemaphorePermit>,
}

impl Caller {
    /// Connects to a server on loopback inside, of either version.
    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let servers = [(&self.v4, Ipv4Addr::LOCALHOST.into()), (&self.v6, Ipv6Addr::LOCALHOST.into())];
        let mut last = io::Error::from(io::ErrorKind::ConnectionRefused);
        for (socket, address) in servers {
            let Some(socket) = socket else { continue };
            // A copy: what fails to connect closes what it was given.
            let stream = std::net::TcpStream::from(socket.try_clone()?);
            stream.set_nonblocking(true)?;
            let to = SocketAddr::new(address, port);
            match timeout(PATIENCE, TcpSocket::from_std_stream(stream).connect(to)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // Whatever is left of the last connection goes; a socket that cannot be used again is not kept.
        let again = |socket: Option<OwnedFd>| socket.filter(|socket| connect_unspec(socket).is_ok());
        let (v4, v6) = (again(self.v4.take()), again(self.v6.take()));
        if v4.is_none() {
            self.room.take().into_iter().for_each(OwnedSemaphorePermit::forget);
        }
        let mut free = self.callers.free();
        free.v4.extend(v4);
        free.v6.extend(v6);
    }
}

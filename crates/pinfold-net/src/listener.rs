//! The HTTP/1.1 listener: a bounded number of connections, each for a bounded time.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// `TCP_USER_TIMEOUT`, in milliseconds: sent data that stays unacknowledged so long ends the connection (tcp(7)).
const UNREAD_TIMEOUT: u32 = 30_000;
/// The read and write buffer of a connection, in bytes. It bounds header sections too.
const MAX_BUFFER: usize = 64 << 10;
/// The most header lines of a request.
const MAX_HEADERS: usize = 64;
/// Attempts to find a port that is free on both loopback addresses.
const BIND_ATTEMPTS: u32 = 16;

/// Limits and rules of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerOptions {
    /// The time limit for the header section of a request, from the moment when the request is awaited.
    pub header_timeout: Duration,
    /// More than one request is served over one connection.
    pub keep_alive: bool,
    /// Connections from other machines are closed without an answer, even where the bound address would accept them.
    pub loopback_only: bool,
}

/// Binds both loopback addresses to one port: the given one, or a free one. Without IPv6, 127.0.0.1 alone is enough.
///
/// # Errors
/// When the port is in use, or this machine has no loopback address.
pub fn bind_loopback(port: Option<u16>) -> io::Result<Vec<std::net::TcpListener>> {
    let mut attempts = BIND_ATTEMPTS;
    loop {
        attempts -= 1;
        match bind_both(port.unwrap_or(0)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port.is_none() && attempts > 0 => {}
            done => return done,
        }
    }
}

fn bind_both(port: u16) -> io::Result<Vec<std::net::TcpListener>> {
    let first = bind((Ipv4Addr::LOCALHOST, port).into())?;
    let port = first.local_addr()?.port();
    match bind((Ipv6Addr::LOCALHOST, port).into()) {
        Ok(second) => Ok(vec![first, second]),
        // Another server at `[::1]` would receive requests that are meant for this one.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok(vec![first]),
    }
}

/// Binds one address.
///
/// # Errors
/// When the address is in use, or does not belong to this machine.
pub fn bind(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Slots for `limit` connections at a time, shared by several listeners.
pub fn connection_slots(limit: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(limit))
}

/// Accepts connections, one slot each, and answers their requests with `handler`. Runs until it is dropped.
pub async fn serve<A, R, B>(
    listener: TcpListener,
    slots: Arc<Semaphore>,
    options: ListenerOptions,
    handler: A,
) where
    A: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, address)) if !options.loopback_only || is_loopback(&address) => {
                let handler = handler.clone();
                tokio::spawn(async move {
                    serve_connection(stream, options, handler).await;
                    drop(slot);
                });
            }
            Ok(_) => {}
            // For instance EMFILE: open connections go on, and accepting is tried again.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Returns whether a peer is this machine. A second line of defence behind the bound address.
fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}

async fn serve_connection<A, R, B>(stream: TcpStream, options: ListenerOptions, handler: A)
where
    A: Fn(Request<Incoming>) -> R,
    R: Future<Output = Response<B>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    // The kernel ends a connection whose client reads nothing, so that no task waits for it.
    if set_tcp_user_timeout(&stream, UNREAD_TIMEOUT).is_err() {
        return;
    }
    // Small responses are sent at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let response = handler(request);
        async { Ok::<_, Infallible>(response.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .keep_alive(options.keep_alive)
        .max_buf_size(MAX_BUFFER)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A client that disconnects early is no error of this side.
    drop(served);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Instant;

    use super::*;

    #[test]
    fn both_addresses_have_one_port() {
        let all = bind_loopback(None).unwrap();
        let ports: Vec<u16> = all.iter().map(|one| one.local_addr().unwrap().port()).collect();
        assert!(ports.iter().all(|port| *port == ports[0]));
        assert!(all.iter().all(|one| is_loopback(&one.local_addr().unwrap())));
        assert_eq!(bind_loopback(Some(ports[0])).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    /// The kernel enforces the limit also where no segment was lost (zero window).
    #[test]
    fn the_kernel_ends_a_connection_whose_client_reads_nothing() {
        let all = bind_loopback(None).unwrap();
        all[0].set_nonblocking(false).unwrap();
        let _silent = std::net::TcpStream::connect(all[0].local_addr().unwrap()).unwrap();
        let (mut to, _) = all[0].accept().unwrap();
        set_tcp_user_timeout(&to, 1_000).unwrap();
        let began = Instant::now();
        let error = loop {
            if let Err(error) = to.write_all(&[b'x'; 1 << 12]) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

//! What listens: only so many at a time, and each only so long.

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

/// How long somebody may not read what they asked for, in milliseconds.
const UNREAD: u32 = 30_000;
/// How much of what was not read is kept for a connection, besides one message. Heads are no longer either.
const KEPT: usize = 64 << 10;
/// How many lines a head may have.
const MOST_LINES: usize = 64;
/// How often a port is looked for that is free on both addresses.
const TRIES: u32 = 16;

/// How connections are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// How long a head may take, from the moment when it is waited for.
    pub said: Duration,
    /// More than one request comes over one connection.
    pub again: bool,
    /// Whoever is not on this machine is not answered, even where the address would let them in.
    pub here_alone: bool,
}

/// Binds the addresses of this machine to the same port; one that is free where none is wanted. Without IPv6 one address
/// is enough.
///
/// # Errors
/// When the port is taken, or this machine has no such address.
pub fn bind(port: Option<u16>) -> io::Result<Vec<std::net::TcpListener>> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match bind_both(port.unwrap_or(0)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port.is_none() && tries > 0 => {}
            done => return done,
        }
    }
}

fn bind_both(port: u16) -> io::Result<Vec<std::net::TcpListener>> {
    let first = bind_at((Ipv4Addr::LOCALHOST, port).into())?;
    let port = first.local_addr()?.port();
    match bind_at((Ipv6Addr::LOCALHOST, port).into()) {
        Ok(second) => Ok(vec![first, second]),
        // Somebody else there would be shown what is meant for us.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok(vec![first]),
    }
}

/// Binds one address.
///
/// # Errors
/// When it is taken, or is none of this machine's.
pub fn bind_at(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The places for so many connections.
pub fn places(most: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(most))
}

/// Takes connections, one place each, and answers what comes over them.
pub async fn listen<A, R, B>(listener: TcpListener, places: Arc<Semaphore>, manner: Manner, answer: A)
where
    A: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, address)) if !manner.here_alone || is_here(&address) => {
                let answer = answer.clone();
                tokio::spawn(async move {
                    serve(stream, manner, answer).await;
                    drop(place);
                });
            }
            Ok(_) => {}
            // Out of descriptors, for instance: others can go on, and this is tried again.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Bound to this machine, nobody else gets here. If that were ever wrong, nobody else is answered.
fn is_here(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}

async fn serve<A, R, B>(stream: TcpStream, manner: Manner, answer: A)
where
    A: Fn(Request<Incoming>) -> R,
    R: Future<Output = Response<B>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    // The kernel ends a connection on which nothing is read any more: no task waits for a reader who is not there.
    if set_tcp_user_timeout(&stream, UNREAD).is_err() {
        return;
    }
    // Small answers go out as they come.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let answer = answer(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(manner.said)
        .keep_alive(manner.again)
        .max_buf_size(KEPT)
        .max_headers(MOST_LINES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // Whoever went away in the middle is gone, and that is all.
    drop(served);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Instant;

    use super::*;

    #[test]
    fn both_addresses_have_one_port() {
        let all = bind(None).unwrap();
        let ports: Vec<u16> = all.iter().map(|one| one.local_addr().unwrap().port()).collect();
        assert!(ports.iter().all(|port| *port == ports[0]));
        assert!(all.iter().all(|one| is_here(&one.local_addr().unwrap())));
        assert_eq!(bind(Some(ports[0])).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    /// What bounds a reader who does not read is the kernel's: it has to be so also where nothing was lost on the way.
    #[test]
    fn the_kernel_ends_a_connection_on_which_nothing_is_read() {
        let all = bind(None).unwrap();
        all[0].set_nonblocking(false).unwrap();
        let _deaf = std::net::TcpStream::connect(all[0].local_addr().unwrap()).unwrap();
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

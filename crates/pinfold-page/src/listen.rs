//! What listens: on this machine alone, only so many at a time, and each only so long.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::route::{Desk, route};

/// How many connections there may be: more than all browsers need, and no more descriptors than that for strangers.
const MOST: usize = 64;
/// How long somebody may take to say what they want.
const SAID: Duration = Duration::from_secs(5);
/// How long somebody may not read what they asked for, in milliseconds.
const UNREAD: u32 = 30_000;
/// How much of what was not read is kept for a connection, besides one event.
const KEPT: usize = 64 << 10;
/// How often a port is looked for that is free on both addresses.
const TRIES: u32 = 16;

/// Binds the addresses of this machine to the same port; one that is free where none is wanted. Without IPv6 one address
/// is enough.
pub(crate) fn bind(port: Option<u16>) -> io::Result<Vec<std::net::TcpListener>> {
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
    let first = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let port = first.local_addr()?.port();
    let mut all = vec![first];
    match std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
        Ok(second) => all.push(second),
        // Somebody else there would be shown what is meant for us.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
        Err(_) => {}
    }
    for listener in &all {
        listener.set_nonblocking(true)?;
    }
    Ok(all)
}

/// The places for connections.
pub(crate) fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MOST))
}

/// Takes connections, one place each.
pub(crate) async fn listen(listener: TcpListener, places: Arc<Semaphore>, desk: Arc<Desk>) {
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, address)) if is_here(&address) => {
                let desk = Arc::clone(&desk);
                tokio::spawn(async move {
                    serve(stream, desk).await;
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

async fn serve(stream: TcpStream, desk: Arc<Desk>) {
    // The kernel ends a connection on which nothing is read any more: no task waits for a reader who is not there.
    if set_tcp_user_timeout(&stream, UNREAD).is_err() {
        return;
    }
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(route(desk, request).await) }
    });
    // One request for each connection: none is held by somebody who may say something later.
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SAID)
        .keep_alive(false)
        .max_buf_size(KEPT)
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

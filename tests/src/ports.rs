//! Ports for the servers of tests.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// A port on which nothing listens. It lies below those that the kernel hands out (`net.ipv4.ip_local_port_range`), so that no
/// connection of another test takes it meanwhile, and no other test of this process gets it.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(process::id() % u32::from(COUNT)).unwrap_or_default();
    let port = |_| FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
    (0..COUNT).map(port).find(is_free).expect("a port")
}

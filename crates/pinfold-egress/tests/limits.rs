//! Nobody holds the relay up: slow clients, idle ones, and more than there is room for.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_egress::{AddressRule, EgressViolation, RelayLimits, TransferredBytes};

use crate::kit::{OpenPolicy, Relayed};

fn bed(connections: usize) -> Relayed {
    bed_that_waits(connections, Duration::from_millis(700))
}

fn bed_that_waits(connections: usize, idle: Duration) -> Relayed {
    bed_with(connections, idle, OpenPolicy::default())
}

/// A relay whose server sends back what is sent to it.
fn bed_with(connections: usize, idle: Duration, policy: OpenPolicy) -> Relayed {
    let limits = RelayLimits { connections, idle, hello: Duration::from_millis(300) };
    Relayed::start(policy, limits, |stream| std::io::copy(&mut &stream, &mut &stream))
}

/// Whether the other side ends the connection, and after how long.
fn ends(mut stream: TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(e) => assert_ne!(e.kind(), ErrorKind::WouldBlock, "it is still open"),
    }
    began.elapsed()
}

#[test]
fn what_comes_too_slowly_is_ended() {
    let bed = bed(64);
    for begun in [&b""[..], b"GET http://a.test/ HT", b"\x05", b"\x05\x01\x00\x05\x01"] {
        let mut stream = bed.connect();
        stream.write_all(begun).unwrap();
        assert!(ends(stream) < Duration::from_secs(5), "{}", begun.escape_ascii());
    }
    // A hello that never becomes whole.
    let mut stream = bed.tunnel();
    stream.write_all(b"\x16\x03\x01\x02\x00\x01").unwrap();
    assert!(ends(stream) < Duration::from_secs(5));
    assert_eq!(*bed.policy.violations.lock().unwrap(), [EgressViolation::Malformed]);
}

#[test]
fn a_byte_now_and_then_holds_no_place() {
    let bed = bed(64);
    for begun in [&b"GET http://a.test/ HTTP/1.1\r\nx: "[..], b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"] {
        let mut stream = if begun.starts_with(b"\x16") { bed.tunnel() } else { bed.connect() };
        stream.write_all(begun).unwrap();
        let mut drops = stream.try_clone().unwrap();
        let dripping = thread::spawn(move || {
            let began = Instant::now();
            while drops.write_all(b"a").is_ok() && began.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(20));
            }
        });
        assert!(ends(stream) < Duration::from_secs(5), "{}", begun.escape_ascii());
        dripping.join().unwrap();
    }
    assert_eq!(*bed.policy.violations.lock().unwrap(), [EgressViolation::Malformed]);
}

#[test]
fn a_name_that_leads_elsewhere_the_next_moment_leads_nobody_there() {
    let policy = OpenPolicy {
        pinned: Mutex::new(vec![[127, 0, 0, 1].into(), [127, 0, 0, 2].into()]),
        // Of an address that a rule names, and of one that none does.
        rule: |address| {
            if address == IpAddr::from([127, 0, 0, 1]) { AddressRule::Allowed } else { AddressRule::Unlisted }
        },
        ..OpenPolicy::default()
    };
    let bed = bed_with(64, Duration::from_millis(700), policy);
    // Where it leads the second time somebody listens too.
    let port = bed.server.port();
    let near = TcpListener::bind(("127.0.0.2", port)).unwrap();
    near.set_nonblocking(true).unwrap();
    let mut first = bed.tunnel();
    let mut second = bed.connect();
    let [high, low] = port.to_be_bytes();
    second.write_all(&[&[5, 1, 0, 5, 1, 0, 3, 6][..], b"a.test", &[high, low]].concat()).unwrap();
    let mut said = [0; 4];
    second.read_exact(&mut said).unwrap();
    assert_eq!(said, [5, 0, 5, 2], "it is not allowed");
    assert!(near.accept().is_err(), "nobody came");
    assert!(matches!(
        bed.policy.violations.lock().unwrap().as_slice(),
        [EgressViolation::SpecialPurposeAddress(..)]
    ));
    // What was connected before stays where it was.
    first.write_all(b"x").unwrap();
    first.read_exact(&mut said[..1]).unwrap();
}

#[test]
fn a_connection_on_which_nothing_moves_ends_and_one_on_which_something_does_stays() {
    let bed = bed(64);
    let mut busy = bed.tunnel();
    let quiet = bed.tunnel();
    let watched = thread::spawn(move || ends(quiet));
    for _ in 0..8 {
        thread::sleep(Duration::from_millis(250));
        busy.write_all(b"x").unwrap();
        let mut said = [0];
        busy.read_exact(&mut said).unwrap();
    }
    assert!(watched.join().unwrap() < Duration::from_secs(5));
}

#[test]
fn more_than_there_is_room_for_waits_its_turn() {
    let bed = bed(2);
    let (first, _second) = (bed.tunnel(), bed.tunnel());
    let mut third = bed.connect();
    third.write_all(b"\x05\x01\x00").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.read(&mut [0; 2]).is_err(), "it waits");
    drop(first);
    third.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut said = [0; 2];
    third.read_exact(&mut said).unwrap();
    assert_eq!(said, [5, 0]);
    assert_eq!(*bed.policy.full.lock().unwrap(), [2], "and that it waits is said");
}

/// A tunnel whose HTTP connection to the proxy has served its request.
fn connect_tunnel(bed: &Relayed) -> TcpStream {
    let mut stream = bed.connect();
    let target = format!("a.test:{}", bed.server.port());
    stream.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes()).unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    assert!(said.starts_with(b"HTTP/1.1 200 "), "{}", said.escape_ascii());
    stream
}

#[test]
fn tunnels_of_the_proxy_hold_places_too() {
    let bed = bed_that_waits(2, Duration::from_mins(1));
    let (first, _second) = (connect_tunnel(&bed), connect_tunnel(&bed));
    let mut third = bed.connect();
    third.write_all(b"\x05\x01\x00").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.read(&mut [0; 2]).is_err(), "it waits");
    drop(first);
    third.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut said = [0; 2];
    third.read_exact(&mut said).unwrap();
    assert_eq!(said, [5, 0]);
    assert_eq!(*bed.policy.full.lock().unwrap(), [2], "and that it waits is said");
}

#[test]
fn receivers_that_do_not_read_hold_up_nobody_and_lose_nothing() {
    const LEN: usize = 12 << 20;
    let bed = bed_that_waits(256, Duration::from_mins(1));
    let all: Vec<u8> = (0..LEN).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let all = Arc::new(all);
    // More of them than there are pipes, each with more under way than all buffers hold.
    let mut waiting = Vec::new();
    for _ in 0..40 {
        let stream = bed.tunnel();
        let (mut to, all) = (stream.try_clone().unwrap(), Arc::clone(&all));
        let says = thread::spawn(move || {
            to.write_all(&all).unwrap();
            to.shutdown(std::net::Shutdown::Write).unwrap();
        });
        waiting.push((stream, says));
    }
    thread::sleep(Duration::from_millis(500));
    let mut another = bed.tunnel();
    another.write_all(b"hello").unwrap();
    let mut said = [0; 5];
    another.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"hello");
    for (mut stream, says) in waiting {
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        assert!(said == *all, "{} bytes came back", said.len());
        says.join().unwrap();
    }
}

#[test]
fn an_end_of_one_side_is_passed_on_and_bytes_are_counted() {
    let bed = bed(64);
    let mut stream = bed.tunnel();
    stream.write_all(b"hello").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!(said, "hello");
    let told = || bed.policy.passed.lock().unwrap().clone();
    for _ in 0..100 {
        if !told().is_empty() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(told(), [TransferredBytes { sent: 5, received: 5 }]);
}

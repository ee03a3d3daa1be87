//! A network in which everything arrives at sockets that were handed out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;

use crate::kit::{Bed, TIERS};

use pinfold_sandbox::{
    Command, ContinueAll, End, InnerListeners, Network, Profile, RunningSandbox, Signalling, Tier, start,
};

fn relayed(bed: &Bed, ports: &[u16]) -> Profile {
    let network = Network::Relayed(InnerListeners { ports: ports.to_vec(), proxy: Some(808), callers: 0 });
    bed.profile().with_network(network)
}

fn begin(profile: &Profile, script: &str) -> RunningSandbox {
    let args: [OsString; 2] = ["-c".into(), script.into()];
    start(profile, Command::new("bash").args(args), Tier::Full, Signalling::Own, true).unwrap()
}

#[test]
fn whatever_is_connected_to_arrives_with_its_address() {
    let bed = Bed::new();
    let script = "set -e
        for to in 203.0.113.9/4443 93.184.216.34/4443 2001:db8::7/4443 127.0.0.1/4443 127.0.0.1/808; do
            exec 3<>/dev/tcp/$to; read -r said <&3; echo \"$to $said\" >> said; exec 3>&-
        done";
    let mut confined = begin(&relayed(&bed, &[4443]), script);
    let relay_sockets = confined.relay_sockets().unwrap();
    assert!(confined.relay_sockets().is_none(), "they are handed out once");
    for listener in relay_sockets.ports.into_iter().chain(relay_sockets.proxies) {
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let arrived = stream.local_addr().unwrap();
                writeln!(stream, "{arrived}").unwrap();
            }
        });
    }
    assert_eq!(confined.supervise(&mut ContinueAll).unwrap(), End::Code(0));
    let said = std::fs::read_to_string(bed.folder.join("said")).unwrap();
    for line in said.lines() {
        let (to, arrived) = line.split_once(' ').unwrap();
        let (ip, port) = to.split_once('/').unwrap();
        let to = SocketAddr::new(ip.parse().unwrap(), port.parse().unwrap());
        assert_eq!(arrived.parse::<SocketAddr>().unwrap(), to);
    }
    assert!(said.lines().count() == 5, "{said}");
}

#[test]
fn names_are_asked_for_here_whatever_server_is_asked() {
    let bed = Bed::new();
    let script = "python3 - > said <<'E'
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
    asks.settimeout(20)
    asks.connect(('9.9.9.9', 53))
    asks.send(b'who')
    print(asks.recv(99))
with socket.create_connection(('9.9.9.9', 53)) as asks:
    print(asks.recv(99))
E";
    let mut confined = begin(&relayed(&bed, &[]), script);
    let relay_sockets = confined.relay_sockets().unwrap();
    for socket in relay_sockets.names {
        thread::spawn(move || {
            let mut query = [0; 16];
            while let Ok((len, from)) = socket.recv_from(&mut query) {
                // Everything is local, so the answer goes out from the address that it is asked at by whoever is the
                // only one to talk to it.
                let _ = socket.connect(from);
                let _ = socket.send(&[query.get(..len).unwrap(), b"?\n"].concat());
            }
        });
    }
    for listener in relay_sockets.names_by_connection {
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                stream.write_all(b"by connection\n").unwrap();
            }
        });
    }
    confined.supervise(&mut ContinueAll).unwrap();
    let said = std::fs::read_to_string(bed.folder.join("said")).unwrap();
    assert_eq!(said, "b'who?\\n'\nb'by connection\\n'\n");
}

#[test]
fn nothing_else_answers_and_no_socket_is_raw() {
    let bed = Bed::new();
    // 1 (ICMP) by a raw socket, vsock, packets; UDP to anywhere is refused by nobody being there.
    let script = "python3 - <<'E'
import socket, errno
def tried(*args):
    try:
        socket.socket(*args).close()
        return 'open'
    except OSError as e:
        return errno.errorcode[e.errno]
assert tried(socket.AF_INET, socket.SOCK_STREAM) == 'open'
assert tried(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) == 'open'
for args in [(socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET6, socket.SOCK_RAW, 58), (socket.AF_PACKET, socket.SOCK_RAW),
             (socket.AF_VSOCK, socket.SOCK_STREAM), (socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW, 16)]:
    assert tried(*args) in ('EACCES', 'EPERM'), args
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.settimeout(5)
    udp.connect(('203.0.113.9', 4443))
    udp.send(b'out')
    try:
        udp.recv(9)
        raise SystemExit('somebody answered')
    except ConnectionRefusedError:
        pass
with socket.socket() as tcp:
    tcp.settimeout(5)
    assert tcp.connect_ex(('203.0.113.9', 81)) == errno.ECONNREFUSED
with socket.create_server(('127.0.0.1', 3000)) as own:
    with socket.create_connection(('127.0.0.1', 3000)) as client:
        own.accept()[0].send(b'mine')
        assert client.recv(9) == b'mine'
E";
    let (end, said) = bed.run(Tier::Full, &relayed(&bed, &[4443]), script);
    assert_eq!(end, End::Code(0), "{said}");
}

#[test]
fn without_a_network_of_its_own_it_does_not_start() {
    let bed = Bed::new();
    for tier in TIERS {
        let mut begun = start(&relayed(&bed, &[443]), Command::new("true"), tier, Signalling::Own, false);
        assert_eq!(begun.is_ok(), tier == Tier::Full, "{tier}");
        if let Ok(begun) = &mut begun {
            drop(begun.relay_sockets());
        }
        if let Ok(begun) = begun {
            assert_eq!(begun.supervise(&mut ContinueAll).unwrap(), End::Code(0));
        }
    }
}

#[test]
fn whoever_runs_inside_has_no_copy_of_the_sockets() {
    let bed = Bed::new();
    let mut confined = begin(&relayed(&bed, &[443]), "ls -l /proc/self/fd/ /proc/1/fd/ > fds 2>&1; true");
    let relay_sockets = confined.relay_sockets().unwrap();
    assert_eq!(confined.supervise(&mut ContinueAll).unwrap(), End::Code(0));
    let mut listed = String::new();
    std::fs::File::open(bed.folder.join("fds")).unwrap().read_to_string(&mut listed).unwrap();
    assert!(listed.contains("/proc/self/fd"), "{listed}");
    // The way to the supervisor, which ends with the first process.
    assert!(listed.matches("socket:").count() <= 1, "{listed}");
    drop(relay_sockets);
}

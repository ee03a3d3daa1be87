//! `--listen`: a server inside is reached from this machine, and from nowhere else; the port goes with the run.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::outside::data;
use pinfold_tests::ports::free_port;
use pinfold_tests::{Bed, Tier, Who, each};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn with_server(who: Who, attempt: impl Fn(&Bed)) {
    if !all_there("published ports", &["python3"]) || !Tier::Full.is_possible_for(who) {
        return;
    }
    let bed = Bed::new(who);
    fs::copy(data("serve.py"), bed.folder().join("serve.py")).expect("a copy");
    bed.give();
    attempt(&bed);
}

fn has_v6() -> bool {
    TcpListener::bind((V6, 0)).is_ok()
}

/// A run with a server inside that says when it is ready.
struct Served(Child);

impl Served {
    fn start(bed: &Bed, options: &[&str], host: &str, inside: u16) -> Self {
        let options: Vec<&str> = ["--ask", "nobody"].iter().chain(options).copied().collect();
        let mut command = bed.run(Tier::Full, &options);
        command.args(["python3", "serve.py", host, &inside.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("pinfold");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Self(child)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What a server says to something, until its end.
fn say(to: IpAddr, port: u16, words: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::new(to, port), Duration::from_secs(20))?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let mut writer = stream.try_clone()?;
    let mut heard = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || writer.write_all(words).and_then(|()| writer.shutdown(Shutdown::Write)));
        stream.read_to_end(&mut heard)
    })?;
    Ok(heard)
}

fn is_served(to: IpAddr, port: u16) -> bool {
    say(to, port, b"hello").is_ok_and(|heard| heard == b"hello|5")
}

#[each(user)]
fn a_server_inside_is_reached_wherever_it_listens_there(who: Who) {
    with_server(who, |bed| {
        for host in ["127.0.0.1", "0.0.0.0", "::1", "::"] {
            if host.contains(':') && !has_v6() {
                continue;
            }
            for options in [&[][..], &["--network", "off"], &["--allow-host", "192.0.2.1"]] {
                let port = free_port();
                let wish = port.to_string();
                let options: Vec<&str> = ["--listen", &wish].iter().chain(options).copied().collect();
                let _served = Served::start(bed, &options, host, port);
                assert!(is_served(V4, port), "{host} {options:?}");
                assert!(!has_v6() || is_served(V6, port), "{host} {options:?}");
            }
        }
    });
}

#[each(user)]
fn another_number_outside_many_connections_and_much_in_both_directions(who: Who) {
    with_server(who, |bed| {
        let (outside, inside) = (free_port(), 3000);
        let _served = Served::start(bed, &["--listen", &format!("{outside}:{inside}")], "127.0.0.1", inside);
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..20).for_each(|_| assert!(is_served(V4, outside))));
            }
        });
        let much: Vec<u8> = (0..8_u32 << 20).map(|i| i.to_le_bytes()[1]).collect();
        let heard = say(V4, outside, &much).expect("an answer");
        assert!(
            heard.strip_suffix(format!("|{}", much.len()).as_bytes()) == Some(&much[..]),
            "{}",
            heard.len()
        );
    });
}

#[each(user)]
fn it_is_on_loopback_alone_and_goes_with_the_run(who: Who) {
    with_server(who, |bed| {
        let port = free_port();
        let served = Served::start(bed, &["--listen", &port.to_string()], "127.0.0.1", port);
        assert!(is_served(V4, port), "the control");
        // What listens everywhere leaves no other address free.
        TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).expect("it is nobody's");
        let mut elsewhere = bed.run(Tier::Full, &["--ask", "nobody"]);
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        let output = elsewhere.args(["bash", "-c", &script]).output().expect("pinfold");
        assert!(!output.status.success(), "another run has another loopback: {}", describe(&output));
        drop(served);
        TcpListener::bind((V4, port)).expect("it is free again");
    });
}

#[each(user)]
fn where_nobody_listens_inside_the_connection_is_reset(who: Who) {
    with_server(who, |bed| {
        let (port, other) = (free_port(), free_port());
        let options = ["--listen", &format!("{port}:9"), "--listen", &other.to_string()];
        let _served = Served::start(bed, &options, "127.0.0.1", other);
        assert!(say(V4, port, b"hello").map_or(true, |heard| heard.is_empty()));
        assert!(is_served(V4, other), "the control");
    });
}

#[each(user)]
fn what_cannot_be_published_stops_the_start_with_a_way_out(who: Who) {
    with_server(who, |bed| {
        let taken = TcpListener::bind((V4, 0)).expect("a port");
        let port = taken.local_addr().expect("an address").port();
        let tried = |options: &[&str]| {
            let output = bed.run(Tier::Full, options).args(["touch", "ran"]).output().expect("pinfold");
            assert!(!bed.folder().join("ran").exists() || output.status.success(), "{}", describe(&output));
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (code, said) = tried(&["--listen", &port.to_string()]);
        assert!(code == Some(2) && said.contains("another program listens there"), "{said}");
        assert!(said.contains(&format!("--listen {}:{port}", port + 1)), "{said}");
        let (code, said) = tried(&["--network", "host", "--listen", "3000"]);
        assert!(code == Some(2) && said.contains("leave --listen out"), "{said}");
        let (code, said) = tried(&["--listen", "0.0.0.0:3000"]);
        assert!(code == Some(2) && said.contains("is no port"), "{said}");
        if bed.who() == Who::Ordinary {
            let (code, said) = tried(&["--listen", "80"]);
            assert!(code == Some(2) && said.contains("--listen 8080:80"), "{said}");
        }
    });
}

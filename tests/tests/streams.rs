//! Standard streams: nothing but their bytes gets inside. Each attempt is made free as well, where it succeeds.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::{Bed, Tier, Who, each};

/// Runs where a supervisor carries file calls out, and one where it only watches.
const WAYS: [&[&str]; 2] = [&[], &["--allow-feature", "user-namespaces"]];

/// Tries something in both ways.
fn both_ways(who: Who, tier: Tier, attempt: impl Fn(&Bed, &dyn Fn() -> Command)) {
    if !all_there("standard streams", &["python3"]) {
        return;
    }
    for way in WAYS {
        println!("{way:?}");
        let bed = Bed::new(who);
        attempt(&bed, &|| bed.run(tier, &[&["--quiet", "--ask", "nobody"], way].concat()));
    }
}

fn python(mut command: Command, script: &str, input: impl Into<Stdio>) -> Output {
    command.args(["python3", "-c", script]).stdin(input).output().expect("it can be started")
}

/// What can be done to a file by a descriptor that only reads it.
const CHANGES: &str = "
import os, sys
def attempt(name, deed):
    try: deed()
    except OSError: return
    print(name)
attempt('mode', lambda: os.fchmod(0, 0o4777))
attempt('mode by name', lambda: os.chmod('/proc/self/fd/0', 0o4777))
attempt('times', lambda: os.utime(0, (1, 1)))
attempt('attribute', lambda: os.setxattr(0, 'user.pinfold', b'1'))
def reopened():
    with open(os.open('/proc/self/fd/0', os.O_RDWR | os.O_APPEND), 'ab', 0) as file: file.write(b'changed')
attempt('content', reopened)
print('read', sys.stdin.read())
";

/// A file, its mode and its content, before anything is tried.
fn plain(at: &Path) {
    fs::write(at, "plain").expect("a file");
    fs::set_permissions(at, fs::Permissions::from_mode(0o644)).expect("a mode");
}

fn state(at: &Path) -> (u32, String, std::time::SystemTime) {
    let found = at.metadata().expect("a file");
    let content = fs::read_to_string(at).expect("a file");
    (found.permissions().mode() & 0o7777, content, found.modified().expect("a time"))
}

#[each(user, tier)]
fn a_file_as_input_is_read_and_nothing_else(who: Who, tier: Tier) {
    both_ways(who, tier, |bed, run| {
        let at = bed.outside().join("file");
        plain(&at);
        bed.give();
        let before = state(&at);
        let input = || File::open(&at).expect("a file");
        let output = python(run(), CHANGES, input());
        assert!(String::from_utf8_lossy(&output.stdout).contains("plain"), "{}", describe(&output));
        assert_eq!(state(&at), before, "{}", describe(&output));
        let output = python(bed.free("env"), CHANGES, input());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(["mode", "times", "content"].iter().all(|done| said.contains(done)), "{}", describe(&output));
        assert_ne!(state(&at).0, before.0, "the control");
    });
}

#[each(user, tier)]
fn a_guarded_file_as_input_is_read_and_nothing_else(who: Who, tier: Tier) {
    both_ways(who, tier, |bed, run| {
        let config = bed.folder().join(".git/config");
        fs::create_dir_all(bed.folder().join(".git")).expect("a directory");
        fs::write(&config, "[core]\n").expect("a file");
        fs::write(bed.folder().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        for name in ["objects", "refs"] {
            fs::create_dir(bed.folder().join(".git").join(name)).expect("a directory");
        }
        bed.give();
        let before = state(&config);
        let output = python(run(), CHANGES, File::open(&config).expect("a file"));
        // Where it passes through a pipe, what the process writes there may be read before.
        assert!(String::from_utf8_lossy(&output.stdout).contains("[core]"), "{}", describe(&output));
        assert_eq!(state(&config), before, "{}", describe(&output));
    });
}

#[each(user, tier)]
fn a_file_as_output_is_written_and_gets_no_other_mode(who: Who, tier: Tier) {
    const SCRIPT: &str = "
import os
os.write(1, b'written')
try: os.fchmod(1, 0o4777)
except OSError: pass
";
    both_ways(who, tier, |bed, run| {
        let at = bed.outside().join("out");
        let written = |mut command: Command| {
            plain(&at);
            bed.give();
            command.args(["python3", "-c", SCRIPT]).stdout(File::create(&at).expect("a file"));
            assert!(command.status().expect("it can be started").success());
            let (mode, content, _) = state(&at);
            assert_eq!(content, "written");
            mode
        };
        assert_eq!(written(run()), 0o644);
        assert_eq!(written(bed.free("env")), 0o4777, "the control");
    });
}

#[each(user, tier)]
fn a_directory_is_no_stream(who: Who, tier: Tier) {
    const SCRIPT: &str = "ls /proc/self/fd/0/ && cat /proc/self/fd/0/../outside/file";
    both_ways(who, tier, |bed, run| {
        plain(&bed.outside().join("file"));
        bed.give();
        let attempt = |mut command: Command| {
            let folder = File::open(bed.folder()).expect("a directory");
            command.args(["sh", "-c", SCRIPT]).stdin(folder).output().expect("it can be started")
        };
        let output = attempt(run());
        assert_eq!(output.status.code(), Some(125), "{}", describe(&output));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("standard input") && said.contains("a directory"), "{said}");
        assert!(attempt(bed.free("env")).status.success(), "the control");
    });
}

/// Reads a line, answers it, and tries to reach another server by the same socket.
fn inetd(other: &TcpListener) -> String {
    let port = other.local_addr().expect("an address").port();
    format!(
        "
import ctypes, socket, sys
print('answer to', sys.stdin.readline(), flush=True)
try:
    connection = socket.socket(fileno=0)
    ctypes.CDLL(None).connect(0, bytes(16), 16)
    connection.connect(('127.0.0.1', {port}))
except OSError: pass
"
    )
}

#[each(user, tier)]
fn a_connection_as_streams_carries_bytes_and_leads_nowhere_else(who: Who, tier: Tier) {
    both_ways(who, tier, |_, run| {
        for (mut command, arrives) in [(run(), false), (Command::new("env"), true)] {
            let server = TcpListener::bind("127.0.0.1:0").expect("a port");
            let other = TcpListener::bind("127.0.0.1:0").expect("a port");
            other.set_nonblocking(true).expect("a socket");
            let script = inetd(&other);
            let address = server.local_addr().expect("an address");
            let client = thread::spawn(move || {
                let mut connection = TcpStream::connect(address).expect("a connection");
                connection.write_all(b"a question\n").expect("a peer");
                connection.shutdown(Shutdown::Write).expect("a socket");
                let mut said = Vec::new();
                // A socket that was connected elsewhere is reset.
                let _ = connection.read_to_end(&mut said);
                String::from_utf8_lossy(&said).into_owned()
            });
            let (connection, _) = server.accept().expect("a client");
            let stream = || Stdio::from(OwnedFd::from(connection.try_clone().expect("a descriptor")));
            command.args(["python3", "-c", &script]).stdin(stream()).stdout(stream());
            let status = command.stderr(Stdio::null()).status().expect("it can be started");
            drop((command, connection));
            let said = client.join().expect("a client");
            assert_eq!(other.accept().is_ok(), arrives, "{said}");
            if !arrives {
                assert!(status.success() && said.contains("answer to a question"), "{status}: {said}");
            }
        }
    });
}

#[each(user, tier)]
fn sockets_that_are_no_connected_stream_are_refused(who: Who, tier: Tier) {
    both_ways(who, tier, |bed, run| {
        let (datagrams, _other) = UnixDatagram::pair().expect("a pair");
        let sockets: [(&str, OwnedFd); 3] = [
            ("udp", UdpSocket::bind("127.0.0.1:0").expect("a socket").into()),
            ("unix datagrams", datagrams.into()),
            ("listening", TcpListener::bind("127.0.0.1:0").expect("a socket").into()),
        ];
        for (name, socket) in sockets {
            let attempt = |mut command: Command| {
                let socket = socket.try_clone().expect("a descriptor");
                command.args(["sh", "-c", "echo started"]).stdin(socket).output().expect("it can be started")
            };
            let output = attempt(run());
            assert_eq!(output.status.code(), Some(125), "{name}: {}", describe(&output));
            assert!(
                String::from_utf8_lossy(&output.stderr).contains("socket"),
                "{name}: {}",
                describe(&output)
            );
            assert!(attempt(bed.free("env")).status.success(), "{name}: the control");
        }
    });
}

#[each(user, tier)]
fn ends_of_a_pair_are_streams_as_pipes_are(who: Who, tier: Tier) {
    both_ways(who, tier, |_, run| {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        ours.write_all(b"by a pair").expect("a peer");
        ours.shutdown(Shutdown::Write).expect("a socket");
        let output = run().arg("cat").stdin(OwnedFd::from(theirs)).output().expect("pinfold");
        assert_eq!(output.stdout, b"by a pair", "{}", describe(&output));
    });
}

#[each(user, tier)]
fn all_of_a_large_input_and_output_passes_a_connection(who: Who, tier: Tier) {
    both_ways(who, tier, |_, run| {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let sent: Vec<u8> = (0..=255).cycle().take(2_000_000).collect();
        let wanted = sent.clone();
        let client = thread::spawn(move || {
            let mut connection = TcpStream::connect(address).expect("a connection");
            let mut sender = connection.try_clone().expect("a descriptor");
            let sending = thread::spawn(move || {
                sender.write_all(&sent).and_then(|()| sender.shutdown(Shutdown::Write))
            });
            let mut received = Vec::new();
            connection.read_to_end(&mut received).expect("a peer");
            sending.join().expect("a thread").expect("all was read");
            received
        });
        let (connection, _) = server.accept().expect("a client");
        let stream = || Stdio::from(OwnedFd::from(connection.try_clone().expect("a descriptor")));
        let mut command = run();
        let status = command.arg("cat").stdin(stream()).stdout(stream()).status().expect("pinfold");
        drop((command, connection));
        assert!(status.success());
        assert!(client.join().expect("a client") == wanted, "every byte came back");
    });
}

/// A lease on a file that is only read makes whoever opens it for writing wait.
#[each(user, tier)]
fn no_lease_holds_up_programs_outside(who: Who, tier: Tier) {
    const SCRIPT: &str = "
import fcntl, os
fd = os.open(os.environ['OTHER'], os.O_RDONLY)
for lease in (fcntl.F_RDLCK, fcntl.F_WRLCK):
    try: fcntl.fcntl(fd, fcntl.F_SETLEASE, lease)
    except OSError: continue
    print('leased')
    break
fcntl.fcntl(fd, fcntl.F_GETFL)
";
    both_ways(who, tier, |bed, run| {
        let at = bed.outside().join("file");
        plain(&at);
        bed.give();
        let leases = |mut command: Command| {
            command.env("OTHER", &at);
            let output = python(command, SCRIPT, Stdio::null());
            assert!(output.status.success(), "{}", describe(&output));
            String::from_utf8_lossy(&output.stdout).contains("leased")
        };
        assert!(!leases(run()));
        assert!(leases(bed.free("env")), "the control");
    });
}

/// A shared lock is what readers take, and keeps writers waiting; no reader needs an exclusive one.
#[each(user, tier)]
fn a_lock_outside_is_shared_at_most_and_ends_with_the_run(who: Who, tier: Tier) {
    const LOCKS: &str = "
import fcntl, os, sys
how, kind = getattr(os, os.environ['HOW']), getattr(fcntl, os.environ['KIND'])
fd = os.open(os.environ['OTHER'], how)
held = []
for lock in (fcntl.lockf, fcntl.flock):
    try: lock(fd, kind | fcntl.LOCK_NB)
    except OSError: continue
    held.append(lock.__name__)
print(*held, flush=True)
sys.stdin.read()
";
    if !all_there("locks", &["python3"]) {
        return;
    }
    let bed = &Bed::new(who);
    let at = bed.outside().join("file");
    plain(&at);
    bed.give();
    let run = || bed.run(tier, &["--quiet", "--ask", "nobody"]);
    let locks = |mut command: Command, how: &str, kind: &str| {
        command.env("OTHER", &at).env("HOW", how).env("KIND", kind).args(["python3", "-c", LOCKS]);
        let mut holder =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
        let mut held = String::new();
        BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut held).expect("a line");
        (holder, held.trim().to_owned())
    };
    let held_by = |command: Command, how: &str, kind: &str| {
        let (mut holder, held) = locks(command, how, kind);
        drop(holder.stdin.take());
        assert!(holder.wait().expect("an end").success());
        held
    };
    assert_eq!(held_by(run(), "O_RDONLY", "LOCK_EX"), "");
    assert_eq!(held_by(bed.free("env"), "O_RDONLY", "LOCK_EX"), "flock", "the control");
    let (mut reader, held) = locks(run(), "O_RDONLY", "LOCK_SH");
    assert_eq!(held, "lockf flock");
    assert_eq!(held_by(bed.free("env"), "O_RDWR", "LOCK_EX"), "", "the reader is inside");
    drop(reader.stdin.take());
    assert!(reader.wait().expect("an end").success());
    assert_eq!(held_by(bed.free("env"), "O_RDWR", "LOCK_EX"), "lockf flock");
}

/// The descriptor of an exclusive lock is a number, which another thread can let mean another file.
#[each(user, tier)]
fn a_lock_is_of_the_file_that_was_looked_at_whatever_a_descriptor_means_by_then(who: Who, tier: Tier) {
    const EXCHANGES: &str = "
import fcntl, os, threading, time
own, other = (os.open(name, os.O_RDONLY) for name in ('own', os.environ['OTHER']))
number, taken, until = os.dup(own), 0, time.monotonic() + float(os.environ['SECONDS'])
def exchange():
    while time.monotonic() < until:
        os.dup2(other, number)
        os.dup2(own, number)
thread = threading.Thread(target=exchange)
thread.start()
while time.monotonic() < until and not taken:
    try: fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: pass
    seen = os.open(os.environ['OTHER'], os.O_RDONLY)
    try: fcntl.flock(seen, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError: taken += 1
    os.close(seen)
    fcntl.flock(own, fcntl.LOCK_UN)
thread.join()
fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('taken' if taken else 'not taken')
";
    if !all_there("locks", &["python3"]) {
        return;
    }
    let bed = &Bed::new(who);
    let at = bed.outside().join("file");
    plain(&at);
    plain(&bed.folder().join("own"));
    bed.give();
    let taken = |mut command: Command| {
        command.current_dir(bed.folder()).env("OTHER", &at).env("SECONDS", "1.5");
        let output = python(command, EXCHANGES, Stdio::null());
        assert!(output.status.success(), "{}", describe(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(taken(bed.run(tier, &["--quiet", "--ask", "nobody"])), "not taken");
    assert_eq!(taken(bed.free("env")), "taken", "the control");
}

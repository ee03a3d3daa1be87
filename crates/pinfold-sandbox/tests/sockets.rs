//! Sockets of this machine that were declared, and everything that is tried to reach others by them.
//!
//! What is tried lies in `sockets/inside.py`. Each attack is tried free, where it has to reach the other socket, and
//! confined, where it must not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command as Free;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::kit::{Bed, TIERS};
use pinfold_sandbox::{Attempt, ContinueAll, End, Network, Openings, Profile, Reply, SyscallHandler, Tier};

/// Programs outside, each behind a socket: one that is declared and others.
struct Daemons {
    bed: Bed,
    declared: PathBuf,
    other: PathBuf,
    abstract_name: String,
    datagrams: PathBuf,
    /// How often any of the others was reached.
    reached: Arc<AtomicUsize>,
}

fn answer(listener: UnixListener, word: &'static str, count: Option<Arc<AtomicUsize>>) {
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if let Some(count) = &count {
                count.fetch_add(1, Ordering::SeqCst);
            }
            let _ = stream.write_all(word.as_bytes());
        }
    });
}

impl Daemons {
    fn new() -> Self {
        let bed = Bed::new();
        let (declared, other) = (bed.outside.join("wanted"), bed.outside.join("other"));
        let reached = Arc::<AtomicUsize>::default();
        answer(UnixListener::bind(&declared).unwrap(), "declared", None);
        answer(UnixListener::bind(&other).unwrap(), "other", Some(Arc::clone(&reached)));
        let abstract_name = format!("pinfold-sockets-{}-{:?}", std::process::id(), thread::current().id());
        let name = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        answer(UnixListener::bind_addr(&name).unwrap(), "abstract", Some(Arc::clone(&reached)));
        let datagrams = bed.outside.join("datagrams");
        let socket = UnixDatagram::bind(&datagrams).unwrap();
        let count = Arc::clone(&reached);
        thread::spawn(move || {
            while socket.recv(&mut [0; 99]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sockets/inside.py");
        std::fs::copy(script, bed.folder.join("inside.py")).unwrap();
        Self { bed, declared, other, abstract_name, datagrams, reached }
    }

    fn profile(&self) -> Profile {
        let mut profile = self.bed.profile().with_sockets(vec![self.declared.clone()]);
        profile.environment.extend(self.variables().map(|(name, value)| (name.into(), value.into())));
        profile
    }

    fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        [
            ("DECLARED", self.declared.clone()),
            ("OTHER", self.other.clone()),
            ("ABSTRACT", PathBuf::from(&self.abstract_name)),
            ("DATAGRAMS", self.datagrams.clone()),
        ]
        .into_iter()
    }

    fn inside(&self, profile: &Profile, name: &str, by: &mut dyn SyscallHandler) -> String {
        self.clear();
        let (end, said) = self.bed.run_watched(Tier::Full, profile, &format!("python3 inside.py {name}"), by);
        assert_eq!(end, End::Code(0), "{name}: {said}");
        said
    }

    /// Runs one with nothing around it.
    fn free(&self, name: &str) {
        self.clear();
        let mut free = Free::new("python3");
        free.args(["inside.py", name]).envs(self.variables()).current_dir(&self.bed.folder);
        let output = free.output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
    }

    /// Takes away what an earlier one has made.
    fn clear(&self) {
        for entry in std::fs::read_dir(&self.bed.folder).unwrap().flatten() {
            if entry.file_name() != "inside.py" {
                let is_folder = entry.file_type().unwrap().is_dir();
                let remove = if is_folder { std::fs::remove_dir_all } else { std::fs::remove_file };
                remove(entry.path()).unwrap();
            }
        }
    }

    /// How often another was reached since the last look.
    fn others(&self) -> usize {
        thread::sleep(Duration::from_millis(50));
        self.reached.swap(0, Ordering::SeqCst)
    }
}

/// Remembers what was refused.
#[derive(Default)]
struct SessionReads(Vec<String>);

impl SyscallHandler for SessionReads {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        self.0.push(format!("{:?} {}", attempt.intent, attempt.place.display()));
        Reply::Continue
    }
}

#[test]
fn a_declared_socket_is_reached_as_programs_reach_sockets() {
    let daemons = Daemons::new();
    let said = daemons.inside(&daemons.profile(), "uses", &mut ContinueAll);
    let expected =
        "declared declared\ndeclared FileNotFoundError ConnectionRefusedError\ndeclared True\nNone True\n";
    assert_eq!(said, expected);
}

#[test]
fn a_daemon_that_starts_again_is_reached_again() {
    let daemons = Daemons::new();
    std::fs::remove_file(&daemons.declared).unwrap();
    answer(UnixListener::bind(&daemons.declared).unwrap(), "declared", None);
    let said = daemons.inside(&daemons.profile(), "uses", &mut ContinueAll);
    assert!(said.starts_with("declared declared"), "{said}");
}

#[test]
fn a_declared_directory_stands_for_its_sockets_and_what_is_hidden_in_it_does_not() {
    let daemons = Daemons::new();
    let directory = daemons.profile().with_sockets(vec![daemons.bed.outside.clone()]);
    daemons.inside(&directory, "plain", &mut ContinueAll);
    assert!(daemons.others() > 0, "it lies in the directory");
    let hidden = directory.with_hidden(vec![daemons.other.clone()]);
    daemons.inside(&hidden, "plain", &mut ContinueAll);
    assert_eq!(daemons.others(), 0);
}

#[test]
fn sockets_and_connections_of_the_runs_own_work() {
    let daemons = Daemons::new();
    assert_eq!(daemons.inside(&daemons.profile(), "own", &mut ContinueAll), "own\nown\n");
    let said = daemons.inside(&daemons.profile(), "loopback", &mut ContinueAll);
    assert_eq!(said, "by loopback\nTrue\n('127.0.0.1', 53)\n");
}

#[test]
fn who_waits_for_a_full_server_holds_nobody_up() {
    let daemons = Daemons::new();
    assert_eq!(daemons.inside(&daemons.profile(), "full", &mut ContinueAll), "went on\n");
}

/// With the end of how the watch names it. What changes all the time is named now and then only.
const ATTACKS: [(&str, &str); 12] = [
    ("plain", "OTHER"),
    ("by_link", "OTHER"),
    ("by_folder_link", "OTHER"),
    ("by_own_root", "/rootOTHER"),
    ("by_descriptor", "/other"),
    ("by_dots", "OTHER"),
    ("link_swapped", "OTHER"),
    ("memory_swapped", ""),
    ("descriptor_swapped", ""),
    ("from_another_directory", "OTHER"),
    ("abstract", "@ABSTRACT"),
    ("datagrams", "unix"),
];

#[test]
fn no_other_socket_is_reached() {
    let daemons = Daemons::new();
    for (name, named) in ATTACKS {
        // A race is won sooner or later.
        let won = (0..30).any(|_| {
            daemons.free(name);
            daemons.others() > 0
        });
        assert!(won, "{name} is harmless even free");
        let mut seen = SessionReads::default();
        daemons.inside(&daemons.profile(), name, &mut seen);
        assert_eq!(daemons.others(), 0, "{name} got out");
        let named = daemons
            .variables()
            .fold(named.to_owned(), |named, (word, value)| named.replace(word, &value.display().to_string()));
        let is_seen = named.is_empty() || seen.0.iter().any(|one| one.ends_with(&named));
        assert!(is_seen, "{name}: {named}: {:?}", seen.0);
    }
}

#[test]
fn packets_that_keep_their_order_are_held_as_streams_are() {
    let daemons = Daemons::new();
    let mut seen = SessionReads::default();
    daemons.inside(&daemons.profile(), "sequenced", &mut seen);
    assert!(seen.0.iter().any(|one| one.ends_with("other")), "{:?}", seen.0);
}

#[test]
fn a_view_of_ones_own_makes_no_other_socket_the_declared_one() {
    let daemons = Daemons::new();
    let openings = Openings { user_namespaces: true, ..Openings::default() };
    daemons.inside(&daemons.profile().with_openings(openings), "mounted_over", &mut ContinueAll);
    assert_eq!(daemons.others(), 0);
}

#[test]
fn memory_that_is_mounted_outside_is_not_the_runs_own() {
    let mut daemons = Daemons::new();
    let Ok(shared) = tempfile::tempdir_in("/dev/shm") else { return };
    daemons.other = shared.path().join("other");
    answer(UnixListener::bind(&daemons.other).unwrap(), "other", Some(Arc::clone(&daemons.reached)));
    let profile = daemons.profile().with_visible(vec![shared.path().to_owned()]);
    daemons.inside(&profile, "plain", &mut ContinueAll);
    assert_eq!(daemons.others(), 0);
    let declared = profile.with_sockets(vec![daemons.other.clone()]);
    daemons.inside(&declared, "plain", &mut ContinueAll);
    assert!(daemons.others() > 0, "the control: declared it is reached");
}

#[test]
fn nothing_is_reached_that_the_caller_has_no_right_to() {
    let daemons = Daemons::new();
    let is_superuser =
        std::fs::metadata("/proc/self").is_ok_and(|at| std::os::unix::fs::MetadataExt::uid(&at) == 0);
    std::fs::set_permissions(&daemons.declared, std::fs::Permissions::from_mode(0o000)).unwrap();
    let directory = daemons.profile().with_sockets(vec![daemons.bed.outside.clone()]);
    let (_, said) = daemons.bed.run(
        Tier::Full,
        &directory,
        "python3 -c 'import socket, os; print(socket.socket(socket.AF_UNIX).connect_ex(os.environ[\"DECLARED\"]))'",
    );
    assert_eq!(said.trim(), "13");
    // The control: a superuser who has kept their rights could.
    let stream = std::os::unix::net::UnixStream::connect(&daemons.declared);
    assert_eq!(stream.is_ok(), is_superuser);
}

#[test]
fn without_a_network_of_its_own_or_mounts_none_is_reached() {
    let daemons = Daemons::new();
    let script = "python3 -c 'import os, socket; print(socket.socket(socket.AF_UNIX).connect_ex(os.environ[\"DECLARED\"]))'";
    for tier in TIERS {
        let network = if tier == Tier::Full { Network::Host } else { Network::Off };
        let (_, said) = daemons.bed.run(tier, &daemons.profile().with_network(network), script);
        assert_eq!(said.trim(), "13", "{tier}");
    }
    let (_, said) = daemons.bed.run(Tier::Full, &daemons.profile(), script);
    assert_eq!(said.trim(), "0", "the control");
}

#[test]
fn where_none_is_declared_none_is_reached_and_each_is_named() {
    let daemons = Daemons::new();
    let networks = [(Tier::Full, Network::Off), (Tier::Full, Network::Host), (Tier::Landlock, Network::Off)];
    for (tier, network) in networks {
        let profile = daemons.profile().with_sockets(Vec::new()).with_network(network);
        for (name, named) in ATTACKS {
            let mut seen = SessionReads::default();
            daemons.clear();
            let script = format!("python3 inside.py {name}");
            let (_, said) = daemons.bed.run_watched(tier, &profile, &script, &mut seen);
            let abstract_names = tier == Tier::Landlock || profile.network == Network::Host;
            assert_eq!(daemons.others(), 0, "{name} got out, {tier}, {abstract_names}: {said}");
            // Links stay in the paths that are named.
            let named = match name {
                "by_link" => "/led",
                "by_folder_link" => "/folder/other",
                "by_dots" => "/other",
                "link_swapped" => "/swapped",
                "from_another_directory" => "/s",
                _ => named,
            };
            let named = daemons.variables().fold(named.to_owned(), |named, (word, value)| {
                named.replace(word, &value.display().to_string())
            });
            let is_seen = named.is_empty() || seen.0.iter().any(|one| one.ends_with(&named));
            assert!(is_seen, "{name}, {tier}: {named}: {:?}: {said}", seen.0);
        }
    }
}

#[test]
fn what_is_handed_out_in_place_of_a_socket_is_of_no_use() {
    let daemons = Daemons::new();
    let script = r#"python3 -c '
import os, socket
def tried(what, *words):
    try: return what(*words)
    except OSError as error: return error.errno
own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
print(own.gettimeout(), os.get_inheritable(own.fileno()), own.type == socket.SOCK_STREAM)
print(tried(own.connect, os.environ["OTHER"]), tried(own.bind, "named"), tried(own.bind, chr(0) + "named"), tried(own.listen))
print(tried(own.sendto, b"x", socket.MSG_NOSIGNAL, os.environ["OTHER"]), tried(own.send, b"x", socket.MSG_NOSIGNAL))
print(os.path.exists("named"))
'"#;
    for tier in TIERS {
        let profile = daemons.profile().with_sockets(Vec::new());
        let (_, said) = daemons.bed.run(tier, &profile, script);
        assert_eq!(said, "0.0 False True\n13 13 13 22\n106 32\nFalse\n", "{tier}");
        assert_eq!(daemons.others(), 0);
    }
}

#[test]
fn what_is_said_on_a_connection_is_the_two_programs_own_business() {
    let daemons = Daemons::new();
    let path = daemons.bed.outside.join("echo");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut said = Vec::new();
            let _ = (&stream).read_to_end(&mut said);
            let _ = (&stream).write_all(&said);
        }
    });
    let profile = daemons.profile().with_sockets(vec![path.clone()]);
    let script = format!(
        "python3 -c 'import socket\nwith socket.socket(socket.AF_UNIX) as s:\n    s.connect(\"{}\"); s.sendall(b\"x\" * 500000); \
         s.shutdown(1); print(sum(len(d) for d in iter(lambda: s.recv(65536), b\"\")))'",
        path.display()
    );
    let (_, said) = daemons.bed.run(Tier::Full, &profile, &script);
    assert_eq!(said.trim(), "500000");
}

//! `pinfold serve`: who is let in, what is said, and that nobody takes anything from the others.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pinfold_testkit::TempTree;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::kit::Bed;

/// A home, a folder, a place outside, and a server.
struct Served {
    bed: Bed,
    server: Option<Child>,
}

impl Served {
    fn new() -> Self {
        let tree = TempTree::visible_inside().with_dirs(["ws/.git", "out", "private"]);
        Self { bed: Bed::in_tree(tree, "home", "ws"), server: None }
    }

    fn start(args: &[&str]) -> Self {
        let mut bed = Self::new();
        bed.serve(args);
        bed
    }

    fn serve(&mut self, args: &[&str]) {
        let mut server = self.command(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), self.socket(), "it says where it is");
        self.server = Some(server);
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bed.command();
        command.args(["serve", "--socket", &self.socket()]).args(args);
        command
    }

    fn refused(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.bed.tree.path(name)
    }

    /// Short enough for a name of a socket, wherever the tests lie.
    fn socket(&self) -> String {
        let here = std::env::temp_dir();
        let name = self.bed.tree.top().file_name().unwrap().to_string_lossy().into_owned();
        let place = here.join(format!("pf{name}"));
        let _ = fs::create_dir(&place);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        place.join("s").display().to_string()
    }

    fn connected(&self) -> Guest {
        Guest { stream: BufReader::new(UnixStream::connect(self.socket()).unwrap()) }
    }

    fn guest(&self, role: &str) -> Guest {
        let mut guest = self.connected();
        let said = guest.ask(&json!({"v": 1, "as": role}));
        assert_eq!(said["hello"]["folder"], json!(self.at("ws")), "{said}");
        guest
    }

    fn end(&mut self, signal: Signal) -> std::process::ExitStatus {
        let mut server = self.server.take().unwrap();
        let process = Pid::from_raw(server.id().cast_signed()).unwrap();
        kill_process(process, signal).unwrap();
        server.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
        if let Some(place) = PathBuf::from(self.socket()).parent() {
            let _ = fs::remove_dir_all(place);
        }
    }
}

/// Whoever is connected.
struct Guest {
    stream: BufReader<UnixStream>,
}

impl Guest {
    /// Who is sent away may be so before a word was said; what they are told is heard all the same.
    fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// The next line; `None` at the end.
    fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    fn ask(&mut self, line: &Value) -> Value {
        self.say(format!("{line}\n").as_bytes());
        self.hear().unwrap()
    }

    fn write(&mut self, path: impl Into<PathBuf>) -> Value {
        self.ask(&json!({"tool": "Write", "input": {"file_path": path.into(), "content": "x\n"}}))
    }
}

#[test]
fn calls_are_made_and_checked_as_on_the_command_line() {
    let bed = Served::start(&[]);
    let mut calls = bed.guest("call");
    assert_eq!(calls.write("a.txt")["ended"], "done");
    let edit = json!({"tool": "Edit", "input": {"file_path": "a.txt", "old_string": "x", "new_string": "y"}});
    assert_eq!(calls.ask(&edit)["ended"], "done", "in one session what was written can be edited");
    let refused = calls.write(bed.at("out/b"));
    assert_eq!(
        (&refused["ended"], &refused["structured"]["error"]),
        (&json!("refused"), &json!("RequiresApproval"))
    );
    assert!(!bed.at("out/b").exists());
    let mut check = bed.guest("check");
    let decided = check.ask(&json!({"id": 7, "tool": "Bash", "input": {"command": "git push -f"}}));
    assert_eq!((&decided["id"], &decided["safeguard"]), (&json!(7), &json!("force-push")));
    let write = json!({"tool": "Write", "input": {"file_path": "a", "content": ""}, "mode": "acceptEdits"});
    assert_eq!(check.ask(&write)["decision"], "allow", "a line that names no folder means the server's");
    let record = fs::read_to_string(bed.at("home/.local/state/pinfold/record/record.jsonl")).unwrap();
    assert!(record.contains("\"session\":\"serve-"), "{record}");
    // From the beginning of the connection to its end.
    let first = record.lines().next().unwrap();
    assert!(first.contains("\"kind\":\"start\"") && first.contains("\"program\":\"serve\""), "{first}");
    assert!(!record.contains("\"end\":\"closed\""));
    drop(calls);
    let file = bed.at("home/.local/state/pinfold/record/record.jsonl");
    let until = Instant::now() + Duration::from_secs(20);
    while !fs::read_to_string(&file).unwrap().contains("\"end\":\"closed\"") {
        assert!(Instant::now() < until, "its end is recorded");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Each has a session of its own: what one has read another has not.
#[test]
fn many_are_served_at_once() {
    let bed = Served::start(&[]);
    let mut first = bed.guest("call");
    fs::write(bed.at("ws/read.txt"), "x\n").unwrap();
    assert_eq!(first.ask(&json!({"tool": "Read", "input": {"file_path": "read.txt"}}))["ended"], "done");
    let mut second = bed.guest("call");
    let edit =
        json!({"tool": "Edit", "input": {"file_path": "read.txt", "old_string": "x", "new_string": "y"}});
    assert_ne!(second.ask(&edit)["ended"], "done");
    assert_eq!(first.ask(&edit)["ended"], "done");
    let threads: Vec<_> = (0..20)
        .map(|n| {
            let mut guest = bed.guest("call");
            std::thread::spawn(move || (0..10).all(|m| guest.write(format!("{n}-{m}"))["ended"] == "done"))
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
}

#[test]
fn who_is_too_many_is_told_and_the_next_has_a_place() {
    let bed = Served::start(&["--no-record"]);
    let silent: Vec<Guest> = (0..64).map(|_| bed.guest("check")).collect();
    let told = bed.connected().ask(&json!({"v": 1, "as": "call"}));
    assert!(told["error"].as_str().unwrap().contains("too many"), "{told}");
    drop(silent);
    let end = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        if bed.connected().ask(&json!({"v": 1, "as": "call"})).get("hello").is_some() {
            break;
        }
        assert!(std::time::Instant::now() < end, "the places are free again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A line that is not understood is told, and the next one is answered.
#[test]
fn malformed_and_giant_lines() {
    let bed = Served::start(&[]);
    for role in ["call", "check"] {
        let mut guest = bed.guest(role);
        for bad in [
            &b"nonsense\n"[..],
            b"[]\n",
            b"\xff\xfe\n",
            b"{\"tool\":\"Read\"}\n",
            b"{\"tool\":\"Read\",\"input\":{},\"x\":1}\n",
        ] {
            guest.say(bad);
            let told = guest.hear().unwrap();
            assert!(
                told["error"].is_string() && told["id"].is_null() && told["line"].is_u64(),
                "{role}: {told}"
            );
        }
        let mut giant = vec![b'x'; 9 << 20];
        giant.push(b'\n');
        guest.say(&giant);
        assert!(guest.hear().unwrap()["error"].as_str().unwrap().contains("longer than"), "{role}");
        guest.say(b"\n\n");
        let answer = guest.ask(&json!({"tool": "Read", "input": {"file_path": "none"}}));
        assert!(answer.get("ended").is_some() || answer.get("decision").is_some(), "{role}: {answer}");
    }
    for bad in [
        "",
        "{}",
        "{\"v\":1}",
        "{\"v\":1,\"as\":\"root\"}",
        "{\"v\":1,\"as\":\"call\",\"folder\":\"/\"}",
        "{\"v\":2,\"as\":\"call\"}",
        "{\"v\":1,\"as\":\"check\",\"asks\":true}",
    ] {
        let mut guest = bed.connected();
        guest.say(format!("{bad}\n").as_bytes());
        assert!(guest.hear().unwrap()["error"].is_string(), "{bad}");
        assert!(guest.hear().is_none(), "and that is the end: {bad}");
    }
    let mut guest = bed.connected();
    guest.stream.get_mut().write_all(&vec![b' '; 1 << 20]).ok();
    let mut rest = Vec::new();
    let _ = guest.stream.read_to_end(&mut rest);
    assert!(String::from_utf8_lossy(&rest).contains("error") || rest.is_empty());
}

#[test]
fn who_goes_without_a_word_takes_nothing_along() {
    let bed = Served::start(&[]);
    for cut in ["", "{\"v\":1,", "{\"v\":1,\"as\":\"call\"}\n", "{\"v\":1,\"as\":\"call\"}\n{\"tool\":\"Wri"]
    {
        let mut guest = bed.connected();
        guest.say(cut.as_bytes());
        drop(guest);
    }
    // One who has no more to say still hears what was asked.
    let mut guest = bed.connected();
    guest.say(b"{\"v\":1,\"as\":\"call\"}\n{\"tool\":\"Write\",\"input\":{\"file_path\":\"last\",\"content\":\"\"}}\n");
    guest.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    assert!(guest.hear().unwrap().get("hello").is_some());
    assert_eq!(guest.hear().unwrap()["ended"], "done");
    assert!(guest.hear().is_none() && bed.at("ws/last").exists());
    assert_eq!(bed.guest("call").write("after")["ended"], "done");
}

/// A program that answers questions itself is asked on its own connection, in the words of the approvals' socket.
#[test]
fn questions_are_asked_where_the_call_was_made() {
    let bed = Served::start(&[]);
    let mut guest = bed.connected();
    assert!(guest.ask(&json!({"v": 1, "as": "call", "asks": true})).get("hello").is_some());
    let answer = |asked: &Value, choice: Value| json!({"do": "answer", "id": asked["id"], "digest": asked["digest"], "answer": choice});
    let place = bed.at("out/x");
    let asked = guest.write(&place)["asked"].clone();
    assert_eq!(asked["tool"], "Write");
    assert!(!place.exists(), "nothing is done while it waits");
    let no = guest.ask(&answer(&asked, json!({"choice": "no", "message": "not there"})));
    assert_eq!(no["ended"], "refused");
    assert!(no.to_string().contains("not there") && !place.exists());
    let asked = guest.write(&place)["asked"].clone();
    // What is no answer to it is told; a call that was sent ahead waits for its turn.
    let other = json!({"do": "answer", "id": asked["id"], "digest": "00", "answer": {"choice": "yes"}});
    assert!(guest.ask(&other)["error"].is_string());
    assert!(guest.ask(&json!({"do": "list"}))["error"].is_string());
    guest.say(b"{\"tool\":\"Write\",\"input\":{\"file_path\":\"ahead\",\"content\":\"\"}}\n");
    let yes = guest.ask(&answer(&asked, json!({"choice": "yes"})));
    assert_eq!((&yes["ended"], place.exists()), (&json!("done"), true));
    assert_eq!(guest.hear().unwrap()["ended"], "done");
    let record = fs::read_to_string(bed.at("home/.local/state/pinfold/record/record.jsonl")).unwrap();
    assert!(record.contains("\"via\":\"embedder\""), "{record}");
    // Whoever goes instead of answering has said nothing, and nothing is done.
    let gone = bed.at("out/gone");
    guest.write(&gone);
    drop(guest);
    assert_eq!(bed.guest("call").write("still")["ended"], "done");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!gone.exists());
}

#[test]
fn it_is_for_one_person_and_ends_tidily() {
    let mut bed = Served::start(&[]);
    let mode = fs::symlink_metadata(bed.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = bed.refused(&[]);
    assert_eq!(second.status.code(), Some(2), "{second:?}");
    let mut guest = bed.guest("call");
    for signal in [Signal::TERM, Signal::INT] {
        assert_eq!(bed.end(signal).code(), Some(0), "{signal:?}");
        assert!(fs::symlink_metadata(bed.socket()).is_err(), "the socket goes with it");
        bed.serve(&[]);
    }
    assert!(guest.hear().is_none(), "the connection has ended");
    // Killed, it leaves its socket behind, which the next one takes away.
    bed.end(Signal::KILL);
    assert!(fs::symlink_metadata(bed.socket()).is_ok());
    bed.serve(&[]);
    assert_eq!(bed.guest("call").write("again")["ended"], "done");
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let bed = Served::new();
    bed.bed.put_settings("{\"permissions\": []}");
    assert_eq!(bed.refused(&[]).status.code(), Some(2), "settings");
    fs::remove_file(bed.at("home/.config/pinfold/settings.json")).unwrap();
    assert_eq!(bed.refused(&["--folder", "/no/such"]).status.code(), Some(2), "a folder");
}

/// Whoever is confined, or was started from here, is nobody's person: what a shell of a session could reach is not served.
#[test]
fn who_is_confined_is_turned_away() {
    let bed = Served::start(&[]);
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ntry: s.sendall(b'{\"v\":1,\"as\":\"call\"}\\n')\nexcept OSError: pass\nprint(s.makefile().readline())\n";
    let free = Command::new("python3").args(["-c", script, &bed.socket()]).output();
    let Ok(free) = free else { return println!("NOT TRIED: python3 is missing") };
    assert!(String::from_utf8_lossy(&free.stdout).contains("hello"), "the control");
    let confined =
        Command::new("setpriv").args(["--no-new-privs", "python3", "-c", script, &bed.socket()]).output();
    let Ok(confined) = confined else { return println!("NOT TRIED: setpriv is missing") };
    let told = String::from_utf8_lossy(&confined.stdout);
    assert!(told.contains("error") && told.contains("confined"), "{told}");
}

//! Sockets of this machine that were declared: by flag and in settings, wherever they lie, and no others.
//!
//! What is tried to reach others by them is in `crates/pinfold-sandbox/tests/sockets.rs`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::{Bed, Tier, Who, each};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Says the path of each socket that is reached, or why it is not.
const CLIENT: &str = "import socket, sys\n\
    for path in sys.argv[1:]:\n    try:\n        with socket.socket(socket.AF_UNIX) as stream:\n            \
    stream.connect(path)\n            print(stream.recv(99).decode())\n    except OSError as error:\n        print(error.errno)\n";

/// A socket that anybody of this machine may connect to, and says a word.
fn daemon(at: &Path, word: &'static str) {
    let listener = UnixListener::bind(at).expect("a socket");
    fs::set_permissions(at, fs::Permissions::from_mode(0o777)).expect("a mode");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(word.as_bytes());
        }
    });
}

struct Machine {
    bed: Bed,
    wanted: PathBuf,
    other: PathBuf,
}

impl Machine {
    fn new(who: Who) -> Self {
        let bed = Bed::new(who);
        let (wanted, other) = (bed.outside().join("wanted"), bed.outside().join("other"));
        daemon(&wanted, "wanted");
        daemon(&other, "other");
        fs::write(bed.folder().join("client.py"), CLIENT).expect("a script");
        bed.give();
        Self { bed, wanted, other }
    }

    fn settings(&self, network: &Value) {
        let config = self.bed.home().join(".config/pinfold");
        fs::create_dir_all(&config).expect("a directory");
        fs::write(config.join("settings.json"), json!({"network": network}).to_string()).expect("settings");
        self.bed.give();
    }

    fn reach(&self, tier: Tier, options: &[&str], sockets: &[&Path]) -> Output {
        let options = [&["--ask", "nobody"], options].concat();
        let mut command = self.bed.run(tier, &options);
        command.args(["python3", "client.py"]).args(sockets).output().expect("pinfold")
    }
}

fn with_machine(who: Who, attempt: impl Fn(&Machine)) {
    if all_there("sockets that were declared", &["python3"]) && Tier::Full.is_possible_for(who) {
        attempt(&Machine::new(who));
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const REFUSED: &str = "13\n";

#[each(user)]
fn what_a_flag_or_settings_declare_is_reached_and_nothing_else(who: Who) {
    with_machine(who, |machine| {
        let both = [machine.wanted.as_path(), &machine.other];
        let flag = ["--allow-socket", text(&machine.wanted)];
        let output = machine.reach(Tier::Full, &flag, &both);
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said(&output), format!("wanted\n{REFUSED}"), "{}", describe(&output));
        assert!(report.contains(&format!("connect {}", machine.other.display())), "{report}");
        assert!(report.contains("was not declared"), "{report}");
        assert!(report.contains("acts outside for every client"), "what it means is said: {report}");
        // The control: without a word none is reached.
        assert_eq!(said(&machine.reach(Tier::Full, &[], &both)), REFUSED.repeat(2));
        machine.settings(&json!({"sockets": [text(&machine.wanted)]}));
        assert_eq!(said(&machine.reach(Tier::Full, &[], &both)), format!("wanted\n{REFUSED}"));
        // A folder stands for the sockets in it.
        let folder = machine.bed.outside();
        machine.settings(&json!({"sockets": [text(&folder)]}));
        assert_eq!(said(&machine.reach(Tier::Full, &[], &both)), "wanted\nother\n");
    });
}

#[each(user)]
fn one_below_a_place_that_is_private_inside_is_reached_too(who: Who) {
    with_machine(who, |machine| {
        let shared: TempDir = tempfile::tempdir_in("/tmp").expect("a directory");
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        let (wanted, other) = (shared.path().join("wanted"), shared.path().join("other"));
        daemon(&wanted, "wanted");
        daemon(&other, "other");
        let flag = ["--allow-socket", text(&wanted)];
        // The other is not even there.
        assert_eq!(said(&machine.reach(Tier::Full, &flag, &[&wanted, &other])), "wanted\n2\n");
    });
}

#[each(user)]
fn the_projects_own_settings_declare_none(who: Who) {
    with_machine(who, |machine| {
        let own = machine.bed.folder().join(".pinfold");
        fs::create_dir(&own).expect("a directory");
        let settings = json!({"network": {"sockets": [text(&machine.wanted)]}});
        fs::write(own.join("settings.json"), settings.to_string()).expect("settings");
        machine.bed.give();
        let trust = machine.bed.free(pinfold_tests::product::pinfold()).args(["trust", "--yes"]).output();
        assert!(trust.is_ok());
        let output = machine.reach(Tier::Full, &[], &[&machine.wanted]);
        assert_eq!(said(&output), REFUSED, "{}", describe(&output));
    });
}

#[each(user)]
fn what_holds_none_says_so(who: Who) {
    with_machine(who, |machine| {
        let flag = ["--allow-socket", text(&machine.wanted)];
        let output = machine.reach(Tier::LandlockOnly, &flag, &[&machine.wanted]);
        assert_eq!(said(&output), REFUSED);
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("only on the full tier"),
            "{}",
            describe(&output)
        );
        let host = [&flag[..], &["--network", "host"]].concat();
        let output = machine.reach(Tier::Full, &host, &[&machine.wanted]);
        assert_eq!(said(&output), REFUSED);
        let output =
            machine.reach(Tier::Full, &["--allow-socket", "/run/docker.sock/missing"], &[&machine.wanted]);
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("no socket there is reached"),
            "{}",
            describe(&output)
        );
    });
}

//! Grants for less than a session, given at another terminal: they hold as long as was said, and no longer.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};

const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A session whose calls come one after the other, and whose questions wait for other terminals.
struct Session {
    bed: Bed,
    child: Child,
    calls: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Session {
    fn start() -> Self {
        let bed = Bed::new(Who::Ordinary);
        let settings = bed.home().join(".config/pinfold");
        fs::create_dir_all(&settings).expect("a folder");
        fs::create_dir_all(bed.outside().join("notes")).expect("a folder");
        fs::write(settings.join("settings.json"), r#"{"approvals": {"socket": true, "timeout": "2m"}}"#)
            .expect("a file");
        bed.give();
        let mut command = bed.free(pinfold());
        command.args(["call", "--lines"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a session");
        let calls = child.stdin.take().expect("a pipe");
        let replies = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { bed, child, calls, replies }
    }

    fn write(&mut self, name: &str) {
        let path = self.bed.outside().join("notes").join(name);
        let call = json!({"tool": "Write", "input": {"file_path": path, "content": "x\n"}});
        writeln!(self.calls, "{call}").expect("a session that reads");
    }

    fn ended(&mut self) -> String {
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("a reply");
        let reply: Value = serde_json::from_str(&line).expect("JSON");
        reply["ended"].as_str().expect("an end").to_owned()
    }

    fn pinfold(&self, words: &[&str]) -> String {
        let output = self.bed.free(pinfold()).args(words).output().expect("pinfold can be started");
        assert!(output.status.success(), "{words:?}: {}", describe(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The one question that waits.
    fn question(&self) -> String {
        let end = Instant::now() + ANSWER_TIMEOUT;
        loop {
            let listed = self.pinfold(&["approvals", "--json"]);
            if let Some(line) = listed.lines().next() {
                let request: Value = serde_json::from_str(line).expect("JSON");
                return request["waiting"]["id"].as_str().expect("an id").to_owned();
            }
            assert!(Instant::now() < end, "nothing waits");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Says no to the question that waits, which has to be there.
    fn refuses(&mut self, name: &str) {
        self.write(name);
        let question = self.question();
        self.pinfold(&["deny", &question]);
        assert_eq!(self.ended(), "refused", "{name}");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The second scope of a write outside: the folder that the file is in.
const ITS_FOLDER: &str = "2";

#[test]
fn a_yes_for_a_number_of_calls_covers_that_many_and_no_more() {
    let mut session = Session::start();
    session.write("one");
    let question = session.question();
    session.pinfold(&["approve", &question, "--times", "2", "--scope", ITS_FOLDER, "--yes"]);
    assert_eq!(session.ended(), "done", "the call that was asked about");
    session.write("two");
    assert_eq!(session.ended(), "done", "the second of two");
    session.refuses("three");
}

#[test]
fn a_yes_for_a_time_ends_with_it() {
    let mut session = Session::start();
    session.write("one");
    let question = session.question();
    session.pinfold(&["approve", &question, "--for", "1h", "--scope", ITS_FOLDER, "--yes"]);
    assert_eq!(session.ended(), "done");
    session.write("two");
    assert_eq!(session.ended(), "done", "within the hour");

    let mut session = Session::start();
    session.write("one");
    let question = session.question();
    session.pinfold(&["approve", &question, "--for", "1s", "--scope", ITS_FOLDER, "--yes"]);
    assert_eq!(session.ended(), "done");
    std::thread::sleep(Duration::from_millis(1100));
    session.refuses("two");
}

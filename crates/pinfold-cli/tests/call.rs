//! `pinfold call` over settings: which rules count, and that a stream of calls follows them.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::kit::Bed;

/// A stream of calls: one in, one reply out.
struct Stream {
    child: Child,
    replies: BufReader<std::process::ChildStdout>,
}

impl Stream {
    fn open(bed: &Bed) -> Self {
        let mut child = bed
            .command()
            .args(["call", "--lines"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Self { child, replies }
    }

    fn write(&mut self, path: &str) -> Value {
        let call = json!({"tool": "Write", "input": {"file_path": path, "content": "x"}});
        writeln!(self.child.stdin.as_mut().unwrap(), "{call}").unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        serde_json::from_str(&reply).unwrap()
    }
}

#[test]
fn a_stream_of_calls_follows_its_settings_and_closes_when_they_break() {
    let bed = Bed::new();
    let mut stream = Stream::open(&bed);
    assert_eq!(stream.write("a")["ended"], "done");
    bed.put_settings(r#"{"permissions": {"deny": ["Write(./b*)"]}}"#);
    let denied = stream.write("b");
    assert_eq!((&denied["ended"], &denied["structured"]["rule"]), (&json!("refused"), &json!("Write(./b*)")));
    assert_eq!(stream.write("c")["ended"], "done");
    bed.put_settings("{ broken");
    assert_eq!(stream.write("b2")["ended"], "refused", "what was denied stays denied");
    assert_eq!(stream.write("c2")["ended"], "refused", "and nobody grants the folder meanwhile");
    bed.put_settings("{}");
    assert_eq!(stream.write("b3")["ended"], "done");
    drop(stream.child.stdin.take());
    stream.child.wait().unwrap();
}

#[test]
fn a_mode_that_is_chosen_holds_and_none_grants_the_folder() {
    let bed = Bed::new();
    let write = |flags: &[&str]| {
        let input = json!({"file_path": "new", "content": "x"}).to_string();
        let args = [&["call", "--no-record"], flags, &["Write", &input]].concat();
        let output = bed.pinfold(&args);
        fs::remove_file(bed.project.join("new")).ok();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["ended"].clone()
    };
    assert_eq!(write(&[]), "done");
    assert_eq!(write(&["--permission-mode", "default"]), "refused");
    assert_eq!(write(&["--permission-mode", "default", "--allowedTools", "Write(./new)"]), "done");
    assert_eq!(write(&["--disallowedTools", "Edit"]), "refused");
    bed.put_settings(r#"{"permissions": {"defaultMode": "dontAsk"}}"#);
    assert_eq!(write(&[]), "refused");
    assert_eq!(write(&["--no-settings"]), "done");
}

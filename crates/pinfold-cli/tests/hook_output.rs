//! A hook whose answer nobody can read: for agents that let a call run then, it is a no by its exit code.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

mod kit;

use kit::Bed;

const WRITE: &str = r#"{"session_id":"s","cwd":"CWD","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/etc/x","content":""}}"#;

#[test]
fn an_answer_that_cannot_be_read_is_a_no() {
    let bed = Bed::new();
    let pinfold = env!("CARGO_BIN_EXE_pinfold");
    fs::write(bed.at("empty"), "").unwrap();
    for (way, code) in
        [("", 0), (">&-", 2), (">/dev/null", 2), (">/dev/full", 2), ("1<../empty", 2), ("1</dev/zero", 2)]
    {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("'{pinfold}' hook claude {way}")]).current_dir(&bed.project);
        command.env_clear().env("HOME", &bed.home).env("PATH", "/usr/bin:/bin");
        command.env("CLAUDE_PROJECT_DIR", &bed.project);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let event = WRITE.replace("CWD", bed.project.to_str().unwrap());
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{way}: {told}");
        assert_eq!(told.contains("nothing is allowed"), code == 2, "{way}: {told}");
        assert_eq!(output.stdout.is_empty(), code == 2, "{way}");
    }
}

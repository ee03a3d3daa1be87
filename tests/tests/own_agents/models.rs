//! A model over HTTP, from the environment of a person to the record: a key is in one header, and nowhere else.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Who, each};
use serde_json::{Value, json};

use super::Runs;

const KEY: &str = "k3y-of-no-known-kind-0123456789";

/// Reads one request. Its head and its body.
fn request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = said.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (head, String::from_utf8(body).expect("text"))
}

/// What a server of one's own answers: first a call that looks for the key, then words with the key, in two frames.
fn answers() -> [Vec<Value>; 2] {
    let command = json!({"command": "sh look.sh"}).to_string();
    let call = json!({"index": 0, "id": "c1", "function": {"name": "Bash", "arguments": command}});
    let delta = |delta: Value, end: Value| json!({"choices": [{"delta": delta, "finish_reason": end}]});
    let words = json!({"content": format!("the key is {KEY}")});
    [
        vec![delta(json!({"tool_calls": [call]}), Value::Null), delta(json!({}), json!("tool_calls"))],
        vec![delta(words, Value::Null), delta(json!({}), json!("stop"))],
    ]
}

/// Every file below a folder that holds a text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let held = entries.flat_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holding(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        found.then(|| path.display().to_string()).into_iter().collect()
    });
    held.collect()
}

#[each(user)]
fn a_key_is_in_one_header_and_in_nothing_that_is_kept_or_told(who: Who) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let server = thread::spawn(move || {
        answers().map(|frames| {
            let (mut stream, _) = listener.accept().expect("a request");
            let got = request(&stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").expect("an answer");
            for frame in frames {
                write!(stream, "data: {frame}\n\n").expect("an answer");
            }
            stream.write_all(b"data: [DONE]\n\n").expect("an answer");
            got
        })
    });
    let runs = Runs::new(who, &[]);
    // What no look at the words sees.
    let look = "env; cat /proc/self/environ /proc/*/environ ~/.local/state/pinfold/agents/*";
    fs::write(runs.bed.folder().join("look.sh"), look).expect("a file");
    runs.bed.give();
    let mut command = runs.bed.free(pinfold());
    command.args(["agent", "run", "--model", "chat:local", "--allow-bash", "--json", "--prompt", "go"]);
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", base).stdin(Stdio::null());
    let output = command.output().expect("pinfold can be started");
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    for (head, body) in server.join().expect("two requests") {
        assert_eq!(head.matches(KEY).count(), 1, "{head}");
        assert!(head.contains(&format!("Bearer {KEY}")) && !body.contains(KEY), "{body}");
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("the key is [key]"), "the words of the model are there: {said}");
    assert!(said.contains("PWD="), "the command has told its environment: {said}");
    let told = said + &String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains(KEY), "{told}");
    let home = runs.bed.home();
    assert!(!holding(&home, "the key is").is_empty(), "the control: the run is kept there");
    assert_eq!(holding(&home, KEY), [""; 0], "nothing that is kept has it");
    assert_eq!(holding(&runs.bed.folder(), KEY), [""; 0]);
}

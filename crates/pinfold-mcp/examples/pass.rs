//! The least proxy: a server is started, and bytes go to and fro. What `benches/mcp.py` compares ours with.

#![expect(clippy::unwrap_used, reason = "a program to measure by")]

use std::io::{Read, Write, stdin, stdout};
use std::process::{Command, Stdio};
use std::thread;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let mut server = Command::new(words.next().unwrap());
    let mut server = server.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (to_server, of_server) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    thread::spawn(move || pass(stdin(), to_server));
    pass(of_server, stdout());
    server.wait().unwrap();
}

/// Passes on what comes, as it comes, until there is no more.
fn pass(mut from: impl Read, mut to: impl Write) {
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(len) => to.write_all(piece.get(..len).unwrap_or_default()).and_then(|()| to.flush()).unwrap(),
        }
    }
}

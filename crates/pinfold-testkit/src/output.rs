//! Output of programs as text.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};
use std::thread;

/// The exit status and both streams, for messages of tests that fail.
pub fn describe(output: &Output) -> String {
    format!("{}\n--- stdout\n{}\n--- stderr\n{}", output.status, stdout(output), stderr(output))
}

/// Standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output, then standard error.
pub fn both(output: &Output) -> String {
    stdout(output) + &stderr(output)
}

/// Runs a program to its end with `input` on its standard input. A program that reads no further is no failure.
pub fn run_with_input(command: &mut Command, input: &str) -> Output {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().expect("the program can be started");
    let mut to_child = child.stdin.take().expect("a pipe");
    // Beside reading, so that neither waits for the other where both are long.
    thread::scope(|scope| {
        scope.spawn(move || match to_child.write_all(input.as_bytes()) {
            Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => panic!("{failed}"),
            _ => {}
        });
        child.wait_with_output().expect("an end")
    })
}

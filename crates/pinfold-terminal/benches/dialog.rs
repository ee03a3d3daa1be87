//! How long a person waits for a dialog: from a request to what a terminal is told.

#![expect(clippy::unwrap_used, reason = "a bench stops where it fails")]

use std::time::{Duration, Instant};

use divan::Bencher;
use pinfold::consent::{Change, Hunk, Request, RequestedOperation};
use pinfold_terminal::dialog::{Dialog, DialogContext};
use pinfold_terminal::{Key, KeyCode, KeyTiming, Painter, TerminalSize};

fn main() {
    divan::main();
}

const SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };

fn base() -> Request {
    serde_json::from_str(include_str!("../tests/dialog/base.json")).unwrap()
}

fn command(command: String) -> Request {
    let operation = RequestedOperation::Command {
        command,
        cwd: "/home/u/project".to_owned(),
        background: false,
        says: None,
    };
    Request { operation, ..base() }
}

fn change(before: String, after: String) -> Request {
    let hunks = vec![Hunk { before, after, all: false }];
    let file = Change { path: "src/lib.rs".to_owned(), real: None, new: false, hunks };
    Request { operation: RequestedOperation::Change { files: vec![file] }, ..base() }
}

/// What is asked about, by its name.
const REQUESTS: [&str; 9] = [
    "usual",
    "command 1 MiB",
    "lines 1 MiB",
    "controls 1 MiB",
    "marks 1 MiB",
    "file 1 MiB",
    "edits 1 MiB",
    "marks 4 MiB",
    "edits 4 MiB",
];

const MIB: usize = 1 << 20;

fn request(name: &str) -> Request {
    let lines =
        |step: usize| (0..MIB / 16).map(|i| format!("line {:09}\n", i / step * step)).collect::<String>();
    match name {
        "command 1 MiB" => command("x".repeat(MIB)),
        "lines 1 MiB" => command("x\n".repeat(MIB / 2)),
        "controls 1 MiB" => command("\x1b[".repeat(MIB / 2)),
        "marks 1 MiB" => command("\u{301}\u{302}".repeat(MIB / 4)),
        "file 1 MiB" => change(String::new(), lines(1)),
        // Every other line differs.
        "edits 1 MiB" => change(lines(1), lines(2)),
        // As long as anything that is shown at all, and as bad.
        "marks 4 MiB" => command("\u{301}\u{302}".repeat(MIB - 100)),
        "edits 4 MiB" => change("a\nb\n".repeat(MIB / 2 - 100), "a\nc\n".repeat(MIB / 2 - 100)),
        _ => base(),
    }
}

fn first_paint(request: &Request) -> usize {
    let mut dialog = Dialog::new(request);
    let moment = DialogContext { now: Instant::now(), left: Duration::from_mins(9), waiting: 1 };
    let mut told = Vec::new();
    Painter::new(true).paint(dialog.view(SIZE, &moment), &mut told).unwrap();
    told.len()
}

/// From a request to the first picture.
#[divan::bench(args = REQUESTS)]
fn first(bencher: Bencher<'_, '_>, name: &str) {
    let request = request(name);
    bencher.bench_local(|| first_paint(&request));
}

/// A key that scrolls.
#[divan::bench(args = REQUESTS)]
fn next_page(bencher: Bencher<'_, '_>, name: &str) {
    let request = request(name);
    let mut dialog = Dialog::new(&request);
    let moment = DialogContext { now: Instant::now(), left: Duration::from_mins(9), waiting: 1 };
    let mut painter = Painter::new(true);
    let mut told = Vec::new();
    let mut down = true;
    bencher.bench_local(|| {
        told.clear();
        let at = Instant::now();
        let typed = KeyTiming { bytes: Vec::new(), since: at, at, alone: true };
        dialog.key(Key::plain(if down { KeyCode::PageDown } else { KeyCode::PageUp }), &typed);
        down = !down;
        painter.paint(dialog.view(SIZE, &moment), &mut told).unwrap();
    });
}

//! What a line of the record costs: alone, among threads, and beside other processes.

#![expect(clippy::unwrap_used, reason = "a bench that cannot write measures nothing")]

use std::env;
use std::process::{Child, Command};
use std::sync::Arc;

use divan::Bencher;
use pinfold::Ambient;
use pinfold::audit::{
    AuditEvent, DecisionEvent, Journal, Ledger, Limits, Record, RecordedInput, RecordedPath, Ruled,
};
use pinfold::policy::Decision;

/// Says to a process of this program that it is one of several, and where they write.
const BESIDE: &str = "PINFOLD_BENCH_BESIDE";

fn main() {
    if let Some(directory) = env::var_os(BESIDE) {
        let ledger = Ledger::open(&Ambient::claim(), directory, Limits::default()).unwrap();
        let record = usual();
        loop {
            ledger.append(&record).unwrap();
        }
    }
    divan::main();
}

/// A decision about an edit, as most lines are.
fn usual() -> Record {
    let told = DecisionEvent {
        decision: Some(Decision::Allow.as_str().into()),
        step: Some("mode-default".into()),
        ruling: Ruled::Permit,
        reason: Some("the mode acceptEdits says so".to_owned()),
        folder: "/home/somebody/work/project".to_owned(),
        mode: Some("acceptEdits".into()),
        input: Some(RecordedInput::from(serde_json::json!({
            "file_path": "/home/somebody/work/project/src/lib.rs",
            "old_string": "fn before() -> u32 {\n    1\n}",
            "new_string": "fn after() -> u64 {\n    2\n}",
        }))),
        paths: vec![RecordedPath { operation: "edit".into(), asked: "src/lib.rs".to_owned(), real: None }],
        ..DecisionEvent::default()
    };
    Record {
        id: Some(17),
        tool: "Edit".into(),
        ..Record::for_session(
            &Arc::from("call-0123456789"),
            &Arc::from("main"),
            AuditEvent::Decision(Box::new(told)),
        )
    }
}

fn ledger() -> (tempfile::TempDir, Arc<Ledger>) {
    // On a real disk: `/tmp` is memory on many machines.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let ledger = Ledger::open(&Ambient::claim(), folder.path().join("state"), Limits::default()).unwrap();
    (folder, Arc::new(ledger))
}

/// The line alone: how long it is, and what writing it as JSON costs.
#[divan::bench]
fn as_json(bencher: Bencher) {
    let record = usual();
    bencher.bench(|| serde_json::to_vec(&record).unwrap());
}

#[divan::bench(threads = [1, 2, 8], sample_size = 1000, sample_count = 100)]
fn append(bencher: Bencher) {
    let (_folder, ledger) = ledger();
    let record = usual();
    bencher.bench(|| ledger.append(&record).unwrap());
}

struct Others(Vec<Child>);

impl Drop for Others {
    fn drop(&mut self) {
        for other in &mut self.0 {
            let _ = other.kill();
            let _ = other.wait();
        }
    }
}

/// While so many other processes write as fast as they can.
#[divan::bench(args = [1, 3], sample_size = 200, sample_count = 50)]
fn append_beside(bencher: Bencher, others: usize) {
    let (_folder, ledger) = ledger();
    let record = usual();
    let start = || Command::new(env::current_exe().unwrap()).env(BESIDE, ledger.directory()).spawn().unwrap();
    let _others = Others((0..others).map(|_| start()).collect());
    bencher.bench(|| ledger.append(&record).unwrap());
}

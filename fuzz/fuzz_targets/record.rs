//! A record, damaged in any way.
//!
//! Fails when reading or verifying it panics, or when a chain that was changed holds although the hash of its last line was
//! kept elsewhere. The first bytes say where the record is cut, and how much of it is replaced by the rest.
//!
//! Run with `cargo fuzz run -s none record -- -dict=fuzz/dictionaries/record.dict`.

#![no_main]

use std::fs::File;
use std::io::{Error, Seek as _, Write as _};
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pinfold::audit::{AuditEvent, OutcomeEvent, Record};
use pinfold::audit::{Hash, Journal as _, Ledger, Limits, LogReader, verify};
use pinfold::paths::Ambient;

/// A chain that holds, and the hash of its last line.
static CHAIN: LazyLock<(Vec<u8>, Hash)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&Ambient::claim(), folder.path(), Limits::default()).expect("a journal");
    for ms in 0..4 {
        let kind = AuditEvent::Outcome(OutcomeEvent { end: "done".into(), ms, ..OutcomeEvent::default() });
        let record = Record::for_session(&"s".into(), &"main".into(), kind);
        ledger.append(&record).expect("a line");
    }
    let text = std::fs::read(folder.path().join("record.jsonl")).expect("the record");
    let last = text.split_inclusive(|byte| *byte == b'\n').next_back().expect("a line");
    let head = Hash::digest(last);
    (text, head)
});

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    let Some(([high, low, gone], put)) = bytes.split_first_chunk() else { return };
    let (whole, head) = &*CHAIN;
    let at = usize::from(u16::from_be_bytes([*high, *low])) % (whole.len() + 1);
    let (before, after) = whole.split_at(at);
    let after = &after[usize::from(*gone).min(after.len())..];
    let changed = [before, put, after].concat();
    let file = read(changed.clone());
    let held = verify(&[(PathBuf::from("f"), file)], Some(*head)).expect("it is read");
    if held.holds() {
        // Lines may be missing at the beginning, where older files were taken away, and stand behind the one that is known.
        let mut rest = whole.as_slice();
        while !changed.starts_with(rest) {
            rest = &rest[rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1)..];
        }
        assert!(!rest.is_empty(), "{}", changed.escape_ascii());
    }
});

/// Reads a record, whatever it is, and verifies it.
fn read(text: Vec<u8>) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&text).expect("room");
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    LogReader::open_file(&Ambient::claim(), path).for_each(|_| Ok::<(), Error>(())).expect("it is read");
    file.rewind().expect("a file");
    let copy = file.try_clone().expect("a descriptor");
    let _ = verify(&[(PathBuf::from("f"), copy)], None).expect("it is read");
    file.rewind().expect("a file");
    file
}

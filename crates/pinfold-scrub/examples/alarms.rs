//! What would be taken for a secret in a folder: `cargo run --release -p pinfold-scrub --example alarms -- FOLDER…`
//!
//! Prints counts by kind, and each hit with what stands around it, so that a person can judge which are false alarms.
//! `--quiet` leaves the hits out, `--kind NAME` shows only those of one kind. Text files only: those without a NUL byte in
//! their first 8 KiB. Links are not followed.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pinfold_scrub::{Hit, Scrubber};

/// Bytes shown before a hit.
const BEFORE: usize = 40;

/// Bytes shown of a hit.
const SHOWN: usize = 60;

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    took: Duration,
    /// Hits, and the files they are in.
    kinds: BTreeMap<&'static str, (u64, u64)>,
}

fn main() {
    let (mut folders, mut quiet, mut only) = (Vec::new(), false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quiet" => quiet = true,
            "--kind" => only = arguments.next(),
            _ => folders.push(PathBuf::from(argument)),
        }
    }
    let show = |hit: &Hit| !quiet && only.as_deref().is_none_or(|only| only == hit.kind);
    for folder in folders {
        let mut tally = Tally::default();
        walk(&folder, &mut |file| look(file, &mut tally, &show));
        let rate = u128::from(tally.bytes) / tally.took.as_micros().max(1);
        println!("{}: {} files, {} bytes, {rate} MB/s", folder.display(), tally.files, tally.bytes);
        for (kind, (hits, files)) in &tally.kinds {
            println!("  {hits:6} in {files:5} files  {kind}");
        }
    }
}

fn walk(folder: &Path, look: &mut dyn FnMut(&Path)) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), look),
            Ok(kind) if kind.is_file() => look(&entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}

fn look(file: &Path, tally: &mut Tally, show: &dyn Fn(&Hit) -> bool) {
    let Ok(bytes) = fs::read(file) else { return };
    if bytes.iter().take(8192).any(|byte| *byte == 0) {
        return;
    }
    tally.files += 1;
    tally.bytes += bytes.len() as u64;
    let began = Instant::now();
    let hits = Scrubber::default().hits(&bytes);
    tally.took += began.elapsed();
    let mut seen = Vec::new();
    for hit in hits {
        let (count, files) = tally.kinds.entry(hit.kind).or_default();
        *count += 1;
        if !seen.contains(&hit.kind) {
            seen.push(hit.kind);
            *files += 1;
        }
        if show(&hit) {
            let before =
                bytes.get(hit.range.start.saturating_sub(BEFORE)..hit.range.start).unwrap_or_default();
            let secret =
                bytes.get(hit.range.start..hit.range.end.min(hit.range.start + SHOWN)).unwrap_or_default();
            let behind = bytes.get(hit.range.end..(hit.range.end + 8).min(bytes.len())).unwrap_or_default();
            let [before, secret, behind] =
                [before, secret, behind].map(|part| part.escape_ascii().to_string());
            println!("{}\t{}\t{before}⟦{secret}⟧{behind}", hit.kind, file.display());
        }
    }
}

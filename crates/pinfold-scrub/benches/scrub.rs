//! How fast secrets are found: text without any, text with some, hostile text, and what a single pass would cost.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a bench that cannot go on stops")]

use std::fmt::Write as _;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use pinfold_scrub::Scrubber;

fn main() {
    // Compiled lazily: not a part of what is measured below.
    Scrubber::default().scrub(&source());
    Scrubber::default().scrub(&with_secrets());
    divan::main();
}

/// Source text of this repository, over and over: a mebibyte.
fn source() -> String {
    let pieces = [
        include_str!("../src/run.rs"),
        include_str!("../src/scan.rs"),
        include_str!("../../pinfold-shell/src/parse.rs"),
    ];
    pieces.concat().chars().cycle().take(1 << 20).collect()
}

/// The same, and every hundred lines a secret.
fn with_secrets() -> String {
    let mut text = String::new();
    for (number, line) in source().lines().enumerate() {
        text.push_str(line);
        if number % 100 == 0 {
            let _ = write!(text, "\nexport GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c83834{number:010}");
        }
        text.push('\n');
    }
    text
}

fn throughput<R>(bencher: Bencher<'_, '_>, text: &str, work: impl Fn(&str) -> R + Sync) {
    bencher.counter(BytesCount::of_str(text)).bench(|| work(black_box(text)));
}

#[divan::bench]
fn source_text(bencher: Bencher<'_, '_>) {
    throughput(bencher, &source(), |text| Scrubber::default().scrub(text).found);
}

#[divan::bench]
fn source_text_with_secrets(bencher: Bencher<'_, '_>) {
    throughput(bencher, &with_secrets(), |text| Scrubber::default().scrub(text).found);
}

/// In chunks of 8 KiB, as a pipe gives them.
#[divan::bench]
fn stream(bencher: Bencher<'_, '_>) {
    throughput(bencher, &source(), |text| {
        let mut stream = Scrubber::default().stream();
        let given: usize = text.as_bytes().chunks(8192).map(|chunk| stream.push(chunk).len()).sum();
        given + stream.finish().len()
    });
}

#[divan::bench]
fn a_line_of_output(bencher: Bencher<'_, '_>) {
    throughput(
        bencher,
        "test result: ok. 11 passed; 0 failed; 0 ignored; 0 measured; finished in 0.21s\n",
        |text| Scrubber::default().scrub(text).found,
    );
}

/// The floor: one pass that looks for a byte that is not there.
#[divan::bench]
fn floor_memchr(bencher: Bencher<'_, '_>) {
    throughput(bencher, &source(), |text| memchr::memchr(0, text.as_bytes()));
}

/// The floor for words: one pass of the library with all of them, which finds the first.
#[divan::bench]
fn floor_aho_corasick(bencher: Bencher<'_, '_>) {
    let words: Vec<&str> =
        Scrubber::default().kinds().iter().flat_map(pinfold_scrub::SecretKind::keywords).collect();
    let automaton = aho_corasick::AhoCorasick::builder()
        .kind(Some(aho_corasick::AhoCorasickKind::DFA))
        .build(words)
        .expect("an automaton");
    throughput(bencher, &source(), move |text| automaton.find_iter(text).count());
}

/// Texts that make each word a false start.
#[divan::bench(args = ["token=", "password: ", "sk-ant-a-", "eyJa.", "-----BEGIN PRIVATE KEY-----", "curl -u ", "machine a login ", "[REDACTED:",
        "://a:", "Bearer a", "Authorization: Basic ", "secret=\"", "token=\"[", "-----BEGIN PRIVATE KEY-----\n1:", "ghp_", "eyJ-"])]
fn hostile(bencher: Bencher<'_, '_>, piece: &str) {
    let text = piece.repeat((64 << 10) / piece.len());
    Scrubber::default().scrub(&text);
    throughput(bencher, &text, |text| Scrubber::default().scrub(text).found);
}

/// What the first text costs a process: the data is read and the words are put together.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn table() -> usize {
    pinfold_scrub::measured::table()
}

/// What the first `token = …` costs a process: the patterns behind it are compiled.
#[divan::bench(sample_count = 20, sample_size = 1, args = ["secret", "private-key", "github-token"])]
fn patterns(kind: &str) -> usize {
    pinfold_scrub::measured::patterns(kind)
}

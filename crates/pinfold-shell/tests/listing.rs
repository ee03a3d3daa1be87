//! Command lines and what is listed for them. `PINFOLD_BLESS=1` writes the lists afresh, for proof-reading.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

#[path = "kit/show.rs"]
mod show;

use crate::escapes;
use pinfold_shell::parse;
use std::fs;
use std::path::Path;

/// Data: a title with `#`, a command line with `$ `, its list below.
#[test]
fn every_command_line_has_its_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("cases").map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "list"));
    assert!(files.len() > 3, "the cases are missing");
    for file in files {
        let written = fs::read_to_string(&file).expect("cases");
        let found = listed(&written);
        if std::env::var_os("PINFOLD_BLESS").is_some() {
            fs::write(&file, &found).expect("cases are written");
            continue;
        }
        for (written, found) in blocks(&written).zip(blocks(&found)) {
            assert_eq!(found, written, "{}", file.display());
        }
        assert_eq!(blocks(&written).count(), blocks(&found).count(), "{}", file.display());
    }
}

#[test]
fn everyday_commands_are_understood() {
    let lines = include_str!("cases/everyday.txt").lines().filter(|line| !line.starts_with("# What"));
    for line in lines {
        let script = parse(&escapes::read(line));
        assert_eq!(script.opaque, [], "{line}");
        assert!(!script.commands.is_empty(), "{line}");
    }
}

fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n$ ")
}

/// The file with the lists that we find.
fn listed(written: &str) -> String {
    let mut text = String::new();
    for line in written.lines().filter(|line| !line.starts_with("  ")) {
        text += line;
        text.push('\n');
        if let Some(command) = line.strip_prefix("$ ") {
            text += &show::script(&parse(&escapes::read(command)));
        }
    }
    text
}

//! Compiles `programs/*.txt` into `catalog.rs`: arrays of small integers and one string, without a pointer, so that
//! nothing of it is relocated when the program starts. `programs/README.md` describes the format.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what cannot be built ends the build"
)]

use std::path::{Path, PathBuf};
use std::{env, fs, process};

#[path = "build/compile.rs"]
mod compile;
#[path = "build/emit.rs"]
mod emit;
#[path = "build/lines.rs"]
mod lines;
#[path = "src/program/slots.rs"]
mod slots;
#[path = "build/vocabulary.rs"]
mod vocabulary;

fn main() {
    for place in ["build.rs", "build", "programs", "src/program/slots.rs"] {
        println!("cargo:rerun-if-changed={place}");
    }
    let mut errors = Vec::new();
    let nodes: Vec<_> = files().iter().flat_map(|file| read(file, &mut errors)).collect();
    let programs = compile::compile(&nodes, &mut errors);
    if !errors.is_empty() {
        eprintln!("{}", errors.join("\n"));
        process::exit(1);
    }
    let to = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&to).join("catalog.rs"), emit::emit(&programs)).expect("it can be written");
}

/// The files of the catalog, in the order of their names.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir("programs").expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut texts: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    texts.sort();
    texts
}

fn read(file: &Path, errors: &mut Vec<String>) -> Vec<lines::Node> {
    let text = fs::read_to_string(file).expect("it can be read");
    lines::parse(&file.display().to_string(), &text, errors)
}

//! What it costs to begin a session below another: the scope alone, with a definition, and three below one another.

#![allow(clippy::unwrap_used, reason = "a bench stops where it fails")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pinfold::agents::{Below, Definition};
use pinfold::audit::Discard;
use pinfold::policy::Layer;
use pinfold::{Ambient, Plan, Session};

fn main() {
    divan::main();
}

fn main_session() -> (tempfile::TempDir, Session) {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("a/b/c")).unwrap();
    let session = Session::open(&Ambient::claim(), Plan::for_folder(top.path()), Arc::new(Discard)).unwrap();
    (top, session)
}

fn begin(above: &Session, folder: &str, definition: Option<&Definition>) -> Session {
    let below =
        Below { id: "bench".into(), name: "worker", folder: Path::new(folder), definition, asking: None };
    above.below(below).unwrap().begin(None).unwrap()
}

#[divan::bench]
fn a_scope(bencher: divan::Bencher<'_, '_>) {
    let (_top, main) = main_session();
    bencher.bench_local(|| begin(&main, "a", None));
}

#[divan::bench]
fn a_scope_with_a_definition(bencher: divan::Bencher<'_, '_>) {
    let (_top, main) = main_session();
    let text = "---\nname: w\nmode: explore\nallow_tools: [Read, Grep, \"Bash(git diff*)\"]\ndeny_tools: [Delete]\n---\n";
    let definition = Definition::parse(text.as_bytes(), Layer::User, &"w.md".into()).unwrap();
    bencher.bench_local(|| begin(&main, "a", Some(&definition)));
}

#[divan::bench]
fn three_below_one_another(bencher: divan::Bencher<'_, '_>) {
    let (_top, main) = main_session();
    bencher.bench_local(|| begin(&begin(&begin(&main, "a", None), "a/b", None), "a/b/c", None));
}

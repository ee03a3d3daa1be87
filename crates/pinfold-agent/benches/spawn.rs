//! What it costs to begin a session below another: the scope alone, with a definition, three below one another, and with
//! shells that the kernel holds to its folder; then the first command in such a shell.

#![allow(clippy::unwrap_used, reason = "a bench stops where it fails")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pinfold::agents::{ChildOptions, Definition};
use pinfold::audit::Discard;
use pinfold::policy::Layer;
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_tools::{CallEnding, ShellOptions, Shells, call};
use serde_json::json;

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
    let below = ChildOptions {
        id: "bench".into(),
        name: "worker",
        folder: Path::new(folder),
        definition,
        asking: None,
    };
    above.new_child(below).unwrap().begin(None).unwrap()
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

/// A session whose shells the kernel holds to its folder.
fn held(above: &Session, private: &Path) -> Session {
    let folder = Path::new("a");
    let below = ChildOptions { id: "bench".into(), name: "worker", folder, definition: None, asking: None };
    let narrowed = above.new_child(below).unwrap();
    let shells = Shells::from_plan(narrowed.plan(), ShellOptions::new(private.to_owned())).unwrap();
    narrowed.begin(Some(Arc::new(shells))).unwrap()
}

#[divan::bench]
fn with_a_kernel_boundary(bencher: divan::Bencher<'_, '_>) {
    let (_top, main) = main_session();
    let private = tempfile::tempdir().unwrap();
    bencher.bench_local(|| held(&main, private.path()));
}

#[divan::bench(sample_size = 1, sample_count = 50)]
fn the_first_command(bencher: divan::Bencher<'_, '_>) {
    let (_top, main) = main_session();
    let private = tempfile::tempdir().unwrap();
    bencher.with_inputs(|| held(&main, private.path())).bench_local_values(|session| {
        let reply = call(&session, &RawCall::new("Bash", json!({"command": "true"})));
        assert_eq!(reply.ended, CallEnding::Done, "{}", reply.text());
        session
    });
}

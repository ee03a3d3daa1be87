//! What hooks cost a call: where none is named, where none is meant, and where a program is asked, beside that program
//! started and nothing else.

#![expect(clippy::unwrap_used, reason = "a bench stops where it fails")]

use std::process::{Command, Stdio};
use std::sync::Arc;

use divan::Bencher;
use pinfold::audit::Discard;
use pinfold::policy::merge::{Layered, merge};
use pinfold::policy::{Layer, Settings};
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_hooks::{HookEnvironment, from_settings};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Decides about a read, with these settings around it.
fn decides(bencher: Bencher<'_, '_>, settings: &Value) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "a\n").unwrap();
    let text = serde_json::to_vec(settings).unwrap();
    let settings = Settings::parse(&text, Layer::User, &"settings.json".into()).unwrap();
    let merged = merge(&[Layered { settings, trusted: true }]);
    let hooks = from_settings(&merged, HookEnvironment::new(folder.path())).unwrap();
    let plan = Plan::for_folder(folder.path()).with_hooks(hooks);
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Discard)).unwrap();
    let read = RawCall::new("Read", json!({"file_path": "a.txt"}));
    bencher.bench_local(|| assert!(session.decide(&read).outcome.is_ok()));
}

fn before(matcher: &str, hook: &Value) -> Value {
    json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}})
}

#[divan::bench]
fn none_is_named(bencher: Bencher<'_, '_>) {
    decides(bencher, &json!({}));
}

#[divan::bench]
fn none_is_meant(bencher: Bencher<'_, '_>) {
    decides(bencher, &before("Write", &json!({"type": "command", "command": "true"})));
}

#[divan::bench]
fn none_is_meant_by_its_rule(bencher: Bencher<'_, '_>) {
    let hook = json!({"type": "command", "command": "true", "if": "Read(./secret/**)"});
    decides(bencher, &before("Read", &hook));
}

#[divan::bench]
fn a_program_is_asked(bencher: Bencher<'_, '_>) {
    decides(bencher, &before("Read", &json!({"type": "command", "command": "true"})));
}

/// The same program, started by a shell and waited for.
#[divan::bench]
fn the_program_alone(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        let mut command = Command::new("sh");
        command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success());
    });
}

//! What a shell costs down the whole road, beside the bare sandbox and a bare process.

#![expect(clippy::unwrap_used, reason = "a bench stops where it fails")]

use std::fs;
use std::sync::Arc;

use divan::Bencher;
use pinfold::audit::Discard;
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_sandbox::{Command, Profile, Signalling, SyscallHandler, Tier, Writes};
use pinfold_tools::{CallEnding, ShellOptions, Shells, call};
use serde_json::json;

fn main() {
    divan::main();
}

struct Blind;

impl SyscallHandler for Blind {
    fn attempt(&mut self, _: &pinfold_sandbox::Attempt) -> pinfold_sandbox::Reply {
        pinfold_sandbox::Reply::Continue
    }
}

/// `Bash` with `true`: judged, recorded, its boundary drawn, started, accompanied, settled.
#[divan::bench]
fn bash_true(bencher: Bencher) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("root");
    fs::create_dir(&root).unwrap();
    let mut plan = Plan::for_folder(root.canonicalize().unwrap());
    let mut options = ShellOptions::new(temp.path());
    options.request.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    plan.shells = Some(Arc::new(Shells::from_plan(&plan, options).unwrap()));
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Discard)).unwrap();
    let raw = RawCall::new("Bash", json!({"command": "true"}));
    bencher.bench_local(|| assert_eq!(call(&session, &raw).ended, CallEnding::Done));
}

/// The same shell inside the same sandbox, without the pipeline.
#[divan::bench]
fn sandbox_bash_true(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let profile = Profile::new(root.clone())
        .with_visible(vec![root.clone()])
        .with_writes(Writes::Beneath(vec![root]))
        .with_environment(vec![("PATH".into(), "/usr/bin:/bin".into())]);
    bencher.bench_local(|| {
        let args = ["--noprofile", "--norc", "-c", "true"].map(Into::into);
        let command = Command::new("bash").args(args).new_session();
        let confined = pinfold_sandbox::start(&profile, command, Tier::Full, Signalling::Own, true);
        confined.unwrap().supervise(&mut Blind).unwrap()
    });
}

/// The same shell with nothing around it.
#[divan::bench]
fn bare_bash_true(bencher: Bencher) {
    bencher.bench_local(|| {
        std::process::Command::new("bash").args(["--noprofile", "--norc", "-c", "true"]).status().unwrap()
    });
}

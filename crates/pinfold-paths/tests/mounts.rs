//! Mounts inside a root, and folders that fold case: each test runs itself again in a mount namespace of its own.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test that cannot go on fails")]

use crate::kit;
use std::fs;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use crate::kit::Bed;
use pinfold_paths::{Contained, LastLink, OperationError, PathClaim, Resolution, Strategy};

const INSIDE: &str = "PINFOLD_TEST_IN_OWN_MOUNTS";

/// Whether the caller runs in a mount namespace of its own; if not, runs the named test there and waits for it.
fn in_own_mounts(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let works = |options: &[&str]| {
        let mut try_it = Command::new("unshare");
        try_it.args(options).arg("true").stderr(Stdio::null());
        try_it.status().is_ok_and(|status| status.success())
    };
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let Some(options) = ways.into_iter().find(|options| works(options)) else {
        eprintln!("{test}: NOT RUN, this machine lets nobody make a mount namespace");
        return false;
    };
    let this = std::env::current_exe().unwrap();
    let mut again = Command::new("unshare");
    again.args(options).arg(this).args(["--exact", &format!("mounts::{test}")]).env(INSIDE, "1");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{test} failed in its own mount namespace: {said}");
    assert!(said.contains("1 passed"), "{test} was not tried in its own mount namespace: {said}");
    false
}

fn mount(arguments: &[&str]) -> bool {
    Command::new("mount").args(arguments).status().is_ok_and(|status| status.success())
}

fn at(bed: &Bed, strategy: Strategy, claim: &str) -> Contained {
    match bed.resolve(strategy, claim, LastLink::Follow) {
        Resolution::Contained(place) => place,
        other => panic!("{claim} is inside: {other:?}"),
    }
}

#[test]
fn a_mount_inside_is_told() {
    if !in_own_mounts("a_mount_inside_is_told") {
        return;
    }
    let bed =
        Bed::build(&["root/m/".into(), "root/f = x".into(), "outside/f = x".into(), "root/d/f = x".into()]);
    let path = |name: &str| bed.path(name).to_str().unwrap().to_owned();
    assert!(mount(&["--bind", &path("outside"), &path("root/m")]));
    assert!(mount(&["--bind", &path("outside/f"), &path("root/f")]));
    for strategy in kit::strategies() {
        for (claim, crosses) in [
            ("m", true),
            ("m/f", true),
            ("m/new", true),
            ("m/a/b/new", true),
            ("f", true),
            ("d", false),
            ("d/f", false),
            ("d/new", false),
            ("d/a/b/new", false),
            (".", false),
        ] {
            assert_eq!(at(&bed, strategy, claim).crosses_mount(), crosses, "{claim} {strategy:?}");
        }
        // A mount that was granted by itself is a root, not a crossing.
        let granted = bed.line(strategy).with_root(bed.workspace("root/m"));
        match granted.resolve(&bed.path("root"), &PathClaim::new("m/f"), LastLink::Follow) {
            Resolution::Contained(place) => assert!(!place.crosses_mount()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn trees_end_at_mounts() {
    if !in_own_mounts("trees_end_at_mounts") {
        return;
    }
    let bed = Bed::build(&[
        "root/t/m/".into(),
        "root/f = x".into(),
        "outside/f = x".into(),
        "root/u/m/f = x".into(),
    ]);
    let before = bed.outside();
    assert!(mount(&[
        "--bind",
        bed.path("outside").to_str().unwrap(),
        bed.path("root/t/m").to_str().unwrap()
    ]));
    let at = |claim: &str| at(&bed, Strategy::probed(), claim);
    assert!(matches!(at("t").remove_tree(), Err(OperationError::Mount)));
    assert!(matches!(at("t").copy_to(&at("copy")), Err(OperationError::Mount)));
    assert!(matches!(at("f").rename_to(&at("t/m/f2"), false), Err(OperationError::Mount)));
    assert_eq!(bed.outside(), before);
    // The control: the same tree without a mount goes.
    at("u").remove_tree().unwrap();
}

#[test]
fn a_folder_that_folds_case_is_told() {
    if !in_own_mounts("a_folder_that_folds_case_is_told") {
        return;
    }
    let bed = Bed::build(&["root/m/".into(), "root/d/".into()]);
    let at = |claim: &str| at(&bed, Strategy::probed(), claim);
    assert!(!at("d/new").folds_case(), "the control: an ordinary folder");
    let m = bed.path("root/m");
    if !mount(&["-t", "tmpfs", "-o", "casefold", "none", m.to_str().unwrap()]) {
        eprintln!("a_folder_that_folds_case_is_told: NOT RUN, no tmpfs that folds case (Linux 6.13)");
        return;
    }
    for folder in ["plain", "fold"] {
        fs::create_dir(m.join(folder)).unwrap();
    }
    let folder = fs::File::open(m.join("fold")).unwrap();
    let casefold = rustix::fs::IFlags::from_bits_retain(0x4000_0000);
    rustix::fs::ioctl_setflags(folder.as_fd(), casefold).unwrap();
    fs::create_dir(m.join("fold/.git")).unwrap();
    assert_eq!(at("m/fold/.git").id(), at("m/fold/.GIT").id(), "the folder really folds");
    assert!(at("m/fold/.GIT/config").folds_case());
    assert!(at("m/fold/x").folds_case());
    assert!(!at("m/plain/x").folds_case());
}

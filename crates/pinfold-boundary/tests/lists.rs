//! Declared path scopes in the kernel: a script that hides a path from the words does not get past the line.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use pinfold_boundary::{
    Boundary, CacheChoice, CompileError, DenialObserver, PathAccess, Private, SandboxMode, SandboxRequest,
};
use pinfold_policy::Guards;
use pinfold_policy::path_scopes::KernelLists;
use pinfold_sandbox::{Command, Signalling, Tier, start};
use pinfold_testkit::TempTree;

/// A home with a project and more, at a place that a run does not cover with private ones anyway.
struct Bed(TempTree);

impl Bed {
    fn new() -> Self {
        let files =
            ["home/proj/src/a", "home/proj/secret/key", "home/proj/top", "home/notes/n", "home/vault/key"];
        Self(TempTree::visible_inside().with_dirs(["private"]).with_files(files, "content\n"))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path(path)
    }

    fn lists(&self, allowed: &[&[&str]], denied: &[&str]) -> KernelLists {
        let places = |paths: &[&str]| paths.iter().map(|path| self.at(path)).collect::<Vec<_>>();
        KernelLists { allowed: allowed.iter().map(|list| places(list)).collect(), denied: places(denied) }
    }

    fn request(&self, lists: KernelLists) -> SandboxRequest {
        let mut request = SandboxRequest::new(self.at("home/proj"));
        request.home = Some(self.at("home"));
        request.private = Private::existing(self.at("private"));
        request.caches = CacheChoice::None;
        request.environment = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), self.at("home").into()),
        ];
        request.lists = lists;
        request
    }

    fn compile(&self, lists: KernelLists, tier: Tier) -> Result<Boundary, CompileError> {
        Boundary::compile(&self.request(lists), &Guards::default(), tier)
    }

    /// Which of the places a confined script can read and write, as `r`, `w`, `rw` or `-`.
    fn reach(&self, boundary: &Boundary, tier: Tier, places: &[&str]) -> Vec<String> {
        // The script knows no path: it is told through its environment, as by a file.
        let script = "for p in $PLACES; do x=; cat \"$p\" >/dev/null 2>&1 && x=r; \
                      (: >> \"$p\") 2>/dev/null && x=${x}w; echo \"${x:--}\"; done";
        let mut profile = boundary.profile().clone();
        let all =
            places.iter().map(|place| self.at(place).display().to_string()).collect::<Vec<_>>().join(" ");
        profile.environment.push(("PLACES".into(), all.into()));
        let (mut read, write) = std::io::pipe().unwrap();
        let error: OwnedFd = write.try_clone().unwrap().into();
        let args: [OsString; 2] = ["-c".into(), script.into()];
        let command = Command::new("sh").args(args).stdio([None, Some(write.into()), Some(error)]);
        let confined = start(&profile, command, tier, Signalling::Own, true).unwrap();
        confined.supervise(&mut DenialObserver::new(boundary, tier)).unwrap();
        let mut said = String::new();
        read.read_to_string(&mut said).unwrap();
        said.lines().map(str::to_owned).collect()
    }
}

const TIERS: [Tier; 2] = [Tier::Full, Tier::Landlock];

const PLACES: [&str; 6] = [
    "home/proj/src/a",
    "home/proj/top",
    "home/proj/secret/key",
    "home/notes/n",
    "home/vault/key",
    "home/proj/src/new",
];

#[test]
fn what_no_list_allows_is_neither_read_nor_written() {
    for (allowed, denied, reach) in [
        // Without lists: reads range over everything, the folder can be written.
        (&[][..], &[][..], ["rw", "rw", "rw", "r", "r", "w"]),
        (&[], &["home/proj/secret", "home/vault"], ["rw", "rw", "-", "r", "-", "w"]),
        (&[&["home/proj"][..]], &[], ["rw", "rw", "rw", "-", "-", "w"]),
        (&[&["home/proj"]], &["home/proj/secret"], ["rw", "rw", "-", "-", "-", "w"]),
        (&[&["home/proj", "home/notes"]], &[], ["rw", "rw", "rw", "r", "-", "w"]),
        (&[&["home/proj/src", "home/notes"]], &[], ["rw", "-", "-", "r", "-", "w"]),
        (&[&["home"], &["home/proj/src", "home/vault"]], &["home/vault"], ["rw", "-", "-", "-", "-", "w"]),
        (&[&["home/proj"]], &["home/proj/src/new"], ["rw", "rw", "rw", "-", "-", "-"]),
    ] {
        for tier in TIERS {
            let bed = Bed::new();
            let boundary = bed.compile(bed.lists(allowed, denied), tier).unwrap();
            assert_eq!(bed.reach(&boundary, tier, &PLACES), reach, "{tier:?} {allowed:?} {denied:?}");
            assert!(!denied.contains(&"home/proj/src/new") || !bed.at("home/proj/src/new").exists());
        }
    }
}

#[test]
fn the_same_boundary_answers_for_tools() {
    let bed = Bed::new();
    let lists = bed.lists(&[&["home/proj/src", "home/notes"]], &["home/proj/src/a"]);
    let boundary = bed.compile(lists, Tier::Full).unwrap();
    for (path, standing) in [
        ("home/proj/src/b", "writable"),
        ("home/proj/src/a", "hidden"),
        ("home/proj/top", "hidden"),
        ("home/notes/n", "outside"),
        ("home/vault/key", "hidden"),
        ("elsewhere", "hidden"),
    ] {
        let word = match boundary.access(&bed.at(path)) {
            PathAccess::Writable => "writable",
            PathAccess::Outside => "outside",
            PathAccess::ReadOnly(_) => "held",
            PathAccess::Hidden(_) => "hidden",
        };
        assert_eq!(word, standing, "{path}");
    }
    assert!(matches!(boundary.access(Path::new("/usr/bin/env")), PathAccess::Outside));
}

#[test]
fn everywhere_becomes_what_the_lists_allow() {
    for tier in TIERS {
        let bed = Bed::new();
        let mut request = bed.request(bed.lists(&[&["home/proj", "home/notes"]], &[]));
        request.mode = SandboxMode::DefaultWrite;
        let boundary = Boundary::compile(&request, &Guards::default(), tier).unwrap();
        assert_eq!(bed.reach(&boundary, tier, &PLACES), ["rw", "rw", "rw", "rw", "-", "w"], "{tier:?}");
    }
}

#[test]
fn a_folder_that_the_lists_leave_nothing_of_is_no_folder_to_work_in() {
    let bed = Bed::new();
    for (allowed, denied) in [(&[&["home/notes"][..]][..], &[][..]), (&[&[]], &[]), (&[], &["home"])] {
        let refused = bed.compile(bed.lists(allowed, denied), Tier::Full);
        assert!(matches!(refused, Err(CompileError::OutOfScope { .. })), "{allowed:?} {denied:?}");
    }
}

//! What deeds keep, what they refuse, and what they leave behind.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use crate::kit;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::kit::Bed;
use pinfold_paths::{
    Contained, Expect, Freshness, Kind, LastLink, MAX_TREE_DEPTH, OperationError, PathClaim, Resolution,
    SessionReads, Strategy, Why,
};

fn at(bed: &Bed, claim: &str) -> Contained {
    place(bed, claim, LastLink::Follow)
}

fn kept(bed: &Bed, claim: &str) -> Contained {
    place(bed, claim, LastLink::Keep)
}

fn place(bed: &Bed, claim: &str, last: LastLink) -> Contained {
    match bed.resolve(Strategy::probed(), claim, last) {
        Resolution::Contained(place) => place,
        other => panic!("{claim} is inside: {other:?}"),
    }
}

fn names(bed: &Bed, folder: &str) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(bed.path(folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

fn text(bed: &Bed, name: &str) -> String {
    fs::read_to_string(bed.path(name)).unwrap()
}

fn mode(bed: &Bed, name: &str) -> u32 {
    fs::symlink_metadata(bed.path(name)).unwrap().mode() & 0o7777
}

#[test]
fn replacing_keeps_permission_bits_and_attributes_and_drops_set_id() {
    let bed = Bed::build(&["root/f = old".into()]);
    let path = bed.path("root/f");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
    let set = rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty());
    at(&bed, "f").replace(b"new", Expect::default()).unwrap();
    assert_eq!(text(&bed, "root/f"), "new");
    assert_eq!(mode(&bed, "root/f"), 0o751);
    if set.is_ok() {
        let mut value = [0_u8; 8];
        let len = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
        assert_eq!(&value[..len], b"kept");
    } else {
        eprintln!("no user attributes on this file system: only permission bits were compared");
    }
    assert_eq!(names(&bed, "root"), ["f"], "no temp file is left");
}

#[test]
fn a_new_file_is_private_when_asked_and_never_set_id() {
    let bed = Bed::new();
    at(&bed, "a/private").create_new(b"x", 0o600).unwrap();
    at(&bed, "a/wide").create_new(b"x", 0o6755).unwrap();
    assert_eq!(mode(&bed, "root/a/private"), 0o600);
    assert_eq!(mode(&bed, "root/a/wide") & 0o7000, 0);
    assert_eq!(names(&bed, "root/a"), ["private", "wide"]);
    assert!(matches!(at(&bed, "a/wide").create_new(b"y", 0o600), Err(OperationError::Exists)));
}

#[test]
fn writing_breaks_a_hard_link_and_can_refuse_one() {
    let bed = Bed::build(&["outside/f = shared".into(), "root/h == outside/f".into()]);
    assert!(matches!(at(&bed, "h").kind(), Kind::File { links: 2, .. }));
    let one = Expect { links: Some(1), ..Expect::default() };
    assert!(matches!(at(&bed, "h").replace(b"new", one), Err(OperationError::Shared(2))));
    assert!(matches!(at(&bed, "h").set_mode(0o777), Err(OperationError::Shared(2))));
    at(&bed, "h").replace(b"new", Expect::default()).unwrap();
    assert_eq!(text(&bed, "root/h"), "new");
    assert_eq!(text(&bed, "outside/f"), "shared");
    // The control: with one name nothing is refused.
    at(&bed, "h").replace(b"newer", one).unwrap();
    at(&bed, "h").set_mode(0o700).unwrap();
}

#[test]
fn only_the_version_that_was_seen_is_replaced() {
    let bed = Bed::build(&["root/f = one".into()]);
    let seen = SessionReads::new();
    let (mut file, version) = at(&bed, "f").open_file_with_version().unwrap();
    file.read_to_string(&mut String::new()).unwrap();
    seen.mark(&bed.path("root/f"), version);
    let expect = Expect { version: seen.version(&bed.path("root/f")), ..Expect::default() };

    let version = at(&bed, "f").replace(b"two", expect).unwrap();
    assert_eq!(Some(version), at(&bed, "f").version(), "the version told is the version found");
    assert_eq!(seen.check(at(&bed, "f").real(), version), Freshness::Changed);
    assert!(matches!(at(&bed, "f").replace(b"three", expect), Err(OperationError::Stale)));
    seen.mark(&bed.path("root/f"), version);

    let mut appending = fs::OpenOptions::new().append(true).open(bed.path("root/f")).unwrap();
    appending.write_all(b"+").unwrap();
    let now = at(&bed, "f").version().unwrap();
    assert_eq!(seen.check(&bed.path("root/f"), now), Freshness::Changed);
    let expect = Expect { version: Some(version), ..Expect::default() };
    assert!(matches!(at(&bed, "f").replace(b"three", expect), Err(OperationError::Stale)));
    fs::remove_file(bed.path("root/f")).unwrap();
    assert!(matches!(at(&bed, "f").replace(b"three", expect), Err(OperationError::Stale)));
    assert_eq!(names(&bed, "root"), Vec::<OsString>::new());
}

/// Threads that read, add one and write back the version they read: no addition is lost, and none is made twice.
#[test]
fn no_update_is_lost_between_threads() {
    const THREADS: usize = 3;
    const ADDITIONS: usize = 30;
    let bed = Bed::build(&["root/f = 0".into()]);
    let add = || {
        let file = at(&bed, "f");
        let Ok((content, version)) = file.open_file_with_version() else { return false };
        let number: usize = std::io::read_to_string(content).unwrap().parse().unwrap();
        let expect = Expect { version: Some(version), ..Expect::default() };
        match file.replace((number + 1).to_string().as_bytes(), expect) {
            Ok(_) => true,
            Err(OperationError::Changed | OperationError::Stale) => false,
            Err(error) => panic!("{error}"),
        }
    };
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                let mut left = ADDITIONS;
                while left > 0 {
                    left -= usize::from(add());
                }
            });
        }
    });
    assert_eq!(text(&bed, "root/f"), (THREADS * ADDITIONS).to_string());
    assert_eq!(names(&bed, "root"), ["f"]);
}

#[test]
fn a_link_is_moved_copied_and_removed_as_a_link() {
    let bed = Bed::build(&["outside/f = x".into(), "root/l => $T/outside/f".into()]);
    let before = bed.outside();
    kept(&bed, "l").copy_to(&at(&bed, "copy")).unwrap();
    kept(&bed, "l").rename_to(&at(&bed, "d/moved"), false).unwrap();
    assert_eq!(fs::read_link(bed.path("root/d/moved")).unwrap(), bed.path("outside/f"));
    assert_eq!(kept(&bed, "copy").read_link().unwrap(), bed.path("outside/f"));
    kept(&bed, "copy").remove().unwrap();
    kept(&bed, "d/moved").remove().unwrap();
    assert_eq!(names(&bed, "root"), ["d"]);
    assert_eq!(bed.outside(), before);
}

#[test]
fn a_tree_is_removed_without_going_through_links() {
    let bed = Bed::build(&[
        "outside/d/f = x".into(),
        "root/t/a/b/f = x".into(),
        "root/t/out => $T/outside".into(),
        "root/t/a/up => ..".into(),
        "root/t/p |".into(),
    ]);
    let before = bed.outside();
    assert!(matches!(at(&bed, "t").remove_dir(), Err(OperationError::NotEmpty)));
    assert!(matches!(at(&bed, ".").remove_tree(), Err(OperationError::Root)));
    assert!(matches!(at(&bed, "t/..").remove_dir(), Err(OperationError::Root)));
    at(&bed, "t").remove_tree().unwrap();
    assert_eq!(names(&bed, "root"), Vec::<OsString>::new());
    assert_eq!(bed.outside(), before);
}

#[test]
fn a_tree_is_copied_with_its_links_as_links() {
    let bed = Bed::build(&[
        "outside/f = x".into(),
        "root/t/a/f = deep".into(),
        "root/t/out => $T/outside".into(),
        "root/special/p |".into(),
    ]);
    fs::set_permissions(bed.path("root/t/a/f"), fs::Permissions::from_mode(0o700)).unwrap();
    let before = bed.outside();
    at(&bed, "t").copy_to(&at(&bed, "x/t2")).unwrap();
    assert_eq!(text(&bed, "root/x/t2/a/f"), "deep");
    assert_eq!(mode(&bed, "root/x/t2/a/f"), 0o700);
    assert_eq!(fs::read_link(bed.path("root/x/t2/out")).unwrap(), bed.path("outside"));
    assert!(matches!(at(&bed, "t").copy_to(&at(&bed, "x/t2")), Err(OperationError::Exists)));
    assert!(
        matches!(at(&bed, "t").copy_to(&at(&bed, "t/a/t3")), Err(OperationError::Exists)),
        "not into itself"
    );
    assert!(matches!(at(&bed, "special").copy_to(&at(&bed, "y")), Err(OperationError::Special)));
    assert_eq!(bed.outside(), before);
}

#[test]
fn a_place_outside_is_copied_in_by_reading_it() {
    let bed = Bed::build(&["outside/f = x".into()]);
    let Resolution::Outside(outside) = bed.resolve(Strategy::probed(), "$T/outside/f", LastLink::Follow)
    else {
        panic!("it is outside")
    };
    outside.copy_to(&at(&bed, "in")).unwrap();
    assert_eq!(text(&bed, "root/in"), "x");
}

#[test]
fn moving_gives_way_only_when_asked_and_never_to_a_folder() {
    let bed = Bed::build(&["root/a = a".into(), "root/b = b".into(), "root/d/f = x".into()]);
    assert!(matches!(at(&bed, "a").rename_to(&at(&bed, "b"), false), Err(OperationError::Exists)));
    assert!(matches!(at(&bed, "a").rename_to(&at(&bed, "d"), true), Err(OperationError::Exists)));
    assert!(matches!(at(&bed, ".").rename_to(&at(&bed, "x"), true), Err(OperationError::Root)));
    at(&bed, "a").rename_to(&at(&bed, "b"), true).unwrap();
    assert_eq!(text(&bed, "root/b"), "a");
    at(&bed, "d").rename_to(&at(&bed, "e/d"), false).unwrap();
    assert_eq!(text(&bed, "root/e/d/f"), "x");
    // Somebody was faster: what stands there by now is not taken over.
    let free = at(&bed, "free");
    fs::write(bed.path("root/free"), "theirs").unwrap();
    assert!(matches!(at(&bed, "b").rename_to(&free, true), Err(OperationError::Exists)));
    assert_eq!(text(&bed, "root/free"), "theirs");
}

#[test]
fn a_fifo_is_opened_by_nobody() {
    let bed = Bed::build(&["root/p |".into()]);
    // Would wait for a writer for ever if it were opened.
    assert!(matches!(at(&bed, "p").open_file(), Err(OperationError::Special)));
    assert!(matches!(at(&bed, "p").replace(b"x", Expect::default()), Err(OperationError::Special)));
    let root = at(&bed, ".").open_dir().unwrap();
    assert!(matches!(root.open_file(OsStr::new("p")), Err(OperationError::Special)));
    at(&bed, "p").remove().unwrap();
}

#[test]
fn a_folder_is_walked_by_plain_names_only() {
    let bed = Bed::build(&["root/d/f = x".into(), "root/l => d".into(), "outside/f = x".into()]);
    let root = at(&bed, ".").open_dir().unwrap();
    assert!(root.open_dir(OsStr::new("d")).unwrap().open_file(OsStr::new("f")).is_ok());
    assert!(matches!(root.open_dir(OsStr::new("l")), Err(OperationError::NotAFolder)));
    assert_eq!(root.read_link(OsStr::new("l")).unwrap(), Path::new("d"));
    for name in ["", ".", "..", "d/f", "../outside", "/etc", "d\0"] {
        assert!(root.open_dir(OsStr::new(name)).is_err(), "{name:?}");
        assert!(root.open_file(OsStr::new(name)).is_err(), "{name:?}");
        assert!(root.kind(OsStr::new(name)).is_err(), "{name:?}");
    }
}

#[test]
fn paths_beyond_what_the_kernel_takes_in_one_call_are_walked() {
    let bed = Bed::new();
    let deep = format!("{}file", "a-name-of-some-length/".repeat(300));
    assert!(deep.len() > 6000);
    for strategy in kit::strategies() {
        let resolve = || match bed.resolve(strategy, &deep, LastLink::Follow) {
            Resolution::Contained(place) => place,
            other => panic!("{other:?}"),
        };
        resolve().create_new(b"deep", 0o600).unwrap();
        assert_eq!(std::io::read_to_string(resolve().open_file().unwrap()).unwrap(), "deep");
        resolve().replace(b"deeper", Expect::default()).unwrap();
        at(&bed, "a-name-of-some-length").remove_tree().unwrap();
    }
}

#[test]
fn a_tree_too_deep_is_refused_without_a_crash() {
    let bed = Bed::new();
    at(&bed, &"d/".repeat(MAX_TREE_DEPTH + 2)).make_dirs().unwrap();
    assert!(matches!(at(&bed, "d").copy_to(&at(&bed, "copy")), Err(OperationError::TooDeep)));
    assert!(matches!(at(&bed, "d").remove_tree(), Err(OperationError::TooDeep)));
}

#[test]
fn names_need_not_be_utf8() {
    let bed = Bed::new();
    let claim = PathClaim::from_bytes(b"d\xff/f\xfe");
    let line = bed.line(Strategy::probed());
    let resolve = || match line.resolve(&bed.path("root"), &claim, LastLink::Follow) {
        Resolution::Contained(place) => place,
        other => panic!("{other:?}"),
    };
    resolve().create_new(b"x", 0o600).unwrap();
    assert!(resolve().real().as_os_str().as_bytes().ends_with(b"/root/d\xff/f\xfe"));
    assert_eq!(line.display(resolve().real()), r"d\xff/f\xfe");
    assert_eq!(std::io::read_to_string(resolve().open_file().unwrap()).unwrap(), "x");
}

#[test]
fn a_folder_that_may_not_be_searched_hides_what_is_below() {
    let bed = Bed::build(&["root/d/f = x".into()]);
    fs::set_permissions(bed.path("root/d"), fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may search every folder: then the file is simply found, and that is the control.
    let may_search = fs::metadata(bed.path("root/d/f")).is_ok();
    for strategy in kit::strategies() {
        match bed.resolve(strategy, "d/f", LastLink::Follow) {
            Resolution::Contained(_) => assert!(may_search),
            Resolution::Unresolved(lost) => assert!(!may_search && lost.why == Why::Denied, "{lost:?}"),
            Resolution::Outside(place) => panic!("{place:?}"),
        }
    }
    fs::set_permissions(bed.path("root/d"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_dangling_link_tells_where_it_points() {
    let bed = Bed::build(&["root/l => ../outside/none".into()]);
    let Resolution::Unresolved(lost) = bed.resolve(Strategy::probed(), "l/x", LastLink::Follow) else {
        panic!("it leads to nothing")
    };
    assert_eq!((lost.why, lost.leads_to), (Why::Dangling, Some(bed.path("outside/none/x"))));
    assert_eq!(lost.asked, bed.path("root/l/x"));
}

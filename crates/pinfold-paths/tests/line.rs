//! Which folders count as inside: scopes, further roots, single names, and lines that narrow.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::kit;
use std::ffi::OsStr;
use std::path::Path;

use crate::kit::Bed;
use pinfold_paths::{Ambient, Disguise, Imagined, LastLink, PathClaim, Resolution, Strategy, WritableRoots};

fn bed() -> Bed {
    Bed::build(&[
        "root/packages/adapters/x = x".into(),
        "root/packages/adapters-utils/x = x".into(),
        "root/packages/core/x = x".into(),
        "root/packages/adapters/c => ../core".into(),
        "root/packages/adapters/o => $T/outside".into(),
        "root/s => $T/shared".into(),
        "shared/x = x".into(),
        "shared-evil/x = x".into(),
        "outside/one = x".into(),
        "outside/two = x".into(),
        "root/file = x".into(),
    ])
}

fn line(bed: &Bed) -> WritableRoots {
    bed.line(Strategy::probed())
}

/// `inside`, `outside`, or how it left.
fn side(bed: &Bed, line: &WritableRoots, claim: &str) -> &'static str {
    let claim = PathClaim::new(bed.put(claim));
    match line.resolve(line.display_root().path(), &claim, LastLink::Follow) {
        Resolution::Contained(_) => "inside",
        Resolution::Outside(place) => match place.disguise() {
            None => "outside",
            Some(Disguise::Link) => "link",
            Some(Disguise::DotDot) => "dotdot",
        },
        Resolution::Unresolved(lost) => panic!("{claim:?}: {}", lost.why),
    }
}

#[test]
fn a_scope_is_the_only_place_to_write_and_shows_paths_as_before() {
    let bed = bed();
    let scope = line(&bed).scoped(bed.workspace("root/packages/adapters")).unwrap();
    for (claim, expected) in [
        ("packages/adapters/x", "inside"),
        ("packages/adapters/new/y", "inside"),
        ("packages/adapters", "inside"),
        ("packages/core/x", "outside"),
        ("packages/adapters-utils/x", "outside"),
        // Still in the workspace: plainly another package, not a way out of it.
        ("packages/adapters/../core/x", "outside"),
        ("packages/adapters/c/x", "outside"),
        ("packages/adapters/o/one", "link"),
        ("../outside/one", "dotdot"),
        ("file", "outside"),
    ] {
        assert_eq!(side(&bed, &scope, claim), expected, "{claim}");
    }
    assert_eq!(scope.display(&bed.path("root/packages/adapters/x")), "packages/adapters/x");
    assert_eq!(scope.display(&bed.path("root")), ".");
    assert_eq!(scope.display(&bed.path("root-evil/x")), bed.path("root-evil/x").to_str().unwrap());
    assert_eq!(scope.roots().collect::<Vec<_>>(), [bed.path("root/packages/adapters")]);
}

#[test]
fn a_line_only_narrows() {
    let bed = bed();
    let scope = line(&bed).narrow(Path::new("packages/adapters")).unwrap();
    assert_eq!(side(&bed, &scope, "packages/adapters/x"), "inside");
    assert_eq!(side(&bed, &scope, "packages/core/x"), "outside");
    for wider in
        ["packages/core", ".", "packages", "packages/adapters/c", "packages/adapters/o", "/", "file", "none"]
    {
        assert!(scope.narrow(Path::new(wider)).is_err(), "{wider}");
    }
    for (inside, beyond) in [(".", "../outside"), ("packages", "s")] {
        assert!(line(&bed).narrow(Path::new(inside)).is_ok(), "{inside}");
        assert!(line(&bed).narrow(Path::new(beyond)).is_err(), "{beyond}");
    }
    assert!(line(&bed).scoped(bed.workspace("outside")).is_err());
    assert!(line(&bed).scoped(bed.workspace("shared-evil")).is_err());
}

#[test]
fn another_root_is_inside_by_any_name() {
    let bed = bed();
    assert_eq!(side(&bed, &line(&bed), "s/x"), "link");
    let wider = line(&bed).with_root(bed.workspace("shared"));
    for (claim, expected) in [
        ("s/x", "inside"),
        ("$T/shared/new", "inside"),
        ("../shared/x", "inside"),
        ("$T/shared-evil/x", "outside"),
        ("file", "inside"),
    ] {
        assert_eq!(side(&bed, &wider, claim), expected, "{claim}");
    }
}

#[test]
fn a_single_name_is_inside_alone() {
    let bed = bed();
    let wider = line(&bed).with_name(bed.workspace("outside"), OsStr::new("one"));
    for (claim, expected) in [
        ("$T/outside/one", "inside"),
        ("$T/outside/two", "outside"),
        ("$T/outside/one2", "outside"),
        ("$T/outside", "outside"),
    ] {
        assert_eq!(side(&bed, &wider, claim), expected, "{claim}");
    }
    let new = line(&bed).with_name(bed.workspace("outside"), OsStr::new("new"));
    assert_eq!(side(&bed, &new, "$T/outside/new"), "inside");
    assert_eq!(side(&bed, &new, "$T/outside/new/below"), "inside");
}

#[test]
fn a_read_only_line_has_no_inside() {
    let bed = bed();
    let reading = line(&bed).read_only();
    assert_eq!(side(&bed, &reading, "file"), "outside");
    assert_eq!(reading.roots().count(), 0);
}

#[test]
fn a_place_keeps_the_name_it_was_asked_by() {
    let bed = bed();
    for strategy in kit::strategies() {
        for (claim, asked) in [
            ("file", "root/file"),
            ("./packages//core/./x", "root/packages/core/x"),
            ("packages/../file", "root/file"),
            // Links are kept in the name…
            ("packages/adapters/c/x", "root/packages/adapters/c/x"),
            ("packages/adapters/c/new", "root/packages/adapters/c/new"),
            ("packages/adapters/c/../../file", "root/file"),
            // …until `..` goes up from where they lead: then only the real name says where that is.
            ("packages/adapters/c/../adapters/x", "root/packages/adapters/x"),
            ("packages/adapters/o/../root/file", "root/file"),
        ] {
            let place = match bed.resolve(strategy, claim, LastLink::Follow) {
                Resolution::Contained(place) => place,
                other => panic!("{claim}: {other:?}"),
            };
            assert_eq!(place.asked(), bed.path(asked), "{claim} {strategy:?}");
        }
    }
}

#[test]
fn a_folder_that_is_not_there_is_inside_by_its_names_and_by_the_links_that_are() {
    let bed = bed();
    let imagined = |path: &str| Imagined::open(&Ambient::claim(), &bed.path(path)).unwrap();
    let line = |path: &str| WritableRoots::imagined(imagined(path), None, [imagined(path)]);
    let seen = |line: &WritableRoots, claim: &str| {
        let claim = PathClaim::new(bed.put(claim));
        match line.resolve(line.display_path(), &claim, LastLink::Follow) {
            Resolution::Contained(place) => format!("inside {}", place.real().display()),
            Resolution::Outside(place) => format!("{:?} {}", place.disguise(), place.real().display()),
            Resolution::Unresolved(lost) => format!("{:?}", lost.why),
        }
    };
    let gone = line("none/proj");
    assert!(!imagined("none/proj").stands() && gone.is_current());
    for (claim, expected) in [
        ("a/b", "inside $T/none/proj/a/b"),
        ("a/../b", "inside $T/none/proj/b"),
        (".", "inside $T/none/proj"),
        ("../x", "Some(DotDot) $T/none/x"),
        ("../../root/file", "Some(DotDot) $T/root/file"),
        ("../../root/packages/adapters/c/x", "Some(DotDot) $T/root/packages/core/x"),
        ("$T/none/proj-evil/x", "None $T/none/proj-evil/x"),
        ("$T/none/other/../x", "None $T/none/x"),
        ("$T/nowhere/other/../x", "ClimbsFromMissing"),
    ] {
        assert_eq!(seen(&gone, claim), bed.put(expected), "{claim}");
    }
    // What stands is looked at as ever.
    let there = line("root");
    assert!(imagined("root").stands());
    assert_eq!(seen(&there, "packages/adapters/o/one"), bed.put("Some(Link) $T/outside/one"));
    assert_eq!(seen(&there, "none/../file"), "ClimbsFromMissing");
    // A link in front of what is missing is followed.
    std::os::unix::fs::symlink(bed.path("outside"), bed.path("alias")).unwrap();
    assert_eq!(seen(&line("alias/new"), "x"), bed.put("inside $T/outside/new/x"));
    // What appears is noticed.
    std::fs::create_dir(bed.path("none")).unwrap();
    assert!(!gone.is_current() && there.is_current());
}

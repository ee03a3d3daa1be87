//! One thread swaps a component between a folder and a link to outside while another resolves and acts.
//! Whatever each attempt answers, nothing outside changes; and some attempts on each side must have happened.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use crate::kit;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::kit::Bed;
use crate::kit::race::{ROUNDS, exchange, race};
use pinfold_paths::{
    Contained, Disguise, Expect, Kind, LastLink, OperationError, PathClaim, Resolution, Strategy, Why,
};

/// `root/d` is a folder, then a link to outside, then the folder again.
fn swap_folder(bed: &Bed) {
    let (d, aside) = (bed.path("root/d"), bed.path("root/d.aside"));
    fs::rename(&d, &aside).unwrap();
    // A deed may make a folder here meanwhile; it is inside, in the way, and may go.
    if symlink(bed.path("outside"), &d).is_ok() {
        fs::remove_file(&d).unwrap();
    }
    while fs::rename(&aside, &d).is_err() {
        let _ = fs::remove_dir_all(&d);
    }
}

fn bed() -> Bed {
    Bed::build(&[
        "root/d/f = inside".into(),
        "root/d/sub/g = inside".into(),
        "outside/f = outside".into(),
        "outside/sub/g = outside".into(),
        "root/link => $T/outside".into(),
        "root/flink => $T/outside/f".into(),
        "root/f = inside".into(),
    ])
}

type Deed = (&'static str, &'static str, fn(&Contained) -> Result<(), OperationError>);

const DEEDS: &[Deed] = &[
    ("create_new", "d/new", |at| at.create_new(b"new", 0o600).map(drop)),
    ("create_new below a new folder", "d/n/new", |at| at.create_new(b"new", 0o600).map(drop)),
    ("make_dirs", "d/a/b/c", |at| at.make_dirs().map(drop)),
    ("replace", "d/f", |at| at.replace(b"new", Expect::default()).map(drop)),
    ("remove", "d/f", |at| at.remove()),
    ("remove_tree", "d/sub", |at| at.remove_tree()),
    ("remove_tree of the folder itself", "d", |at| at.remove_tree()),
    ("set_mode", "d/f", |at| at.set_mode(0o600)),
    ("read", "d/f", |at| {
        let content = std::io::read_to_string(at.open_file()?)?;
        assert_ne!(content, "outside", "a place inside was read from outside");
        Ok(())
    }),
];

#[test]
fn a_swapped_folder_never_lets_a_deed_out() {
    let mut done = 0;
    for strategy in kit::strategies() {
        for (name, claim, deed) in DEEDS {
            let bed = bed();
            let before = bed.outside();
            done += race(
                &bed,
                |bed| exchange(bed, "root/d", "root/link"),
                || attempt(&bed, strategy, claim, *deed),
            );
            assert_eq!(bed.outside(), before, "{name} {strategy:?}");
        }
    }
    assert!(done > 0, "every attempt met the link: nothing was tried");
    assert!(done < ROUNDS * DEEDS.len() * 2, "no attempt met the swap");
}

#[test]
fn a_folder_moved_aside_never_lets_a_deed_out() {
    let mut done = 0;
    for strategy in kit::strategies() {
        for (name, claim, deed) in DEEDS.iter().filter(|(name, ..)| !name.contains("itself")) {
            let bed = bed();
            let before = bed.outside();
            done += race(&bed, swap_folder, || attempt(&bed, strategy, claim, *deed));
            assert_eq!(bed.outside(), before, "{name} {strategy:?}");
        }
    }
    assert!(done > 0, "every attempt met the link: nothing was tried");
    assert!(done < ROUNDS * DEEDS.len() * 2, "no attempt met the swap");
}

#[test]
fn a_swapped_leaf_is_never_written_through() {
    for strategy in kit::strategies() {
        let bed = bed();
        let before = bed.outside();
        race(
            &bed,
            |bed| exchange(bed, "root/f", "root/flink"),
            || {
                attempt(&bed, strategy, "f", |at| {
                    at.set_mode(0o600)?;
                    at.replace(b"new", Expect::default()).map(drop)
                })
            },
        );
        assert_eq!(bed.outside(), before, "{strategy:?}");
    }
}

/// What is swapped while it is resolved is the file, or the link's target, or a race; never the link, which was not
/// asked for.
#[test]
fn a_swapped_leaf_is_resolved_to_one_or_the_other() {
    for strategy in kit::strategies() {
        let bed = bed();
        let line = bed.line(strategy);
        let (cwd, claim) = (bed.path("root"), PathClaim::new("f"));
        race(
            &bed,
            |bed| exchange(bed, "root/f", "root/flink"),
            || {
                for _ in 0..20 {
                    match line.resolve(&cwd, &claim, LastLink::Follow) {
                        Resolution::Contained(place) => {
                            assert!(matches!(place.kind(), Kind::File { .. }), "{place:?}");
                        }
                        Resolution::Outside(place) => {
                            assert_eq!(place.disguise(), Some(Disguise::Link));
                        }
                        Resolution::Unresolved(lost) => {
                            assert_eq!(lost.why, Why::Race);
                        }
                    }
                }
                true
            },
        );
    }
}

/// Resolves once, acts once, and puts back what the deed took away.
fn attempt(
    bed: &Bed,
    strategy: Strategy,
    claim: &str,
    deed: fn(&Contained) -> Result<(), OperationError>,
) -> bool {
    let Resolution::Contained(place) = bed.resolve(strategy, claim, LastLink::Follow) else { return false };
    let done = deed(&place).is_ok();
    restore(bed);
    done
}

/// Puts back what a deed took away, without following the link that may stand at `d`.
fn restore(bed: &Bed) {
    let Resolution::Contained(d) = bed.resolve(Strategy::probed(), "d", LastLink::Keep) else { return };
    let _ = d.make_dirs();
    for name in ["d/f", "d/sub/g"] {
        if let Resolution::Contained(at) = bed.resolve(Strategy::probed(), name, LastLink::Follow) {
            let _ = at.create_new(b"inside", 0o600);
        }
    }
    for name in ["d/new", "d/n", "d/a"] {
        if let Resolution::Contained(at) = bed.resolve(Strategy::probed(), name, LastLink::Follow) {
            let _ = at.remove();
            let _ = at.remove_tree();
        }
    }
}

/// The control: the same swap, and a careless "check, then open by path", which does get out.
#[test]
fn checking_first_and_opening_later_does_get_out() {
    let bed = bed();
    let swap = |bed: &Bed| exchange(bed, "root/d", "root/link");
    let inside = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(bed.path("root")));
    let mut escaped = false;
    // Far more rounds than needed; the first escape ends it.
    for _ in 0..1000 {
        let path = bed.path("root/d/f");
        race(&bed, swap, || {
            if !escaped && inside(&path) {
                std::thread::yield_now();
                escaped = fs::read_to_string(&path).is_ok_and(|content| content == "outside");
            }
            escaped
        });
        if escaped {
            return;
        }
    }
    panic!("the swap never hit: the race tests prove nothing");
}

#[test]
fn what_changed_since_it_was_resolved_is_not_touched() {
    for strategy in kit::strategies() {
        let bed = bed();
        let resolve = |claim: &str| match bed.resolve(strategy, claim, LastLink::Follow) {
            Resolution::Contained(place) => place,
            other => panic!("{other:?}"),
        };
        let place = resolve("d/f");
        let new = resolve("d/new");
        // The control: nothing changed, and the deed is done.
        resolve("d/f").replace(b"one", Expect::default()).unwrap();
        // Another file under the same name.
        assert!(matches!(place.replace(b"two", Expect::default()), Err(OperationError::Changed)));
        assert!(matches!(place.open_file(), Err(OperationError::Changed)));
        assert!(matches!(place.remove(), Err(OperationError::Changed)));
        assert_eq!(fs::read_to_string(bed.path("root/d/f")).unwrap(), "one");
        // Another folder above it.
        exchange(&bed, "root/d", "root/link");
        assert!(matches!(new.create_new(b"new", 0o600), Err(OperationError::Changed)));
        assert!(!bed.path("outside/new").exists());
        exchange(&bed, "root/d", "root/link");
        new.create_new(b"new", 0o600).unwrap();
        assert!(matches!(new.create_new(b"new", 0o600), Err(OperationError::Exists)));
    }
}

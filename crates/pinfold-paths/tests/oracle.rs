//! Random trees and random claims: we go where the kernel goes, and both strategies go the same way.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod kit;

use rustix::io::Errno;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use kit::Bed;
use pinfold_paths::{LastLink, Place, Resolution, Strategy as Way, Why};
use proptest::prelude::*;
use proptest::sample::select;

/// Few names, so that claims hit what was built.
const NAMES: &[&str] = &["a", "b", "c", "d"];

fn words(longest: usize) -> impl Strategy<Value = String> {
    let word = prop_oneof![
        6 => select(NAMES).prop_map(str::to_owned),
        2 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
    ];
    prop::collection::vec(word, 1..=longest).prop_map(|words| words.join("/"))
}

fn place() -> impl Strategy<Value = String> {
    let name = || prop::collection::vec(select(NAMES), 1..=3).prop_map(|names| names.join("/"));
    (select(&["root", "root", "root", "outside"][..]), name()).prop_map(|(top, name)| format!("{top}/{name}"))
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => words(4).prop_filter("a link needs words", |words| !words.is_empty()),
        2 => place().prop_map(|place| format!("$T/{place}")),
        1 => Just("$T/outside".to_owned()),
        1 => Just("$T/root".to_owned()),
        1 => Just("$T/root/".to_owned()),
    ]
}

fn layout() -> impl Strategy<Value = Vec<(String, Option<String>)>> {
    prop::collection::vec((place(), prop::option::weighted(0.6, target())), 1..14)
}

fn claim() -> impl Strategy<Value = String> {
    let relative = || words(6);
    prop_oneof![
        6 => relative(),
        2 => relative().prop_map(|words| format!("$T/root/{words}")),
        1 => relative().prop_map(|words| format!("$T/outside/{words}")),
    ]
}

/// Builds what can be built: a later line may find its place taken, or a link in its way. Links in the way are not
/// followed, so that nothing is built outside the bed.
fn build(layout: &[(String, Option<String>)]) -> Bed {
    let bed = Bed::new();
    for (index, (place, target)) in layout.iter().enumerate() {
        let path = bed.path(place);
        let parent = path.parent().unwrap();
        let _ = fs::create_dir_all(parent);
        if parent.is_dir()
            && parent.canonicalize().is_ok_and(|real| real == parent)
            && fs::symlink_metadata(&path).is_err()
        {
            match target {
                Some(target) => std::os::unix::fs::symlink(bed.put(target), &path).unwrap(),
                None if index % 2 == 0 => fs::create_dir(&path).unwrap(),
                None => fs::write(&path, "x").unwrap(),
            }
        }
    }
    bed
}

/// What the kernel says of a claim, with the root as working directory.
fn kernel(bed: &Bed, claim: &str) -> Result<PathBuf, Errno> {
    let joined = format!("{}/{}", bed.path("root").display(), bed.put(claim));
    let path = if claim.starts_with(['$', '/']) { bed.put(claim) } else { joined };
    // Not `canonicalize`: the C library walks by itself there. Opening lets the kernel walk.
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    Ok(fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap())
}

fn held(resolution: &Resolution) -> Result<&Place, Why> {
    match resolution {
        Resolution::Contained(place) => Ok(place),
        Resolution::Outside(place) => Ok(place),
        Resolution::Unresolved(lost) => Err(lost.why),
    }
}

/// One claim, judged by its outcome and compared with the kernel.
fn agrees(bed: &Bed, strategy: Way, claim: &str) -> Result<(), TestCaseError> {
    let resolution = bed.resolve(strategy, claim, LastLink::Follow);
    match (kernel(bed, claim), held(&resolution)) {
        (Ok(real), Ok(place)) => {
            prop_assert_eq!(place.real(), &real);
            prop_assert!(place.id().is_some());
            prop_assert_eq!(
                matches!(resolution, Resolution::Contained(_)),
                real.starts_with(bed.path("root")),
                "{:?}",
                &resolution
            );
            reading_stays(place, &real)?;
        }
        (Err(Errno::NOENT), Ok(place)) => {
            prop_assert!(place.id().is_none());
            prop_assert!(fs::symlink_metadata(place.real()).is_err());
        }
        (Err(Errno::NOENT), Err(why)) => {
            prop_assert!(matches!(why, Why::Dangling | Why::ClimbsFromMissing), "{why:?}");
        }
        (Err(Errno::NOTDIR), Err(Why::NotADirectory)) | (Err(Errno::LOOP), Err(Why::LinkLoop)) => {}
        // Joined to the root, no words at all would be the root; alone, the kernel has no answer to them.
        (_, Err(why)) => prop_assert!(why == Why::Empty && claim.is_empty(), "{why:?}"),
        (kernel, ours) => prop_assert!(false, "kernel {kernel:?}, ours {ours:?}"),
    }
    Ok(())
}

/// What is opened through a place is the place.
fn reading_stays(place: &Place, real: &Path) -> Result<(), TestCaseError> {
    if let Ok(file) = place.open_file() {
        let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        prop_assert_eq!(&opened, real);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn resolving_agrees_with_the_kernel(layout in layout(), claims in prop::collection::vec(claim(), 12)) {
        let bed = build(&layout);
        for strategy in kit::strategies() {
            for claim in &claims {
                agrees(&bed, strategy, claim).map_err(|error| {
                    TestCaseError::fail(format!("{strategy:?} claim {claim:?} in {layout:?}: {error}"))
                })?;
            }
        }
    }

    #[test]
    fn strategies_agree_with_each_other(layout in layout(), claims in prop::collection::vec(claim(), 12)) {
        let bed = build(&layout);
        for claim in &claims {
            for last in [LastLink::Follow, LastLink::Keep] {
                let told: Vec<String> = kit::strategies().into_iter().map(|strategy| {
                    let resolution = bed.resolve(strategy, claim, last);
                    match held(&resolution) {
                        Ok(place) => format!("{:?} {:?} {:?}", place.asked(), place.real(), place.kind()),
                        Err(why) => format!("{why:?}"),
                    }
                }).collect();
                prop_assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "{claim}: {told:?}");
            }
        }
    }

    #[test]
    fn whatever_is_created_lies_inside(layout in layout(), claims in prop::collection::vec(claim(), 6)) {
        for strategy in kit::strategies() {
            let bed = build(&layout);
            let before = bed.outside();
            for claim in &claims {
                if let Resolution::Contained(place) = bed.resolve(strategy, claim, LastLink::Follow) {
                    if place.create_new(b"new", 0o600).is_ok() {
                        let real = place.real().canonicalize().unwrap();
                        prop_assert_eq!(&real, place.real());
                        prop_assert!(real.starts_with(bed.path("root")));
                    } else {
                        let _ = place.replace(b"newer", pinfold_paths::Expect::default());
                    }
                }
                if let Resolution::Contained(place) = bed.resolve(strategy, claim, LastLink::Keep) {
                    let _ = place.remove_tree();
                    let _ = place.remove();
                }
            }
            prop_assert_eq!(bed.outside(), before);
        }
    }

    /// Any bytes at all: an outcome, never a panic, and what is held lies where it says.
    #[test]
    fn any_bytes_have_an_outcome(bytes in prop::collection::vec(any::<u8>(), 0..60), keep in any::<bool>()) {
        let bed = Bed::build(&["root/d/f = x".into(), "root/l => ../outside".into(), "root/a/".into()]);
        let last = if keep { LastLink::Keep } else { LastLink::Follow };
        for strategy in kit::strategies() {
            let claim = pinfold_paths::PathClaim::from_bytes(&bytes);
            let resolution = bed.line(strategy).resolve(&bed.path("root"), &claim, last);
            if let Ok(place) = held(&resolution) {
                prop_assert_eq!(
                    place.real().starts_with(bed.path("root")),
                    matches!(resolution, Resolution::Contained(_))
                );
            }
        }
    }
}

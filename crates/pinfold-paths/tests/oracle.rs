//! Random trees and random claims: we go where the kernel goes, and both strategies go the same way.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use crate::kit;
use std::fs;
use std::os::unix::fs::symlink;

use crate::kit::Bed;
use crate::kit::kernel::{agrees, make_folders, maze, strategies_agree};
use pinfold_paths::{LastLink, Resolution};
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

/// Builds what can be built: a later line may find its place taken, or a link in its way. Nothing is built through
/// a link, so that nothing is built outside the bed.
fn build(layout: &[(String, Option<String>)]) -> Bed {
    let bed = Bed::new();
    for (index, (place, target)) in layout.iter().enumerate() {
        let path = bed.path(place);
        if make_folders(&bed, path.parent().unwrap()) && fs::symlink_metadata(&path).is_err() {
            match target {
                Some(target) => symlink(bed.put(target), &path).unwrap(),
                None if index % 2 == 0 => fs::create_dir(&path).unwrap(),
                None => fs::write(&path, "x").unwrap(),
            }
        }
    }
    bed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn resolving_agrees_with_the_kernel(layout in layout(), claims in prop::collection::vec(claim(), 12)) {
        let bed = build(&layout);
        for claim in &claims {
            for way in kit::strategies() {
                agrees(&bed, way, bed.put(claim).as_bytes());
            }
            strategies_agree(&bed, bed.put(claim).as_bytes());
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

    /// The fuzz target's check over a few random inputs, so that it runs with every test run.
    #[test]
    fn any_bytes_have_an_outcome(claims in prop::collection::vec(any_claim(), 12)) {
        let bed = maze();
        let before = bed.outside();
        for claim in &claims {
            for way in kit::strategies() {
                agrees(&bed, way, claim);
            }
            strategies_agree(&bed, claim);
        }
        prop_assert_eq!(bed.outside(), before);
    }
}

/// Bytes, and pieces of paths between them.
fn any_claim() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "/", "..", ".", "~", "d", "e", "f", "in", "abs", "out", "far", "top", "none", "loop", "up", "back",
        "outside",
    ];
    let piece = prop_oneof![
        5 => select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        4 => Just(b"/".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

//! Every claim of `tests/trees` over every strategy and every deed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use crate::kit;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::kit::Bed;
use pinfold_paths::{
    Contained, Disguise, Expect, Kind, LastLink, OperationError, PathClaim, Place, Resolution, Special,
    Strategy,
};

struct Block {
    layout: Vec<String>,
    claims: Vec<Case>,
}

#[derive(Clone)]
struct Case {
    text: String,
    claim: Vec<u8>,
    cwd: Option<String>,
    last: LastLink,
    outcome: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = vec![];
    for part in text.split("\n\n") {
        let mut block = Block { layout: vec![], claims: vec![] };
        for line in part.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("? ") {
                Some(claim) => block.claims.push(case(claim)),
                None => block.layout.push(line.into()),
            }
        }
        blocks.push(block);
    }
    blocks
}

fn case(text: &str) -> Case {
    let (left, outcome) = text.split_once(" -> ").unwrap();
    let (last, left) =
        left.strip_prefix("keep ").map_or((LastLink::Follow, left), |rest| (LastLink::Keep, rest));
    let (cwd, claim) = match left.strip_prefix("in ") {
        Some(rest) => rest.split_once(": ").map(|(cwd, claim)| (Some(cwd.into()), claim)).unwrap(),
        None => (None, left),
    };
    Case { text: text.into(), claim: bytes(&repeat(claim)), cwd, last, outcome: repeat(outcome) }
}

/// `<n*255>`
fn repeat(text: &str) -> String {
    let Some((before, rest)) = text.split_once('<') else { return text.into() };
    let (inner, after) = rest.split_once('>').unwrap();
    let (part, times) = inner.rsplit_once('*').unwrap();
    format!("{before}{}{after}", part.repeat(times.parse().unwrap()))
}

/// `\0`, `\xNN`
fn bytes(text: &str) -> Vec<u8> {
    let mut out = vec![];
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = |at: &[u8]| u8::from_str_radix(std::str::from_utf8(at.get(1..3)?).ok()?, 16).ok();
        let (byte, left) = match (first, after.first()) {
            (b'\\', Some(b'0')) => (0, &after[1..]),
            (b'\\', Some(b'x')) => hex(after).map_or((first, after), |byte| (byte, &after[3..])),
            _ => (first, after),
        };
        out.push(byte);
        rest = left;
    }
    out
}

fn resolve(bed: &Bed, strategy: Strategy, case: &Case) -> Resolution {
    let cwd = case.cwd.as_ref().map_or_else(|| bed.path("root"), |cwd| bed.put(cwd).into());
    let claim = String::from_utf8(case.claim.clone()).map(|text| bed.put(&text).into_bytes());
    let claim = PathClaim::from_bytes(&claim.unwrap_or_else(|_| case.claim.clone()));
    bed.line(strategy).resolve(&cwd, &claim, case.last)
}

/// Writes an outcome as the tables do.
fn written(bed: &Bed, resolution: &Resolution) -> String {
    let place = |word: &str, place: &Place| {
        let real = place.real().strip_prefix(&bed.top).unwrap_or(place.real());
        let real = if real.as_os_str().is_empty() { Path::new(".") } else { real };
        let name: String = real.as_os_str().as_bytes().utf8_chunks().fold(String::new(), |text, chunk| {
            chunk.invalid().iter().fold(text + chunk.valid(), |text, byte| format!("{text}\\x{byte:02x}"))
        });
        format!("{word} {} {}", name, kind(place.kind()))
    };
    match resolution {
        Resolution::Contained(at) => place("inside", at),
        Resolution::Outside(at) => match at.disguise() {
            None => place("outside", at),
            Some(Disguise::Link) => place("outside", at) + " link",
            Some(Disguise::DotDot) => place("outside", at) + " dotdot",
        },
        Resolution::Unresolved(lost) => format!("unresolved {:?}", lost.why),
    }
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Missing { missing_dirs } => format!("missing {missing_dirs}"),
        Kind::File { .. } => "file".into(),
        Kind::Directory => "dir".into(),
        Kind::Link => "link".into(),
        Kind::Special(Special::Fifo) => "fifo".into(),
        Kind::Special(Special::Socket) => "socket".into(),
        Kind::Special(Special::Char) => "char".into(),
        Kind::Special(Special::Block) => "block".into(),
        Kind::Special(Special::Unknown) => "unknown".into(),
    }
}

fn all_blocks() -> Vec<Block> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    assert!(!files.is_empty());
    files.iter().flat_map(|file| blocks(&fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn every_claim_leads_where_the_table_says() {
    let mut wrong = vec![];
    let mut looked_at = 0;
    for block in all_blocks() {
        let bed = Bed::build(&block.layout);
        for case in &block.claims {
            for strategy in kit::strategies() {
                looked_at += 1;
                let got = written(&bed, &resolve(&bed, strategy, case));
                if got != bed.put(&case.outcome) {
                    wrong.push(format!("{strategy:?} {}\n    got {got}", case.text));
                }
            }
        }
    }
    assert!(looked_at > 200, "only {looked_at} claims were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One deed: what it does, and on which kinds of places it has to succeed.
type Deed = (&'static str, fn(&Contained, &Bed) -> Result<(), OperationError>, fn(&Contained) -> bool);

const DEEDS: &[Deed] = &[
    ("create_new", |at, _| at.create_new(b"new", 0o644).map(drop), |at| missing(at) && !at.must_be_folder()),
    (
        "replace",
        |at, _| at.replace(b"new", Expect::default()).map(drop),
        |at| (missing(at) && !at.must_be_folder()) || file(at),
    ),
    ("make_dirs", |at, _| at.make_dirs().map(drop), |at| missing(at) || folder(at)),
    ("remove", |at, _| at.remove(), |at| !missing(at) && !folder(at)),
    ("remove_tree", |at, _| at.remove_tree(), |at| folder(at) && !at.is_root()),
    ("move away", |at, bed| at.rename_to(&free(bed), false), |at| !missing(at) && !at.is_root()),
    ("move here", |at, bed| source(bed).rename_to(at, false), |at| missing(at) && !at.must_be_folder()),
    (
        "move over",
        |at, bed| source(bed).rename_to(at, true),
        |at| (missing(at) && !at.must_be_folder()) || file(at) || at.kind() == Kind::Link,
    ),
    (
        "copy away",
        |at, bed| at.copy_to(&free(bed)),
        |at| file(at) || at.kind() == Kind::Link || plain_folder(at),
    ),
    ("copy here", |at, bed| source(bed).copy_to(at), |at| missing(at) && !at.must_be_folder()),
    ("set_mode", |at, _| at.set_mode(0o700), |at| only_name(at) || folder(at)),
];

fn missing(at: &Place) -> bool {
    matches!(at.kind(), Kind::Missing { .. })
}

fn file(at: &Place) -> bool {
    matches!(at.kind(), Kind::File { .. })
}

fn only_name(at: &Place) -> bool {
    matches!(at.kind(), Kind::File { links: 1, .. })
}

fn folder(at: &Place) -> bool {
    at.kind() == Kind::Directory
}

/// A folder other than the root, without special files: those are not copied.
fn plain_folder(at: &Contained) -> bool {
    folder(at) && !at.is_root()
}

fn inside(bed: &Bed, name: &str) -> Contained {
    match bed.resolve(Strategy::probed(), name, LastLink::Follow) {
        Resolution::Contained(place) => place,
        other => panic!("{name} is inside: {other:?}"),
    }
}

fn free(bed: &Bed) -> Contained {
    inside(bed, "zz/free")
}

fn source(bed: &Bed) -> Contained {
    fs::write(bed.path("root/zz-source"), "source").unwrap();
    inside(bed, "zz-source")
}

#[test]
fn every_deed_does_what_the_place_allows_and_nothing_outside_changes() {
    let mut done = BTreeMap::<&str, [usize; 2]>::new();
    for block in all_blocks() {
        for case in &block.claims {
            for strategy in kit::strategies() {
                for (name, deed, succeeds) in DEEDS {
                    let bed = Bed::build(&block.layout);
                    let before = bed.outside();
                    let Resolution::Contained(place) = resolve(&bed, strategy, case) else { break };
                    let expected = succeeds(&place);
                    let result = deed(&place, &bed);
                    assert_eq!(result.is_ok(), expected, "{name} {} {strategy:?}: {result:?}", case.text);
                    assert_eq!(bed.outside(), before, "{name} {} {strategy:?}", case.text);
                    done.entry(name).or_default()[usize::from(expected)] += 1;
                }
            }
        }
    }
    // Each deed was seen to succeed and to be refused, or the table above says nothing.
    for (name, _, _) in DEEDS {
        assert!(
            done.get(name).is_some_and(|[refused, succeeded]| *refused > 0 && *succeeded > 0),
            "{name}: {done:?}"
        );
    }
}

#[test]
fn every_place_is_read_as_what_it_is() {
    for block in all_blocks() {
        let bed = Bed::build(&block.layout);
        let before = bed.outside();
        for case in &block.claims {
            for strategy in kit::strategies() {
                match resolve(&bed, strategy, case) {
                    Resolution::Contained(place) => reads(&place, &case.text),
                    Resolution::Outside(place) => reads(&place, &case.text),
                    Resolution::Unresolved(_) => {}
                }
            }
        }
        assert_eq!(bed.outside(), before);
    }
}

fn reads(place: &Place, case: &str) {
    let file = place.open_file();
    assert_eq!(file.is_ok(), matches!(place.kind(), Kind::File { .. }), "{case}: {file:?}");
    if let Ok(mut file) = file {
        let mut content = vec![];
        file.read_to_end(&mut content).unwrap();
        assert_eq!(content, fs::read(place.real()).unwrap(), "{case}");
    }
    let folder = place.open_dir();
    assert_eq!(folder.is_ok(), place.kind() == Kind::Directory, "{case}: {folder:?}");
    if let Ok(folder) = folder {
        let names: std::collections::BTreeSet<_> =
            folder.entries().unwrap().map(|entry| entry.unwrap().name).collect();
        let expected = fs::read_dir(place.real()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, expected, "{case}");
    }
    assert_eq!(place.read_link().is_ok(), place.kind() == Kind::Link, "{case}");
}

//! The kernel as oracle: where does it go, and do we go there too?

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::match_same_arms, reason = "each answer of the kernel stands with its reason")]

use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_paths::{LastLink, PathClaim, Place, Resolution, Strategy, Why};
use rustix::io::Errno;

use super::Bed;

/// What the kernel says of a claim, with the root as working directory.
fn kernel(bed: &Bed, claim: &[u8]) -> Result<PathBuf, Errno> {
    let mut path = bed.path("root").into_os_string().into_encoded_bytes();
    if claim.first() == Some(&b'/') {
        path.clear();
    } else {
        path.push(b'/');
    }
    path.extend_from_slice(claim);
    // Not `canonicalize`: the C library walks by itself there. Opening lets the kernel walk.
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    let fd = rustix::fs::open(OsStr::from_bytes(&path), flags, rustix::fs::Mode::empty())?;
    Ok(fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap())
}

/// The place behind an outcome, or why there is none.
pub fn held(resolution: &Resolution) -> Result<&Place, Why> {
    match resolution {
        Resolution::Contained(place) => Ok(place),
        Resolution::Outside(place) => Ok(place),
        Resolution::Unresolved(lost) => Err(lost.why),
    }
}

/// Resolves any bytes and panics when the kernel goes elsewhere, or when what is held is not where it says.
pub fn agrees(bed: &Bed, strategy: Strategy, claim: &[u8]) {
    let line = bed.line(strategy);
    let resolution = line.resolve(&bed.path("root"), &PathClaim::from_bytes(claim), LastLink::Follow);
    let inside = matches!(resolution, Resolution::Contained(_));
    let ours = held(&resolution);
    if let Ok(place) = ours {
        assert_eq!(inside, place.real().starts_with(bed.path("root")), "{resolution:?}");
        reading_stays(place);
    }
    match (kernel(bed, claim), ours) {
        // Words that this crate understands, or refuses to understand, otherwise than the kernel.
        (_, Err(Why::Empty | Why::Nul | Why::NoHome | Why::OtherUsersHome | Why::Magic)) => {}
        (_, Ok(place)) if claim.first() == Some(&b'~') => assert!(place.real().is_absolute()),
        (Ok(real), Ok(place)) => {
            assert_eq!(place.real(), real);
            assert!(place.id().is_some());
            // The name that rules see leads to the same place, without any `..`.
            assert_eq!(
                kernel(bed, place.asked().as_os_str().as_bytes()),
                Ok(real),
                "{}",
                place.asked().display()
            );
            assert!(place.asked().iter().all(|name| name != ".."));
        }
        (Err(Errno::NOENT), Ok(place)) => {
            assert!(place.id().is_none());
            assert!(fs::symlink_metadata(place.real()).is_err());
        }
        (Err(Errno::NOENT), Err(Why::Dangling | Why::ClimbsFromMissing))
        | (Err(Errno::NOTDIR), Err(Why::NotADirectory))
        | (Err(Errno::LOOP), Err(Why::LinkLoop))
        | (Err(Errno::ACCESS), Err(Why::Denied))
        | (Err(Errno::NAMETOOLONG | Errno::NOENT), Err(Why::TooLong)) => {}
        // Longer than the kernel takes in one call, not longer than it can be walked.
        (Err(Errno::NAMETOOLONG), Ok(place)) => assert!(place.real().is_absolute()),
        (kernel, ours) => panic!("{}: kernel {kernel:?}, ours {ours:?}", claim.escape_ascii()),
    }
}

/// What is opened through a place is the place.
fn reading_stays(place: &Place) {
    if let Ok(file) = place.open_file() {
        let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        assert_eq!(opened, place.real());
    }
}

/// One answer from every strategy, for a link that is followed and for one that is kept.
pub fn strategies_agree(bed: &Bed, claim: &[u8]) {
    for last in [LastLink::Follow, LastLink::Keep] {
        let told: Vec<String> =
            super::strategies().into_iter().map(|way| told(bed, way, claim, last)).collect();
        assert!(told.iter().all(|one| Some(one) == told.first()), "{}: {told:?}", claim.escape_ascii());
    }
}

fn told(bed: &Bed, strategy: Strategy, claim: &[u8], last: LastLink) -> String {
    let resolution = bed.line(strategy).resolve(&bed.path("root"), &PathClaim::from_bytes(claim), last);
    match held(&resolution) {
        Ok(place) => format!("{} {} {:?}", place.asked().display(), place.real().display(), place.kind()),
        Err(why) => format!("{why:?}"),
    }
}

/// The fixed tree for arbitrary bytes: each kind of link once.
pub fn maze() -> Bed {
    let lines = [
        "root/d/e/f = x",
        "root/in => d/e",
        "root/abs => $T/root/d",
        "root/out => ../outside",
        "root/far => $T/outside",
        "root/top => /",
        "root/none => nowhere/at/all",
        "root/loop => loop/x",
        "root/up => d/../../root",
        "outside/f = x",
        "outside/back => ../root/d",
    ];
    Bed::build(&lines.map(String::from))
}

/// Makes a folder and those above it below the bed, never through a link; `false` when something is in the way.
pub fn make_folders(bed: &Bed, folder: &Path) -> bool {
    let mut at = bed.top.clone();
    folder.strip_prefix(&bed.top).unwrap().iter().all(|name| {
        at.push(name);
        match fs::symlink_metadata(&at) {
            Ok(there) => there.is_dir(),
            Err(_) => fs::create_dir(&at).is_ok(),
        }
    })
}

//! Deeds in place, at places outside that somebody consented to: what they do, what they refuse, and that no swap turns
//! a yes for one place into a deed at another.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use crate::kit;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::kit::Bed;
use crate::kit::race::{exchange, race};
use pinfold_paths::{Contained, LastLink, Opening, OperationError, Owner, Resolution, SetTime, Strategy};

const WRITE: Opening = Opening {
    read: false,
    write: true,
    append: false,
    truncate: false,
    create: None,
    exclusive: false,
    nonblocking: false,
    sync: false,
    content_sync: false,
};
const CREATE: Opening = Opening { create: Some(0o666), ..WRITE };

/// A place outside that somebody said yes to, and where it really is.
fn yes(bed: &Bed, strategy: Strategy, name: &str, last: LastLink) -> Option<Contained> {
    match bed.resolve(strategy, &format!("$T/{name}"), last) {
        Resolution::Outside(place) => place.consented(),
        Resolution::Contained(place) => Some(place),
        Resolution::Unresolved(_) => None,
    }
}

fn at(bed: &Bed, name: &str) -> Contained {
    yes(bed, Strategy::probed(), name, LastLink::Follow).unwrap()
}

fn kept(bed: &Bed, name: &str) -> Contained {
    yes(bed, Strategy::probed(), name, LastLink::Keep).unwrap()
}

fn text(bed: &Bed, name: &str) -> String {
    fs::read_to_string(bed.path(name)).unwrap()
}

#[test]
fn a_file_is_opened_as_it_was_asked_for() {
    let bed = Bed::build(&["outside/f = one\n".into(), "outside/other == outside/f".into()]);
    let inode = fs::metadata(bed.path("outside/f")).unwrap().ino();
    at(&bed, "outside/f").open_in_place(WRITE).unwrap().write_all(b"O").unwrap();
    assert_eq!(text(&bed, "outside/f"), "One\n");
    let mut log = at(&bed, "outside/f").open_in_place(Opening { append: true, ..CREATE }).unwrap();
    fs::write(bed.path("outside/other"), "other\n").unwrap();
    log.write_all(b"last\n").unwrap();
    assert_eq!(text(&bed, "outside/f"), "other\nlast\n");
    let mut both = at(&bed, "outside/f").open_in_place(Opening { read: true, ..WRITE }).unwrap();
    let mut content = String::new();
    both.read_to_string(&mut content).unwrap();
    assert_eq!(content, "other\nlast\n");
    drop(at(&bed, "outside/f").open_in_place(Opening { truncate: true, ..WRITE }).unwrap());
    // In place: the same file, under both of its names.
    assert_eq!((text(&bed, "outside/other").as_str(), text(&bed, "outside/f").as_str()), ("", ""));
    assert_eq!(fs::metadata(bed.path("outside/f")).unwrap().ino(), inode);
    let flags = |how| rustix::fs::fcntl_getfl(at(&bed, "outside/f").open_in_place(how).unwrap()).unwrap();
    let nonblocking = rustix::fs::OFlags::NONBLOCK;
    assert!(!flags(WRITE).contains(nonblocking));
    assert!(flags(Opening { nonblocking: true, ..WRITE }).contains(nonblocking));
    assert!(flags(Opening { sync: true, ..WRITE }).contains(rustix::fs::OFlags::SYNC));
}

#[test]
fn a_file_is_made_where_nothing_stood_and_only_there() {
    let bed = Bed::build(&["outside/f = old".into(), "outside/d/".into(), "outside/p |".into()]);
    let place = at(&bed, "outside/new");
    place.open_in_place(CREATE).unwrap().write_all(b"new").unwrap();
    assert_eq!(text(&bed, "outside/new"), "new");
    // What was judged was that nothing stands there.
    assert!(matches!(place.open_in_place(CREATE), Err(OperationError::Changed)));
    let exclusive = Opening { exclusive: true, ..CREATE };
    assert!(matches!(place.open_in_place(exclusive), Err(OperationError::Exists)));
    for (name, how, error) in [
        ("outside/f", exclusive, "something stands there already"),
        ("outside/none", WRITE, "no such file or folder"),
        ("outside/no/ne", CREATE, "no such file or folder"),
        ("outside/d", CREATE, "it is a folder"),
        ("outside/none/", CREATE, "it is a folder"),
        ("outside/p", WRITE, "it is a FIFO, a socket or a device"),
    ] {
        assert_eq!(at(&bed, name).open_in_place(how).unwrap_err().to_string(), error, "{name}");
    }
    // A set-id bit is never made.
    at(&bed, "outside/set").open_in_place(Opening { create: Some(0o6755), ..CREATE }).unwrap();
    assert_eq!(fs::metadata(bed.path("outside/set")).unwrap().mode() & 0o7000, 0);
}

/// Their files look like any other, and writing to them is a command.
#[test]
fn the_kernels_own_files_are_not_opened() {
    let bed = Bed::new();
    for name in
        ["/proc/sys/kernel/hostname", "/proc/self/comm", "/sys/kernel/mm/transparent_hugepage/enabled"]
    {
        let Resolution::Outside(place) = bed.resolve(Strategy::probed(), name, LastLink::Follow) else {
            // A link of a process, or a kernel without it.
            continue;
        };
        if matches!(place.kind(), pinfold_paths::Kind::File { .. }) {
            let place = place.consented().unwrap();
            assert!(matches!(place.open_in_place(WRITE), Err(OperationError::Special)), "{name}");
            assert!(matches!(place.set_length(0), Err(OperationError::Special)), "{name}");
            assert!(
                matches!(place.set_times(SetTime::Now, SetTime::Now), Err(OperationError::Special)),
                "{name}"
            );
        }
    }
}

#[test]
fn what_came_to_stand_there_since_is_not_touched() {
    for strategy in kit::strategies() {
        let bed = Bed::build(&["outside/f = judged".into(), "outside/g = other".into(), "outside/d/".into()]);
        let f = yes(&bed, strategy, "outside/f", LastLink::Follow).unwrap();
        let new = yes(&bed, strategy, "outside/d/new", LastLink::Follow).unwrap();
        exchange(&bed, "outside/f", "outside/g");
        let before = bed.outside();
        let cut = Opening { truncate: true, ..WRITE };
        assert!(matches!(f.open_in_place(cut), Err(OperationError::Changed)));
        assert!(matches!(f.set_length(0), Err(OperationError::Changed)));
        assert!(matches!(f.set_times(SetTime::Now, SetTime::Now), Err(OperationError::Changed)));
        assert!(matches!(f.set_owner(Owner::default()), Err(OperationError::Changed)));
        assert!(matches!(f.link_to(&new), Err(OperationError::Changed)));
        assert!(matches!(f.rename_in_place(&new, false, None), Err(OperationError::Changed)));
        assert_eq!(bed.outside(), before);
        // A folder that moved away takes its places with it.
        fs::rename(bed.path("outside/d"), bed.path("home/d")).unwrap();
        for done in [new.open_in_place(CREATE).map(drop), new.make_dir(0o777), new.make_link(OsStr::new("x"))]
        {
            assert!(matches!(done, Err(OperationError::Changed)), "{done:?}");
        }
        assert_eq!(fs::read_dir(bed.path("home/d")).unwrap().count(), 0);
    }
}

#[test]
fn folders_links_and_names_are_made_where_nothing_stands() {
    let bed = Bed::build(&["outside/f = f".into(), "outside/d/".into()]);
    at(&bed, "outside/made").make_dir(0o700).unwrap();
    assert_eq!(fs::metadata(bed.path("outside/made")).unwrap().mode() & 0o7777, 0o700);
    kept(&bed, "outside/link").make_link(OsStr::new("../nowhere")).unwrap();
    assert_eq!(fs::read_link(bed.path("outside/link")).unwrap(), Path::new("../nowhere"));
    at(&bed, "outside/f").link_to(&kept(&bed, "outside/second")).unwrap();
    assert_eq!(fs::metadata(bed.path("outside/f")).unwrap().nlink(), 2);
    for name in ["outside/f", "outside/d", "outside/link"] {
        assert!(matches!(kept(&bed, name).make_dir(0o777), Err(OperationError::Exists)), "{name}");
        assert!(matches!(kept(&bed, name).make_link(OsStr::new("x")), Err(OperationError::Exists)), "{name}");
        assert!(
            matches!(at(&bed, "outside/f").link_to(&kept(&bed, name)), Err(OperationError::Exists)),
            "{name}"
        );
    }
    assert!(matches!(at(&bed, "outside/no/ne").make_dir(0o777), Err(OperationError::Missing)));
    assert!(matches!(at(&bed, "outside/d").link_to(&kept(&bed, "outside/x")), Err(OperationError::IsFolder)));
}

#[test]
fn a_name_moves_and_what_must_not_move_stays() {
    let bed = Bed::build(&[
        "outside/f = f".into(),
        "outside/g = g".into(),
        "root/inner = inner".into(),
        "root/shared = shared".into(),
        "root/twin == root/shared".into(),
        "outside/d/x = x".into(),
        "outside/e/".into(),
    ]);
    kept(&bed, "root/inner").rename_in_place(&kept(&bed, "outside/moved"), true, Some(1)).unwrap();
    assert_eq!(text(&bed, "outside/moved"), "inner");
    kept(&bed, "outside/f").rename_in_place(&kept(&bed, "outside/g"), true, None).unwrap();
    assert_eq!(text(&bed, "outside/g"), "f");
    kept(&bed, "outside/d").rename_in_place(&kept(&bed, "outside/dd"), true, None).unwrap();
    assert_eq!(text(&bed, "outside/dd/x"), "x");
    let before = bed.outside();
    let g = || kept(&bed, "outside/g");
    for (from, to, overwrite, error) in [
        // Its other name would go on to change what lies outside now.
        ("root/shared", "outside/out", true, "the file has 2 names"),
        ("root/shared", "outside/g", true, "the file has 2 names"),
        ("outside/g", "outside/moved", false, "something stands there already"),
        ("outside/g", "outside/e", true, "something stands there already"),
        ("outside/g", "outside/no/ne", true, "no such file or folder"),
        ("outside/g", "outside/new/", true, "it is not a folder"),
        ("outside/dd", "outside/g", true, "it is not a folder"),
    ] {
        let done = kept(&bed, from).rename_in_place(&kept(&bed, to), overwrite, Some(1));
        assert_eq!(done.unwrap_err().to_string(), error, "{from} to {to}");
    }
    assert_eq!(bed.outside(), before);
    assert_eq!(text(&bed, "root/shared"), "shared");
    // The same name twice is no change.
    g().rename_in_place(&g(), true, None).unwrap();
    assert_eq!(text(&bed, "outside/g"), "f");
}

#[test]
fn length_owner_and_times_are_set() {
    let bed = Bed::build(&["outside/f = 0123456789".into(), "outside/d/".into()]);
    at(&bed, "outside/f").set_length(4).unwrap();
    assert_eq!(text(&bed, "outside/f"), "0123");
    let then = SetTime::At { seconds: 1_000_000, nanoseconds: 5 };
    for name in ["outside/f", "outside/d"] {
        at(&bed, name).set_times(SetTime::Kept, then).unwrap();
        let now = fs::metadata(bed.path(name)).unwrap();
        assert_eq!((now.mtime(), now.mtime_nsec()), (1_000_000, 5), "{name}");
        assert!(now.atime() > 1_000_000, "{name}");
        let own = Owner { user: Some(now.uid()), group: None };
        at(&bed, name).set_owner(own).unwrap();
    }
    assert!(matches!(at(&bed, "outside/d").set_length(0), Err(OperationError::IsFolder)));
}

#[test]
fn owner_and_times_of_a_link_are_its_own() {
    let bed = Bed::build(&["outside/f = 0123456789".into()]);
    let link = bed.path("outside/l");
    std::os::unix::fs::symlink("f", &link).unwrap();
    let judged = || kept(&bed, "outside/l");
    let then = SetTime::At { seconds: 1_000_000, nanoseconds: 5 };
    judged().set_times(then, then).unwrap();
    assert_eq!(fs::symlink_metadata(&link).unwrap().mtime(), 1_000_000);
    assert!(fs::metadata(&link).unwrap().mtime() > 1_000_000, "what it leads to keeps its own");
    judged()
        .set_owner(Owner { user: Some(fs::symlink_metadata(&link).unwrap().uid()), group: None })
        .unwrap();
    let before = judged();
    fs::remove_file(&link).unwrap();
    fs::write(&link, "a file by now").unwrap();
    assert!(matches!(before.set_times(then, then), Err(OperationError::Changed)));
    assert!(matches!(before.set_owner(Owner::default()), Err(OperationError::Changed)));
}

type Deed = (&'static str, &'static str, LastLink, fn(&Contained, &Bed) -> Result<(), OperationError>);

/// Each at a place below `outside/d`, which is swapped with a link to `home`.
const DEEDS: &[Deed] = &[
    ("open", "outside/d/f", LastLink::Follow, |at, _| {
        at.open_in_place(WRITE)?.write_all(b"X").map_err(OperationError::from)
    }),
    ("cut", "outside/d/f", LastLink::Follow, |at, _| {
        at.open_in_place(Opening { truncate: true, ..CREATE }).map(drop)
    }),
    ("make", "outside/d/new", LastLink::Follow, |at, _| at.open_in_place(CREATE).map(drop)),
    ("make dir", "outside/d/new", LastLink::Keep, |at, _| at.make_dir(0o777)),
    ("make link", "outside/d/new", LastLink::Keep, |at, _| at.make_link(OsStr::new("f"))),
    ("remove", "outside/d/f", LastLink::Keep, |at, _| at.remove()),
    ("remove dir", "outside/d/sub", LastLink::Keep, |at, _| at.remove_dir()),
    ("length", "outside/d/f", LastLink::Follow, |at, _| at.set_length(1)),
    ("times", "outside/d/f", LastLink::Follow, |at, _| at.set_times(SetTime::Now, SetTime::Now)),
    ("mode", "outside/d/f", LastLink::Follow, |at, _| at.set_mode(0o600)),
    ("rename away", "outside/d/f", LastLink::Keep, |at, bed| {
        let to = yes(bed, Strategy::probed(), "root/taken", LastLink::Keep).ok_or(OperationError::Changed)?;
        at.rename_in_place(&to, true, None)
    }),
    ("rename to", "outside/d/f", LastLink::Keep, |at, bed| {
        fs::write(bed.path("root/source"), "source")?;
        let from =
            yes(bed, Strategy::probed(), "root/source", LastLink::Keep).ok_or(OperationError::Changed)?;
        from.rename_in_place(at, true, Some(1))
    }),
    ("link to", "outside/d/new", LastLink::Keep, |at, bed| {
        let from =
            yes(bed, Strategy::probed(), "outside/g", LastLink::Follow).ok_or(OperationError::Changed)?;
        from.link_to(at)
    }),
];

/// A yes for what lies in `outside/d`, while `outside/d` is a link to `home` half of the time: nothing in `home` changes.
#[test]
fn a_yes_for_one_place_is_no_deed_at_another() {
    let (mut done, mut tried) = (0, 0);
    for strategy in kit::strategies() {
        for (name, claim, last, deed) in DEEDS {
            let bed = Bed::build(&[
                "outside/d/f = outside".into(),
                "outside/d/sub/".into(),
                "outside/g = g".into(),
                "home/f = home".into(),
                "home/sub/".into(),
                "outside/link => $T/home".into(),
            ]);
            let state =
                || (text(&bed, "home/f"), listed(&bed, "home"), fs::metadata(bed.path("home/f")).unwrap());
            let before = state();
            done += race(
                &bed,
                |bed| exchange(bed, "outside/d", "outside/link"),
                || {
                    let Some(place) = yes(&bed, strategy, claim, *last) else { return false };
                    // A yes for what is shown: where it leads at that moment.
                    if place.real() != bed.path(claim) {
                        return false;
                    }
                    tried += 1;
                    let done = deed(&place, &bed).is_ok();
                    restore(&bed);
                    done
                },
            );
            let after = state();
            assert_eq!((&after.0, &after.1), (&before.0, &before.1), "{name} {strategy:?}");
            let about = |meta: &fs::Metadata| (meta.mode(), meta.mtime_nsec(), meta.ino(), meta.nlink());
            assert_eq!(about(&after.2), about(&before.2), "{name} {strategy:?}");
        }
    }
    assert!(done > 0, "no deed was done: nothing was tried");
    assert!(done < tried, "no deed met the swap");
}

fn listed(bed: &Bed, folder: &str) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        fs::read_dir(bed.path(folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Puts back what a deed took away, through held places.
fn restore(bed: &Bed) {
    for name in ["outside/d/new", "outside/d/f", "outside/d/sub"] {
        let Some(at) = yes(bed, Strategy::probed(), name, LastLink::Keep) else { continue };
        if at.real() != bed.path(name) {
            continue;
        }
        let _ = match name {
            "outside/d/new" => at.remove().or_else(|_| at.remove_dir()),
            "outside/d/f" => at.create_new(b"outside", 0o600).map(drop),
            _ => at.make_dir(0o755),
        };
    }
}

/// What moves out of the folder is swapped by whoever can write there: a yes for a file is no yes for a link or for a
/// file with another name that stays inside.
#[test]
fn what_is_moved_out_is_what_was_judged() {
    let bed =
        Bed::build(&["root/f = judged".into(), "root/evil => $T/home".into(), "outside/old = old".into()]);
    let mut moved = 0;
    // All attempts of a race may fall into one turn of the swapping thread, with a link in place: then it is run again.
    for (turn, to) in ["outside/new", "outside/old"].into_iter().cycle().take(40).enumerate() {
        if turn >= 2 && moved > 0 {
            break;
        }
        moved += race(
            &bed,
            |bed| exchange(bed, "root/f", "root/evil"),
            || {
                let Some(from) = yes(&bed, Strategy::probed(), "root/f", LastLink::Keep) else {
                    return false;
                };
                if !matches!(from.kind(), pinfold_paths::Kind::File { .. }) {
                    return false;
                }
                let Some(to) = yes(&bed, Strategy::probed(), to, LastLink::Keep) else { return false };
                let done = from.rename_in_place(&to, true, Some(1)).is_ok();
                let there = fs::symlink_metadata(to.real());
                assert!(there.is_err() || there.unwrap().is_file(), "a link came out");
                // Both of them where they were.
                for (name, link) in [("root/f", false), ("root/evil", true)] {
                    if fs::symlink_metadata(bed.path(name)).is_err() && link {
                        let _ = std::os::unix::fs::symlink(bed.path("home"), bed.path(name));
                    } else if fs::symlink_metadata(bed.path(name)).is_err() {
                        let _ = fs::write(bed.path(name), "judged");
                    }
                }
                done
            },
        );
    }
    assert!(moved > 0, "nothing moved: nothing was tried");
}

/// The control: check, then do it by path, as a supervisor without held places would.
#[test]
fn checking_first_and_opening_by_path_does_reach_the_other_place() {
    let bed = Bed::build(&[
        "outside/d/f = outside".into(),
        "home/f = home".into(),
        "outside/link => $T/home".into(),
    ]);
    let path = bed.path("outside/d/f");
    for _ in 0..1000 {
        race(
            &bed,
            |bed| exchange(bed, "outside/d", "outside/link"),
            || {
                if path.canonicalize().is_ok_and(|real| real == path) {
                    std::thread::yield_now();
                    let _ = fs::write(&path, "X");
                }
                true
            },
        );
        if text(&bed, "home/f") == "X" {
            return;
        }
    }
    panic!("the swap never hit: the race tests prove nothing");
}

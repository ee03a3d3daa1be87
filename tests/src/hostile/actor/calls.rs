//! The calls themselves, each by the way that the program says.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, RenameFlags, Timestamps, XattrFlags, chmodat,
    chownat, fallocate, fchmod, linkat, mkdirat, mknodat, openat, renameat_with, setxattr, symlinkat,
    unlinkat, utimensat,
};
use rustix::io;
use rustix::process::{getgid, getuid};

use super::{Hands, Spot, log, name};
use crate::hostile::program::{Call, Flags, Opening, Renaming, Target, Way};
use crate::hostile::spell::of_descriptor;
use crate::hostile::world_path::{WorldPath, relative};

/// Files are made executable: what is planted is to be run.
const FILE: Mode = Mode::from_raw_mode(0o755);

/// How much of a file is allocated.
const ALLOCATED: u64 = 64;

impl Hands<'_> {
    /// Carries out one call and logs it.
    pub(super) fn one(&mut self, call: &Call, way: Way) {
        match call {
            Call::Write { at, text, flags } => {
                self.put(at, self.text(text).as_bytes(), *flags, way);
            }
            Call::Allocate(at) => {
                let place = self.spot(at, way, true);
                let open = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
                let done = openat(place.spelled.directory(), &place.spelled.path, open, FILE)
                    .and_then(|fd| fallocate(fd, FallocateFlags::empty(), 0, ALLOCATED));
                told("allocate", done, &[&place]);
            }
            Call::Open(slot, at, how) => self.open(*slot, at, *how, way),
            Call::Rename(from, to, how) => {
                let (from, to) = (self.spot(from, way, false), self.spot(to, way, false));
                told("rename", rename(&from, &to, *how), &[&from, &to]);
            }
            Call::Link { from, to, follow } => {
                let (from, to) = (self.spot(from, way, *follow), self.spot(to, way, false));
                let flags = if *follow { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
                let (a, b) = (&from.spelled, &to.spelled);
                told("link", linkat(a.directory(), &a.path, b.directory(), &b.path, flags), &[&from, &to]);
            }
            Call::Unnamed { directory, to, text } => self.unnamed(directory, to, text, way),
            Call::Reopen(slot, text) => self.reopen(*slot, text),
            Call::WriteOpen(slot, text) => {
                let Some((fd, place)) = self.of_slot(*slot) else { return };
                let done = io::write(fd, self.text(text).as_bytes()).map(drop);
                log("fwrite", &result(done), &[place.as_deref()]);
            }
            Call::ModeOpen(slot, mode) => {
                let Some((fd, place)) = self.of_slot(*slot) else { return };
                log("fchmod", &result(fchmod(fd, Mode::from_raw_mode(*mode))), &[place.as_deref()]);
            }
            Call::LinkOpen(slot, to) => self.link_open(*slot, to, way),
            call => self.of_one_place(call, way),
        }
    }

    /// Opens a file for writing and writes.
    pub(super) fn put(&self, at: &WorldPath, content: &[u8], flags: Flags, way: Way) {
        let spot = self.spot(at, way, !flags.no_follow && !flags.exclusive);
        let done = write(&spot, flags, content);
        told("write", done, &[&spot]);
    }

    fn of_one_place(&self, call: &Call, way: Way) {
        let (word, at, follow) = match call {
            Call::MakeDir(at) => ("mkdir", at, false),
            Call::RemoveDir(at) => ("rmdir", at, false),
            Call::Unlink(at) => ("unlink", at, false),
            Call::Symlink(_, at) => ("symlink", at, false),
            Call::Mode(at, _) => ("chmod", at, true),
            Call::Owner(at) => ("chown", at, true),
            Call::Pipe(at) => ("mkfifo", at, false),
            Call::Socket(at) => ("mksock", at, false),
            Call::Attribute(at) => ("setxattr", at, true),
            Call::Times(at) => ("utimes", at, true),
            _ => return,
        };
        let spot = self.spot(at, way, follow);
        let (directory, path) = (spot.spelled.directory(), &spot.spelled.path);
        let node = |kind| mknodat(directory, path, kind, FILE, 0);
        let done = match call {
            Call::MakeDir(_) => mkdirat(directory, path, FILE),
            Call::RemoveDir(_) => unlinkat(directory, path, AtFlags::REMOVEDIR),
            Call::Unlink(_) => unlinkat(directory, path, AtFlags::empty()),
            Call::Symlink(target, at) => symlinkat(self.target(target, at), directory, path),
            Call::Mode(_, mode) => chmodat(directory, path, Mode::from_raw_mode(*mode), AtFlags::empty()),
            Call::Owner(_) => chownat(directory, path, Some(getuid()), Some(getgid()), AtFlags::empty()),
            Call::Pipe(_) => node(FileType::Fifo),
            Call::Socket(_) => node(FileType::Socket),
            Call::Attribute(_) => setxattr(spot.spelled.whole(), "user.hostile", b"x", XattrFlags::empty()),
            _ => utimensat(directory, path, &past(), AtFlags::empty()),
        };
        told(word, done, &[&spot]);
    }

    /// The text of a symbolic link.
    fn target(&self, target: &Target, at: &WorldPath) -> PathBuf {
        match target {
            Target::Absolute(place) => self.roots().path(place),
            Target::Relative(place) => {
                let link = self.roots().path(at);
                relative(link.parent().unwrap_or(&link), &self.roots().path(place))
            }
            Target::Text(text) => text.into(),
        }
    }

    fn open(&mut self, slot: u8, at: &WorldPath, how: Opening, way: Way) {
        let place = self.spot(at, way, true);
        let (word, flags) = match how {
            // Nothing is changed by these: they are no attempts.
            Opening::Read => ("read", OFlags::RDONLY),
            Opening::Path => ("read", OFlags::PATH),
            Opening::Write => ("open", OFlags::RDWR),
        };
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match openat(place.spelled.directory(), &place.spelled.path, flags, FILE) {
            Ok(fd) => {
                self.slots.insert(slot, (at.clone(), fd));
                told(word, Ok(()), &[&place]);
            }
            Err(error) => told(word, Err(error), &[&place]),
        }
    }

    fn reopen(&self, slot: u8, text: &str) {
        let Some((fd, place)) = self.of_slot(slot) else { return };
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let done = openat(CWD, of_descriptor(fd), flags, FILE)
            .and_then(|again| io::write(again, self.text(text).as_bytes()).map(drop));
        log("reopen", &result(done), &[place.as_deref()]);
    }

    fn link_open(&self, slot: u8, to: &WorldPath, way: Way) {
        let to = self.spot(to, way, false);
        let Some((fd, place)) = self.of_slot(slot) else { return };
        let done =
            linkat(CWD, of_descriptor(fd), to.spelled.directory(), &to.spelled.path, AtFlags::SYMLINK_FOLLOW);
        log("flink", &result(done), &[place.as_deref(), to.real.as_deref()]);
    }

    fn unnamed(&self, directory: &WorldPath, to: &WorldPath, text: &str, way: Way) {
        let (directory, to) = (self.spot(directory, way, true), self.spot(to, way, false));
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let opened = openat(directory.spelled.directory(), &directory.spelled.path, flags, FILE);
        // Of the directory, whose modes may be in the way; the name has not been tried then.
        let fd = match opened {
            Ok(fd) => fd,
            Err(error) => return told("unnamed", Err(error), &[&directory]),
        };
        let done = io::write(&fd, self.text(text).as_bytes()).and_then(|_| {
            let (at, name) = (to.spelled.directory(), &to.spelled.path);
            linkat(CWD, of_descriptor(&fd), at, name, AtFlags::SYMLINK_FOLLOW)
        });
        told("tmpfile", done, &[&to]);
    }
}

fn write(spot: &Spot, flags: Flags, content: &[u8]) -> io::Result<()> {
    let set = [
        (flags.exclusive, OFlags::EXCL),
        (flags.truncate, OFlags::TRUNC),
        (flags.append, OFlags::APPEND),
        (flags.no_follow, OFlags::NOFOLLOW),
        (!flags.no_create, OFlags::CREATE),
    ];
    let open = set.iter().filter(|(is, _)| *is).fold(OFlags::WRONLY, |all, (_, flag)| all | *flag);
    // A pipe without a reader must not make it wait.
    let open = open | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd: OwnedFd = openat(spot.spelled.directory(), &spot.spelled.path, open, FILE)?;
    io::write(fd, content).map(drop)
}

fn rename(from: &Spot, to: &Spot, how: Renaming) -> io::Result<()> {
    let flags = match how {
        Renaming::Plain => RenameFlags::empty(),
        Renaming::Exchange => RenameFlags::EXCHANGE,
        Renaming::NoReplace => RenameFlags::NOREPLACE,
    };
    let (a, b) = (&from.spelled, &to.spelled);
    renameat_with(a.directory(), &a.path, b.directory(), &b.path, flags)
}

/// A day long ago.
fn past() -> Timestamps {
    let time = rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}

fn result(done: io::Result<()>) -> String {
    done.map_or_else(name, |()| "ok".to_owned())
}

fn told(word: &str, done: io::Result<()>, spots: &[&Spot]) {
    let places: Vec<Option<&Path>> = spots.iter().map(|spot| spot.real.as_deref()).collect();
    log(word, &result(done), &places);
}

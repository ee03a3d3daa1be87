//! The actor: carries out one run of a program, inside, and logs how each call ended.

mod calls;
mod trees;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::contents;
use super::log::Logged;
use super::program::{Call, Run, Step, Thread, Way};
use super::spell::{Slots, Spelled, real, spell};
use super::world_path::{Roots, WorldPath};

/// What the actor knows of the world.
pub struct Actor {
    /// Where the roots are.
    pub roots: Roots,
    /// The program whose start shows that something planted has run.
    pub planted: String,
}

/// Numbers the links that are made on the way to a place.
static LINKS: AtomicUsize = AtomicUsize::new(0);

impl Actor {
    /// Carries out a run: its threads side by side.
    pub fn act(&self, run: &Run) {
        thread::scope(|scope| {
            for thread in &run.threads {
                scope.spawn(|| Hands { actor: self, slots: Slots::new() }.act(thread));
            }
        });
    }
}

/// One thread of the actor, with what it keeps open.
struct Hands<'a> {
    actor: &'a Actor,
    slots: Slots,
}

/// A place of a call: how it is spelled, and where that really is.
struct Spot {
    spelled: Spelled,
    real: Option<PathBuf>,
}

impl Hands<'_> {
    fn act(&mut self, thread: &Thread) {
        for _ in 0..thread.times {
            for step in &thread.steps {
                self.step(step);
            }
        }
    }

    fn step(&mut self, Step { call, way }: &Step) {
        match call {
            Call::Wait(millis) => thread::sleep(Duration::from_millis(*millis)),
            Call::Shell(words) => self.shell(words),
            Call::Fill(at, count) => {
                (0..*count).for_each(|n| self.one(&Call::MakeDir(at.join(&format!("f{n}"))), *way));
            }
            Call::Copy(from, to) => self.copy(from, to, *way),
            Call::RemoveTree(at) => self.remove_tree(at, *way),
            call => self.one(call, *way),
        }
    }

    fn roots(&self) -> &Roots {
        &self.actor.roots
    }

    fn text(&self, name: &str) -> String {
        contents::text(name, self.roots(), &self.actor.planted)
    }

    fn spot(&self, place: &WorldPath, way: Way, follow: bool) -> Spot {
        let link = format!("via-{}", LINKS.fetch_add(1, Ordering::Relaxed));
        let spelled = spell(place, way, self.roots(), &self.slots, &self.roots().folder.join(link));
        let real = real(&spelled, follow);
        Spot { spelled, real }
    }

    /// The real places of what is open.
    fn of_slot(&self, slot: u8) -> Option<(&OwnedFd, Option<PathBuf>)> {
        let (_, fd) = self.slots.get(&slot)?;
        Some((fd, std::fs::read_link(super::spell::of_descriptor(fd)).ok()))
    }

    fn shell(&self, words: &str) {
        let words = contents::expand(words, self.roots(), &self.actor.planted);
        // A shell waits for ever for the other end of a pipe that the program made before.
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", SHELL_SECONDS, "sh", "-c", &words]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let result = match command.status() {
            Ok(status) if status.success() => "ok".to_owned(),
            Ok(status) => format!("failed {}", status.code().unwrap_or(-1)),
            Err(error) => error.to_string(),
        };
        log("sh", &result, &[]);
    }
}

/// Seconds after which a shell is ended with all that it started. No command takes longer than a moment.
const SHELL_SECONDS: &str = "10";

/// Says how a call ended. In one piece: other threads and runs say something too.
fn log(call: &str, result: &str, places: &[Option<&Path>]) {
    let places = places.iter().flatten().map(|place| (*place).to_owned()).collect();
    let line = format!("{}\n", Logged { call: call.to_owned(), result: result.to_owned(), places });
    // Nothing can be done when nobody listens any more.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

/// The name of an error, as its manual page has it.
fn name(error: Errno) -> String {
    const NAMES: [(Errno, &str); 22] = [
        (Errno::ACCESS, "EACCES"),
        (Errno::BADF, "EBADF"),
        (Errno::BUSY, "EBUSY"),
        (Errno::EXIST, "EEXIST"),
        (Errno::INVAL, "EINVAL"),
        (Errno::ISDIR, "EISDIR"),
        (Errno::LOOP, "ELOOP"),
        (Errno::MLINK, "EMLINK"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG"),
        (Errno::NODEV, "ENODEV"),
        (Errno::NOENT, "ENOENT"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::NOSYS, "ENOSYS"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::NOTEMPTY, "ENOTEMPTY"),
        (Errno::NOTSUP, "ENOTSUP"),
        (Errno::NXIO, "ENXIO"),
        (Errno::OPNOTSUPP, "EOPNOTSUPP"),
        (Errno::PERM, "EPERM"),
        (Errno::ROFS, "EROFS"),
        (Errno::TXTBSY, "ETXTBSY"),
        (Errno::XDEV, "EXDEV"),
    ];
    let found = NAMES.iter().find(|(known, _)| *known == error);
    found.map_or_else(|| format!("E{}", error.raw_os_error()), |(_, name)| (*name).to_owned())
}

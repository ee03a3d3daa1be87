//! The careful walk: where the kernel would go, one component at a time.
//!
//! Promise: links are followed before `..` is taken, and what was met on the way is remembered.
//! Trap: it only finds a path; what is held is opened afresh by that path, without links.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::claim::{MAX_NAME_LEN, Spelling};
use crate::outside::Disguise;
use crate::resolve::{LastLink, Why};
use crate::sys;
use crate::workspace::BaseFolder;
use crate::writable_roots::WritableRoots;

/// Links followed in one walk: the kernel's own limit (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The end of a walk.
#[derive(Debug)]
pub(crate) struct WalkEnd {
    /// As named: links kept, `..` taken.
    pub(crate) asked: PathBuf,
    /// As the kernel goes: no links.
    pub(crate) real: PathBuf,
    /// `None` when nothing stands there.
    pub(crate) file_type: Option<FileType>,
    pub(crate) missing_dirs: usize,
    pub(crate) must_be_folder: bool,
    /// The last step on which the walk left the line after it had been inside.
    pub(crate) left: Option<Disguise>,
}

/// A walk that led nowhere.
#[derive(Debug)]
pub(crate) struct WalkFailure {
    pub(crate) why: Why,
    pub(crate) leads_to: Option<PathBuf>,
}

impl From<Why> for WalkFailure {
    fn from(why: Why) -> Self {
        Self { why, leads_to: None }
    }
}

impl From<Errno> for WalkFailure {
    fn from(errno: Errno) -> Self {
        Why::from_errno(errno).into()
    }
}

/// The entry seen a moment ago is gone, or is of another type: it was swapped, and the walk begins again.
fn moved_meanwhile(errno: Errno) -> WalkFailure {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::INVAL => Why::Race.into(),
        other => other.into(),
    }
}

/// The origin of the next component.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    WorkingDirectory,
    Claim,
    Link,
}

struct WalkStep {
    name: OsString,
    origin: Origin,
}

/// The folder that a walk has reached.
enum WalkBase<'a> {
    Base(&'a BaseFolder),
    Opened(OwnedFd),
}

impl WalkBase<'_> {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Base(base) => base.fd(),
            Self::Opened(fd) => fd.as_fd(),
        }
    }
}

struct PathWalk<'a> {
    line: &'a WritableRoots,
    ahead: VecDeque<WalkStep>,
    at: WalkBase<'a>,
    real: PathBuf,
    /// Number of trailing names of `real` that are folders not there yet, in a line that imagines them. `at` is the
    /// folder that they would stand in.
    imagined: usize,
    /// As named, and for each name whether a link stands there.
    asked: Vec<(OsString, bool)>,
    links: usize,
    inside: bool,
    left: Option<Disguise>,
    keep_last: bool,
    must_be_folder: bool,
}

/// Walks a claim to its end.
pub(crate) fn follow(
    line: &WritableRoots,
    spelling: &Spelling,
    last: LastLink,
) -> Result<WalkEnd, WalkFailure> {
    // A root's path was free of links when the root was opened, so the walk may begin in the open root itself.
    let base = line.nearest(&spelling.path);
    let mut walk = PathWalk {
        line,
        ahead: steps(spelling, base),
        at: WalkBase::Base(base),
        real: base.path().into(),
        imagined: 0,
        asked: base.path().iter().skip(1).map(|name| (name.to_owned(), false)).collect(),
        links: 0,
        inside: line.covers(base.path()),
        left: None,
        keep_last: last == LastLink::Keep && !spelling.must_be_folder,
        must_be_folder: spelling.must_be_folder,
    };
    let mut file_type = FileType::Directory;
    while let Some(step) = walk.ahead.pop_front() {
        match walk.take(step)? {
            StepOutcome::Stands(reached) => file_type = reached,
            StepOutcome::Missing { missing_dirs } => return Ok(walk.found(None, missing_dirs)),
        }
    }
    match walk.imagined.checked_sub(1) {
        Some(missing_dirs) => Ok(walk.found(None, missing_dirs)),
        None => Ok(walk.found(Some(file_type), 0)),
    }
}

/// The names of the claim that lie below `base`.
fn steps(spelling: &Spelling, base: &BaseFolder) -> VecDeque<WalkStep> {
    let below = base.relative(&spelling.path).unwrap_or(&spelling.path).as_os_str().as_bytes();
    let mut bytes = spelling.path.as_os_str().len() - below.len();
    let names = below.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    let step = |name: &[u8]| {
        bytes += name.len();
        let origin = if bytes <= spelling.from_cwd { Origin::WorkingDirectory } else { Origin::Claim };
        bytes += 1;
        WalkStep { name: OsStr::from_bytes(name).into(), origin }
    };
    names.map(step).collect()
}

enum StepOutcome {
    Stands(FileType),
    Missing { missing_dirs: usize },
}

impl<'a> PathWalk<'a> {
    fn take(&mut self, step: WalkStep) -> Result<StepOutcome, WalkFailure> {
        if step.name == ".." {
            self.climb(step.origin)?;
            return Ok(StepOutcome::Stands(FileType::Directory));
        }
        if self.imagined > 0 {
            return self.imagine(step);
        }
        if !self.ahead.is_empty() {
            // Most names on the way are folders: one call instead of two.
            match sys::open_child_folder(self.at.fd(), &step.name) {
                Ok(next) => return Ok(self.go_down(next, step)),
                Err(Errno::NOENT) => return self.stop_at_missing(step),
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let look = match sys::look(self.at.fd(), &step.name) {
            Ok(look) => look,
            Err(Errno::NOENT) => return self.stop_at_missing(step),
            Err(errno) => return Err(errno.into()),
        };
        match look.file_type {
            FileType::Symlink
                if !(self.keep_last && self.ahead.is_empty() && step.origin != Origin::Link) =>
            {
                self.follow_link(step)?;
                Ok(StepOutcome::Stands(FileType::Directory))
            }
            FileType::Directory => {
                let next = sys::open_child_folder(self.at.fd(), &step.name).map_err(moved_meanwhile)?;
                Ok(self.go_down(next, step))
            }
            other if self.ahead.is_empty() && !self.must_be_folder => {
                self.enter(step);
                Ok(StepOutcome::Stands(other))
            }
            _ => Err(Why::NotADirectory.into()),
        }
    }

    fn go_down(&mut self, next: OwnedFd, step: WalkStep) -> StepOutcome {
        self.at = WalkBase::Opened(next);
        self.enter(step);
        StepOutcome::Stands(FileType::Directory)
    }

    /// Goes to a name that stands, or may stand, where the walk is.
    fn enter(&mut self, step: WalkStep) {
        self.real.push(&step.name);
        if step.origin != Origin::Link {
            self.asked.push((step.name, false));
        }
        self.moved(Disguise::Link);
    }

    /// Takes `..` from where the walk really is.
    fn climb(&mut self, origin: Origin) -> Result<(), WalkFailure> {
        self.real.pop();
        match self.imagined.checked_sub(1) {
            Some(left) => self.imagined = left,
            None => self.at = self.open_here()?,
        }
        if origin == Origin::Link {
            self.moved(Disguise::Link);
            return Ok(());
        }
        if self.asked.last().is_some_and(|(_, link)| *link) {
            self.asked = self.real.iter().skip(1).map(|name| (name.to_owned(), false)).collect();
        } else {
            self.asked.pop();
        }
        self.moved(Disguise::DotDot);
        Ok(())
    }

    /// Opens the folder that the walk is in afresh.
    fn open_here(&self) -> Result<WalkBase<'a>, WalkFailure> {
        let base = self.line.nearest(&self.real);
        let below = base.relative(&self.real).unwrap_or(Path::new(""));
        if below.as_os_str().is_empty() {
            return Ok(WalkBase::Base(base));
        }
        let opened = sys::open_folder(base.fd(), below, self.line.strategy());
        opened.map(WalkBase::Opened).map_err(moved_meanwhile)
    }

    /// Goes to a name that would stand in a folder that is not there.
    fn imagine(&mut self, step: WalkStep) -> Result<StepOutcome, WalkFailure> {
        if step.name.len() > MAX_NAME_LEN {
            return Err(Why::TooLong.into());
        }
        self.imagined += 1;
        self.enter(step);
        Ok(StepOutcome::Stands(FileType::Directory))
    }

    /// Returns `true` if a line that imagines folders imagines this one. The target of a link has to be there.
    fn is_imagined(&self, step: &WalkStep) -> bool {
        let by_link = step.origin == Origin::Link || self.ahead.iter().any(|s| s.origin == Origin::Link);
        let in_cwd = step.origin == Origin::WorkingDirectory && self.line.is_imagined();
        !by_link && (in_cwd || self.line.imagines(&self.real.join(&step.name)))
    }

    /// Puts a link's target in place of the link.
    fn follow_link(&mut self, step: WalkStep) -> Result<(), WalkFailure> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Why::LinkLoop.into());
        }
        if sys::has_magic_links(self.at.fd())? {
            return Err(Why::Magic.into());
        }
        let target = sys::read_link(self.at.fd(), &step.name).map_err(moved_meanwhile)?;
        let words = target.as_bytes();
        if matches!(words.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."))
            && self.ahead.is_empty()
        {
            self.must_be_folder = true;
        }
        if words.first() == Some(&b'/') {
            self.at = WalkBase::Base(self.line.slash());
            self.real = PathBuf::from("/");
            self.moved(Disguise::Link);
        }
        for name in words.split(|byte| *byte == b'/').rev().filter(|name| !matches!(*name, b"" | b".")) {
            self.ahead.push_front(WalkStep { name: OsStr::from_bytes(name).into(), origin: Origin::Link });
        }
        if step.origin != Origin::Link {
            self.asked.push((step.name, true));
        }
        Ok(())
    }

    /// Nothing stands here: the rest of the claim is a place to be made, if it is plain and the claim's own.
    fn stop_at_missing(&mut self, step: WalkStep) -> Result<StepOutcome, WalkFailure> {
        if self.is_imagined(&step) {
            return self.imagine(step);
        }
        let dangling =
            step.origin == Origin::Link || self.ahead.iter().any(|step| step.origin == Origin::Link);
        let climbs = self.ahead.iter().any(|step| step.name == "..");
        let in_cwd = step.origin == Origin::WorkingDirectory;
        let missing_dirs = self.ahead.len();
        let rest: Vec<WalkStep> = std::iter::once(step).chain(self.ahead.drain(..)).collect();
        if dangling {
            let leads_to =
                rest.iter().filter(|_| !climbs).fold(self.real.clone(), |path, step| path.join(&step.name));
            return Err(WalkFailure { why: Why::Dangling, leads_to: Some(leads_to) });
        }
        if in_cwd {
            return Err(Why::WorkingDirectory.into());
        }
        if climbs {
            return Err(Why::ClimbsFromMissing.into());
        }
        if rest.iter().any(|step| step.name.len() > MAX_NAME_LEN) {
            return Err(Why::TooLong.into());
        }
        for step in rest {
            self.enter(step);
        }
        Ok(StepOutcome::Missing { missing_dirs })
    }

    /// Notes when a step led out of the line after the walk had been inside.
    fn moved(&mut self, by: Disguise) {
        let inside = self.line.covers(&self.real);
        if self.inside && !inside {
            self.left = Some(by);
        }
        self.inside = inside;
    }

    fn found(self, file_type: Option<FileType>, missing_dirs: usize) -> WalkEnd {
        let mut asked = PathBuf::from("/");
        asked.extend(self.asked.iter().map(|(name, _)| name));
        WalkEnd {
            asked,
            real: self.real,
            file_type,
            missing_dirs,
            must_be_folder: self.must_be_folder,
            left: self.left,
        }
    }
}

//! The one list behind every layer: the access to each path, beneath it too unless a deeper entry says otherwise.
//!
//! The profile for the kernel and the answers for the file tools are read off the same list, so that they cannot
//! differ. The deepest place that covers a path decides.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use pinfold_policy::Guards;
use pinfold_sandbox::{CoveringLink, Profile, StandIn, Writes};

use crate::within::is_within;

/// Hold at a place and, unless a deeper one says otherwise, beneath it. Weakest first: when two meet at
/// one place, the later in this list stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// Shows through a cover, and can be read.
    Visible,
    /// Can be written.
    Writable,
    /// A link stands over it that leads to this place.
    CoveringLink(PathBuf),
    /// Cannot be written.
    ReadOnly,
    /// Does not exist and cannot be made.
    Absent,
    /// Does not exist; a file with this content holds the name.
    StandIn(&'static [u8]),
    /// Cannot be read or written, but for what shows through.
    Covered,
    /// Cannot be read or written.
    Hidden,
}

/// A path, what holds at and beneath it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessEntry {
    path: PathBuf,
    hold: Hold,
    why: Cow<'static, str>,
}

impl AccessEntry {
    /// Returns its path: absolute and resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it is held: one clause without a full stop.
    pub fn why(&self) -> &str {
        &self.why
    }
}

/// Access of a confined process to a place; the same answer counts for the file tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess<'a> {
    /// Read and write.
    Writable,
    /// Read only: it lies outside everything that was granted.
    Outside,
    /// Read only: a place inside the grant that is held for a reason.
    ReadOnly(&'a AccessEntry),
    /// Neither read nor write.
    Hidden(&'a AccessEntry),
}

/// Paths of one boundary, each with its access.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessList {
    anywhere: bool,
    list: BTreeMap<PathBuf, AccessEntry>,
    /// Directories that can be written beneath as their surroundings can, but neither renamed nor removed.
    pins: BTreeMap<PathBuf, AccessEntry>,
}

impl AccessList {
    /// `anywhere`: what no place speaks of can be written.
    pub(crate) fn new(anywhere: bool) -> Self {
        Self { anywhere, ..Self::default() }
    }

    /// Returns whether what is in no list can be written.
    pub(crate) fn is_writable_elsewhere(&self) -> bool {
        self.anywhere
    }

    /// Adds a place; of two at one path the stronger hold stays.
    pub(crate) fn add(&mut self, path: PathBuf, hold: Hold, why: impl Into<Cow<'static, str>>) {
        match self.list.entry(path) {
            Entry::Occupied(there) if there.get().hold >= hold => {}
            entry => {
                let path = entry.key().clone();
                entry.insert_entry(AccessEntry { path, hold, why: why.into() });
            }
        }
    }

    /// Holds a directory in its place.
    pub(crate) fn pin(&mut self, path: PathBuf, why: impl Into<Cow<'static, str>>) {
        let place = AccessEntry { path: path.clone(), hold: Hold::ReadOnly, why: why.into() };
        self.pins.insert(path, place);
    }

    /// Lets go of every directory that is only held in its place.
    pub(crate) fn unpin(&mut self) {
        self.pins.clear();
    }

    /// Takes back what holds this path and what lies beneath it, but not what hides it, and makes it writable.
    pub(crate) fn open(&mut self, path: &Path) {
        self.list.retain(|at, place| !at.starts_with(path) || place.hold == Hold::Hidden);
        self.pins.retain(|at, _| !at.starts_with(path));
        self.add(path.to_owned(), Hold::Writable, "it was granted by name");
    }

    /// Takes back what keeps this very path from being written, since something else of the run's own stands there.
    pub(crate) fn forget(&mut self, path: &Path) {
        if self.list.get(path).is_some_and(|place| place.hold == Hold::ReadOnly) {
            self.list.remove(path);
        }
    }

    /// Returns the access to a resolved path.
    pub(crate) fn access(&self, real: &Path) -> PathAccess<'_> {
        let covering = real.ancestors().find_map(|at| self.list.get(at));
        let pinned = || self.pins.get(real).map(PathAccess::ReadOnly);
        let Some(place) = covering else {
            let free = if self.anywhere { PathAccess::Writable } else { PathAccess::Outside };
            return if self.anywhere { pinned().unwrap_or(free) } else { free };
        };
        match &place.hold {
            Hold::Writable => pinned().unwrap_or(PathAccess::Writable),
            Hold::CoveringLink(_) | Hold::ReadOnly | Hold::Absent | Hold::StandIn(_) => {
                PathAccess::ReadOnly(place)
            }
            Hold::Visible => PathAccess::Outside,
            Hold::Covered | Hold::Hidden => PathAccess::Hidden(place),
        }
    }

    /// Returns whether what lies in a directory can be written, unless a place of its own says otherwise.
    pub(crate) fn is_writable_beneath(&self, directory: &Path) -> bool {
        match directory.ancestors().find_map(|at| self.list.get(at)) {
            Some(place) => place.hold == Hold::Writable,
            None => self.anywhere,
        }
    }

    /// Returns whether something at a path or beneath it is held or hidden.
    pub(crate) fn holds_beneath(&self, path: &Path) -> bool {
        let held = |place: &AccessEntry| !matches!(place.hold, Hold::Visible | Hold::Writable);
        let from = (Bound::Included(path), Bound::Unbounded);
        let beneath = self.list.range::<Path, _>(from).take_while(|(at, _)| is_within(at, path));
        beneath.map(|(_, place)| place).any(held)
            || self.pins.range::<Path, _>(from).next().is_some_and(|(at, _)| is_within(at, path))
    }

    /// Returns the names in a directory at or beneath which a place stands. `None`: there are more than are worth to be remembered.
    pub(crate) fn list_names_in(&self, directory: &Path) -> Option<Vec<OsString>> {
        const MAX_NAMES: usize = 64;
        let from = || (Bound::Excluded(directory), Bound::Unbounded);
        let listed = self.list.range::<Path, _>(from()).map(|(at, _)| at);
        let pinned = self.pins.range::<Path, _>(from()).map(|(at, _)| at);
        let mut names: Vec<OsString> = Vec::new();
        for beneath in
            [&mut listed.into_iter() as &mut dyn Iterator<Item = &PathBuf>, &mut pinned.into_iter()]
        {
            // In the order of components: what lies beneath a directory follows it directly.
            for at in beneath.take_while(|at| is_within(at, directory)) {
                let name = at.strip_prefix(directory).ok()?.iter().next()?;
                if names.last().is_none_or(|last| last != name) {
                    names.push(name.to_owned());
                }
                if names.len() > MAX_NAMES {
                    return None;
                }
            }
        }
        Some(names)
    }

    /// Places that cannot be read.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Path> {
        self.list
            .values()
            .filter(|place| matches!(place.hold, Hold::Hidden | Hold::Covered))
            .map(AccessEntry::path)
    }

    /// Takes back what can be written outside of `only`, but not below `spared`. What lies in a place that is taken
    /// back stays writable.
    pub(crate) fn narrow(&mut self, only: &[PathBuf], spared: Option<&Path>) {
        self.anywhere = false;
        let outside = |at: &Path| {
            !only.iter().any(|place| at.starts_with(place))
                && !spared.is_some_and(|spared| at.starts_with(spared))
        };
        let writable = |place: &AccessEntry| place.hold == Hold::Writable && outside(&place.path);
        let taken: Vec<PathBuf> =
            self.list.values().filter(|p| writable(p)).map(|p| p.path.clone()).collect();
        self.list.retain(|_, place| !writable(place));
        for place in only.iter().filter(|place| taken.iter().any(|from| place.starts_with(from))) {
            // Unless something deeper than the grant holds it.
            if !self.list.contains_key(place) && self.access(place) == PathAccess::Outside {
                self.add(place.clone(), Hold::Writable, "it was granted, and the lists allow it");
            }
        }
    }

    /// Takes back what can be written at a path and beneath it.
    pub(crate) fn close(&mut self, path: &Path, why: &str) {
        let beneath = self.list.iter_mut().filter(|(at, _)| at.starts_with(path));
        for (_, place) in beneath.filter(|(_, place)| place.hold == Hold::Writable) {
            (place.hold, place.why) = (Hold::ReadOnly, why.to_owned().into());
        }
    }

    /// Returns whether a place is seen although something may be covered above it.
    fn shows(&self, path: &Path) -> bool {
        let decides =
            |place: &&AccessEntry| matches!(place.hold, Hold::Visible | Hold::Writable | Hold::Covered);
        let above = path.ancestors().filter_map(|at| self.list.get(at)).find(decides);
        above.is_none_or(|place| place.hold != Hold::Covered)
    }

    /// Adds these places as guards for the file tools to those that go by name.
    pub(crate) fn guards(&self, mut guards: Guards) -> Guards {
        for place in self.list.values() {
            let (path, why) = (place.path(), place.why());
            guards = match place.hold {
                // File tools have lists of their own.
                Hold::Writable | Hold::Visible | Hold::Covered => guards,
                Hold::Hidden => guards.with_hidden(path, why).with_protected(path, why),
                Hold::CoveringLink(_) | Hold::ReadOnly | Hold::Absent | Hold::StandIn(_) => {
                    guards.with_protected(path, why)
                }
            };
        }
        guards
    }

    /// Drops what a hidden place covers anyway: nothing can be mounted on top of what cannot be seen.
    pub(crate) fn prune(&mut self) {
        let mut hidden: Vec<PathBuf> = Vec::new();
        // Paths are in the order of their components: what lies beneath a place follows it directly.
        self.list.retain(|at, place| {
            if hidden.last().is_some_and(|cover| at.starts_with(cover)) {
                return false;
            }
            if place.hold == Hold::Hidden {
                hidden.push(at.clone());
            }
            true
        });
        self.pins.retain(|at, _| !hidden.iter().any(|cover| at.starts_with(cover)));
    }

    /// Returns whether something can be written that lies at or beneath `path`.
    pub(crate) fn grants_beneath(&self, path: &Path) -> bool {
        self.list.values().any(|p| p.hold == Hold::Writable && p.path.starts_with(path))
    }

    /// Writes the places down for the kernel.
    pub(crate) fn enter(&self, profile: &mut Profile) {
        let mut writes = Vec::new();
        // Missing names stand side by side: their directory is asked about once.
        let mut asked: Option<(&Path, bool)> = None;
        let covers = self.list.values().any(|place| place.hold == Hold::Covered);
        for place in self.list.values() {
            // Nothing can be put on top of what is not there.
            if covers && place.hold != Hold::Covered && !self.shows(&place.path) {
                continue;
            }
            let missing = matches!(place.hold, Hold::Absent | Hold::StandIn(_));
            if missing {
                let parent = place.path.parent().unwrap_or(Path::new("/"));
                let (_, can_be_made) = *match &mut asked {
                    Some(known) if known.0 == parent => known,
                    asked => asked.insert((parent, can_write(parent))),
                };
                // A process that cannot create the name here cannot create it inside either.
                if !can_be_made {
                    continue;
                }
            }
            let path = place.path.clone();
            match &place.hold {
                Hold::Visible => profile.visible.push(path),
                Hold::Covered => profile.covered.push(path),
                // Written like everything else; below a place of the sandbox's own it has to be seen.
                Hold::Writable if self.anywhere => profile.visible.push(path),
                Hold::Writable => writes.push(path),
                Hold::CoveringLink(to) => profile.detours.push(CoveringLink { at: path, to: to.clone() }),
                Hold::ReadOnly => profile.read_only.push(path),
                Hold::Absent => profile.absent.push(path),
                Hold::StandIn(content) => profile.stand_ins.push(StandIn { path, content }),
                Hold::Hidden => profile.hidden.push(path),
            }
        }
        profile.pinned = self.pins.keys().filter(|pin| !covers || self.shows(pin)).cloned().collect();
        profile.writes = match (self.anywhere, writes.is_empty()) {
            (true, _) => Writes::Anywhere,
            (false, true) => Writes::Nowhere,
            (false, false) => Writes::Beneath(writes),
        };
    }
}

fn can_write(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_ok()
}

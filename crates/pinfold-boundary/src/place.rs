//! The one list behind every layer: what holds at which place.
//!
//! The profile for the kernel and the answers for the file tools are read off the same list, so that they cannot
//! differ. The deepest place that covers a path decides.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use pinfold_policy::Guards;
use pinfold_sandbox::{Detour, Profile, StandIn, Writes};

/// What holds at a place and, unless a deeper one says otherwise, beneath it. Weakest first: when two meet at
/// one place, the later in this list stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// Can be written.
    Writable,
    /// A link stands over it that leads to this place.
    Detour(PathBuf),
    /// Cannot be written.
    ReadOnly,
    /// Does not exist and cannot be made.
    Absent,
    /// Does not exist; a file with this content holds the name.
    StandIn(&'static [u8]),
    /// Cannot be read or written.
    Hidden,
}

/// One place with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
    hold: Hold,
    why: Cow<'static, str>,
}

impl Place {
    /// Where it is; absolute and resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it is held: one clause without a full stop.
    pub fn why(&self) -> &str {
        &self.why
    }
}

/// What a confined process can do with a place; the same answer counts for the file tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Read and write.
    Writable,
    /// Read only: it lies outside everything that was granted.
    Outside,
    /// Read only: a place inside the grant that is held for a reason.
    ReadOnly(&'a Place),
    /// Neither read nor write.
    Hidden(&'a Place),
}

/// Every place of one boundary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    anywhere: bool,
    list: BTreeMap<PathBuf, Place>,
    /// Directories that can be written beneath as their surroundings can, but neither renamed nor removed.
    pins: BTreeMap<PathBuf, Place>,
}

impl Places {
    /// `anywhere`: what no place speaks of can be written.
    pub(crate) fn new(anywhere: bool) -> Self {
        Self { anywhere, ..Self::default() }
    }

    /// Adds a place; of two at one path the stronger hold stays.
    pub(crate) fn add(&mut self, path: PathBuf, hold: Hold, why: impl Into<Cow<'static, str>>) {
        match self.list.entry(path) {
            Entry::Occupied(there) if there.get().hold >= hold => {}
            entry => {
                let path = entry.key().clone();
                entry.insert_entry(Place { path, hold, why: why.into() });
            }
        }
    }

    /// Holds a directory in its place.
    pub(crate) fn pin(&mut self, path: PathBuf, why: impl Into<Cow<'static, str>>) {
        let place = Place { path: path.clone(), hold: Hold::ReadOnly, why: why.into() };
        self.pins.insert(path, place);
    }

    /// Takes back what holds this path and what lies beneath it, but not what hides it, and makes it writable.
    pub(crate) fn open(&mut self, path: &Path) {
        self.list.retain(|at, place| !at.starts_with(path) || place.hold == Hold::Hidden);
        self.pins.retain(|at, _| !at.starts_with(path));
        self.add(path.to_owned(), Hold::Writable, "it was granted by name");
    }

    /// The standing of a resolved path.
    pub(crate) fn standing(&self, real: &Path) -> Standing<'_> {
        let covering = real.ancestors().find_map(|at| self.list.get(at));
        let pinned = || self.pins.get(real).map(Standing::ReadOnly);
        let Some(place) = covering else {
            let free = if self.anywhere { Standing::Writable } else { Standing::Outside };
            return if self.anywhere { pinned().unwrap_or(free) } else { free };
        };
        match &place.hold {
            Hold::Writable => pinned().unwrap_or(Standing::Writable),
            Hold::Detour(_) | Hold::ReadOnly | Hold::Absent | Hold::StandIn(_) => Standing::ReadOnly(place),
            Hold::Hidden => Standing::Hidden(place),
        }
    }

    /// The same answers as guards for the file tools, added to those that go by name.
    pub(crate) fn guards(&self, mut guards: Guards) -> Guards {
        for place in self.list.values() {
            let (path, why) = (place.path(), place.why());
            guards = match place.hold {
                Hold::Writable => guards,
                Hold::Hidden => guards.with_hidden(path, why).with_held(path, why),
                Hold::Detour(_) | Hold::ReadOnly | Hold::Absent | Hold::StandIn(_) => {
                    guards.with_held(path, why)
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

    /// Whether something can be written that lies at or beneath `path`.
    pub(crate) fn grants_beneath(&self, path: &Path) -> bool {
        self.list.values().any(|p| p.hold == Hold::Writable && p.path.starts_with(path))
    }

    /// Writes the places down for the kernel.
    pub(crate) fn enter(&self, profile: &mut Profile) {
        let mut writes = Vec::new();
        // Missing names stand side by side: their directory is asked about once.
        let mut asked: Option<(&Path, bool)> = None;
        for place in self.list.values() {
            let missing = matches!(place.hold, Hold::Absent | Hold::StandIn(_));
            if missing {
                let parent = place.path.parent().unwrap_or(Path::new("/"));
                let (_, can_be_made) = *match &mut asked {
                    Some(known) if known.0 == parent => known,
                    asked => asked.insert((parent, can_write(parent))),
                };
                // Whoever cannot make the name now cannot make it inside either.
                if !can_be_made {
                    continue;
                }
            }
            let path = place.path.clone();
            match &place.hold {
                Hold::Writable => writes.push(path),
                Hold::Detour(to) => profile.detours.push(Detour { at: path, to: to.clone() }),
                Hold::ReadOnly => profile.read_only.push(path),
                Hold::Absent => profile.absent.push(path),
                Hold::StandIn(content) => profile.stand_ins.push(StandIn { path, content }),
                Hold::Hidden => profile.hidden.push(path),
            }
        }
        profile.pinned = self.pins.keys().cloned().collect();
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

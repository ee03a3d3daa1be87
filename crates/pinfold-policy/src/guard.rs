//! Guarded places: those whose change runs code later, or whose content gives access to something else.
//!
//! A pure look-up by the components of a path that was already resolved by the kernel (no links, no `..`).
//! Nothing is compared as text prefix: `.gitattributes` is not `.git`, `.bashrc.md` is not `.bashrc`.
//!
//! Trap: a guard says nothing about what a caller should do. The gate asks a person, the boundary mounts the
//! place read-only or covers it; [`KernelProtection`] says how far the latter goes.

mod pattern;
mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pattern::{Anchor, Query, Signs};
pub(crate) use pattern::{fold, is_same_name};

/// The kind of a guarded place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardKind {
    /// A repository's own directory or configuration: git runs hooks and programs named there.
    Git,
    /// pinfold's own settings and records.
    Policy,
    /// Read and acted on by agents and editors as soon as the folder is opened.
    Autorun,
    /// Sourced by a shell or an interpreter when it starts.
    ShellStartup,
    /// Environment files that hold secrets and change what programs do.
    Secret,
    /// Keys, tokens, logins, key rings, browser profiles.
    Credential,
    /// Started by the system or the desktop by itself: cron, systemd units, autostart, launch agents.
    Persistence,
    /// Configuration of build tools and package managers that runs code at the next build.
    Build,
    /// Held for this session, at this very place.
    Place,
}

impl GuardKind {
    /// Returns `true` if a write there is a question that no rule and no mode answers: it runs code later, or gives access to something else.
    pub fn is_sensitive(self) -> bool {
        match self {
            Self::Git
            | Self::Policy
            | Self::Autorun
            | Self::ShellStartup
            | Self::Secret
            | Self::Credential
            | Self::Persistence => true,
            Self::Build | Self::Place => false,
        }
    }
}

/// The extent to which the kernel holds a guarded place inside a writable folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelProtection {
    /// Only the file tools ask; a process inside may write it, and the end of the run lists the change.
    Asked,
    /// Read-only when it exists at the start; one that is created later is listed at the end of the run.
    WhenPresent,
    /// Read-only, and a missing one cannot be created, at the top of every project in the folder.
    EvenMissing,
}

/// One guarded place, with the reason a person or a model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pattern: Cow<'static, str>,
    kind: GuardKind,
    kernel_protection: KernelProtection,
    why: Cow<'static, str>,
    markers: &'static [&'static str],
}

impl Guard {
    /// The pattern as it stands in the list: `**/NAME` at any depth, `~/NAME` in a home directory, `/NAME`
    /// from the root of the file system. What lies beneath a match is guarded as well.
    pub fn pattern(&self) -> &str {
        pattern::positive(&self.pattern)
    }

    /// Returns the kind of place.
    pub fn kind(&self) -> GuardKind {
        self.kind
    }

    /// Returns the extent to which the kernel holds it inside a writable folder.
    pub fn kernel_protection(&self) -> KernelProtection {
        self.kernel_protection
    }

    /// Why it is guarded: one clause without a full stop.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// A file that is often harmless is a credential only if it holds one of these words (lower case; compare
    /// without case). Empty: always.
    pub fn markers(&self) -> &'static [&'static str] {
        self.markers
    }
}

/// The guarded places for writing and for reading.
///
/// Lists only ever grow here; the reader of the settings decides which entries they may take away.
#[derive(Clone, Debug)]
pub struct Guards {
    write: Arc<GuardList>,
    read: Arc<GuardList>,
    /// Not guarded, though a pattern of the lists matches.
    except: Arc<GuardList>,
    places: SessionGuards,
}

/// Guards of single places of one session, whatever their names.
#[derive(Clone, Debug, Default)]
struct SessionGuards {
    write: BTreeMap<PathBuf, Guard>,
    read: BTreeMap<PathBuf, Guard>,
    /// Not guarded, though a pattern matches.
    open_write: Vec<PathBuf>,
    open_read: Vec<PathBuf>,
}

impl Default for Guards {
    fn default() -> Self {
        let (write, read) = (Arc::new(GuardList::new(table::WRITE)), Arc::new(GuardList::new(table::READ)));
        let except = Arc::new(GuardList::new(&[]));
        Self { write, read, except, places: SessionGuards::default() }
    }
}

impl Guards {
    /// The guard that a write of `real` meets, outermost component first.
    ///
    /// `real` is absolute and resolved; `home` is the person's home directory, resolved as well (the usual
    /// places of home directories count besides). `folds_case`: the file system takes `.GIT` for `.git`.
    pub fn write(&self, real: &Path, home: Option<&Path>, folds_case: bool) -> Option<&Guard> {
        let places = &self.places;
        let held = covering(&places.write, real);
        if held.is_some_and(|guard| guard.kind.is_sensitive()) {
            return held;
        }
        let listed =
            self.write.find(real, home, folds_case).filter(|_| !self.is_excepted(real, home, folds_case));
        // What is held for this session is no weaker than it was.
        listed.filter(|guard| held.is_none() || guard.kind.is_sensitive()).or(held)
    }

    /// Returns whether no guard for writing counts here that goes by names: the user opened the place, or excepted it.
    pub fn is_excepted(&self, real: &Path, home: Option<&Path>, folds_case: bool) -> bool {
        self.places.open_write.iter().any(|place| real.starts_with(place))
            || self.except.find(real, home, folds_case).is_some()
    }

    /// The guard of [`Guards::write`], with the directory in which the guarded name stands: that of `.config` for a pattern
    /// `**/.config/autostart`.
    pub fn write_in<'p>(
        &self,
        real: &'p Path,
        home: Option<&Path>,
        folds_case: bool,
    ) -> Option<(&Guard, &'p Path)> {
        let guard = self.write(real, home, folds_case)?;
        let listed =
            self.write.find_at(real, home, folds_case).filter(|(listed, _)| std::ptr::eq(*listed, guard));
        let directory = match listed {
            Some((_, at)) => real.as_os_str().as_encoded_bytes().get(..at).and_then(path_of),
            None => real.ancestors().find(|at| self.places.write.contains_key(*at)).and_then(Path::parent),
        };
        Some((guard, directory.or_else(|| real.parent()).unwrap_or(real)))
    }

    /// The guard that a read of `real` meets. Arguments as for [`Guards::write`].
    pub fn read(&self, real: &Path, home: Option<&Path>, folds_case: bool) -> Option<&Guard> {
        let places = &self.places;
        covering(&places.read, real).or_else(|| {
            let open = || places.open_read.iter().any(|place| real.starts_with(place));
            let excepted = || self.except.find(real, home, folds_case).is_some();
            self.read.find(real, home, folds_case).filter(|_| !open() && !excepted())
        })
    }

    /// A guard that something below a folder meets when all of it is read. `folder` and `home` as for [`Guards::write`].
    /// Patterns that count at any depth say nothing about where: [`Guards::reads_anywhere`].
    pub fn read_below(&self, folder: &Path, home: Option<&Path>) -> Option<&Guard> {
        let place =
            self.places.read.iter().find(|(place, _)| place.starts_with(folder)).map(|(_, guard)| guard);
        let (folder, home) =
            (folder.as_os_str().as_encoded_bytes(), home.map(|home| home.as_os_str().as_encoded_bytes()));
        let mut listed = self.read.guards.iter();
        place.or_else(|| listed.find(|guard| pattern::lies_below(&guard.pattern, folder, home)))
    }

    /// Returns `true` if a place at any depth may be guarded for reading.
    pub fn reads_anywhere(&self) -> bool {
        self.read
            .guards
            .iter()
            .any(|guard| matches!(Anchor::split(&guard.pattern), Some((Anchor::Anywhere, _))))
    }

    /// Adds a place guarded for writing. A pattern without `**/`, `~/` or `/` in front counts at any depth.
    #[must_use]
    pub fn with_write(mut self, pattern: &str, kind: GuardKind, why: &str) -> Self {
        Arc::make_mut(&mut self.write).push(Guard::added(pattern, kind, why));
        self
    }

    /// Adds a place guarded for reading. A pattern without `**/`, `~/` or `/` in front counts at any depth.
    #[must_use]
    pub fn with_read(mut self, pattern: &str, kind: GuardKind, why: &str) -> Self {
        Arc::make_mut(&mut self.read).push(Guard::added(pattern, kind, why));
        self
    }

    /// Excepts places from the lists: those that match this pattern too.
    #[must_use]
    pub fn with_except(mut self, pattern: &str) -> Self {
        Arc::make_mut(&mut self.except).push(Guard::added(pattern, GuardKind::Place, ""));
        self
    }

    /// Guards one resolved place and what lies beneath it for writing, by its path and not by a pattern.
    #[must_use]
    pub fn with_protected(mut self, place: &Path, why: &str) -> Self {
        // What needs a person there still does.
        let known = self.places.write.get(place).filter(|guard| guard.kind.is_sensitive());
        if known.is_none() {
            self.places.write.insert(place.to_owned(), Guard::placed(place, why));
        }
        self
    }

    /// Guards one resolved file for writing that others run as soon as they like: a write there needs a person.
    #[must_use]
    pub fn with_run(mut self, file: &Path, why: &str) -> Self {
        let guard = Guard { kind: GuardKind::Autorun, ..Guard::placed(file, why) };
        self.places.write.insert(file.to_owned(), guard);
        self
    }

    /// Guards one resolved place of our own, and what lies beneath it, for reading and for writing: a write there needs
    /// a person.
    #[must_use]
    pub fn with_own(mut self, place: &Path, why: &str) -> Self {
        let guard = Guard { kind: GuardKind::Policy, ..Guard::placed(place, why) };
        self.places.write.insert(place.to_owned(), guard.clone());
        self.places.read.insert(place.to_owned(), guard);
        self
    }

    /// Guards one resolved file of settings for writing: a write there needs a person.
    #[must_use]
    pub fn with_policy_file(mut self, file: &Path, why: &str) -> Self {
        let guard = Guard { kind: GuardKind::Policy, ..Guard::placed(file, why) };
        self.places.write.insert(file.to_owned(), guard);
        self
    }

    /// Guards one resolved place and what lies beneath it for reading.
    #[must_use]
    pub fn with_hidden(mut self, place: &Path, why: &str) -> Self {
        self.places.read.insert(place.to_owned(), Guard::placed(place, why));
        self
    }

    /// A resolved place that a person opened by name: no pattern guards it, or what lies beneath it, for writing.
    #[must_use]
    pub fn with_open_write(mut self, place: &Path) -> Self {
        self.places.open_write.push(place.to_owned());
        self
    }

    /// Opens a single place for reading.
    #[must_use]
    pub fn with_open_read(mut self, place: &Path) -> Self {
        self.places.open_read.push(place.to_owned());
        self
    }

    /// Every guard for writing, in the order of the list; not those of single places.
    pub fn write_list(&self) -> &[Guard] {
        &self.write.guards
    }

    /// Every guard for reading, in the order of the list.
    pub fn read_list(&self) -> &[Guard] {
        &self.read.guards
    }
}

/// Bytes up to the start of a component, as the path of a directory.
fn path_of(bytes: &[u8]) -> Option<&Path> {
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    bytes.get(..end).map(|bytes| Path::new(std::ffi::OsStr::from_bytes(bytes)))
}

fn covering<'a>(places: &'a BTreeMap<PathBuf, Guard>, real: &Path) -> Option<&'a Guard> {
    if places.is_empty() {
        return None;
    }
    real.ancestors().find_map(|at| places.get(at))
}

impl Guard {
    fn placed(place: &Path, why: &str) -> Self {
        Self {
            pattern: place.to_string_lossy().into_owned().into(),
            kind: GuardKind::Place,
            kernel_protection: KernelProtection::WhenPresent,
            why: why.to_owned().into(),
            markers: &[],
        }
    }

    fn added(pattern: &str, kind: GuardKind, why: &str) -> Self {
        let anchored = ["**/", "~/", "/"].iter().any(|a| pattern.starts_with(a));
        let pattern = if anchored { pattern.to_owned() } else { format!("**/{pattern}") };
        Self {
            pattern: pattern.into(),
            kind,
            kernel_protection: KernelProtection::WhenPresent,
            why: why.to_owned().into(),
            markers: &[],
        }
    }
}

/// Guards chained by the first two bytes of their first component, so that the usual path component meets none.
#[derive(Clone, Debug)]
struct GuardList {
    guards: Vec<Guard>,
    heads: [Link; BUCKETS],
    next: Vec<Link>,
    /// Guards that no chain has, with what a component has to hold for them.
    wild: Vec<(Signs, usize)>,
}

type Link = Option<std::num::NonZeroU16>;

const BUCKETS: usize = 256;

impl GuardList {
    fn new(groups: &'static [table::Group]) -> Self {
        let len = groups.iter().map(|g| g.patterns.iter().count()).sum();
        let mut list = Self {
            guards: Vec::with_capacity(len),
            heads: [None; BUCKETS],
            next: Vec::with_capacity(len),
            wild: Vec::new(),
        };
        for group in groups {
            for pattern in group.patterns.iter() {
                list.push(Guard {
                    pattern: Cow::Borrowed(pattern),
                    kind: group.kind,
                    kernel_protection: group.kernel_protection,
                    why: Cow::Borrowed(group.why),
                    markers: group.markers,
                });
            }
        }
        list
    }

    fn push(&mut self, guard: Guard) {
        let index = self.guards.len();
        let slot = pattern::first_bytes(&guard.pattern).map(bucket);
        self.guards.push(guard);
        // A chain link holds index + 1. Past u16 the guard is still matched, only without the short cut.
        let link = u16::try_from(index + 1).ok().and_then(std::num::NonZeroU16::new);
        let head = slot.and_then(|s| self.heads.get_mut(s));
        if let (Some(head), Some(_)) = (head, link) {
            self.next.push(*head);
            *head = link;
        } else {
            self.next.push(None);
            let wanted = self.guards.get(index).map(|guard| pattern::wanted(&guard.pattern));
            self.wild.push((wanted.unwrap_or_default(), index));
        }
    }

    fn find(&self, real: &Path, home: Option<&Path>, folds_case: bool) -> Option<&Guard> {
        self.find_at(real, home, folds_case).map(|(guard, _)| guard)
    }

    /// The guard, and where in the path the component starts that its pattern begins with.
    fn find_at(&self, real: &Path, home: Option<&Path>, folds_case: bool) -> Option<(&Guard, usize)> {
        let bytes = real.as_os_str().as_encoded_bytes();
        let home = home.map(|h| h.as_os_str().as_encoded_bytes());
        if folds_case && !bytes.is_ascii() {
            let folded = pattern::fold(bytes);
            let home = home.map(pattern::fold);
            return self.find_in(&Query::new(&folded, home.as_deref(), true));
        }
        self.find_in(&Query::new(bytes, home, folds_case))
    }

    /// The outermost guard that matches, and before all others one that only a person may let pass: what settings add
    /// makes a place no weaker than it was.
    fn find_in(&self, query: &Query<'_>) -> Option<(&Guard, usize)> {
        let mut first = None;
        for at in query.starts() {
            for guard in self.matching(query, at) {
                if guard.kind.is_sensitive() {
                    return Some((guard, at));
                }
                first = first.or(Some((guard, at)));
            }
        }
        first
    }

    /// The guards that match from the component at `at` on.
    fn matching<'a, 'q>(
        &'a self,
        query: &'q Query<'q>,
        at: usize,
    ) -> impl Iterator<Item = &'a Guard> + use<'a, 'q> {
        let chained = self.heads.get(bucket(query.first_bytes(at))).copied().flatten();
        let chain = std::iter::successors(chained, |l| self.next.get(usize::from(l.get()) - 1).copied()?)
            .map(|l| usize::from(l.get()) - 1);
        let signs = query.signs(at);
        let wild = self.wild.iter().filter(move |(wanted, _)| signs.hold(*wanted)).map(|(_, index)| *index);
        let guards = chain.chain(wild).filter_map(|i| self.guards.get(i));
        guards.filter(move |g| {
            Anchor::split(&g.pattern).is_some_and(|(anchor, rest)| query.matches(at, anchor, rest))
        })
    }
}

fn bucket([first, second]: [u8; 2]) -> usize {
    usize::from(first.to_ascii_lowercase().wrapping_mul(31) ^ second.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;

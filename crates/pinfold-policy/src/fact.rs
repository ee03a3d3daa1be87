//! Facts: the result of one look at the world, for each claim. Plain data: nothing here can look again.

use std::path::{Path, PathBuf};

use pinfold_commands::NotAllowlistable;
use pinfold_commands::Operation;
use pinfold_host::{Host, UnreachableAddress};

use crate::path_scopes::ScopeViolation;

/// Everything known about a call when it is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// One fact for each path claim, in the order of the claims.
    pub paths: Vec<PathFact>,
    /// Facts about the shell of the call.
    pub shell: Option<ShellFact>,
    /// Facts about each command, in the order of the claims.
    pub commands: Vec<CommandFact>,
    /// The objection of a declared scope to the call as a whole.
    pub path_scopes: Option<ScopeHit>,
    /// Hosts of the claims that no approval opens.
    pub unreachable_hosts: Vec<UnreachableHost>,
}

impl Facts {
    /// Returns the address of a host that no approval of the host opens.
    pub(crate) fn unreachable_host(&self, host: &Host, port: u16) -> Option<&UnreachableHost> {
        self.unreachable_hosts.iter().find(|known| known.host == *host && known.port == port)
    }
}

/// A host that leads to an address that no approval of the host opens, as far as that is known without a DNS query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreachableHost {
    /// The host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// The address that it leads to.
    pub leads_to: UnreachableAddress,
}

/// Facts about one command beyond its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandFact {
    /// Why no rule may allow it after all: it works in a folder that is not the session's, or names a place outside of
    /// which it is not known what is done there.
    pub not_allowlistable: Vec<NotAllowlistable>,
    /// Facts about the places that it names, in the order of its claim.
    pub named: Vec<NamedFact>,
    /// Only reads: each folder that it may be led to is the folder of the call, or the session's.
    pub reads_at_home: bool,
    /// The folder of the call has another repository than the session's, whose settings it would follow.
    pub starts_elsewhere: bool,
}

/// Facts about a place that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFact {
    /// The place as it is written, made absolute.
    pub asked: PathBuf,
    /// The place with every link followed; absent when it is unknown.
    pub real: Option<PathBuf>,
}

/// A no of a declared scope to a call as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeHit {
    /// The no.
    pub no: ScopeViolation,
    /// The word of the call that it is about, if it is about one.
    pub word: Option<String>,
}

impl ScopeHit {
    /// A no that no single word brought about.
    pub fn of_all(no: ScopeViolation) -> Self {
        Self { no, word: None }
    }
}

/// Facts about a shell that a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellFact {
    /// The sandbox that would hold it.
    pub confinement: ShellConfinement,
    /// Set if it could reach hosts that nothing decides about.
    pub open_network: bool,
}

/// The sandbox of a session's shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellConfinement {
    /// The kernel, in full.
    Full,
    /// The kernel, with gaps that the owner of the session has accepted.
    Degraded,
    /// The caller runs it in an unknown sandbox: it is judged by its words alone.
    Theirs,
    /// No accepted sandbox.
    Nothing,
}

/// Facts about one claimed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFact {
    /// The path as the caller will recognise it: relative to the display root when it lies below.
    pub shown: String,
    /// The operation.
    pub operation: Operation,
    /// The path as written, made absolute, before any link is followed.
    pub asked: PathBuf,
    /// The place with every link followed; absent when it is unknown.
    pub real: Option<PathBuf>,
    /// Side of the workspace boundary.
    pub path_status: PathStatus,
    /// Type of the object there.
    pub kind: PathKind,
    /// Number of hard links of the file; 0 when nothing is there.
    pub names: u64,
    /// A guard that covers the place or the name it was asked for by.
    pub guarded: Option<GuardHit>,
    /// The objection of a declared scope.
    pub path_scopes: Option<ScopeViolation>,
    /// The way from the line to the place passes into another mount.
    pub other_mount: bool,
    /// The place is one of the folders that make up the line, not something in it.
    pub line_itself: bool,
    /// A guard that something below it meets, of which a command reads everything. Where the kernel holds the command,
    /// it passes over that by itself.
    pub guarded_below: Option<GuardHit>,
    /// Something that a rule denies lies below it, as far as that was looked at: `None` where it was too much.
    pub denied_below: Option<bool>,
    /// Places beside the named ones that wildcards of the path lead to: targets of links among the matches.
    pub matched: Vec<PathBuf>,
}

impl PathFact {
    /// The path as written and, where that is another, the place with every link followed.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        let real = self.real.as_deref().filter(|real| *real != self.asked);
        std::iter::once(self.asked.as_path()).chain(real)
    }
}

/// Side of the workspace boundary on which a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStatus {
    /// A path in a writable folder.
    Inside,
    /// Elsewhere.
    Outside {
        /// The path as written looks as if it lay inside.
        disguise: Option<Disguise>,
    },
    /// A path that only the shell of the call sees: a private `/tmp`.
    OfTheShell,
    /// Perhaps no place at all: a text argument of a third-party tool. Rules that take something away and guards
    /// hold for it, and nothing else does.
    Suspected,
    /// Not known; the reason stands behind.
    Unresolved(Why),
}

/// The way in which a path that leads outside looked as if it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Disguise {
    /// A link led out.
    Link,
    /// `..` climbed out.
    DotDot,
}

/// Why it is not known where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// One clause: `it is a loop of links`.
    pub reason: String,
    /// The path does not exist: a plain mistake, not a dead end.
    pub missing: bool,
}

/// Type of the object that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathKind {
    /// Not there yet.
    Missing,
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A link that stands for itself.
    Link,
    /// A FIFO, socket or device: reading may never end, writing goes to its reader.
    Special(&'static str),
}

/// A guard that covers a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardHit {
    /// The pattern, as it stands in the list.
    pub pattern: String,
    /// Why the place is guarded, in one clause.
    pub why: String,
    /// Set if only a person may let a write pass, whatever rules and modes say.
    pub sensitive: bool,
}

//! What one look at the world found out about each claim. Plain data: nothing here can look again.

use std::path::PathBuf;

use crate::claim::Operation;
use crate::command::Bar;
use crate::declared::DeclaredNo;

/// Everything known about a call when it is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// One fact for each path claim, in the order of the claims.
    pub paths: Vec<PathFact>,
    /// What is known about the shell of the call.
    pub shell: Option<ShellFact>,
    /// What the look at the world says about each command, in the order of the claims.
    pub commands: Vec<CommandFact>,
    /// What a declared scope says against the call as a whole.
    pub declared: Option<DeclaredHit>,
}

/// What is known about one command beyond its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandFact {
    /// Why no rule may allow it after all: it works in a folder that is not the session's, or names a place outside of
    /// which it is not known what is done there.
    pub bars: Vec<Bar>,
    /// What it names, in the order of its claim.
    pub named: Vec<NamedFact>,
}

/// What is known about a place that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFact {
    /// The place as it is written, made absolute.
    pub asked: PathBuf,
    /// Where it leads, with every link followed; absent when that is not known.
    pub real: Option<PathBuf>,
}

/// A no of a declared scope to a call as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredHit {
    /// The no.
    pub no: DeclaredNo,
    /// The word of the call that it is about, if it is about one.
    pub word: Option<String>,
}

impl DeclaredHit {
    /// A no that no single word brought about.
    pub fn of_all(no: DeclaredNo) -> Self {
        Self { no, word: None }
    }
}

/// What is known about a shell that a call wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellFact {
    /// What would hold it.
    pub held: ShellHold,
    /// Set if it could reach hosts that nothing decides about.
    pub open_network: bool,
}

/// What holds the shells of a session to their line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellHold {
    /// The kernel, in full.
    Full,
    /// The kernel, with gaps that the owner of the session has accepted.
    Degraded,
    /// Whoever made the call runs it, and what holds it is not ours to say: it is judged by what it says alone.
    Theirs,
    /// Nothing that was accepted.
    Nothing,
}

/// What is known about one claimed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFact {
    /// The path as the caller will recognise it: relative to the display root when it lies below.
    pub shown: String,
    /// What would be done to it.
    pub operation: Operation,
    /// The path as written, made absolute, before any link is followed.
    pub asked: PathBuf,
    /// Where it leads, with every link followed; absent when that is not known.
    pub real: Option<PathBuf>,
    /// On which side of the line it lies.
    pub standing: Standing,
    /// What is there now.
    pub kind: Kind,
    /// How many names the file has; 0 when nothing is there.
    pub names: u64,
    /// A guard that covers the place or the name it was asked for by.
    pub guarded: Option<GuardHit>,
    /// What a declared scope says against it.
    pub declared: Option<DeclaredNo>,
    /// The way from the line to the place passes into another mount.
    pub other_mount: bool,
    /// The place is one of the folders that make up the line, not something in it.
    pub line_itself: bool,
    /// A guard that something below it meets, of which a command reads everything. Where the kernel holds the command,
    /// it passes over that by itself.
    pub guarded_below: Option<GuardHit>,
    /// Something that a rule denies lies below it, as far as that was looked at: `None` where it was too much.
    pub denied_below: Option<bool>,
    /// Where wildcards of the path lead beside what they say: what links among the matches lead to.
    pub matched: Vec<PathBuf>,
}

/// On which side of the line a place lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// In a folder that may be written.
    Inside,
    /// Elsewhere.
    Outside {
        /// The path as written looks as if it lay inside.
        disguise: Option<Disguise>,
    },
    /// In a place that only the shell of the call sees: a private `/tmp`.
    OfTheShell,
    /// Perhaps no place at all: a text that a tool of somebody else is given. Rules that take something away and guards
    /// hold for it, and nothing else does.
    Suspected,
    /// Not known; the reason stands behind.
    Unresolved(Why),
}

/// How a path that leads outside looked as if it did not.
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
    /// Nothing is there: a plain mistake, not a dead end.
    pub missing: bool,
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing yet.
    Missing,
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A link that stands for itself.
    Link,
    /// A FIFO, socket or device: reading may never end, writing goes to whoever listens.
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

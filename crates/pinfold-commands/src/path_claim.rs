//! A path that a call says it will touch: an allegation, read off the call alone.

use std::ffi::{OsStr, OsString};

use crate::operation::Operation;

/// A path as the caller wrote it: nothing is known about where it leads, or whether it names anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathText(OsString);

impl PathText {
    /// A path in the caller's own words. JSON can only carry Unicode; an embedder can name any bytes.
    pub fn new(text: impl Into<OsString>) -> Self {
        Self(text.into())
    }

    /// The words, unchanged.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }
}

/// One path that a call says it will touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathClaim {
    /// The path as written. `None`: the call named none and means the folder it works in.
    pub path: Option<PathText>,
    /// Operation on it.
    pub operation: Operation,
    /// Origin of the claim.
    pub origin: Origin,
    /// The path holds wildcards of a shell: everything that matches it is touched.
    pub wild: bool,
    /// A search that passes over names which start with a dot.
    pub visible: bool,
    /// The path may start at the root of the repository, which may lie above the folder that it is written from.
    pub from_repository: bool,
    /// Paths at which nothing may stand for the claim to count: with the words that name them git reads files of a commit, and
    /// otherwise those files.
    pub unless_there: Vec<PathText>,
}

impl PathClaim {
    /// A claim of exactly this path.
    pub fn new(path: Option<PathText>, operation: Operation, origin: Origin) -> Self {
        Self {
            path,
            operation,
            origin,
            wild: false,
            visible: false,
            from_repository: false,
            unless_there: Vec::new(),
        }
    }
}

/// Origin of the claim that a path would be touched. The number is the command's place among the commands of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The call itself.
    Call,
    /// A tool of an agent or a server. What allows the tool allows this, inside the line.
    Foreign,
    /// A tool of an agent or a server, by a text that is perhaps a path. What the look at the world says decides what counts.
    Supposed(Assumption),
    /// A command that is there for it: `rm a`, `mkdir a`. What allows the command allows this, inside the line.
    Command(usize),
    /// A process of a shell, which is about to do it. What allows the command has allowed it nothing here.
    Process,
    /// A command beside its purpose, by a redirect or an option: `sort -o a`, `echo > a`. It is judged like the
    /// same deed by a file tool, whatever allows the command.
    Aside(usize),
}

impl Origin {
    /// The number of the command, if one says so.
    pub fn command(self) -> Option<usize> {
        match self {
            Self::Command(number) | Self::Aside(number) => Some(number),
            Self::Call | Self::Foreign | Self::Supposed(_) | Self::Process => None,
        }
    }
}

/// Reason why a text in a call of another program's tool could be a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assumption {
    /// Its name says that it is one, and this is another way to read it.
    Reading,
    /// Begins as only a path does.
    Evident,
    /// Nothing says what it is.
    Text,
    /// Its name says that it is text, or it is a URL that leads to another machine.
    Prose,
}

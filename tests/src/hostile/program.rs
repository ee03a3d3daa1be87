//! Programs: what is done in a world, in which runs, by which threads.

use super::world_path::WorldPath;

/// What is done in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The world it is done in.
    pub world: WorldName,
    /// One after the other.
    pub stages: Vec<Stage>,
}

/// How a world lies, and what it holds besides: names of `tests/hostile/worlds.txt`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorldName {
    /// The layout.
    pub layout: String,
    /// What is added.
    pub extras: Vec<String>,
}

/// Runs side by side.
pub type Stage = Vec<Run>;

/// One `pinfold run`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// What it does side by side.
    pub threads: Vec<Thread>,
    /// When its supervisor is killed.
    pub killed: Option<Killed>,
    /// Milliseconds after the first run of its stage that it is started.
    pub delay: u64,
}

/// When a supervisor is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// After this number of calls.
    AfterCalls(usize),
    /// Milliseconds after it was started.
    AfterMillis(u64),
}

/// Steps one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// How often all of them are done.
    pub times: u32,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One call, and how its places are spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is called.
    pub call: Call,
    /// How its places are spelled.
    pub way: Way,
}

/// How the kernel is told a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the root of the file system.
    Absolute,
    /// From the working directory, which is the folder.
    Relative,
    /// With `..` and `.` on the way.
    Dots,
    /// By a descriptor of its directory.
    Directory,
    /// By `/proc/self/fd` of its directory.
    ProcDirectory,
    /// By `/proc/self/cwd`.
    ProcWorking,
    /// Through a symbolic link that was made for it.
    ThroughLink,
    /// From a directory that was opened earlier.
    Opened(u8),
}

/// A way of opening what is kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// For reading; a directory too.
    Read,
    /// For writing.
    Write,
    /// As a path alone.
    Path,
}

/// Where a symbolic link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a place, from the root of the file system.
    Absolute(WorldPath),
    /// To a place, by `..` from where the link is.
    Relative(WorldPath),
    /// Wherever this text leads.
    Text(String),
}

/// How a file is opened for writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of open(2)")]
pub struct Flags {
    /// `O_EXCL`.
    pub exclusive: bool,
    /// `O_TRUNC`.
    pub truncate: bool,
    /// `O_APPEND`.
    pub append: bool,
    /// `O_NOFOLLOW`.
    pub no_follow: bool,
    /// Without `O_CREAT`.
    pub no_create: bool,
}

/// How a name is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renaming {
    /// `rename`.
    Plain,
    /// `RENAME_EXCHANGE`.
    Exchange,
    /// `RENAME_NOREPLACE`.
    NoReplace,
}

/// One call of the kernel, or a short sequence that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `openat` for writing, and `write`. The text is a name of `tests/hostile/contents.txt`.
    Write {
        /// The file.
        at: WorldPath,
        /// What is written.
        text: String,
        /// How it is opened.
        flags: Flags,
    },
    /// `openat` and `fallocate`.
    Allocate(WorldPath),
    /// `mkdirat`.
    MakeDir(WorldPath),
    /// `unlinkat` with `AT_REMOVEDIR`.
    RemoveDir(WorldPath),
    /// `unlinkat`.
    Unlink(WorldPath),
    /// `renameat2`.
    Rename(WorldPath, WorldPath, Renaming),
    /// `linkat`, with `AT_SYMLINK_FOLLOW` or without.
    Link {
        /// What gets another name.
        from: WorldPath,
        /// The new name.
        to: WorldPath,
        /// Whether a symbolic link is followed.
        follow: bool,
    },
    /// `symlinkat`.
    Symlink(Target, WorldPath),
    /// `fchmodat`.
    Mode(WorldPath, u32),
    /// `fchownat` to the owner that it has.
    Owner(WorldPath),
    /// `mknodat` of a pipe.
    Pipe(WorldPath),
    /// `mknodat` of a socket.
    Socket(WorldPath),
    /// `setxattr` of `user.hostile`.
    Attribute(WorldPath),
    /// `utimensat`.
    Times(WorldPath),
    /// `openat` with `O_TMPFILE` in a directory, and `linkat` to a name.
    Unnamed {
        /// Where it is made.
        directory: WorldPath,
        /// The name it gets.
        to: WorldPath,
        /// What is written.
        text: String,
    },
    /// Something is opened and kept open under a number.
    Open(u8, WorldPath, Opening),
    /// What is open is opened anew for writing, by `/proc/self/fd`.
    Reopen(u8, String),
    /// `write` to what is open.
    WriteOpen(u8, String),
    /// `fchmod` of what is open.
    ModeOpen(u8, u32),
    /// `linkat` of what is open to a name.
    LinkOpen(u8, WorldPath),
    /// Many directories are made in one.
    Fill(WorldPath, u32),
    /// A tree is copied, call by call.
    Copy(WorldPath, WorldPath),
    /// A tree is removed, call by call.
    RemoveTree(WorldPath),
    /// A shell command, in the folder. `$F`, `$H`, `$O`, `$X` are the roots and a program.
    Shell(String),
    /// Nothing is done for some milliseconds.
    Wait(u64),
}

impl Program {
    /// Every step, for counting.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.stages.iter().flatten().flat_map(|run| &run.threads).flat_map(|thread| &thread.steps)
    }
}

/// Whether several actors were at work in a stage at the same time.
pub fn is_concurrent(stage: &[Run]) -> bool {
    stage.len() > 1 || stage.iter().any(|run| run.threads.len() > 1)
}

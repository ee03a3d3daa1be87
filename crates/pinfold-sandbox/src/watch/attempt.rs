//! Attempts: the effect of a system call on a path, and the reply to it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::limits::Limit;
use super::pending_syscall::PendingSyscall;
use super::view::MountView;
use crate::identity::FileIdentity;
use crate::turn::Turn;

/// Intended effect of a system call on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// Open for reading.
    Read,
    /// Open for writing, or cut short, what exists.
    Write,
    /// Open for writing, making the file if need be; or make a special file.
    Create,
    /// Make a directory.
    MakeDir,
    /// Remove a name.
    Remove,
    /// Take a name away by renaming.
    MoveFrom,
    /// Give a name by renaming or linking.
    MoveTo,
    /// Give the file at this place a second name elsewhere.
    HardLinkSource,
    /// Make a symbolic link.
    Symlink,
    /// Change mode, owner, times or attributes.
    Metadata,
    /// Lock for others who would use it.
    Lock,
    /// Ask whether it could be written, and do nothing.
    Access,
    /// Connect to an address of another machine, where there is no way to it; or to a socket of this machine that was
    /// not declared.
    Connect,
    /// Give a socket of this machine a name, at which others could connect to it.
    Bind,
    /// Make a socket of a kind that is closed.
    Socket,
}

/// More about an attempt, where its intent and place do not say all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    #[default]
    None,
    /// The file is made, and not opened if there is one: for [`Intent::Create`].
    Exclusive,
    /// The text of the symbolic link that is made.
    LinkText(OsString),
    /// The place that is moved, for [`Intent::MoveTo`].
    From(PathBuf),
    /// The path whose file gets its second name, for [`Intent::MoveTo`].
    HardLinkOf(PathBuf),
    /// The place where a moved file goes, for [`Intent::MoveFrom`].
    To(PathBuf),
    /// Both names change places.
    Exchange(PathBuf),
    /// The new permission bits.
    Mode(u32),
    /// The same for what is no directory, with a bit that lends the rights of its owner or group to any process that runs it.
    SetId(u32),
    /// Extended attributes, an access control list included.
    Attribute(OsString),
}

/// Kind of file that has the name of an attempt, as the supervisor saw it in the directory that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryType {
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A file, a pipe, a socket or a device.
    File,
}

/// One thing that a confined process is about to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The process or thread, as numbered outside.
    pub pid: i32,
    /// Intended effect.
    pub intent: Intent,
    /// An absolute path, the links of its parent followed. For a socket its family, for a connection or a name its
    /// address: `ADDRESS:PORT`, the path of a socket (with its links), or `@` and its abstract name.
    pub place: PathBuf,
    /// More about it.
    pub detail: Detail,
    /// The view in which the path leads to what the call is about.
    pub view: MountView,
    /// The kind of file that is there; `None` where the supervisor did not look, or cannot tell.
    pub entry_type: Option<EntryType>,
    /// For [`Intent::Read`]: each link that the path leads through, with what the path has behind it. The parents of these paths are
    /// free of links, as far as the link.
    pub passed: Vec<PathBuf>,
}

impl Attempt {
    /// An attempt without details, at a path of the run's view that was not looked at.
    pub fn new(pid: i32, intent: Intent, place: PathBuf) -> Self {
        let (detail, view, passed) = (Detail::None, MountView::Run, Vec::new());
        Self { pid, intent, place, detail, view, entry_type: None, passed }
    }

    /// Returns the attempt at a path of this view.
    #[must_use]
    pub fn with_view(self, view: MountView) -> Self {
        Self { view, ..self }
    }

    /// Returns the attempt with the links that its path leads through.
    #[must_use]
    pub fn with_passed(self, passed: Vec<PathBuf>) -> Self {
        Self { passed, ..self }
    }

    /// Returns the attempt with its details.
    #[must_use]
    pub fn with_detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }
}

/// Reply to a system call. Of two paths the later in this list wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    /// The call continues; no limit is known there, and the kernel decides.
    Continue,
    /// The call is allowed. Where calls are [mediated](crate::Profile::mediated) the supervisor executes it through its
    /// handles; elsewhere it continues.
    CarryOut,
    /// The call waits, if it is fully understood: [`SyscallHandler::hold`] gets it. Of [`Intent::Access`]: the answer is that of
    /// the machine without the sandbox.
    Hold,
    /// The call fails with `EXDEV`, as between two file systems: programs then copy. The run writes one of the paths by
    /// itself, so that the moved or linked content is unknown by the time of the call.
    CrossDevice,
    /// The call continues and fails by the sandbox.
    LeaveToSandbox,
    /// The call fails with `EACCES`.
    Refuse,
}

/// An executed system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedSyscall {
    /// The attempt: of a call with two places there is one for each.
    pub attempt: Attempt,
    /// The directory that was made.
    pub made: Option<FileIdentity>,
    /// The directory that is no more: it was removed, or another took its name.
    pub gone: Option<FileIdentity>,
}

/// A regular file that has other names (hard links) than the one by which a call is about to change its content, mode, owner or
/// attributes. What is written by one of them is read by all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedFile {
    /// Device and inode, as stat(2) tells them.
    pub inode: (u64, u64),
    /// The number of its names.
    pub names: u64,
}

/// Observer of attempts. Called on the supervisor's thread: the process waits meanwhile.
pub trait SyscallHandler {
    /// Keeps other supervisors from doing meanwhile what the judgement of these attempts would not hold for. What it returns is
    /// kept until they are carried out, or answered in another way.
    ///
    /// # Errors
    /// The call fails so.
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        let _ = attempts;
        Ok(None)
    }

    /// Says what becomes of an attempt.
    fn attempt(&mut self, attempt: &Attempt) -> Reply;

    /// Returns whether an open for reading is to be looked at: the path as the caller wrote it. Asked for each, so it has to be quick.
    fn looks_at_reading(&self, path: &std::ffi::OsStr) -> bool {
        let _ = path;
        false
    }

    /// Returns whether opens for reading below this directory are to be looked at, where their path begins in it and
    /// [`Self::looks_at_reading`] names none.
    fn looks_at_reading_in(&self, directory: &std::path::Path) -> bool {
        let _ = directory;
        false
    }

    /// Hears of a call that failed, since a path of it leads nowhere for the caller. The place is where it leads outside. Asked
    /// of paths that [`Self::looks_at_reading`] names, and nothing depends on it.
    fn on_hidden_path(&mut self, attempt: &Attempt) {
        let _ = attempt;
    }

    /// Hears of a program that is about to meet a limit of the run, which the kernel keeps, or that was ended by one.
    fn limit_met(&mut self, limit: Limit, program: &std::ffi::OsStr) {
        let _ = (limit, program);
    }

    /// Returns the content in place of that of a renamed file: the supervisor writes it to a new file, which gets the name.
    /// So the judged content counts, whatever descriptors of the old file are still open. `None`: the file is renamed as it
    /// is.
    fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
        let _ = attempts;
        None
    }

    /// Returns whether a call that is carried out may change a file that has other names. Asked of the file that was opened, before
    /// anything of it changes. The call fails with `EPERM` otherwise.
    fn can_change_linked(&mut self, attempts: &[Attempt], file: LinkedFile) -> bool {
        let _ = (attempts, file);
        false
    }

    /// Hears of a call that was carried out by the supervisor.
    fn carried_out(&mut self, done: &CompletedSyscall) {
        let _ = done;
    }

    /// Takes over a call that is to wait. It comes back at once: others are waiting to be looked at.
    fn hold(&mut self, held: PendingSyscall) {
        drop(held);
    }

    /// Says what becomes of an attempt that was to be held and cannot be: it is not understood in every part, its caller
    /// sees other files, or too many wait already.
    fn not_held(&mut self, attempt: &Attempt) -> Reply {
        let _ = attempt;
        Reply::Refuse
    }
}

/// Lets everything go on and remembers nothing.
#[derive(Debug, Default)]
pub struct ContinueAll;

impl SyscallHandler for ContinueAll {
    fn attempt(&mut self, _: &Attempt) -> Reply {
        Reply::Continue
    }
}

//! A system call on files, read once and typed. Nothing of it is read again from the caller's memory.

use std::ffi::OsString;
use std::io;

use super::call::Time;
use super::memory;
use crate::sys::Pid;

/// `fchmodat2(2)`, which the C library does not number everywhere.
pub(crate) const FCHMODAT2: i64 = 452;

/// A system call that changes files or their names, asks whether it could, or opens one.
#[derive(Debug)]
pub(super) enum FileCall {
    Open(OpenCall),
    MakeDir {
        at: PathArg,
        mode: u32,
    },
    MakeNode {
        at: PathArg,
        mode: u32,
        device: u64,
    },
    Rename {
        from: PathArg,
        to: PathArg,
        flags: u32,
    },
    Link {
        from: Subject,
        to: PathArg,
    },
    Symlink {
        text: OsString,
        at: PathArg,
    },
    Remove {
        at: PathArg,
        directory: bool,
    },
    Truncate {
        at: PathArg,
        length: u64,
    },
    Change {
        of: Subject,
        change: RequestedChange,
    },
    Access {
        at: PathArg,
        mode: i32,
    },
    /// An exclusive lock on an open file, flock(2).
    Lock {
        fd: i32,
        waits: bool,
    },
}

/// A path argument with the directory that it is relative to.
#[derive(Debug)]
pub(super) struct PathArg {
    pub(super) base: BaseDirectory,
    pub(super) path: OsString,
}

/// A directory that a relative path starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseDirectory {
    Cwd,
    Descriptor(i32),
}

/// A file that is named by a path or by a descriptor.
#[derive(Debug)]
pub(super) enum Subject {
    /// `follow`: a symbolic link in the last component stands for its target.
    Path {
        arg: PathArg,
        follow: bool,
    },
    Descriptor(i32),
}

/// Set-user-ID and set-group-ID bits.
pub(super) const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// A change of attributes.
#[derive(Debug)]
pub(super) enum RequestedChange {
    Mode(u32),
    Owner { owner: Option<u32>, group: Option<u32> },
    Times([Time; 2]),
    SetAttribute { name: OsString, value: Vec<u8>, flags: u32 },
    RemoveAttribute { name: OsString },
}

/// An `open` in any of its forms.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) at: PathArg,
    pub(super) flags: i32,
    pub(super) mode: u32,
    /// `RESOLVE_*` of openat2(2).
    pub(super) resolve: u64,
    /// openat2(2): unknown flags are errors.
    pub(super) strict: bool,
}

impl OpenCall {
    fn has(&self, flags: i32) -> bool {
        self.flags & flags == flags
    }

    /// Returns whether the content may change, or a file may be made.
    pub(super) fn changes(&self) -> bool {
        const CHANGES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        !self.has(libc::O_PATH) && self.flags & CHANGES != 0
    }

    /// Returns whether the content of a file that is there may change.
    pub(super) fn is_written(&self) -> bool {
        self.flags & (libc::O_ACCMODE | libc::O_TRUNC) != 0 && !self.is_exclusive()
    }

    pub(super) fn creates(&self) -> bool {
        self.has(libc::O_CREAT)
    }

    /// Returns whether a file without a name is made in a directory.
    pub(super) fn is_unnamed(&self) -> bool {
        self.has(libc::O_TMPFILE)
    }

    /// Returns whether it only names a file, and neither reads nor writes it.
    pub(super) fn only_names(&self) -> bool {
        self.has(libc::O_PATH)
    }

    /// Returns whether it only makes the file if it is missing, and writes nothing.
    pub(super) fn only_makes(&self) -> bool {
        self.creates() && self.flags & (libc::O_ACCMODE | libc::O_TRUNC) == 0
    }

    /// Takes away that a file is made where there is none.
    pub(super) fn make_nothing(&mut self) {
        self.flags &= !(libc::O_CREAT | libc::O_EXCL);
    }

    pub(super) fn is_exclusive(&self) -> bool {
        self.creates() && self.has(libc::O_EXCL)
    }

    /// Returns whether a symbolic link in the last component is followed.
    pub(super) fn follows(&self) -> bool {
        !self.has(libc::O_NOFOLLOW) && !self.is_exclusive()
    }

    pub(super) fn closes_on_exec(&self) -> bool {
        self.has(libc::O_CLOEXEC)
    }
}

/// The low 32 bits, which is what the kernel takes of an `int` argument.
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
pub(super) fn low_word(argument: u64) -> u32 {
    argument as u32
}

/// An `int` argument.
pub(super) fn int(argument: u64) -> i32 {
    low_word(argument).cast_signed()
}

fn base(argument: u64) -> BaseDirectory {
    match int(argument) {
        libc::AT_FDCWD => BaseDirectory::Cwd,
        fd => BaseDirectory::Descriptor(fd),
    }
}

fn has(flags: u64, flag: i32) -> bool {
    low_word(flags) & flag.cast_unsigned() != 0
}

/// Reads arguments of one question.
struct CallArguments<'a> {
    pid: Pid,
    args: &'a [u64; 6],
}

impl FileCall {
    /// Reads a call. `None`: it is none on files.
    ///
    /// # Errors
    /// As the kernel fails: `EFAULT`, `ENAMETOOLONG`, `EINVAL`, `E2BIG`.
    pub(super) fn read(question: &libc::seccomp_notif) -> io::Result<Option<Self>> {
        let reader = CallArguments { pid: question.pid.cast_signed(), args: &question.data.args };
        let number = i64::from(question.data.nr);
        #[cfg(target_arch = "x86_64")]
        if let Some(call) = reader.without_directories(number)? {
            return Ok(Some(call));
        }
        reader.with_directories(number)
    }

    /// Returns whether the call may come out as an open for reading alone.
    pub(super) fn may_read(&self) -> bool {
        matches!(self, Self::Open(open) if !open.changes() || open.only_makes())
    }

    /// Returns whether it takes a turn among the supervisors of a folder: it may change something.
    pub(super) fn takes_turn(&self) -> bool {
        !self.may_read() && !matches!(self, Self::Access { .. } | Self::Lock { .. })
    }

    /// Removes set-ID bits from the mode of a new file. Returns whether there were any. On a directory they have another
    /// meaning, and the kernel creates none with them.
    pub(super) fn drop_set_id(&mut self) -> bool {
        let mode = match self {
            Self::Open(open) if open.creates() || open.is_unnamed() => &mut open.mode,
            Self::MakeNode { mode, .. } => mode,
            _ => return false,
        };
        let had = *mode & SET_ID != 0;
        *mode &= !SET_ID;
        had
    }

    /// Returns where the path of an `open` or `openat` for reading alone begins, and its address: both are in registers, and no memory
    /// of the caller is read.
    pub(super) fn read_open(question: &libc::seccomp_notif) -> Option<(BaseDirectory, u64)> {
        const CHANGES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        let [a, b, c, ..] = question.data.args;
        let (base, address, flags) = match i64::from(question.data.nr) {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => (BaseDirectory::Cwd, a, int(b)),
            libc::SYS_openat => (base(a), b, int(c)),
            _ => return None,
        };
        (flags & CHANGES == 0).then_some((base, address))
    }
}

impl CallArguments<'_> {
    fn path(&self, address: u64) -> io::Result<OsString> {
        memory::path(self.pid, address)
    }

    /// A path relative to the working directory.
    #[cfg(target_arch = "x86_64")]
    fn path_in_cwd(&self, address: u64) -> io::Result<PathArg> {
        Ok(PathArg { base: BaseDirectory::Cwd, path: self.path(address)? })
    }

    fn path_in_directory(&self, directory: u64, address: u64) -> io::Result<PathArg> {
        Ok(PathArg { base: base(directory), path: self.path(address)? })
    }

    /// A rename, each path with its directory.
    fn rename(
        &self,
        from: (BaseDirectory, u64),
        to: (BaseDirectory, u64),
        flags: u32,
    ) -> io::Result<FileCall> {
        let (first, second) = memory::two_paths(self.pid, from.1, to.1)?;
        let arg = |base, path| PathArg { base, path };
        Ok(FileCall::Rename { from: arg(from.0, first), to: arg(to.0, second), flags })
    }

    /// A path, or with `AT_EMPTY_PATH` and an empty one the descriptor itself.
    fn subject(&self, directory: u64, address: u64, flags: u64) -> io::Result<Subject> {
        let arg = self.path_in_directory(directory, address)?;
        Ok(match arg.base {
            BaseDirectory::Descriptor(fd) if arg.path.is_empty() && has(flags, libc::AT_EMPTY_PATH) => {
                Subject::Descriptor(fd)
            }
            _ => Subject::Path { arg, follow: !has(flags, libc::AT_SYMLINK_NOFOLLOW) },
        })
    }

    /// The calls of old, which name no directory.
    #[cfg(target_arch = "x86_64")]
    fn without_directories(&self, number: i64) -> io::Result<Option<FileCall>> {
        const CREAT: i32 = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
        let [a, b, c, ..] = *self.args;
        let open = |at, flags, mode| {
            FileCall::Open(OpenCall { at, flags, mode: low_word(mode), resolve: 0, strict: false })
        };
        let change = |arg, follow, change| FileCall::Change { of: Subject::Path { arg, follow }, change };
        Ok(Some(match number {
            libc::SYS_open => open(self.path_in_cwd(a)?, int(b), c),
            libc::SYS_creat => open(self.path_in_cwd(a)?, CREAT, b),
            libc::SYS_mkdir => FileCall::MakeDir { at: self.path_in_cwd(a)?, mode: low_word(b) },
            libc::SYS_mknod => FileCall::MakeNode { at: self.path_in_cwd(a)?, mode: low_word(b), device: c },
            libc::SYS_rename => self.rename((BaseDirectory::Cwd, a), (BaseDirectory::Cwd, b), 0)?,
            libc::SYS_link => {
                let from = Subject::Path { arg: self.path_in_cwd(a)?, follow: false };
                FileCall::Link { from, to: self.path_in_cwd(b)? }
            }
            libc::SYS_symlink => FileCall::Symlink { text: self.path(a)?, at: self.path_in_cwd(b)? },
            libc::SYS_unlink => FileCall::Remove { at: self.path_in_cwd(a)?, directory: false },
            libc::SYS_rmdir => FileCall::Remove { at: self.path_in_cwd(a)?, directory: true },
            libc::SYS_access => FileCall::Access { at: self.path_in_cwd(a)?, mode: int(b) },
            libc::SYS_chmod => change(self.path_in_cwd(a)?, true, RequestedChange::Mode(low_word(b))),
            libc::SYS_chown => change(self.path_in_cwd(a)?, true, owner(b, c)),
            libc::SYS_lchown => change(self.path_in_cwd(a)?, false, owner(b, c)),
            libc::SYS_utime => change(self.path_in_cwd(a)?, true, RequestedChange::Times(self.seconds(b)?)),
            libc::SYS_utimes => {
                change(self.path_in_cwd(a)?, true, RequestedChange::Times(self.microseconds(b)?))
            }
            libc::SYS_futimesat => {
                let times = RequestedChange::Times(self.microseconds(c)?);
                FileCall::Change { of: self.named_or_open(a, b, 0)?, change: times }
            }
            _ => return Ok(None),
        }))
    }

    #[expect(clippy::many_single_char_names, reason = "arguments of system calls have no names of their own")]
    fn with_directories(&self, number: i64) -> io::Result<Option<FileCall>> {
        let [a, b, c, d, e, _] = *self.args;
        Ok(Some(match number {
            libc::SYS_openat => FileCall::Open(OpenCall {
                at: self.path_in_directory(a, b)?,
                flags: int(c),
                mode: low_word(d),
                resolve: 0,
                strict: false,
            }),
            libc::SYS_openat2 => FileCall::Open(self.open_how(a, b, (c, d))?),
            libc::SYS_mkdirat => FileCall::MakeDir { at: self.path_in_directory(a, b)?, mode: low_word(c) },
            libc::SYS_mknodat => {
                FileCall::MakeNode { at: self.path_in_directory(a, b)?, mode: low_word(c), device: d }
            }
            libc::SYS_renameat => self.rename((base(a), b), (base(c), d), 0)?,
            libc::SYS_renameat2 => self.rename((base(a), b), (base(c), d), low_word(e))?,
            libc::SYS_linkat => self.link(a, b, (c, d), e)?,
            libc::SYS_symlinkat => {
                FileCall::Symlink { text: self.path(a)?, at: self.path_in_directory(b, c)? }
            }
            libc::SYS_unlinkat => {
                FileCall::Remove { at: self.path_in_directory(a, b)?, directory: has(c, libc::AT_REMOVEDIR) }
            }
            libc::SYS_truncate => {
                let length = b.cast_signed().try_into().map_err(|_| invalid())?;
                FileCall::Truncate { at: PathArg { base: BaseDirectory::Cwd, path: self.path(a)? }, length }
            }
            libc::SYS_faccessat | libc::SYS_faccessat2 => {
                FileCall::Access { at: self.path_in_directory(a, b)?, mode: int(c) }
            }
            libc::SYS_flock if int(b) & libc::LOCK_EX != 0 => match int(b) & !libc::LOCK_NB {
                libc::LOCK_EX => FileCall::Lock { fd: int(a), waits: int(b) & libc::LOCK_NB == 0 },
                _ => return Err(invalid()),
            },
            _ => return self.attributes(number),
        }))
    }

    #[expect(clippy::many_single_char_names, reason = "arguments of system calls have no names of their own")]
    fn attributes(&self, number: i64) -> io::Result<Option<FileCall>> {
        let [a, b, c, d, e, _] = *self.args;
        let path = |address, follow| {
            let arg = PathArg { base: BaseDirectory::Cwd, path: self.path(address)? };
            Ok::<_, io::Error>(Subject::Path { arg, follow })
        };
        let open = Subject::Descriptor(int(a));
        let (of, change) = match number {
            libc::SYS_fchmodat => (self.subject(a, b, 0)?, RequestedChange::Mode(low_word(c))),
            FCHMODAT2 => (self.subject(a, b, d)?, RequestedChange::Mode(low_word(c))),
            libc::SYS_fchmod => (open, RequestedChange::Mode(low_word(b))),
            libc::SYS_fchownat => (self.subject(a, b, e)?, owner(c, d)),
            libc::SYS_fchown => (open, owner(b, c)),
            libc::SYS_utimensat => {
                (self.named_or_open(a, b, d)?, RequestedChange::Times(self.nanoseconds(c)?))
            }
            libc::SYS_setxattr => (path(a, true)?, self.attribute(b, c, (d, e))?),
            libc::SYS_lsetxattr => (path(a, false)?, self.attribute(b, c, (d, e))?),
            libc::SYS_fsetxattr => (open, self.attribute(b, c, (d, e))?),
            libc::SYS_removexattr => (path(a, true)?, self.attribute_name(b)?),
            libc::SYS_lremovexattr => (path(a, false)?, self.attribute_name(b)?),
            libc::SYS_fremovexattr => (open, self.attribute_name(b)?),
            _ => return Ok(None),
        };
        Ok(Some(FileCall::Change { of, change }))
    }

    /// `utimensat` and its kind mean the descriptor where there is no path.
    fn named_or_open(&self, directory: u64, address: u64, flags: u64) -> io::Result<Subject> {
        if address == 0 {
            Ok(Subject::Descriptor(int(directory)))
        } else {
            self.subject(directory, address, flags)
        }
    }

    fn link(&self, a: u64, b: u64, to: (u64, u64), flags: u64) -> io::Result<FileCall> {
        let arg = self.path_in_directory(a, b)?;
        let from = match arg.base {
            BaseDirectory::Descriptor(fd) if arg.path.is_empty() && has(flags, libc::AT_EMPTY_PATH) => {
                Subject::Descriptor(fd)
            }
            _ => Subject::Path { arg, follow: has(flags, libc::AT_SYMLINK_FOLLOW) },
        };
        Ok(FileCall::Link { from, to: self.path_in_directory(to.0, to.1)? })
    }

    /// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html): a structure that may grow.
    fn open_how(&self, a: u64, b: u64, (how, size): (u64, u64)) -> io::Result<OpenCall> {
        const KNOWN: usize = size_of::<[u64; 3]>();
        /// The kernel reads no more.
        const PAGE: usize = 4096;
        let size = usize::try_from(size).map_err(|_| invalid())?;
        if size < KNOWN {
            return Err(invalid());
        }
        let too_big = || io::Error::from_raw_os_error(libc::E2BIG);
        if size > PAGE {
            return Err(too_big());
        }
        let [flags, mode, resolve] = memory::read_words(self.pid, how)?;
        let rest = memory::bytes(self.pid, how.wrapping_add(KNOWN as u64), size - KNOWN)?;
        if rest.iter().any(|byte| *byte != 0) {
            return Err(too_big());
        }
        let (Ok(flags), Ok(mode)) = (u32::try_from(flags), u32::try_from(mode)) else {
            return Err(invalid());
        };
        let at = self.path_in_directory(a, b)?;
        Ok(OpenCall { at, flags: flags.cast_signed(), mode, resolve, strict: true })
    }

    /// `struct utimbuf`.
    #[cfg(target_arch = "x86_64")]
    fn seconds(&self, address: u64) -> io::Result<[Time; 2]> {
        if address == 0 {
            return Ok([Time::Now; 2]);
        }
        let times: [u64; 2] = memory::read_words(self.pid, address)?;
        Ok(times.map(|seconds| Time::At { seconds: seconds.cast_signed(), nanoseconds: 0 }))
    }

    /// Two `struct timeval`.
    #[cfg(target_arch = "x86_64")]
    fn microseconds(&self, address: u64) -> io::Result<[Time; 2]> {
        if address == 0 {
            return Ok([Time::Now; 2]);
        }
        let [s0, u0, s1, u1] = memory::read_words(self.pid, address)?;
        let time = |seconds: u64, micro: u64| {
            let micro = u32::try_from(micro).ok().filter(|u| *u < 1_000_000).ok_or_else(invalid)?;
            Ok::<_, io::Error>(Time::At { seconds: seconds.cast_signed(), nanoseconds: micro * 1000 })
        };
        Ok([time(s0, u0)?, time(s1, u1)?])
    }

    /// Two `struct timespec`.
    fn nanoseconds(&self, address: u64) -> io::Result<[Time; 2]> {
        if address == 0 {
            return Ok([Time::Now; 2]);
        }
        let [s0, n0, s1, n1] = memory::read_words(self.pid, address)?;
        Ok([time(s0, n0)?, time(s1, n1)?])
    }

    fn attribute_name(&self, address: u64) -> io::Result<RequestedChange> {
        Ok(RequestedChange::RemoveAttribute { name: self.name_of_attribute(address)? })
    }

    fn attribute(&self, name: u64, value: u64, (size, flags): (u64, u64)) -> io::Result<RequestedChange> {
        /// As in `linux/limits.h`.
        const XATTR_SIZE_MAX: usize = 64 * 1024;
        let size = usize::try_from(size).ok().filter(|size| *size <= XATTR_SIZE_MAX);
        let size = size.ok_or_else(|| io::Error::from_raw_os_error(libc::E2BIG))?;
        let name = self.name_of_attribute(name)?;
        Ok(RequestedChange::SetAttribute {
            name,
            value: memory::bytes(self.pid, value, size)?,
            flags: low_word(flags),
        })
    }

    fn name_of_attribute(&self, address: u64) -> io::Result<OsString> {
        /// As in `linux/limits.h`, and its NUL.
        const XATTR_NAME_MAX: usize = 256;
        let range = |_| io::Error::from_raw_os_error(libc::ERANGE);
        let name = memory::text(self.pid, address, XATTR_NAME_MAX);
        match name {
            Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => Err(range(error)),
            Ok(name) if name.is_empty() => Err(io::Error::from_raw_os_error(libc::ERANGE)),
            other => other,
        }
    }
}

fn owner(owner: u64, group: u64) -> RequestedChange {
    let id = |argument: u64| Some(low_word(argument)).filter(|id| *id != u32::MAX);
    RequestedChange::Owner { owner: id(owner), group: id(group) }
}

fn time(seconds: u64, nanoseconds: u64) -> io::Result<Time> {
    const SECOND: u32 = 1_000_000_000;
    match nanoseconds.cast_signed() {
        libc::UTIME_NOW => Ok(Time::Now),
        libc::UTIME_OMIT => Ok(Time::Kept),
        rest => {
            let nanoseconds = u32::try_from(rest).ok().filter(|n| *n < SECOND).ok_or_else(invalid)?;
            Ok(Time::At { seconds: seconds.cast_signed(), nanoseconds })
        }
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

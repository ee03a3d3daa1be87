//! From a call that was read to a deed that somebody else can do: all of it or nothing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::call::{Deed, Opening, Sync, Time};
use super::memory;
use super::operands::{FCHMODAT2, Read, absolute, descriptor};
use super::parents::Parents;
use crate::sys::{self, Pid};

/// What a call would do, if every part of it is understood and means the same when somebody else does it.
pub(super) fn deed(question: &libc::seccomp_notif, read: &Read) -> Option<Deed> {
    let pid = question.pid.cast_signed();
    let number = i64::from(question.data.nr);
    let [first, second, third, fourth, fifth, _] = question.data.args;
    let named = |i: usize| read.places.get(i)?.1.as_ref()?.named.clone();
    let at = || named(0);
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_open => return opening(at()?, second, third, false).map(Deed::Open),
        libc::SYS_creat => return opening(at()?, CREAT, second, false).map(Deed::Open),
        libc::SYS_mkdir => return Some(Deed::MakeDir { at: at()?, mode: new_mode(second)? }),
        libc::SYS_rename => return Some(Deed::Rename { from: at()?, to: named(1)?, replace: true }),
        libc::SYS_link => return link(pid, (libc::AT_FDCWD, first), at()?),
        libc::SYS_symlink => return Some(Deed::Symlink { text: memory::text(pid, first)?, at: at()? }),
        libc::SYS_unlink => return Some(Deed::Remove { at: at()? }),
        libc::SYS_rmdir => return Some(Deed::RemoveDir { at: at()? }),
        libc::SYS_chmod => return Some(Deed::SetMode { at: at()?, mode: set_mode(second)?, follow: true }),
        libc::SYS_chown => return Some(owner(at()?, second, third, true)),
        libc::SYS_lchown => return Some(owner(at()?, second, third, false)),
        _ => {}
    }
    match number {
        libc::SYS_openat => opening(at()?, third, fourth, false).map(Deed::Open),
        libc::SYS_openat2 => open_how(at()?, read.how?, fourth),
        libc::SYS_mkdirat => Some(Deed::MakeDir { at: at()?, mode: new_mode(third)? }),
        libc::SYS_renameat => Some(Deed::Rename { from: at()?, to: named(1)?, replace: true }),
        libc::SYS_renameat2 => {
            let replace = either(fifth, 0, libc::RENAME_NOREPLACE)?;
            Some(Deed::Rename { from: at()?, to: named(1)?, replace: !replace })
        }
        // A link that stands for what it leads to would be given a name that its caller did not say.
        libc::SYS_linkat if word(fifth) == 0 => link(pid, (descriptor(first), second), at()?),
        libc::SYS_symlinkat => Some(Deed::Symlink { text: memory::text(pid, first)?, at: at()? }),
        libc::SYS_unlinkat => {
            let at = at()?;
            let folder = either(third, 0, libc::AT_REMOVEDIR.cast_unsigned())?;
            Some(if folder { Deed::RemoveDir { at } } else { Deed::Remove { at } })
        }
        libc::SYS_truncate => {
            let length = second.cast_signed().try_into().ok()?;
            Some(Deed::Truncate { at: at()?, length })
        }
        libc::SYS_fchmodat => Some(Deed::SetMode { at: at()?, mode: set_mode(third)?, follow: true }),
        FCHMODAT2 => Some(Deed::SetMode { at: at()?, mode: set_mode(third)?, follow: follows(fourth)? }),
        libc::SYS_fchownat => Some(owner(at()?, third, fourth, follows(fifth)?)),
        libc::SYS_utimensat if second == 0 && word(fourth) == 0 => {
            times(pid, open_at(pid, first, at()?)?, third, false)
        }
        libc::SYS_utimensat => times(pid, at()?, third, follows(fourth)?),
        libc::SYS_fchmod => {
            Some(Deed::SetMode { at: open_at(pid, first, at()?)?, mode: set_mode(second)?, follow: false })
        }
        libc::SYS_fchown => Some(owner(open_at(pid, first, at()?)?, second, third, false)),
        _ => None,
    }
}

/// Where each path of a deed leads, looked up afresh. None where something would be made through a link that leads to
/// nothing (whoever named the link need not know what it leads to), and where a path goes through a link of /proc, which
/// leads every process elsewhere.
pub(super) fn places(deed: &Deed) -> Option<Vec<PathBuf>> {
    let follow = match deed {
        Deed::Open(opening) => opening.follow,
        Deed::SetMode { follow, .. } | Deed::SetOwner { follow, .. } | Deed::SetTimes { follow, .. } => {
            *follow
        }
        Deed::Truncate { .. } => true,
        Deed::MakeDir { .. }
        | Deed::Remove { .. }
        | Deed::RemoveDir { .. }
        | Deed::Rename { .. }
        | Deed::Link { .. }
        | Deed::Symlink { .. } => false,
    };
    let mut parents = Parents::default();
    let mut place = |path: &Path| {
        let parent = path.parent().filter(|parent| sys::is_reached_without_magic(parent));
        let real = parents.real(path);
        if parent.is_none() || !follow {
            return parent.map(|_| real);
        }
        let is_link = real.is_symlink();
        let followed = parents.followed(real);
        (!is_link || followed.symlink_metadata().is_ok()).then_some(followed)
    };
    deed.paths().map(|path| place(path)).collect()
}

/// Arguments of the kernel's `int` are the low half of a register.
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
fn word(argument: u64) -> u32 {
    argument as u32
}

/// Flags that are one of two values: whether it is the second.
fn either(argument: u64, first: u32, second: u32) -> Option<bool> {
    match word(argument) {
        flags if flags == first => Some(false),
        flags if flags == second => Some(true),
        _ => None,
    }
}

fn follows(flags: u64) -> Option<bool> {
    either(flags, 0, libc::AT_SYMLINK_NOFOLLOW.cast_unsigned()).map(|kept| !kept)
}

/// What may be lent to others: no set-id bit is ever set outside for somebody inside.
const PERMISSIONS: u32 = 0o777;

/// The mode of something new. The sticky bit of a directory is harmless, and is not understood either.
fn new_mode(argument: u64) -> Option<u32> {
    Some(word(argument)).filter(|mode| mode & !PERMISSIONS == 0)
}

/// A mode to be set. The kernel passes over what is no mode bit (programs hand on the type from stat).
fn set_mode(argument: u64) -> Option<u32> {
    const MODES: u32 = 0o7777;
    Some(word(argument) & MODES).filter(|mode| mode & !PERMISSIONS == 0)
}

/// The name of what a descriptor stands for, if it still has that name.
fn open_at(pid: Pid, argument: u64, named: PathBuf) -> Option<PathBuf> {
    let identity = |at: std::fs::Metadata| (at.dev(), at.ino());
    let open = std::fs::metadata(format!("/proc/{pid}/fd/{}", descriptor(argument))).ok().map(identity)?;
    (std::fs::symlink_metadata(&named).ok().map(identity)? == open).then_some(named)
}

fn link(pid: Pid, (directory, address): (i32, u64), to: PathBuf) -> Option<Deed> {
    let from = absolute(pid, directory, &memory::text(pid, address)?)?;
    Some(Deed::Link { from, to })
}

fn owner(at: PathBuf, owner: u64, group: u64, follow: bool) -> Deed {
    let id = |argument: u64| Some(word(argument)).filter(|id| *id != u32::MAX);
    Deed::SetOwner { at, owner: id(owner), group: id(group), follow }
}

fn times(pid: Pid, at: PathBuf, address: u64, follow: bool) -> Option<Deed> {
    let times = match address {
        0 => [Time::Now; 2],
        address => {
            let [s0, n0, s1, n1] = memory::words(pid, address)?;
            [time(s0, n0)?, time(s1, n1)?]
        }
    };
    Some(Deed::SetTimes { at, times, follow })
}

fn time(seconds: u64, nanoseconds: u64) -> Option<Time> {
    const SECOND: u32 = 1_000_000_000;
    match nanoseconds.cast_signed() {
        libc::UTIME_NOW => Some(Time::Now),
        libc::UTIME_OMIT => Some(Time::Kept),
        rest => {
            let nanoseconds = u32::try_from(rest).ok().filter(|n| *n < SECOND)?;
            Some(Time::At { seconds: seconds.cast_signed(), nanoseconds })
        }
    }
}

const CREAT: u64 = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64;

/// What 64-bit programs of some C libraries always say, and the kernel takes for said.
#[cfg(target_arch = "x86_64")]
const LARGE_FILE: i32 = 0o100_000;
#[cfg(target_arch = "aarch64")]
const LARGE_FILE: i32 = 0o400_000;

/// Flags that mean the same to whoever opens the file: never becoming a terminal's process is what we do anyway.
const UNDERSTOOD: i32 = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_NOCTTY
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_NONBLOCK
    | libc::O_SYNC
    | LARGE_FILE
    | libc::O_NOFOLLOW
    | libc::O_CLOEXEC;

/// `strict`: the call does not pass over what it has no use for.
fn opening(at: PathBuf, flags: u64, mode: u64, strict: bool) -> Option<Opening> {
    let flags = word(flags).cast_signed();
    let has = |flag: i32| flags & flag == flag;
    let (read, write) = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => (true, false),
        libc::O_WRONLY => (false, true),
        libc::O_RDWR => (true, true),
        _ => return None,
    };
    let create = has(libc::O_CREAT);
    let exclusive = has(libc::O_EXCL);
    let truncate = has(libc::O_TRUNC);
    // Each of these means nothing, or something else on each file system.
    if flags & !UNDERSTOOD != 0
        || exclusive && !create
        || truncate && !write
        || strict && !create && mode != 0
    {
        return None;
    }
    Some(Opening {
        at,
        read,
        write,
        append: has(libc::O_APPEND),
        truncate,
        create: if create { Some(new_mode(mode)?) } else { None },
        exclusive,
        follow: !has(libc::O_NOFOLLOW) && !exclusive,
        nonblocking: has(libc::O_NONBLOCK),
        sync: match flags & libc::O_SYNC {
            0 => None,
            libc::O_DSYNC => Some(Sync::Content),
            libc::O_SYNC => Some(Sync::All),
            _ => return None,
        },
        close_on_exec: has(libc::O_CLOEXEC),
    })
}

/// openat2 says how the path may go. Held to a directory, a device or a cache it would be another call; of links in
/// /proc, which it may close, none is ever gone through.
fn open_how(at: PathBuf, [flags, mode, resolve]: [u64; 3], size: u64) -> Option<Deed> {
    let whole = size == size_of::<[u64; 3]>() as u64 && flags >> 32 == 0;
    let plain = resolve & !libc::RESOLVE_NO_MAGICLINKS == 0;
    if whole && plain { opening(at, flags, mode, true).map(Deed::Open) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(flags: i32, mode: u64) -> Option<Opening> {
        opening("/x".into(), u64::from(flags.cast_unsigned()), mode, false)
    }

    #[test]
    fn what_is_not_understood_exactly_is_no_deed() {
        use libc::{O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY};
        for (flags, mode) in [
            (O_WRONLY | libc::O_DIRECT, 0),
            (O_WRONLY | libc::O_PATH, 0),
            (O_RDWR | libc::O_TMPFILE, 0o600),
            (O_WRONLY | libc::O_DIRECTORY, 0),
            (O_WRONLY | libc::O_ASYNC, 0),
            (O_WRONLY | libc::O_NOATIME, 0),
            (O_WRONLY | O_EXCL, 0),
            (O_RDONLY | O_TRUNC, 0),
            (O_WRONLY | O_RDWR, 0),
            (O_WRONLY | O_CREAT, 0o4755),
            (O_WRONLY | O_CREAT, 0o2755),
            (O_WRONLY | 1 << 30, 0),
        ] {
            assert_eq!(open(flags, mode), None, "{flags:o} {mode:o}");
        }
        // The controls.
        for flags in
            [O_WRONLY, O_RDWR | O_CREAT | O_EXCL, O_WRONLY | O_TRUNC | O_APPEND, O_WRONLY | O_NONBLOCK]
        {
            assert!(open(flags, 0o644).is_some(), "{flags:o}");
        }
        assert!(open(O_RDONLY | O_CREAT, 0o644).is_some_and(|o| o.read && !o.write));
    }

    #[test]
    fn openat2_may_not_hold_the_path_to_anything() {
        let how = |flags: i32, resolve: u64| {
            open_how("/x".into(), [u64::from(flags.cast_unsigned()), 0, resolve], 24).is_some()
        };
        assert!(how(libc::O_WRONLY, 0) && how(libc::O_WRONLY, libc::RESOLVE_NO_MAGICLINKS));
        for resolve in [
            libc::RESOLVE_BENEATH,
            libc::RESOLVE_IN_ROOT,
            libc::RESOLVE_NO_XDEV,
            libc::RESOLVE_NO_SYMLINKS,
            libc::RESOLVE_CACHED,
            1 << 40,
        ] {
            assert!(!how(libc::O_WRONLY, resolve), "{resolve:x}");
        }
        assert_eq!(open_how("/x".into(), [1, 0, 0], 32), None);
        assert_eq!(open_how("/x".into(), [1 | 1 << 40, 0, 0], 24), None);
        assert_eq!(open_how("/x".into(), [1, 0o644, 0], 24), None);
    }

    #[test]
    fn no_set_id_bit_is_ever_set() {
        assert_eq!(set_mode(0o100_644), Some(0o644));
        for mode in [0o4755, 0o2755, 0o1777, 0o6000] {
            assert_eq!(set_mode(mode), None, "{mode:o}");
        }
    }
}

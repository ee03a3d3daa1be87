//! Conversion of a system call to an operation that another process can execute: all of it or nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::call::{FileOperation, Opening, Sync};
use super::file_call::{FileCall, OpenCall, RequestedChange, Subject};
use super::file_question::FileQuestion;
use super::walk::ResolvedPath;

/// Returns the operation of a call, if every part of it is understood and means the same for another process, on paths
/// that resolve equally there.
pub(super) fn operation(found: &FileQuestion) -> Option<FileOperation> {
    let at = |place: usize| path(found.places.get(place)?);
    match &found.call {
        FileCall::Open(open) => opening(open, at(0)?).map(FileOperation::Open),
        FileCall::MakeDir { mode, .. } => Some(FileOperation::MakeDir { at: at(0)?, mode: new_mode(*mode)? }),
        FileCall::Rename { flags, .. } => {
            let replace = either(*flags, 0, libc::RENAME_NOREPLACE)?;
            Some(FileOperation::Rename { from: at(0)?, to: at(1)?, replace: !replace })
        }
        // A link that stands for what it leads to would be given a name that its caller did not say.
        FileCall::Link { from: Subject::Path { follow: false, .. }, .. } => {
            Some(FileOperation::Link { from: at(0)?, to: at(1)? })
        }
        FileCall::Symlink { text, .. } => Some(FileOperation::Symlink { text: text.clone(), at: at(0)? }),
        FileCall::Remove { directory: true, .. } => Some(FileOperation::RemoveDir { at: at(0)? }),
        FileCall::Remove { directory: false, .. } => Some(FileOperation::Remove { at: at(0)? }),
        FileCall::Truncate { length, .. } => Some(FileOperation::Truncate { at: at(0)?, length: *length }),
        FileCall::Change { of, change } => changed(of, change, found.places.first()?),
        FileCall::Link { .. }
        | FileCall::MakeNode { .. }
        | FileCall::Access { .. }
        | FileCall::Lock { .. } => None,
    }
}

/// Returns the path of a place that resolves for every process. An open file still has to have it.
fn path(place: &ResolvedPath) -> Option<PathBuf> {
    if let ResolvedPath::Object(_) = place {
        let found = fs::symlink_metadata(place.real()).ok()?;
        if place.identity() != Some((found.dev(), found.ino())) {
            return None;
        }
    }
    let real = place.real();
    // Its names mean something else to every process, but for one that means nothing.
    let is_nothing = || real.parent() == Some(Path::new("/proc")) && !place.exists();
    (real.is_absolute() && (!real.starts_with("/proc") || is_nothing())).then(|| real.to_owned())
}

fn changed(of: &Subject, change: &RequestedChange, place: &ResolvedPath) -> Option<FileOperation> {
    let at = path(place)?;
    // What was followed is named by now.
    let follow = matches!(of, Subject::Path { follow: true, .. });
    match change {
        RequestedChange::Mode(mode) => Some(FileOperation::SetMode { at, mode: set_mode(*mode)?, follow }),
        RequestedChange::Owner { owner, group } => {
            Some(FileOperation::SetOwner { at, owner: *owner, group: *group, follow })
        }
        RequestedChange::Times(times) => Some(FileOperation::SetTimes { at, times: *times, follow }),
        RequestedChange::SetAttribute { .. } | RequestedChange::RemoveAttribute { .. } => None,
    }
}

/// Flags that are one of two values: whether it is the second.
fn either(flags: u32, first: u32, second: u32) -> Option<bool> {
    match flags {
        flags if flags == first => Some(false),
        flags if flags == second => Some(true),
        _ => None,
    }
}

/// Permission bits that may be set: no set-ID bit is ever set outside for a confined process.
const PERMISSIONS: u32 = 0o777;

/// The mode of something new. The sticky bit of a directory is harmless, and is not understood either.
fn new_mode(mode: u32) -> Option<u32> {
    Some(mode).filter(|mode| mode & !PERMISSIONS == 0)
}

/// A mode to be set. The kernel passes over what is no mode bit (programs hand on the type from stat).
fn set_mode(mode: u32) -> Option<u32> {
    const MODES: u32 = 0o7777;
    Some(mode & MODES).filter(|mode| mode & !PERMISSIONS == 0)
}

/// `O_LARGEFILE`, which 64-bit programs of some C libraries always pass and the kernel implies.
#[cfg(target_arch = "x86_64")]
const LARGE_FILE: i32 = 0o100_000;
#[cfg(target_arch = "aarch64")]
const LARGE_FILE: i32 = 0o400_000;

/// Flags that mean the same for any opening process: `O_NOCTTY` is what we do anyway.
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

/// openat2 may close links of processes to the path; held to a directory, a device or a cache it would be another call.
fn opening(open: &OpenCall, at: PathBuf) -> Option<Opening> {
    let OpenCall { flags, mode, resolve, strict, .. } = *open;
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
        || resolve & !libc::RESOLVE_NO_MAGICLINKS != 0
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

#[cfg(test)]
mod tests {
    use super::super::file_call::{BaseDirectory, PathArg};
    use super::*;

    fn open_with(flags: i32, mode: u32, resolve: u64, strict: bool) -> Option<Opening> {
        let at = PathArg { base: BaseDirectory::Cwd, path: "/x".into() };
        opening(&OpenCall { at, flags, mode, resolve, strict }, "/x".into())
    }

    fn open(flags: i32, mode: u32) -> Option<Opening> {
        open_with(flags, mode, 0, false)
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
        let how = |flags: i32, resolve: u64| open_with(flags, 0, resolve, true).is_some();
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
        assert_eq!(open_with(libc::O_WRONLY, 0o644, 0, true), None);
    }

    #[test]
    fn no_set_id_bit_is_ever_set() {
        assert_eq!(set_mode(0o100_644), Some(0o644));
        for mode in [0o4755, 0o2755, 0o1777, 0o6000] {
            assert_eq!(set_mode(mode), None, "{mode:o}");
        }
    }
}

//! Linux: `openat2`, `statx` and their kin, through rustix.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    self, AtFlags, FileType, IFlags, Mode, OFlags, RenameFlags, ResolveFlags, Statx, StatxFlags, Timespec,
    Timestamps,
};
use rustix::io::Errno;

use crate::in_place::SetTime;
use crate::version::{FileId, Version};

/// A descriptor that names a place and gives no access to its content.
const NAMING: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
/// A descriptor for reading that never waits for a FIFO's writer, never follows a link, never takes a terminal.
const READING: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// No leaving, no links of any kind.
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// `openat2` answers `EAGAIN` when something was renamed while it looked; so often is it asked again.
const AGAIN: usize = 16;

/// Returns `true` if `openat2` works here: it may be missing (`ENOSYS`) or filtered (`EPERM`).
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html)
pub(super) fn openat2_works() -> bool {
    let flags = NAMING | OFlags::DIRECTORY;
    let Ok(slash) = fs::open("/", flags, Mode::empty()) else { return false };
    fs::openat2(&slash, ".", flags, Mode::empty(), BENEATH).is_ok()
}

/// Opens a folder beneath `base` in one step.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html)
pub(super) fn open_folder_beneath(base: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let flags = NAMING | OFlags::DIRECTORY;
    for _ in 0..AGAIN {
        match fs::openat2(base, relative, flags, Mode::empty(), BENEATH) {
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens the folder `name` in `folder`; `ENOTDIR` when it is a link.
pub(crate) fn open_child_folder(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs::openat(folder, name, NAMING | OFlags::DIRECTORY, Mode::empty())
}

/// A second descriptor for the same folder.
pub(crate) fn reopen_folder(folder: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    open_child_folder(folder, OsStr::new("."))
}

/// Opens a folder by its plain path, with all rights of this process: where a workspace begins.
pub(crate) fn open_folder_unheld(path: &Path) -> Result<OwnedFd, Errno> {
    fs::open(path, NAMING.difference(OFlags::NOFOLLOW) | OFlags::DIRECTORY, Mode::empty())
}

/// Result of a look at one name, links not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectStat {
    pub(crate) file_type: FileType,
    /// Permission bits, set-id and sticky bits included.
    pub(crate) mode: u32,
    pub(crate) links: u64,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    pub(crate) version: Version,
    /// The mount that the place lies on; `None` before Linux 5.8.
    pub(crate) mount: Option<u64>,
}

impl ObjectStat {
    /// Returns `true` if two places lie on one mount; by device where the kernel does not number mounts.
    pub(crate) fn same_mount(&self, other: &Self) -> bool {
        match (self.mount, other.mount) {
            (Some(a), Some(b)) => a == b,
            (None, _) | (_, None) => self.version.id().dev() == other.version.id().dev(),
        }
    }
}

/// Looks at `name` in `folder`.
///
/// [statx(2)](https://man7.org/linux/man-pages/man2/statx.2.html)
pub(crate) fn look(folder: BorrowedFd<'_>, name: &OsStr) -> Result<ObjectStat, Errno> {
    statx(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
}

/// Looks at what an open descriptor names.
pub(crate) fn look_at(fd: BorrowedFd<'_>) -> Result<ObjectStat, Errno> {
    statx(fd, OsStr::new(""), AtFlags::EMPTY_PATH)
}

fn statx(fd: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> Result<ObjectStat, Errno> {
    let x = fs::statx(fd, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    Ok(ObjectStat {
        file_type: FileType::from_raw_mode(u32::from(x.stx_mode)),
        mode: u32::from(x.stx_mode) & 0o7777,
        links: u64::from(x.stx_nlink),
        owner: x.stx_uid,
        group: x.stx_gid,
        version: version_of(&x),
        mount: (x.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(x.stx_mnt_id),
    })
}

fn version_of(x: &Statx) -> Version {
    Version::new(
        FileId::new(device(x.stx_dev_major, x.stx_dev_minor), x.stx_ino),
        nanoseconds(x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec.into()),
        nanoseconds(x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec.into()),
        x.stx_size,
    )
}

fn device(major: u32, minor: u32) -> u64 {
    u64::from(major) << 32 | u64::from(minor)
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The state of an open file; cheaper than a `statx` and enough to know a file again.
pub(crate) fn stat_open(file: BorrowedFd<'_>) -> Result<(FileType, Version), Errno> {
    let s = fs::fstat(file)?;
    let id = FileId::new(device(fs::major(s.st_dev), fs::minor(s.st_dev)), s.st_ino);
    #[expect(
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "the kernel's own widths; sizes are not negative"
    )]
    let version = Version::new(
        id,
        nanoseconds(s.st_mtime, s.st_mtime_nsec as i64),
        nanoseconds(s.st_ctime, s.st_ctime_nsec as i64),
        s.st_size as u64,
    );
    Ok((FileType::from_raw_mode(s.st_mode), version))
}

/// The times of last access and last change of an open file.
pub(crate) fn times_of(file: BorrowedFd<'_>) -> Result<[SetTime; 2], Errno> {
    let s = fs::fstat(file)?;
    let nanoseconds = |rest| u32::try_from(rest).unwrap_or_default();
    let access = SetTime::At { seconds: s.st_atime, nanoseconds: nanoseconds(s.st_atime_nsec) };
    let change = SetTime::At { seconds: s.st_mtime, nanoseconds: nanoseconds(s.st_mtime_nsec) };
    Ok([access, change])
}

/// Opens `name` in `folder` for reading; never waits, never follows.
pub(crate) fn open_reading(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs::openat(folder, name, READING | OFlags::RDONLY, Mode::empty())
}

/// Opens `name` in `folder` for listing; `ENOTDIR` when it is a link or no folder.
pub(crate) fn open_listing(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs::openat(folder, name, READING | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Creates the file `name` in `folder` for writing; `EEXIST` when anything, a link too, stands there.
pub(crate) fn create_file(folder: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<File, Errno> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    fs::openat(folder, name, flags, Mode::from_raw_mode(mode)).map(File::from)
}

/// A descriptor for a file itself: it never waits for a FIFO or a lease, never follows a link, never takes a terminal.
const IN_PLACE: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens the file `name` in `folder` as it is; `flags` say for what.
pub(crate) fn open_in_place(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    fs::openat(folder, name, IN_PLACE | flags, Mode::empty())
}

/// Makes and opens the file `name` in `folder`; `EEXIST` when anything, a link too, stands there.
pub(crate) fn make_in_place(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
    mode: u32,
) -> Result<OwnedFd, Errno> {
    let flags = IN_PLACE | flags | OFlags::CREATE | OFlags::EXCL;
    fs::openat(folder, name, flags, Mode::from_raw_mode(mode))
}

/// Sets whether reading from and writing to an open file may wait.
pub(crate) fn set_nonblocking(file: BorrowedFd<'_>, nonblocking: bool) -> Result<(), Errno> {
    let mut flags = fs::fcntl_getfl(file)?;
    flags.set(OFlags::NONBLOCK, nonblocking);
    fs::fcntl_setfl(file, flags)
}

/// Cuts or extends an open file.
pub(crate) fn set_length(file: BorrowedFd<'_>, length: u64) -> Result<(), Errno> {
    fs::ftruncate(file, length)
}

/// Makes the folder `name` with a mode; `EEXIST` when anything stands there.
pub(crate) fn make_folder_with(folder: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<(), Errno> {
    fs::mkdirat(folder, name, Mode::from_raw_mode(mode))
}

/// Gives the file at one name another one; `EEXIST` when anything stands there. A link gets the name itself.
pub(crate) fn link(from: At<'_>, to: At<'_>) -> Result<(), Errno> {
    fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())
}

/// Gives an open file or folder to an owner, to a group, or to both.
pub(crate) fn change_owner(fd: BorrowedFd<'_>, user: Option<u32>, group: Option<u32>) -> Result<(), Errno> {
    fs::fchown(fd, user.map(fs::Uid::from_raw), group.map(fs::Gid::from_raw))
}

/// Sets the times of an open file or folder.
pub(crate) fn set_times(fd: BorrowedFd<'_>, times: &Timestamps) -> Result<(), Errno> {
    fs::futimens(fd, times)
}

/// Opens a symbolic link itself, as a handle; of any other name whatever it stands for.
pub(crate) fn open_link(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs::openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Gives a link that is held by a handle to an owner, to a group, or to both.
pub(crate) fn change_owner_of_link(
    link: BorrowedFd<'_>,
    user: Option<u32>,
    group: Option<u32>,
) -> Result<(), Errno> {
    let (user, group) = (user.map(fs::Uid::from_raw), group.map(fs::Gid::from_raw));
    fs::chownat(link, "", user, group, AtFlags::EMPTY_PATH)
}

/// Sets the times of a link that is held by a handle. Linux 5.8.
pub(crate) fn set_times_of_link(link: BorrowedFd<'_>, times: &Timestamps) -> Result<(), Errno> {
    fs::utimensat(link, "", times, AtFlags::EMPTY_PATH)
}

/// A time as the kernel takes it.
pub(crate) fn time(time: SetTime) -> Timespec {
    match time {
        SetTime::Now => Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW },
        SetTime::Kept => Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT },
        SetTime::At { seconds, nanoseconds } => Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
    }
}

/// Makes the folder `name`; `EEXIST` when anything stands there.
pub(crate) fn make_folder(folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    // The usual mode; the process's umask takes its bits away.
    fs::mkdirat(folder, name, Mode::from_raw_mode(0o777))
}

/// Returns the target of a link, as written in it.
pub(crate) fn read_link(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OsString, Errno> {
    fs::readlinkat(folder, name, Vec::new()).map(|target| OsString::from_vec(target.into_bytes()))
}

/// Makes the link `name`, pointing to `target` as written.
pub(crate) fn make_link(target: &OsStr, folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    fs::symlinkat(target, folder, name)
}

/// Removes a file or a link, never what a link points to.
pub(crate) fn remove_file(folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    fs::unlinkat(folder, name, AtFlags::empty())
}

/// Removes an empty folder.
pub(crate) fn remove_folder(folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// A name in an open folder.
pub(crate) type At<'a> = (BorrowedFd<'a>, &'a OsStr);

/// Renames, taking the place of a file or link that stands there.
pub(crate) fn rename_over(from: At<'_>, to: At<'_>) -> Result<(), Errno> {
    fs::renameat(from.0, from.1, to.0, to.1)
}

/// Renames to a name that must be free. File systems without `RENAME_NOREPLACE` take the way over a hard link,
/// which needs a free name as well; for folders they answer `EPERM`.
///
/// [renameat2(2)](https://man7.org/linux/man-pages/man2/renameat2.2.html)
pub(crate) fn rename_new(from: At<'_>, to: At<'_>) -> Result<(), Errno> {
    match fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?;
            remove_file(from.0, from.1)
        }
        other => other,
    }
}

/// Lets two names change places; `EINVAL` where the file system cannot.
pub(crate) fn exchange(one: At<'_>, other: At<'_>) -> Result<(), Errno> {
    fs::renameat_with(one.0, one.1, other.0, other.1, RenameFlags::EXCHANGE)
}

/// Sets permission bits on an open file or folder.
pub(crate) fn set_mode(fd: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    fs::fchmod(fd, Mode::from_raw_mode(mode))
}

/// Gives an open file to an owner and a group, as far as this process may.
pub(crate) fn set_owner(fd: BorrowedFd<'_>, owner: u32, group: u32) -> Result<(), Errno> {
    fs::fchown(fd, Some(fs::Uid::from_raw(owner)), Some(fs::Gid::from_raw(group)))
}

/// Puts a folder's entries on the disk.
pub(crate) fn sync_folder(folder: BorrowedFd<'_>) -> Result<(), Errno> {
    fs::fsync(open_listing(folder, OsStr::new("."))?)
}

/// Returns `true` if links in this folder may be magic: procfs, whose links lead to objects and not to their text.
pub(crate) fn has_magic_links(folder: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(fs::fstatfs(folder)?.f_type == fs::PROC_SUPER_MAGIC)
}

/// File systems that are the kernel's own interfaces, where writing a file is a command: procfs, sysfs, cgroups, debugfs,
/// tracefs, securityfs, bpf, pstore, efivarfs, configfs, fusectl, `binfmt_misc`, devpts, selinuxfs, smackfs, resctrl, nsfs,
/// apparmorfs, mqueue, nfsd, xenfs.
const OF_THE_KERNEL: [u32; 22] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x6165_676c,
    0xde5e_81e4,
    0x6265_6570,
    0x6573_5543,
    0x4249_4e4d,
    0x1cd1,
    0xf97c_ff8c,
    0x4341_5d53,
    0x0765_5821,
    0x6e73_6673,
    0x5a3c_69f0,
    0x1980_0202,
    0x6e66_7364,
    0xabba_1974,
];

/// Returns `true` if an open file or folder is the kernel's own interface. One that cannot be asked counts as such.
pub(crate) fn is_of_the_kernel(fd: BorrowedFd<'_>) -> bool {
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "compared as 32 bits")]
    fs::fstatfs(fd).map_or(true, |system| OF_THE_KERNEL.contains(&(system.f_type as u32)))
}

/// File systems that take `A` and `a` for one name everywhere: FAT, exFAT, NTFS, CIFS, SMB, HFS+.
const FOLDING: [u64; 8] =
    [0x4d44, 0x2011_bab0, 0x5346_544e, 0x7366_746e, 0xff53_4d42, 0xfe53_4d42, 0x482b, 0x4244];
/// `FS_CASEFOLD_FL`: this folder takes `A` and `a` for one name (ext4, f2fs, tmpfs).
const CASEFOLD: u32 = 0x4000_0000;

/// Returns `true` if the folder takes names that differ only in case for one name. A folder that cannot be asked is taken
/// to do so: guards then compare more, never less.
pub(crate) fn folds_case(folder: BorrowedFd<'_>) -> bool {
    let Ok(system) = fs::fstatfs(folder) else { return true };
    // The number is 32 bits wide; its sign differs between architectures.
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "compared as 32 bits")]
    if FOLDING.contains(&u64::from(system.f_type as u32)) {
        return true;
    }
    let Ok(listing) = open_listing(folder, OsStr::new(".")) else { return true };
    match fs::ioctl_getflags(listing.as_fd()) {
        Ok(flags) => flags.intersects(IFlags::from_bits_retain(CASEFOLD)),
        // No flags on this file system, so no folding flag either.
        Err(_) => false,
    }
}

/// Copies the extended attributes that describe a file's content or its readers (user attributes, access lists,
/// labels) as far as this process may; `security.capability` is left out, as the kernel drops it on a write.
pub(crate) fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
    let Ok(names) = attribute_names(from) else { return };
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if name == b"security.capability" {
            continue;
        }
        if let Ok(value) = attribute(from, name) {
            let _ = fs::fsetxattr(to, name, &value, fs::XattrFlags::empty());
        }
    }
}

fn attribute_names(file: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let mut names = vec![0; fs::flistxattr_query(file)?];
    let len = fs::flistxattr(file, names.as_mut_slice())?;
    names.truncate(len);
    Ok(names)
}

fn attribute(file: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; fs::fgetxattr_query(file, name)?];
    let len = fs::fgetxattr(file, name, value.as_mut_slice())?;
    value.truncate(len);
    Ok(value)
}

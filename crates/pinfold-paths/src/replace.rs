//! Write beside, then swap in.
//!
//! Promise: a reader sees the old content or the new, whole; another name of the old file keeps the old content.
//! Trap: a temp file left behind by a crash is named `.pinfold-….tmp`; nothing else of ours stays in the folder, and
//! [`Contained::remove_abandoned`] takes it away.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::contained::{Contained, PERMISSION_BITS};
use crate::error::OperationError;
use crate::held_place::Kind;
use crate::sys::{self, ObjectStat};
use crate::version::Version;

/// State that the caller expects of the file that it replaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expect {
    /// The state it has seen; any state when `None`.
    pub version: Option<Version>,
    /// The most names (hard links) the file may have; any number when `None`.
    pub links: Option<u64>,
}

/// The usual mode of a new file; the process's umask takes its bits away.
pub const NEW_FILE_MODE: u32 = 0o666;
/// Mode of a file while it is being written: content that may be meant for few is closed to other users.
const WHILE_WRITING: u32 = 0o600;
/// Tries for a temp name that is not taken.
const ATTEMPTS: usize = 16;

impl Contained {
    /// Creates a file that must not exist, with its content, making missing folders.
    /// `mode` loses the bits of the process's umask, as for any new file.
    ///
    /// # Errors
    /// [`OperationError::Exists`] when anything stands there, or came to stand there; [`OperationError::Changed`].
    pub fn create_new(&self, bytes: &[u8], mode: u32) -> Result<Version, OperationError> {
        self.create_from(&mut &*bytes, mode)
    }

    /// Creates a file with content that is read while it is written.
    ///
    /// # Errors
    /// As [`create_new`](Self::create_new), and what reading answers.
    pub fn create_from(&self, content: &mut dyn Read, mode: u32) -> Result<Version, OperationError> {
        if !matches!(self.kind(), Kind::Missing { .. }) {
            return Err(OperationError::Exists);
        }
        if self.must_be_folder() {
            return Err(OperationError::IsFolder);
        }
        let folder = self.folder_for_new()?;
        let staged = Staged::write(folder.as_fd(), content, mode & PERMISSION_BITS)?;
        sys::rename_new(staged.name_in_folder(), (folder.as_fd(), self.name()))?;
        staged.settle()
    }

    /// Puts `bytes` in place of the file's content, in one step; creates the file when it is missing.
    /// Permission bits stay; owner and extended attributes stay as far as this process may set them; set-id bits go.
    ///
    /// # Errors
    /// [`OperationError::Stale`] and [`OperationError::Shared`] for what was not expected, [`OperationError::Changed`] when another
    /// object stands there, [`OperationError::IsLink`], [`OperationError::IsFolder`], [`OperationError::Special`].
    pub fn replace(&self, bytes: &[u8], expect: Expect) -> Result<Version, OperationError> {
        self.replace_from(&mut &*bytes, expect)
    }

    /// Replaces a file with content that is read while it is written.
    ///
    /// # Errors
    /// As [`replace`](Self::replace), and what reading answers.
    pub fn replace_from(&self, content: &mut dyn Read, expect: Expect) -> Result<Version, OperationError> {
        match self.kind() {
            Kind::Missing { .. } if expect.version.is_some() => return Err(OperationError::Stale),
            Kind::Missing { .. } => return self.create_from(content, NEW_FILE_MODE),
            Kind::File { .. } if self.must_be_folder() => return Err(OperationError::NotAFolder),
            Kind::File { .. } => {}
            Kind::Directory => return Err(OperationError::IsFolder),
            Kind::Link => return Err(OperationError::IsLink),
            Kind::Special(_) => return Err(OperationError::Special),
        }
        self.still_held()?;
        let old = self.look_again()?;
        expect.met_by(&old)?;
        let staged = Staged::write(self.parent(), content, WHILE_WRITING)?;
        self.dress(&staged, &old)?;
        self.swap_in(&staged, &old)?;
        staged.settle()
    }

    /// Removes the files that killed writers left beside this place: named as writers name theirs, this user's, and unchanged
    /// for [`ABANDONED_AFTER`]. What cannot be removed stays.
    pub fn remove_abandoned(&self) {
        let folder = self.parent();
        // Opened anew: a descriptor that only holds the folder cannot list it.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(entries) = openat(folder, c".", flags, Mode::empty()).and_then(Dir::new) else { return };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if is_temp_name(name) && sys::look(folder, name).is_ok_and(|look| is_abandoned(&look)) {
                let _ = sys::remove_file(folder, name);
            }
        }
    }

    /// Gives the new file what the old one had besides its content.
    fn dress(&self, staged: &Staged<'_>, old: &ObjectStat) -> Result<(), OperationError> {
        let file = staged.file.as_fd();
        // As far as this process may: an ordinary user cannot give a file away, and need not.
        let _ = sys::set_owner(file, old.owner, old.group);
        if let Ok(previous) = sys::open_reading(self.parent(), self.name()) {
            sys::copy_attributes(previous.as_fd(), file);
        }
        Ok(sys::set_mode(file, old.mode & PERMISSION_BITS)?)
    }

    /// Looks a last time, lets the names change places, and looks at what came out: if that is not what was judged,
    /// because another process wrote in between, they change back. Where the file system cannot exchange names, the new
    /// file takes the name over right after the last look.
    fn swap_in(&self, staged: &Staged<'_>, old: &ObjectStat) -> Result<(), OperationError> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        // A few microseconds, so that two threads of this process never take each other's new file for the old one.
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if self.look_again()?.version != old.version {
            return Err(OperationError::Changed);
        }
        let here = (self.parent(), self.name());
        match sys::exchange(staged.name_in_folder(), here) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => return Ok(sys::rename_over(staged.name_in_folder(), here)?),
            Err(Errno::NOENT) => return Err(OperationError::Changed),
            Err(errno) => return Err(errno.into()),
        }
        let out = sys::look(staged.folder, &staged.name);
        if out.is_ok_and(|out| out.version.same_content(old.version) && out.file_type == old.file_type) {
            return Ok(());
        }
        sys::exchange(staged.name_in_folder(), here)?;
        Err(OperationError::Changed)
    }
}

impl Expect {
    fn met_by(&self, now: &ObjectStat) -> Result<(), OperationError> {
        if self.version.is_some_and(|version| version != now.version) {
            return Err(OperationError::Stale);
        }
        match self.links {
            Some(most) if now.links > most => Err(OperationError::Shared(now.links)),
            Some(_) | None => Ok(()),
        }
    }
}

/// A file under a temp name, gone when dropped unless it was renamed.
pub(crate) struct Staged<'a> {
    folder: BorrowedFd<'a>,
    name: OsString,
    file: File,
}

impl<'a> Staged<'a> {
    pub(crate) fn write(
        folder: BorrowedFd<'a>,
        content: &mut dyn Read,
        mode: u32,
    ) -> Result<Self, OperationError> {
        let mut staged = Self::create(folder, mode)?;
        io::copy(content, &mut staged.file)?;
        staged.file.flush()?;
        staged.file.sync_all()?;
        Ok(staged)
    }

    fn create(folder: BorrowedFd<'a>, mode: u32) -> Result<Self, OperationError> {
        for _ in 0..ATTEMPTS {
            let name = temp_name();
            match sys::create_file(folder, &name, mode) {
                Ok(file) => return Ok(Self { folder, name, file }),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(OperationError::Exists)
    }

    pub(crate) fn name_in_folder(&self) -> (BorrowedFd<'_>, &OsStr) {
        (self.folder, &self.name)
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Makes the renaming last and tells the state of the new file.
    fn settle(self) -> Result<Version, OperationError> {
        // Some file systems cannot sync a folder; the file itself is on the disk already.
        let _ = sys::sync_folder(self.folder);
        Contained::version_of(self.file.as_fd())
    }
}

impl Drop for Staged<'_> {
    /// After an exchange the old file stands here; after a rename nothing does.
    fn drop(&mut self) {
        let _ = sys::remove_file(self.folder, &self.name);
    }
}

/// Returns a name that cannot be guessed: the standard library's hash keys are random for each call.
pub(crate) fn temp_name() -> OsString {
    let random = RandomState::new().build_hasher().finish();
    format!("{TEMP_PREFIX}{random:016x}{TEMP_SUFFIX}").into()
}

const TEMP_PREFIX: &str = ".pinfold-";
const TEMP_SUFFIX: &str = ".tmp";

/// Time for which a temp file is left alone: a writer that lives swaps its file in within milliseconds.
pub const ABANDONED_AFTER: Duration = Duration::from_mins(1);

fn is_temp_name(name: &OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(TEMP_PREFIX)?.strip_suffix(TEMP_SUFFIX));
    middle.is_some_and(|random| random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_abandoned(look: &ObjectStat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let modified = u128::try_from(look.version.modified_ns()).unwrap_or_default();
    look.file_type == FileType::RegularFile
        && look.owner == rustix::process::geteuid().as_raw()
        && now.saturating_sub(modified) >= ABANDONED_AFTER.as_nanos()
}

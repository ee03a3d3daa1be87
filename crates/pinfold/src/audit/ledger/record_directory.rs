//! The directory of a record and the files in it: opened only if they are this user's own and no links.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::tail::{self, ChainTail, TailStrictness};

/// The file that is written. Those that were put aside stand beside it: `record-000001.jsonl`, …
pub const RECORD: &str = "record.jsonl";
const ASIDE: &str = "record-";
const ENDING: &str = ".jsonl";

/// Files in a row that may hold no whole line. Behind more of them the chain begins anew, which verification reports.
const MAX_DAMAGED: u32 = 64;

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity(u64, u64);

impl FileIdentity {
    fn new(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

/// The open directory of a record.
#[derive(Debug)]
pub(super) struct RecordDirectory(OwnedFd);

impl RecordDirectory {
    /// Opens it, and makes it if it is missing. It is closed to all others.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR => {
                io::Error::other("it is a link or no directory; make it a directory")
            }
            errno => errno.into(),
        })?;
        let stat = rustix::fs::fstat(&opened)?;
        is_own(&stat)?;
        if stat.st_mode & 0o077 != 0 {
            rustix::fs::fchmod(&opened, Mode::from_raw_mode(0o700))?;
        }
        Ok(Self(opened))
    }

    /// The file that is written, for appending and reading. Made if it is missing.
    pub(super) fn record(&self) -> io::Result<(File, FileIdentity)> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let (file, stat) = self.file(OsStr::new(RECORD), flags)?;
        Ok((file, FileIdentity::new(&stat)))
    }

    /// Opens a file of the directory, if it is a plain one of this user's, under this name alone.
    pub(super) fn file(&self, name: &OsStr, flags: OFlags) -> io::Result<(File, Stat)> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = rustix::fs::openat(&self.0, name, flags, mode).map_err(|errno| match errno {
            Errno::LOOP => io::Error::other("it is a link; take it away"),
            errno => errno.into(),
        })?;
        let stat = rustix::fs::fstat(&opened)?;
        is_own(&stat)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no file; take it away"));
        }
        if stat.st_nlink > 1 {
            return Err(io::Error::other("the file has another name too; copy it and take that away"));
        }
        if stat.st_mode & 0o077 != 0 {
            rustix::fs::fchmod(&opened, mode)?;
        }
        Ok((opened.into(), stat))
    }

    /// Gives a file another name, unless there is something of that name: then it goes. The file has one name at any
    /// moment, since others look.
    pub(super) fn name_once(&self, from: &str, to: &str) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Ok(rustix::fs::unlinkat(&self.0, from, AtFlags::empty())?),
            // Not every file system knows how.
            Err(Errno::INVAL | Errno::NOSYS) => Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Returns true if that file is still the one that is written.
    pub(super) fn is_written(&self, identity: FileIdentity) -> io::Result<bool> {
        match rustix::fs::statat(&self.0, RECORD, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(FileIdentity::new(&stat) == identity),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The end of the chain in the files that were put aside.
    pub(super) fn previous_tail(&self) -> io::Result<ChainTail> {
        self.chain_end(self.rotated_files()?, MAX_DAMAGED)
    }

    /// The end of the chain in these files, the oldest first. At most so many without a whole line are passed.
    fn chain_end(&self, mut files: Vec<(u64, String)>, most: u32) -> io::Result<ChainTail> {
        let (Some((_, name)), Some(fewer)) = (files.pop(), most.checked_sub(1)) else {
            return Ok(ChainTail::NONE);
        };
        let (file, stat) = self.file(OsStr::new(&name), OFlags::RDONLY)?;
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Ok(tail::read(&file, size, TailStrictness::Strict, || self.chain_end(files, fewer))?.chain)
    }

    /// Puts the file that is written aside, and takes away the oldest beyond those that are kept. The caller holds its
    /// lock.
    pub(super) fn put_aside(&self, file: &File, keep: u32) -> io::Result<()> {
        file.sync_all()?;
        let aside = self.rotated_files()?;
        let next = aside.last().map_or(1, |(number, _)| number.saturating_add(1));
        let name = format!("{ASIDE}{next:06}{ENDING}");
        match rustix::fs::renameat_with(&self.0, RECORD, &self.0, &name, RenameFlags::NOREPLACE) {
            // Not every file system knows how; nobody else renames while we hold the lock.
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(&self.0, RECORD, &self.0, &name)?,
            done => done?,
        }
        rustix::fs::fsync(&self.0)?;
        let oldest = next.saturating_add(1).saturating_sub(u64::from(keep.max(1)));
        for (_, name) in aside.iter().filter(|(number, _)| *number < oldest) {
            match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// The files that were put aside, the oldest first.
    fn rotated_files(&self) -> io::Result<Vec<(u64, String)>> {
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            found.extend(number(&name).map(|number| (number, name.clone().into_owned())));
        }
        found.sort_unstable();
        Ok(found)
    }
}

fn is_own(stat: &Stat) -> io::Result<()> {
    if stat.st_uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"))
}

/// The number of a file that was put aside.
fn number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(ASIDE)?.strip_suffix(ENDING)?;
    let plain = digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// The files of the record in `directory`, in the order of the chain. None when nothing was recorded yet.
///
/// # Errors
/// When the directory cannot be read, or belongs to another user.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut current = None;
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == RECORD {
            current = Some(entry.path());
        }
        found.extend(number(&name).map(|number| (number, entry.path())));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, path)| path).chain(current).collect())
}

/// Opens a file of a record for reading: neither waits for a writer of a pipe, nor takes a directory for a file.
fn open_plain(path: &Path) -> io::Result<File> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("`{}`: {e}", path.display()));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| named(errno.into()))?);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(named(io::Error::other("it is no file; take it away")))
}

/// The files of the record in `directory`, open, in the order of the chain. One that is put aside meanwhile is among
/// them all the same.
///
/// # Errors
/// When the directory or a file cannot be read, or they are replaced all the time.
pub fn opened(directory: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    use std::os::unix::fs::MetadataExt as _;
    /// Rotation takes milliseconds, and happens once in many thousand lines.
    const MAX_TRIES: usize = 100;
    let identity = |file: &File| file.metadata().map(|stat| (stat.dev(), stat.ino()));
    for _ in 0..MAX_TRIES {
        let listed = files(directory)?;
        let opened = listed.into_iter().map(|path| open_plain(&path).map(|file| (path, file)));
        let opened = match opened.collect::<io::Result<Vec<_>>>() {
            // Taken away or put aside since it was listed.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let names = |opened: &[(PathBuf, File)]| {
            opened
                .iter()
                .map(|(path, file)| Ok((path.clone(), identity(file)?)))
                .collect::<io::Result<Vec<_>>>()
        };
        let again: io::Result<Vec<_>> = files(directory)?
            .into_iter()
            .map(|path| std::fs::metadata(&path).map(|stat| (path, (stat.dev(), stat.ino()))))
            .collect();
        if again.is_ok_and(|again| names(&opened).is_ok_and(|names| names == again)) {
            return Ok(opened);
        }
    }
    Err(io::Error::other("the files of the record are replaced all the time"))
}

//! One settings file, read or replaced in one step.
//!
//! Promise: reading never waits for a FIFO, never takes more than a bound, and for a project never leaves it.
//! Trap: a person's own file may be a link into a folder of theirs; it is followed, and the target is written.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_paths::{
    Ambient, Contained, Expect, Kind, LastLink, OperationError, PathClaim, Resolution, Workspace,
    WritableRoots,
};
use pinfold_policy::settings::MAX_BYTES;
use rustix::fs::{Mode, OFlags};

/// The file at a place.
#[derive(Debug)]
pub(crate) struct LayerFile {
    pub(crate) bytes: Vec<u8>,
    /// The owner, by number.
    pub(super) owner: u32,
    /// The group, by number.
    pub(super) group: u32,
    /// The number of its names.
    pub(super) links: u64,
    /// Permission bits.
    pub(super) mode: u32,
    /// No link leads to it within its project.
    pub(super) plainly_named: bool,
}

/// Why a file cannot be read or written: what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {mend}")]
pub struct FileTrouble {
    /// The obstacle.
    pub what: String,
    /// The remedy.
    pub mend: &'static str,
}

pub(super) fn trouble(what: impl Into<String>, mend: &'static str) -> FileTrouble {
    FileTrouble { what: what.into(), mend }
}

/// A plain path, read with all rights of this process. `None` when nothing stands there.
pub(crate) fn read(_: &Ambient, path: &Path) -> Result<Option<LayerFile>, FileTrouble> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => content(File::from(file), true).map(Some),
        Err(errno) => match io::Error::from(errno) {
            e if is_missing(&e) && path.symlink_metadata().is_err() => Ok(None),
            e if is_missing(&e) => {
                Err(trouble("it is a link that leads to nothing", "make what it names, or take it away"))
            }
            e => Err(unreadable(&e)),
        },
    }
}

/// A place within a project, read through what holds it. `None` when nothing stands there.
pub(crate) fn read_within(
    ambient: &Ambient,
    within: &Path,
    path: &Path,
) -> Result<Option<LayerFile>, FileTrouble> {
    // Most projects have no such folder: one look spares the way to each file in it.
    let folder = path.parent().map(Path::symlink_metadata);
    if matches!(&folder, Some(Err(e)) if e.kind() == io::ErrorKind::NotFound) && within.is_dir() {
        return Ok(None);
    }
    let place = place_within(ambient, within, path)?;
    match place.kind() {
        Kind::Missing { .. } => return Ok(None),
        Kind::File { .. } => {}
        Kind::Directory | Kind::Link | Kind::Special(_) => return Err(no_file()),
    }
    let file = place.open_file().map_err(|e| trouble(e.to_string(), MEND_READ))?;
    content(file, place.asked() == place.real()).map(Some)
}

/// Resolves a path of a project, links followed, as long as it stays within the project.
fn place_within(ambient: &Ambient, within: &Path, path: &Path) -> Result<Contained, FileTrouble> {
    let workspace = Workspace::open(ambient, within).map_err(|e| {
        trouble(
            e.to_string(),
            "name a folder that can be opened; where too many files are open, raise that limit (`ulimit -n`)",
        )
    })?;
    let below = path.strip_prefix(within).ok().filter(|below| !below.as_os_str().is_empty());
    let below = below.unwrap_or(Path::new(".")).to_owned();
    let cwd = workspace.path().to_owned();
    match WritableRoots::new(workspace, None).resolve(&cwd, &PathClaim::new(below), LastLink::Follow) {
        Resolution::Contained(place) => Ok(place),
        Resolution::Outside(_) => Err(trouble(
            "a link leads it out of the project",
            "put the file itself there, or take the link away",
        )),
        Resolution::Unresolved(unresolved) => Err(trouble(unresolved.why.to_string(), MEND_READ)),
    }
}

const MEND_READ: &str = "make it an ordinary file that you can read, or take it away";

fn content(file: File, plainly_named: bool) -> Result<LayerFile, FileTrouble> {
    let metadata = file.metadata().map_err(|e| unreadable(&e))?;
    if !metadata.is_file() {
        return Err(no_file());
    }
    let mut bytes = Vec::new();
    // One more than is taken, so that what is too long is told as that.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    let (owner, group, links) = (metadata.uid(), metadata.gid(), metadata.nlink());
    Ok(LayerFile { bytes, owner, group, links, mode: metadata.mode() & 0o7777, plainly_named })
}

fn no_file() -> FileTrouble {
    trouble("it is no ordinary file", MEND_READ)
}

fn unreadable(e: &io::Error) -> FileTrouble {
    trouble(format!("it cannot be read: {e}"), MEND_READ)
}

fn is_missing(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A file that is going to be replaced: the folder that holds it, and its name below.
pub(super) struct ReplacedFile {
    folder: PathBuf,
    below: PathBuf,
}

impl ReplacedFile {
    /// A file of a project.
    pub(super) fn new(project: &Path, path: &Path) -> Self {
        Self { folder: project.to_owned(), below: path.strip_prefix(project).unwrap_or(path).to_owned() }
    }

    /// A file of the person's own, with its folder made where it is missing. A link is followed to the file that it
    /// names, which has to be the person's.
    pub(super) fn own(path: &Path) -> Result<Self, FileTrouble> {
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(e) if is_missing(&e) && path.symlink_metadata().is_err() => path.to_owned(),
            Err(e) => return Err(unreadable(&e)),
        };
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return Err(no_file()) };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|e| trouble(format!("its folder cannot be made: {e}"), "make it, or name another"))?;
        let owner =
            fs::metadata(&target).or_else(|_| fs::metadata(folder)).map_err(|e| unreadable(&e))?.uid();
        if owner != rustix::process::geteuid().as_raw() {
            return Err(trouble("it belongs to another user", "change it as its owner"));
        }
        Ok(Self { folder: folder.to_owned(), below: PathBuf::from(name) })
    }

    /// Replaces the content in one step by what `change` makes of it; of a file that is missing it gets `None`. With
    /// `None` it stays. Writers wait for each other, and one that took no lock is noticed: then `change` is asked
    /// again, so nothing that another process wrote is lost.
    pub(super) fn replace<E: From<FileTrouble>>(
        &self,
        ambient: &Ambient,
        mode: u32,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<bool, E> {
        let place = || place_within(ambient, &self.folder, &self.folder.join(&self.below));
        let _lock = self.lock()?;
        for _ in 0..MAX_TRIES {
            let place = place()?;
            let (before, version, is_protected) = if matches!(place.kind(), Kind::Missing { .. }) {
                (None, None, false)
            } else {
                let (file, version) = place.open_file_with_version().map_err(|e| deed(&e))?;
                let found = content(file, true)?;
                (Some(found.bytes), Some(version), found.mode & 0o200 == 0)
            };
            let Some(after) = change(before.as_deref())? else { return Ok(false) };
            if is_protected {
                return Err(trouble(
                    "it is write-protected",
                    "let its owner write it (`chmod u+w`), then try again",
                )
                .into());
            }
            let written = match version {
                None => place.create_new(&after, mode),
                // A second name would keep the old content, wherever it lies.
                Some(_) => place.replace(&after, Expect { version, links: Some(1) }),
            };
            match written {
                Ok(_) => {
                    place.remove_abandoned();
                    return Ok(true);
                }
                Err(OperationError::Stale | OperationError::Changed | OperationError::Exists) => {}
                Err(e) => return Err(deed(&e).into()),
            }
        }
        Err(busy().into())
    }

    /// Locks the folder that holds the file: for a file of a project the project itself, since a run that protects the
    /// folder below keeps a lock on that.
    fn lock(&self) -> Result<File, FileTrouble> {
        let folder = File::open(&self.folder).map_err(|e| unreadable(&e))?;
        let until = Instant::now() + MAX_WAIT;
        loop {
            match folder.try_lock() {
                // Where there are no locks, another writer is still noticed.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(folder),
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::WouldBlock) => return Err(busy()),
            }
        }
    }
}

/// The number of times that a change is made anew because another process wrote meanwhile.
const MAX_TRIES: usize = 64;
/// The longest wait for another writer: far longer than any takes.
const MAX_WAIT: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

fn busy() -> FileTrouble {
    trouble("others write it all the time", "try again")
}

fn deed(e: &OperationError) -> FileTrouble {
    trouble(e.to_string(), "make it an ordinary file of one name that you can write")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An editor that takes no lock and swaps its own version in while ours is being made.
    #[test]
    fn what_another_program_writes_meanwhile_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        for before in [None, Some("one")] {
            before.map_or_else(|| drop(fs::remove_file(&path)), |text| fs::write(&path, text).unwrap());
            let mut seen = Vec::new();
            let done = ReplacedFile::own(&path).unwrap().replace(&Ambient::claim(), 0o600, |now| {
                let now = now.map(|now| String::from_utf8(now.to_vec()).unwrap());
                seen.push(now.clone());
                if seen.len() == 1 {
                    fs::write(path.with_extension("new"), "theirs").unwrap();
                    fs::rename(path.with_extension("new"), &path).unwrap();
                }
                Ok::<_, FileTrouble>(Some(format!("{}+ours", now.unwrap_or_default()).into_bytes()))
            });
            assert_eq!(done, Ok(true));
            assert_eq!(seen, [before.map(str::to_owned), Some("theirs".to_owned())]);
            assert_eq!(fs::read_to_string(&path).unwrap(), "theirs+ours");
        }
    }

    #[test]
    fn a_write_protected_file_is_not_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        fs::write(&path, "one").unwrap();
        let replace = |text: Option<&[u8]>| {
            let text = text.map(<[u8]>::to_vec);
            ReplacedFile::own(&path)
                .unwrap()
                .replace(&Ambient::claim(), 0o600, |_| Ok::<_, FileTrouble>(text.clone()))
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(replace(Some(b"two")).unwrap_err().to_string().contains("write-protected"));
        assert_eq!(replace(None), Ok(false), "nothing is to be changed");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(replace(Some(b"two")), Ok(true), "the control");
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let old = std::time::SystemTime::now() - pinfold_paths::ABANDONED_AFTER * 2;
        let left = ".pinfold-0123456789abcdef.tmp";
        let kept =
            [".pinfold-0123456789abcdee.tmp", ".pinfold-0123456789abcdeg.tmp", ".pinfold-01.tmp", "x.tmp"];
        for name in kept.into_iter().chain([left]) {
            fs::write(at(name), "").unwrap();
            if name != kept[0] {
                fs::File::open(at(name)).unwrap().set_modified(old).unwrap();
            }
        }
        let write = |_: Option<&[u8]>| Ok::<_, FileTrouble>(Some(b"x".to_vec()));
        assert_eq!(ReplacedFile::own(&at("f")).unwrap().replace(&Ambient::claim(), 0o600, write), Ok(true));
        assert!(!at(left).exists());
        assert!(kept.iter().all(|name| at(name).exists()), "a new one, or of another name");
    }

    #[test]
    fn a_file_of_two_names_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        fs::write(&path, "one").unwrap();
        let replace = || {
            let new = |_: Option<&[u8]>| Ok::<_, FileTrouble>(Some(b"two".to_vec()));
            ReplacedFile::own(&path).unwrap().replace(&Ambient::claim(), 0o600, new)
        };
        fs::hard_link(&path, path.with_extension("other")).unwrap();
        assert!(replace().unwrap_err().what.contains("2 names"));
        fs::remove_file(path.with_extension("other")).unwrap();
        assert_eq!(replace(), Ok(true), "the control");
    }
}

//! Leases of folders across all processes of one user: one writing run at a time; a waiting run is told for which one.
//!
//! A lease is a file that its holder has locked: the kernel lets go of it when the holder ends, however it ends, so a lease
//! never outlives the process that took it. The file names the holder and its folders.
//!
//! Agents of one run have leases among themselves; all they write lies in the folder of the first one, which this is for.
//!
//! Promise: of two that hold leases none has a folder that lies in one of the other; no run waits longer than it asked to.
//! Trap: folders are compared by their names, resolved. One folder that is mounted in two places is two. The kernel lets go
//! of a killed holder's lease a moment before it ends that one's commands.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use pinfold::audit::session_name;
use serde::{Deserialize, Serialize};

/// The leases that processes hold, as files in a folder of the user's own.
#[derive(Debug, Clone)]
pub struct RunLeases {
    place: PathBuf,
}

/// A lease, until it is dropped.
#[derive(Debug)]
pub struct RunLease {
    path: PathBuf,
    file: File,
}

/// The holder of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Name of the run.
    pub by: String,
    /// Its process.
    pub pid: u32,
    /// The folders, resolved, as far as their names are text.
    pub folders: Vec<String>,
}

/// Reason why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum NotLeased {
    /// Another run holds it, and the time to wait is over.
    #[error("`{folder}` is held by {by} (process {pid}), which writes there")]
    Held {
        /// The folder of theirs.
        folder: String,
        /// The holder.
        by: String,
        /// Their process.
        pid: u32,
    },
    /// Another process looks at the leases, and does not come to an end.
    #[error("another process looks at the leases and does not come to an end")]
    Busy,
    /// The leases cannot be read or written.
    #[error("leases cannot be kept: {0}")]
    Io(#[from] io::Error),
}

/// Interval between two looks of a waiting run.
const LOOK: Duration = Duration::from_millis(100);

/// Longest wait for a lease.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// The longest file of a lease.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Extension of the file of a lease.
const ENDING: &str = "lease";

impl RunLeases {
    /// Opens the leases kept in a folder, which is made when it is needed.
    pub fn new(place: impl Into<PathBuf>) -> Self {
        Self { place: place.into() }
    }

    /// Takes the lease of some folders for `by`, a unique name. While others hold it, `waits` is called with each
    /// holder; the wait ends after `timeout`, a day at most.
    ///
    /// # Errors
    /// The holder at the end of the wait, or why leases cannot be kept.
    pub fn take(
        &self,
        folders: &[PathBuf],
        by: &str,
        timeout: Duration,
        mut waits: impl FnMut(&Holder),
    ) -> Result<RunLease, NotLeased> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.place)?;
        let folders = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        let wanted = Holder { by: by.to_owned(), pid: std::process::id(), folders };
        let until = Instant::now() + timeout.min(MAX_WAIT);
        let mut told: Option<Holder> = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let refused = match self.try_take(&wanted) {
                Ok(lease) => return Ok(lease),
                Err(LeaseFailure::Io(error)) => return Err(error.into()),
                Err(LeaseFailure::Busy) => NotLeased::Busy,
                Err(LeaseFailure::Held(holder, folder)) => {
                    if !left.is_zero() && told.as_ref() != Some(&holder) {
                        waits(&holder);
                        told = Some(holder.clone());
                    }
                    NotLeased::Held { folder, by: holder.by, pid: holder.pid }
                }
            };
            if left.is_zero() {
                return Err(refused);
            }
            thread::sleep(left.min(LOOK));
        }
    }

    fn try_take(&self, wanted: &Holder) -> Result<RunLease, LeaseFailure> {
        // Held for as long as a look takes: no other run begins between two looks.
        let _table = Locked::try_lock(own(&self.place.join("table"))?)?;
        for entry in fs::read_dir(&self.place)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == ENDING)
                && let Some(holder) = holder(&path)?
                && let Some(folder) = overlap(&holder, wanted)
            {
                return Err(LeaseFailure::Held(holder, folder));
            }
        }
        let path = self.place.join(format!("{}.{ENDING}", session_name("run")?));
        let mut file = own(&path)?;
        file.try_lock()?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(wanted).map_err(io::Error::from)?)?;
        Ok(RunLease { path, file })
    }
}

/// Reason why a try came to nothing.
enum LeaseFailure {
    Held(Holder, String),
    Busy,
    Io(io::Error),
}

impl From<io::Error> for LeaseFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<TryLockError> for LeaseFailure {
    fn from(error: TryLockError) -> Self {
        match error {
            TryLockError::WouldBlock => Self::Busy,
            TryLockError::Error(error) => Self::Io(error),
        }
    }
}

/// A file of the user's own, never one that a link leads to.
fn own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}

/// Returns the holder of the lease of a file. An abandoned file is removed.
fn holder(path: &Path) -> io::Result<Option<Holder>> {
    let mut file = match own_existing(path) {
        Ok(file) => file,
        // Its holder has let go meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => {
            fs::remove_file(path)?;
            file.unlock()?;
            Ok(None)
        }
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => {
            let mut text = Vec::new();
            (&mut file).take(MAX_FILE_BYTES).read_to_end(&mut text)?;
            // One that is held and does not say what it holds may hold anything.
            let everything = || Holder { by: shown(path), pid: 0, folders: vec!["/".to_owned()] };
            Ok(Some(serde_json::from_slice(&text).unwrap_or_else(|_| everything())))
        }
    }
}

fn own_existing(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn shown(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// A folder of the holder that lies in one that is wanted, or the other way round.
fn overlap(holder: &Holder, wanted: &Holder) -> Option<String> {
    let overlaps = |theirs: &&String| {
        let theirs = Path::new(theirs.as_str());
        wanted.folders.iter().map(Path::new).any(|ours| ours.starts_with(theirs) || theirs.starts_with(ours))
    };
    holder.folders.iter().find(overlaps).cloned()
}

/// A lock that is let go by word: a child that was just forked may hold a copy of the descriptor.
struct Locked(File);

impl Locked {
    fn try_lock(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing lets go of it too, only later.
        let _ = self.0.unlock();
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        // The next look removes the rest.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn take(leases: &RunLeases, folder: &str, by: &str) -> Result<RunLease, NotLeased> {
        leases.take(&[folder.into()], by, Duration::ZERO, |_| {})
    }

    #[test]
    fn folders_that_overlap_have_one_holder_who_is_named() {
        let top = tempfile::tempdir().unwrap();
        let leases = RunLeases::new(top.path().join("made/leases"));
        let one = take(&leases, "/w/a", "one").unwrap();
        for folder in ["/w/a", "/w/a/b", "/w", "/"] {
            let error = take(&leases, folder, "two").unwrap_err().to_string();
            let pid = std::process::id();
            assert_eq!(
                error,
                format!("`/w/a` is held by one (process {pid}), which writes there"),
                "{folder}"
            );
        }
        let beside = take(&leases, "/w/ab", "three").unwrap();
        drop(one);
        let two = take(&leases, "/w/a", "two").unwrap();
        drop((two, beside));
        assert_eq!(
            fs::read_dir(top.path().join("made/leases")).unwrap().count(),
            1,
            "only the table is left"
        );
    }

    #[test]
    fn whoever_waits_is_told_for_whom_and_comes_next() {
        let top = tempfile::tempdir().unwrap();
        let leases = RunLeases::new(top.path());
        let mut one = Some(take(&leases, "/w", "one").unwrap());
        let mut told = Vec::new();
        let lease = leases.take(&["/w".into()], "two", Duration::MAX, |holder| {
            told.push(holder.by.clone());
            one.take();
        });
        assert!(lease.is_ok() && told == ["one"], "{told:?}");
    }

    #[test]
    fn what_is_left_of_a_holder_that_died_is_taken_away_and_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let leases = RunLeases::new(top.path());
        let dead = top.path().join("dead.lease");
        let said = r#"{"by":"dead","pid":1,"folders":["/w"]}"#;
        for left in [said, "", "{\"by\":\"de", "garbage"] {
            fs::write(&dead, left).unwrap();
            assert!(take(&leases, "/w", "two").is_ok(), "{left}");
            assert!(!dead.exists());
        }
        // One that is held and says nothing that is understood may hold anything.
        fs::write(&dead, "garbage").unwrap();
        let held = File::open(&dead).unwrap();
        held.lock().unwrap();
        let error = take(&leases, "/w", "two").unwrap_err();
        assert!(matches!(&error, NotLeased::Held { by, .. } if by == "dead"), "{error}");
        held.unlock().unwrap();
        // What a link leads to is neither read nor taken away.
        let elsewhere = top.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        fs::remove_file(&dead).unwrap();
        symlink(&elsewhere, &dead).unwrap();
        assert!(matches!(take(&leases, "/w", "two"), Err(NotLeased::Io(_))));
        assert!(elsewhere.exists());
    }

    #[test]
    fn one_that_looks_and_never_ends_does_not_hold_others_for_ever() {
        let top = tempfile::tempdir().unwrap();
        let leases = RunLeases::new(top.path());
        let table = own(&top.path().join("table")).unwrap();
        table.lock().unwrap();
        assert!(matches!(take(&leases, "/w", "one"), Err(NotLeased::Busy)));
        table.unlock().unwrap();
        assert!(take(&leases, "/w", "one").is_ok());
    }
}

//! The record of the locks that a run made, for the case that its supervisor is killed: the next run removes what is left.
//!
//! Each run has a file of its own in the state directory, where nothing confined writes, and holds a lock on it: that goes with the
//! supervisor, however it ends. A lock of git is known by its place, its inode and the time at which it was made, so that one that
//! a git outside has made there since is never taken for it. Where a file system does not tell that time, and when the supervisor
//! is killed between making a lock and writing it down, what is left stays and is for the user to remove.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pinfold_sandbox::{FileIdentity, open_plain};

use super::locks::{is_name, remove};

/// Entries that are written before the file begins anew with the locks that there are.
const MAX_ENTRIES: usize = 1_024;

/// A longer file is none of ours: entries and the longest paths.
const MAX_FILE_BYTES: u64 = (MAX_ENTRIES as u64) * 8_192;

/// The record of this run.
#[derive(Debug)]
pub(super) struct LockRecord {
    file: File,
    place: PathBuf,
    entries: usize,
}

impl LockRecord {
    /// Makes the record of a run below the directory in which supervisors meet.
    ///
    /// # Errors
    /// When no file can be made there.
    pub(super) fn new(state: &Path) -> io::Result<Self> {
        let directory = directory(state);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{}", std::process::id(), since.as_nanos());
        let (hidden, place) = (directory.join(format!("{HIDDEN}{name}")), directory.join(name));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&hidden)?;
        // Before it has its name: another run would take it for one of the dead.
        file.try_lock()?;
        fs::rename(&hidden, &place)?;
        Ok(Self { file, place, entries: 0 })
    }

    /// Writes a lock down. `all`: those that there are, this one among them.
    ///
    /// # Errors
    /// When nothing can be written.
    pub(super) fn add<'a>(
        &mut self,
        lock: (&Path, &FileIdentity),
        all: impl Iterator<Item = (&'a PathBuf, &'a FileIdentity)>,
    ) -> io::Result<()> {
        if self.entries < MAX_ENTRIES {
            self.entries += 1;
            return self.file.write_all(&entry(lock.0, lock.1));
        }
        let kept: Vec<Vec<u8>> = all.take(MAX_ENTRIES).map(|(place, file)| entry(place, file)).collect();
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.entries = kept.len();
        self.file.write_all(&kept.concat())
    }
}

impl Drop for LockRecord {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.place);
        // By word: a child that is being started may hold a copy of the descriptor.
        let _ = self.file.unlock();
    }
}

/// Removes the locks that runs left whose supervisor is gone, and their records.
pub(super) fn remove_left(state: &Path) {
    for record in fs::read_dir(directory(state)).into_iter().flatten().flatten() {
        if record.file_name().as_bytes().starts_with(HIDDEN.as_bytes()) {
            continue;
        }
        let Some(text) = read_dead(&record.path()) else { continue };
        for (place, file) in text.split(|byte| *byte == 0).filter_map(parse) {
            if place.file_name().is_some_and(is_name) {
                remove(place, &file);
            }
        }
        let _ = fs::remove_file(record.path());
    }
}

fn directory(state: &Path) -> PathBuf {
    state.join("locks")
}

/// Prefix of the name of a record that is not locked yet.
const HIDDEN: &str = ".";

/// The text of a record that belongs to no run; `None` of one whose supervisor lives.
fn read_dead(record: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let file = open_plain(record).ok()?;
    file.try_lock().ok()?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

fn entry(place: &Path, file: &FileIdentity) -> Vec<u8> {
    [file.to_string().as_bytes(), b" ", place.as_os_str().as_bytes(), b"\0"].concat()
}

fn parse(entry: &[u8]) -> Option<(&Path, FileIdentity)> {
    let blank = entry.iter().position(|byte| *byte == b' ')?;
    let (file, place) = (entry.get(..blank)?, entry.get(blank + 1..)?);
    let file = FileIdentity::parse(std::str::from_utf8(file).ok()?)?;
    Some((Path::new(OsStr::from_bytes(place)), file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(directory: &Path, name: &str) -> (PathBuf, FileIdentity) {
        let place = directory.join(name);
        fs::write(&place, "").unwrap();
        let file = FileIdentity::read(&place).unwrap();
        (place, file)
    }

    /// A record as a killed supervisor leaves it.
    fn leave(record: LockRecord) {
        record.file.unlock().unwrap();
        std::mem::forget(record);
    }

    #[test]
    fn what_a_dead_run_left_goes_and_all_else_stays() {
        let bed = tempfile::tempdir().unwrap();
        let (state, at) = (bed.path().join("state"), bed.path());
        let made = [locked(at, "index.lock"), locked(at, "a b\n.lock"), locked(at, "config")];
        let replaced = locked(at, "HEAD.lock");
        fs::remove_file(&replaced.0).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        locked(at, "HEAD.lock");
        let theirs = locked(at, "shallow.lock");
        let living = locked(at, "packed-refs.lock");
        let mut dead = LockRecord::new(&state).unwrap();
        for (place, file) in made.iter().chain([&replaced]) {
            dead.add((place, file), std::iter::empty()).unwrap();
        }
        leave(dead);
        let mut lives = LockRecord::new(&state).unwrap();
        lives.add((&living.0, &living.1), std::iter::empty()).unwrap();
        remove_left(&state);
        let there = |name: &str| at.join(name).exists();
        assert!(!there("index.lock") && !there("a b\n.lock"));
        assert!(there("config") && there("HEAD.lock"), "no lock, and another one");
        assert!(theirs.0.exists() && living.0.exists());
        assert_eq!(fs::read_dir(state.join("locks")).unwrap().count(), 1, "the record of the dead goes too");
        drop(lives);
        assert_eq!(fs::read_dir(state.join("locks")).unwrap().count(), 0);
        assert!(living.0.exists());
    }

    #[test]
    fn a_long_run_begins_its_record_anew() {
        let bed = tempfile::tempdir().unwrap();
        let (place, file) = locked(bed.path(), "index.lock");
        let mut record = LockRecord::new(bed.path()).unwrap();
        for _ in 0..3 * MAX_ENTRIES {
            record.add((&place, &file), [(&place, &file)].into_iter()).unwrap();
        }
        let length = fs::metadata(&record.place).unwrap().len();
        assert!(length <= entry(&place, &file).len() as u64 * MAX_ENTRIES as u64, "{length}");
        leave(record);
        remove_left(bed.path());
        assert!(!place.exists());
    }

    #[test]
    fn what_is_no_record_removes_nothing() {
        let bed = tempfile::tempdir().unwrap();
        let (place, _) = locked(bed.path(), "index.lock");
        fs::create_dir(bed.path().join("locks")).unwrap();
        for (number, text) in ["", "\0", "x", "1:2:3:4 ", "8:0:1:1:1 /nowhere/index.lock"].iter().enumerate()
        {
            fs::write(bed.path().join("locks").join(number.to_string()), text).unwrap();
        }
        remove_left(bed.path());
        assert!(place.exists());
    }

    #[test]
    fn a_lock_is_not_removed_through_a_link() {
        let bed = tempfile::tempdir().unwrap();
        let at = |name: &str| bed.path().join(name);
        fs::create_dir(at("d")).unwrap();
        let (place, file) = locked(&at("d"), "index.lock");
        let mut record = LockRecord::new(&at("state")).unwrap();
        record.add((&place, &file), std::iter::empty()).unwrap();
        leave(record);
        fs::rename(at("d"), at("moved")).unwrap();
        std::os::unix::fs::symlink("moved", at("d")).unwrap();
        remove_left(&at("state"));
        assert!(place.exists());
    }
}

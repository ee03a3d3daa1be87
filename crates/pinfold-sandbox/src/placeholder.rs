//! Names that must not appear, held for the length of a run.
//!
//! A name can only be protected by mounting on it, and mounting needs something that is there. So an empty
//! directory is made, mounted read-only inside, and removed at the end. It is a directory even where a file is
//! feared: version control ignores empty directories, so that nothing changes outside.
//!
//! Where a directory would disturb programs that read the name, a file with harmless content takes its place.
//!
//! Making and removing directories is the dearest part of a short run (a journalling file system will not use an
//! inode again that was freed a moment ago). So they are not removed but put aside, and the next run moves them
//! back, where both places are on one file system.
//!
//! Several runs in one folder share a placeholder: each holds a shared lock on it, and only the last one takes
//! it away. One that a killed run left behind is known by its mode and is taken over by the next.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::open_files::{open_plain, open_without_waiting};
use crate::profile::StandIn;
use crate::sys;

/// The sticky bit, unusual on such a directory, marks it as ours. Its owner has to be able to write in
/// it, or it could not be moved; inside, its mount is read-only.
const MODE: u32 = 0o1755;

/// Mode of a placeholder file.
const FILE_MODE: u32 = 0o1444;

/// Retries of creating a placeholder when another run removes it at that moment.
const TRIES: usize = 500;

/// Pause before another try: one that was just put aside stays locked until its run comes to let go of it, which
/// on a busy machine can take a while.
const REST: Duration = Duration::from_millis(2);

/// Returns whether an empty directory left behind by this crate stands there.
pub fn is_placeholder(path: &Path) -> bool {
    let ours = fs::symlink_metadata(path).is_ok_and(|found| is_marked(&found));
    ours && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes the mark from a directory that has become another program's.
fn hand_over(path: &Path) -> io::Result<()> {
    unmark(&open_directory(path)?)
}

fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

fn unmark(held: &File) -> io::Result<()> {
    if is_marked(&held.metadata()?) {
        held.set_permissions(Permissions::from_mode(MODE & 0o777))?;
    }
    Ok(())
}

/// Takes our mark from a directory that a killed run left behind, where something stands in it by now. One that another run
/// holds keeps it until that run ends.
///
/// # Errors
/// When it cannot be opened, locked or changed.
pub fn unmark_left_behind(path: &Path) -> io::Result<()> {
    if is_placeholder(path) {
        return Ok(());
    }
    let held = open_directory(path)?;
    match held.try_lock() {
        Ok(()) => {
            let unmarked = unmark(&held);
            let _ = held.unlock();
            unmarked
        }
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes away what a killed run left at these names. What another run holds stays, and so does a directory in which something stands: it
/// loses its mark.
pub fn remove_left_behind(absent: &[PathBuf], stand_ins: &[StandIn]) {
    let directories = absent.iter().cloned().map(HeldName::Directory);
    for name in directories.chain(stand_ins.iter().cloned().map(HeldName::File)) {
        if name.is_ours() {
            name.abandon();
        } else if fs::symlink_metadata(name.path()).is_ok_and(|found| is_marked(&found)) {
            // Left as it is the mark does no harm.
            let _ = unmark_left_behind(name.path());
        }
    }
}

/// Returns whether a directory has our mark, whatever stands in it.
pub fn is_marked(found: &fs::Metadata) -> bool {
    found.is_dir() && found.mode() & 0o7777 == MODE
}

/// Returns whether a file left behind by this crate stands there. One that is empty is still being written by another run.
pub fn is_stand_in(path: &Path, content: &[u8]) -> bool {
    let ours = fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && m.mode() & 0o7777 == FILE_MODE);
    let mut found = Vec::new();
    let limit = content.len() as u64 + 1;
    ours && open_plain(path).and_then(|f| f.take(limit).read_to_end(&mut found)).is_ok()
        && (found.is_empty() || found == content)
}

/// Placeholders that this run holds; taken away when dropped, unless another run holds them too.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    held: Vec<(HeldName, File)>,
    spares: Spares,
    /// Descriptors for looking at what is taken away, when no more are to be had.
    reserve: Vec<File>,
}

/// Descriptors of a placeholder: itself, and a listing of it.
const RESERVE: usize = 2;

/// One name that is held.
#[derive(Debug, Clone)]
enum HeldName {
    Directory(PathBuf),
    File(StandIn),
}

impl Placeholders {
    /// Makes and holds a placeholder at each path, and a file at each name that needs one.
    /// `spare`: directory of the unused placeholders.
    pub(crate) fn hold(absent: &[PathBuf], stand_ins: &[StandIn], spare: Option<&Path>) -> io::Result<Self> {
        let mut all = Self::default();
        if !(absent.is_empty() && stand_ins.is_empty()) {
            all.reserve = (0..RESERVE).map(|_| File::open("/dev/null")).collect::<io::Result<_>>()?;
        }
        if let Some(spare) = spare.filter(|_| !absent.is_empty()) {
            all.spares = Spares::open(spare);
        }
        let directories = absent.iter().cloned().map(HeldName::Directory);
        for name in directories.chain(stand_ins.iter().cloned().map(HeldName::File)) {
            match name.hold(&mut all.spares) {
                Ok(lock) => all.held.push((name, lock)),
                Err(error) => {
                    all.reserve.clear();
                    name.abandon();
                    return Err(error);
                }
            }
        }
        Ok(all)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        self.reserve.clear();
        for (name, lock) in self.held.drain(..).rev() {
            // Only alone: another run that shares it would lose its protection.
            if lock.try_lock().is_ok() {
                let _ = match &name {
                    HeldName::Directory(path) if name.is_ours() => self.spares.put_aside(path),
                    // A process outside has put something there: it is not ours any more.
                    HeldName::Directory(path) => hand_over(path),
                    HeldName::File(file) if name.is_ours() => fs::remove_file(&file.path),
                    HeldName::File(_) => Ok(()),
                };
            }
            // Not left to closing: a child that another thread has just forked may hold a copy for a moment.
            let _ = lock.unlock();
        }
    }
}

impl HeldName {
    fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::File(file) => &file.path,
        }
    }

    fn is_ours(&self) -> bool {
        match self {
            Self::Directory(path) => is_placeholder(path),
            Self::File(file) => is_stand_in(&file.path, file.content),
        }
    }

    fn make(&self, spares: &mut Spares) -> io::Result<()> {
        match self {
            Self::Directory(path) if spares.bring(path)? => Ok(()),
            Self::Directory(path) => {
                DirBuilder::new().mode(MODE).create(path)?;
                fs::set_permissions(path, Permissions::from_mode(MODE))
            }
            Self::File(file) => {
                let mut made =
                    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&file.path)?;
                made.set_permissions(Permissions::from_mode(FILE_MODE))?;
                made.write_all(file.content)
            }
        }
    }

    /// Takes away one that was made and could not be held. What another run holds stays.
    fn abandon(&self) {
        let path = self.path();
        let Ok(left) = open_without_waiting(path) else { return };
        if left.try_lock().is_ok() && self.is_ours() {
            let _ = match self {
                Self::Directory(_) => fs::remove_dir(path),
                Self::File(_) => fs::remove_file(path),
            };
        }
        let _ = left.unlock();
    }

    fn hold(&self, spares: &mut Spares) -> io::Result<File> {
        let path = self.path();
        for attempt in 0..TRIES {
            if attempt > 0 {
                thread::sleep(REST);
            }
            match self.make(spares) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && self.is_ours() => {}
                made => made?,
            }
            let held = match open_without_waiting(path) {
                Ok(held) => held,
                Err(error) if is_exhausted(&error) => return Err(error),
                // Another run has taken it away.
                Err(_) => continue,
            };
            match held.try_lock_shared() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(e)) => return Err(e),
            }
            // It may have been removed between opening and locking.
            let (here, there) = (held.metadata()?, fs::symlink_metadata(path));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
                return Ok(held);
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("`{}` keeps changing", path.display())))
    }
}

/// Returns whether it is this process or the machine that has run out of something, so that trying again is of no use.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// Directories that were put aside.
#[derive(Debug, Default)]
struct Spares {
    place: Option<PathBuf>,
    waiting: Vec<PathBuf>,
    put: usize,
}

impl Spares {
    /// More than this many are not kept: enough for several runs at once.
    const MAX_KEPT: usize = 64;

    /// Lists what waits at `place`, which is made if need be. Without it there are none.
    fn open(place: &Path) -> Self {
        let listed = fs::read_dir(place).or_else(|_| {
            fs::create_dir_all(place)?;
            fs::read_dir(place)
        });
        let Ok(entries) = listed else { return Self::default() };
        let waiting = entries.flatten().map(|entry| entry.path()).collect();
        Self { place: Some(place.to_owned()), waiting, put: 0 }
    }

    /// Moves one to `path`. False when there is none, or none on that file system.
    fn bring(&mut self, path: &Path) -> io::Result<bool> {
        while let Some(spare) = self.waiting.pop() {
            match sys::rename_new(&spare, path) {
                Ok(()) => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    self.waiting.push(spare);
                    return Err(e);
                }
                // Another run was quicker.
                Err(e) if e.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(Path::exists) => {}
                Err(_) => {
                    self.waiting.clear();
                    self.place = None;
                }
            }
        }
        Ok(false)
    }

    fn put_aside(&mut self, path: &Path) -> io::Result<()> {
        if let Some(place) = self.place.as_ref().filter(|_| self.waiting.len() + self.put < Self::MAX_KEPT) {
            self.put += 1;
            let name = format!("{}-{}", std::process::id(), self.put);
            if sys::rename_new(path, &place.join(name)).is_ok() {
                return Ok(());
            }
        }
        fs::remove_dir(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_goes_with_the_last_run_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".mcp.json");
        let first = Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap();
        let second = Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap();
        drop(first);
        assert!(is_placeholder(&name), "the second run still needs it");
        drop(second);
        assert!(!name.exists());
    }

    #[test]
    fn what_somebody_puts_there_meanwhile_stays_and_is_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".pinfold");
        let held = Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap();
        fs::write(name.join("settings.local.json"), "{}").unwrap();
        drop(held);
        assert_eq!(fs::read(name.join("settings.local.json")).unwrap(), b"{}");
        assert_eq!(fs::metadata(&name).unwrap().mode() & 0o7777, 0o755);
    }

    #[test]
    fn a_directory_of_the_person_is_never_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".vscode");
        fs::create_dir(&name).unwrap();
        assert!(Placeholders::hold(std::slice::from_ref(&name), &[], None).is_err());
        assert!(name.is_dir());
    }

    #[test]
    fn a_pipe_is_never_taken_for_a_stand_in_and_not_waited_for() {
        let tree = pinfold_testkit::TempTree::new();
        let stand_in = StandIn { path: tree.make_pipe("commondir"), content: b".\n" };
        fs::set_permissions(&stand_in.path, Permissions::from_mode(FILE_MODE)).unwrap();
        assert!(!is_stand_in(&stand_in.path, stand_in.content));
        assert!(Placeholders::hold(&[], std::slice::from_ref(&stand_in), None).is_err());
        remove_left_behind(&[], std::slice::from_ref(&stand_in));
        assert!(fs::symlink_metadata(&stand_in.path).is_ok(), "it is another program's");
        // The control.
        fs::remove_file(&stand_in.path).unwrap();
        let held = Placeholders::hold(&[], std::slice::from_ref(&stand_in), None).unwrap();
        assert!(is_stand_in(&stand_in.path, stand_in.content));
        drop(held);
        assert!(!stand_in.path.exists());
    }

    #[test]
    fn one_left_behind_is_taken_over_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".idea");
        // As after a kill: the lock is gone, the directory is not.
        let mut killed = Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap();
        killed.held.drain(..).for_each(|(_, lock)| lock.unlock().unwrap());
        assert!(is_placeholder(&name));
        drop(Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap());
        assert!(!name.exists());
    }

    #[test]
    fn what_is_left_behind_goes_and_what_is_held_used_or_a_persons_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = |name: &str| StandIn { path: at(name), content: b".\n" };
        let names = [at("left"), at("used"), at("held"), at("own"), at("missing")];
        let files = [file("left-file"), file("own-file")];
        let (left, held) = (&[at("left"), at("used")], &[at("held")]);
        let mut killed = Placeholders::hold(left, &files[..1], None).unwrap();
        killed.held.drain(..).for_each(|(_, lock)| lock.unlock().unwrap());
        let living = Placeholders::hold(held, &[], None).unwrap();
        fs::write(at("used").join("x"), "").unwrap();
        fs::create_dir(at("own")).unwrap();
        fs::write(at("own-file"), ".\n").unwrap();
        remove_left_behind(&names, &files);
        let there = |name: &str| at(name).exists();
        let expected = [("left", false), ("left-file", false), ("used", true), ("held", true)];
        for (name, stays) in expected.into_iter().chain([("own", true), ("own-file", true)]) {
            assert_eq!(there(name), stays, "{name}");
        }
        assert_eq!(fs::metadata(at("used")).unwrap().mode() & 0o7777, 0o755);
        drop(living);
        assert!(!there("held") && at("used/x").exists());
    }

    #[test]
    fn one_left_behind_that_is_used_loses_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".vscode");
        let mode = || fs::metadata(&name).unwrap().mode() & 0o7777;
        let mut killed = Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap();
        unmark_left_behind(&name).unwrap();
        assert!(is_placeholder(&name), "an empty one is taken over instead");
        fs::write(name.join("settings.json"), "{}").unwrap();
        unmark_left_behind(&name).unwrap();
        assert_eq!(mode(), MODE, "its run lives");
        killed.held.drain(..).for_each(|(_, lock)| lock.unlock().unwrap());
        unmark_left_behind(&name).unwrap();
        assert_eq!(mode(), 0o755);
        // What never was ours stays as it is.
        fs::set_permissions(&name, Permissions::from_mode(0o1777)).unwrap();
        unmark_left_behind(&name).unwrap();
        assert_eq!(mode(), 0o1777);
    }

    #[test]
    fn what_is_put_aside_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let (name, spare) = (folder.path().join(".claude"), folder.path().join("spare"));
        let inode = |held: Placeholders| {
            let inode = fs::metadata(&name).unwrap().ino();
            drop(held);
            assert!(!name.exists());
            inode
        };
        let hold = || Placeholders::hold(std::slice::from_ref(&name), &[], Some(&spare)).unwrap();
        assert_eq!(inode(hold()), inode(hold()));
        assert_eq!(fs::read_dir(&spare).unwrap().count(), 1);
        fs::create_dir(&name).unwrap();
        assert!(Placeholders::hold(std::slice::from_ref(&name), &[], Some(&spare)).is_err());
        assert!(name.exists(), "the person's own is never replaced");
    }

    #[test]
    fn one_that_another_run_has_not_let_go_of_yet_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".cursor");
        let leaving = Placeholders::hold(std::slice::from_ref(&name), &[], None).unwrap();
        // As in the moment in which a run puts it aside.
        let lock = leaving.held.first().map(|(_, lock)| lock.try_clone().unwrap()).unwrap();
        lock.unlock().unwrap();
        lock.lock().unwrap();
        let next = thread::scope(|scope| {
            let next = scope.spawn(|| Placeholders::hold(std::slice::from_ref(&name), &[], None));
            thread::sleep(Duration::from_millis(100));
            lock.unlock().unwrap();
            next.join().unwrap()
        });
        assert!(next.is_ok() && is_placeholder(&name));
        drop((leaving, next));
    }

    #[test]
    fn a_file_holds_a_name_that_a_directory_would_disturb() {
        let folder = tempfile::tempdir().unwrap();
        let name = StandIn { path: folder.path().join("commondir"), content: b".\n" };
        let hold = || Placeholders::hold(&[], std::slice::from_ref(&name), None);
        let (first, second) = (hold().unwrap(), hold().unwrap());
        drop(first);
        assert_eq!(fs::read(&name.path).unwrap(), b".\n");
        drop(second);
        assert!(!name.path.exists());
        fs::write(&name.path, "../elsewhere").unwrap();
        assert!(hold().is_err(), "a file of the person is never taken for one");
        assert!(name.path.exists());
    }
}

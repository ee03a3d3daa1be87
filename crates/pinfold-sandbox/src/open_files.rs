//! Opening of files that a repository, a process of a run or another program may have put in place.
//!
//! A path may lead to anything: opening a pipe waits for its other end and lets that one go on, opening a device can act on it, and opening a
//! file on which another process has a lease waits until that is given back
//! ([open(2)](https://man7.org/linux/man-pages/man2/open.2.html), [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html)). So nothing is
//! opened before it is known to be a regular file: what is looked at is held by a handle that opens nothing (`O_PATH`), and what is read is
//! opened by that handle.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// Opens a regular file for reading. A link in the last component is not followed.
///
/// # Errors
/// An error of a file that is missing, is no regular one, cannot be read, or another process has a lease on it.
pub fn open_plain(path: &Path) -> io::Result<File> {
    open_plain_in(CWD, path)
}

/// Opens a regular file below a held directory for reading. A link in the last component is not followed.
///
/// # Errors
/// As for [`open_plain`].
pub fn open_plain_in(directory: BorrowedFd<'_>, path: impl AsRef<Path>) -> io::Result<File> {
    let handle = openat(directory, path.as_ref(), HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
    open_if_plain(&handle)
}

/// Opens a regular file for reading, wherever links lead.
///
/// # Errors
/// As for [`open_plain`].
pub fn open_plain_through_links(path: &Path) -> io::Result<File> {
    open_if_plain(&openat(CWD, path, HANDLE, Mode::empty())?)
}

/// Opens a file or a directory for reading, to hold, list or lock it, and never waits. A link in the last component is not followed.
///
/// # Errors
/// An error of what is missing, is neither a regular file nor a directory, cannot be read, or another process has a lease on it.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    let handle = openat(CWD, path, HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&handle)?.st_mode) {
        FileType::Directory => reopen(&handle),
        _ => open_if_plain(&handle),
    }
}

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

fn open_if_plain(handle: &OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(handle)?.st_mode) {
        FileType::RegularFile => reopen(handle),
        other => Err(io::Error::new(io::ErrorKind::InvalidInput, not_plain(other))),
    }
}

/// Opens what is held. It is no pipe, device or terminal; not to wait for a lease is all that is left.
fn reopen(handle: &OwnedFd) -> io::Result<File> {
    const READING: OFlags =
        OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    let name = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    match openat(CWD, name, READING, Mode::empty()) {
        // Else the file would be taken for a missing one.
        Err(Errno::NOENT) => Err(io::Error::other("`/proc` is not mounted")),
        opened => Ok(opened?.into()),
    }
}

fn not_plain(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "it is a directory, not a regular file",
        FileType::Symlink => "it is a symbolic link, not a regular file",
        FileType::Fifo => "it is a pipe, not a regular file",
        FileType::Socket => "it is a socket, not a regular file",
        FileType::CharacterDevice | FileType::BlockDevice => "it is a device, not a regular file",
        FileType::RegularFile | FileType::Unknown => "it is not a regular file",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Opens in a thread of its own, so that an open which waits fails the test.
    fn soon(open: fn(&Path) -> io::Result<File>, path: PathBuf) -> Result<String, String> {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = open(&path).and_then(|mut file| {
                if !file.metadata()?.is_dir() {
                    file.read_to_string(&mut text)?;
                }
                Ok(text)
            });
            let _ = done.send(read.map_err(|error| error.to_string()));
        });
        is_done.recv_timeout(Duration::from_secs(10)).expect("it waits")
    }

    #[test]
    fn only_what_is_meant_is_opened_and_nothing_is_waited_for() {
        let tree = tempfile::tempdir().unwrap();
        let at = |name: &str| tree.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink("file", at("link")).unwrap();
        symlink("pipe", at("link-to-pipe")).unwrap();
        symlink("none", at("dangling")).unwrap();
        symlink("/dev/ptmx", at("device")).unwrap();
        assert!(made.success());
        let (text, empty, missing) = (Ok("text"), Ok(""), Err("No such file"));
        let (link, pipe, socket) = (Err("it is a symbolic link"), Err("it is a pipe"), Err("it is a socket"));
        let (directory, device) = (Err("it is a directory"), Err("it is a device"));
        for (name, plain, through_links, any) in [
            ("file", text, text, text),
            ("directory", directory, directory, empty),
            ("pipe", pipe, pipe, pipe),
            ("socket", socket, socket, socket),
            ("link", link, text, link),
            ("link-to-pipe", link, pipe, link),
            ("dangling", link, missing, link),
            ("device", link, device, link),
            ("none", missing, missing, missing),
        ] {
            let openers = [open_plain, open_plain_through_links, open_without_waiting];
            for (open, expected) in openers.into_iter().zip([plain, through_links, any]) {
                let found = soon(open, at(name));
                let is_expected = match (&found, expected) {
                    (Ok(found), Ok(text)) => found == text,
                    (Err(found), Err(why)) => found.starts_with(why),
                    _ => false,
                };
                assert!(is_expected, "{name}: {found:?}, not {expected:?}");
            }
        }
        let held = File::open(tree.path()).unwrap();
        assert!(open_plain_in(held.as_fd(), "file").is_ok() && open_plain_in(held.as_fd(), "pipe").is_err());
    }

    #[test]
    fn a_file_with_a_lease_is_not_waited_for() {
        // F_SETLEASE, F_WRLCK
        const TAKE: &str = r#"$| = 1; $SIG{IO} = "IGNORE"; open(F, "+<", $ARGV[0]) or die; fcntl(F, 1024, 1) or die "$!";
            print "taken\n"; sleep 60"#;
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let mut holder =
            Command::new("perl").args(["-e", TAKE]).arg(&file).stdout(Stdio::piped()).spawn().unwrap();
        let mut taken = String::new();
        BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut taken).unwrap();
        let opened = open_plain(&file).map(drop).map_err(|error| error.kind());
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert_eq!((taken.as_str(), opened), ("taken\n", Err(io::ErrorKind::WouldBlock)));
        assert!(open_plain(&file).is_ok(), "the control");
    }
}

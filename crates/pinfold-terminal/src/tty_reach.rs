//! Processes that could draw on the host terminal while a dialog is shown there.
//!
//! Where a command has the names of terminals that its user has, it can open the person's by its name, and draw other
//! words over a question. So while a dialog is open no other process can open that terminal, and there is no dialog when a process
//! of the run has it open already.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{major, minor};

/// Access of a command to the host terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtyReach {
    /// None: the command does not see the terminals of its user.
    Apart,
    /// By name. Every process that it has started descends from this process, which is not itself part of it.
    ByName {
        /// The number of the process.
        first: i32,
    },
}

/// Number of looks through the processes of a run: those that were started meanwhile are seen in the next round.
const ROUNDS: usize = 3;

/// The process below `first` that has a terminal open, or does not let that be seen.
pub(crate) fn who_has_open(first: i32, device: Device) -> io::Result<Option<i32>> {
    let mut seen = Vec::new();
    for _ in 0..ROUNDS {
        for process in descendants(first)? {
            if seen.contains(&process) {
                continue;
            }
            seen.push(process);
            if has_open(process, device)? {
                return Ok(Some(process));
            }
        }
    }
    Ok(None)
}

/// A terminal, as the kernel counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    major: u32,
    minor: u32,
}

impl Device {
    /// The terminal that controls this process. One that is opened as `/dev/tty` does not say which it is.
    pub(crate) fn own() -> io::Result<Self> {
        let number = numbers("/proc/self/stat")?.and_then(|[_, _, _, terminal]| u32::try_from(terminal).ok());
        let number = number.filter(|number| *number != 0).ok_or(io::ErrorKind::NotFound)?;
        // [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html), `tty_nr`
        Ok(Self { major: number >> 8 & 0xfff, minor: number & 0xff | number >> 12 & 0xfff00 })
    }
}

/// Parent, group, session and terminal of a process; `None` when it has gone.
fn numbers(stat: &str) -> io::Result<Option<[i64; 4]>> {
    let text = match fs::read_to_string(stat) {
        Ok(text) => text,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    // The name in front may hold anything, blanks and parentheses too.
    let mut rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(1);
    let mut next = || rest.next().and_then(|number| number.parse().ok());
    match (next(), next(), next(), next()) {
        (Some(parent), Some(group), Some(session), Some(terminal)) => {
            Ok(Some([parent, group, session, terminal]))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn descendants(first: i32) -> io::Result<Vec<i32>> {
    let mut children: BTreeMap<i64, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Some([parent, ..]) = numbers(&format!("/proc/{process}/stat"))? {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = children.remove(&first.into()).unwrap_or_default();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        found.extend(children.remove(&(*process).into()).unwrap_or_default());
        at += 1;
    }
    Ok(found)
}

/// Returns `true` if a process has a terminal open. One that hides its descriptors counts as having it.
fn has_open(process: i32, device: Device) -> io::Result<bool> {
    let files = match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(files) => files,
        Err(error) if is_gone(&error) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(!has_ended(process)?),
        Err(error) => return Err(error),
    };
    for file in files {
        let file = match file {
            Ok(file) => file,
            Err(error) if is_gone(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let found = fs::metadata(file.path()).map(|file| file.rdev());
        if found.is_ok_and(|found| (major(found), minor(found)) == (device.major, device.minor)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Time for a process to end, once the kernel shows nothing of it any more.
const ENDING: Duration = Duration::from_millis(20);

/// Returns `true` if a process that shows nothing has ended, and was only not waited for yet: then it has nothing open.
fn has_ended(process: i32) -> io::Result<bool> {
    let end = Instant::now() + ENDING;
    loop {
        match fs::read_to_string(format!("/proc/{process}/stat")) {
            Err(error) if is_gone(&error) => return Ok(true),
            Err(error) => return Err(error),
            Ok(stat) if is_zombie(&stat) => return Ok(true),
            Ok(_) if Instant::now() >= end => return Ok(false),
            Ok(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Returns `true` for a zombie; while it has another thread than the first that one may have a file
/// open.
fn is_zombie(stat: &str) -> bool {
    // `state` is the third field, behind the name, `num_threads` the twentieth.
    let mut fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    matches!(fields.next(), Some("Z" | "X")) && matches!(fields.nth(16), Some("0" | "1"))
}

fn is_gone(error: &io::Error) -> bool {
    const NO_SUCH_PROCESS: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// An ordinary user is not shown what such a process has open, as with one that hides it.
    #[test]
    fn a_process_that_nobody_has_waited_for_has_nothing_open() {
        let mut child = Command::new("true").spawn().unwrap();
        let process = child.id().cast_signed();
        let end = Instant::now() + Duration::from_secs(10);
        while !has_ended(process).unwrap() {
            assert!(Instant::now() < end, "it is not seen to have ended");
        }
        child.wait().unwrap();
        assert!(has_ended(process).unwrap());
        assert!(!has_ended(std::process::id().cast_signed()).unwrap());
        let (name, rest) = ("7 (a) Z 1) ", "1 7 7 0 -1 4228364 0 0 0 0 0 0 0 0 20 0");
        assert!(is_zombie(&format!("{name}Z {rest} 1 0 5")));
        assert!(!is_zombie(&format!("{name}Z {rest} 2 0 5")), "another thread goes on");
        assert!(!is_zombie(&format!("{name}S {rest} 1 0 5")));
    }

    #[test]
    fn who_has_a_file_open_is_found_at_any_depth() {
        // As good as a terminal: a device with a number.
        let device = fs::metadata("/dev/zero").unwrap().rdev();
        let device = Device { major: major(device), minor: minor(device) };
        let start = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let own = std::process::id().cast_signed();
        assert_eq!(who_has_open(own, device).unwrap(), None);
        // The one in the background reads from us, so that it ends when we say so; its own input would be empty.
        for (script, expected) in [("cat <&4 & wait", false), ("cat <&4 3</dev/zero & wait", true)] {
            let mut child = start(&format!("exec 4<&0; echo; {script}"));
            let mut byte = [0; 1];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
            let mut found = None;
            for _ in 0..100 {
                found = who_has_open(own, device).unwrap();
                if found.is_some() == expected {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert_eq!(found.is_some(), expected, "{script}");
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

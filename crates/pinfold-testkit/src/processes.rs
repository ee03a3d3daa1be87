//! Processes as they are seen from outside: found by a word on their command line, waited for, signalled.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The longest wait before a test gives up. A passing test never waits so long.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A number of seconds for `sleep` that no other process on the machine sleeps: marks a process of this test.
pub fn unique_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("9{}.{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that have this word on their command line.
pub fn with_word(word: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|w| w == word.as_bytes()))
    };
    all().filter(has).collect()
}

/// The processes that are this command: its words and no others, so no process that is about to start it or looks after it.
pub fn running(command: &[&str]) -> Vec<u32> {
    let line: Vec<u8> = command.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    all().filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == line)).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok())
}

/// The processes that were started with this anywhere in their words or environment.
pub fn find_mentioning(part: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        ["cmdline", "environ"].iter().any(|file| {
            fs::read(format!("/proc/{pid}/{file}"))
                .is_ok_and(|text| text.windows(part.len()).any(|at| at == part.as_bytes()))
        })
    };
    let kernel = kernel_threads();
    all().filter(|pid| !kernel.contains(pid)).filter(has).collect()
}

/// The threads of the kernel: more than half of what `/proc` lists on a small machine. None inside a container.
fn kernel_threads() -> HashSet<u32> {
    const PF_KTHREAD: u32 = 0x0020_0000;
    // State, parent, group, session, terminal, group in its foreground, flags.
    let is_kernel =
        state(2).split(' ').nth(6).and_then(|flags| flags.parse().ok()).unwrap_or(0) & PF_KTHREAD != 0;
    let children = if is_kernel { fs::read_to_string("/proc/2/task/2/children") } else { Ok(String::new()) };
    children.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Ends every process that is [mentioning](find_mentioning) something: what a failed test was in the middle of.
pub fn kill_mentioning(part: &str) {
    for pid in find_mentioning(part) {
        // It may have ended by itself meanwhile.
        let _ = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// Returns true if a process has been stopped.
pub fn is_stopped(pid: u32) -> bool {
    state(pid).starts_with('T')
}

/// Returns true if a process is there and has not ended.
pub fn is_running(pid: u32) -> bool {
    !state(pid).is_empty() && !state(pid).starts_with(['Z', 'X'])
}

/// The state of a process and the numbers behind it in `/proc/PID/stat`; empty where there is none.
fn state(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in front may hold anything, blanks and parentheses too.
    line.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

/// Returns true if this process is the superuser's.
pub fn is_superuser() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

/// Returns true if a process is in the foreground of the terminal that it has.
pub fn has_terminal(pid: u32) -> bool {
    let numbers = state(pid);
    // State, parent, group, session, terminal, group in its foreground.
    let numbers: Vec<&str> = numbers.split(' ').collect();
    matches!(numbers[..], [_, _, group, _, _, foreground, ..] if group == foreground)
}

/// Waits until something is so.
///
/// # Panics
/// When it is not in the end.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    until_some(what, || so().then_some(()));
}

/// Waits until something is there, and returns it.
///
/// # Panics
/// When it is not in the end.
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal, by its name.
///
/// # Panics
/// When there is no such process.
pub fn signal(child: &Child, name: &str) {
    send(child.id(), name);
}

/// Sends a signal, by its name, to a process by its number. Not by the program `kill`: a minimal system has none.
///
/// # Panics
/// When there is no such process.
pub fn send(pid: u32, name: &str) {
    let signal = match name {
        "CONT" => Signal::CONT,
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "QUIT" => Signal::QUIT,
        "STOP" => Signal::STOP,
        "TERM" => Signal::TERM,
        "TSTP" => Signal::TSTP,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "WINCH" => Signal::WINCH,
        other => panic!("no signal of the tests: {other}"),
    };
    let process = Pid::from_raw(pid.cast_signed()).expect("a process has a number");
    let sent = kill_process(process, signal);
    assert!(sent.is_ok(), "{name} to {pid}: {sent:?}");
}

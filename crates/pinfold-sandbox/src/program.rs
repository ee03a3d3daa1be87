//! The name of the program that a process runs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Programs whose name says little beside that of their script.
const INTERPRETERS: [&str; 9] = ["bun", "deno", "java", "node", "perl", "php", "python", "ruby", "uv"];

/// Bytes of a command line that are read for the name of a script.
const ENOUGH: u64 = 4096;

/// Name of a program that cannot be seen.
pub const UNSEEN_PROGRAM: &str = "a program";

/// The name of the executable of a process or thread, by its number outside: the name that the kernel keeps beside it
/// (`comm`) is cut short, belongs to one thread, and is the program's own to change. Of an interpreter also its script:
/// `node (cli.js)`. [`UNSEEN_PROGRAM`] when it is gone, or may not be looked at.
///
/// [proc_pid_exe(5)](https://man7.org/linux/man-pages/man5/proc_pid_exe.5.html)
pub fn program_of(pid: i32) -> OsString {
    executable(pid).unwrap_or_else(|| UNSEEN_PROGRAM.into())
}

fn executable(pid: i32) -> Option<OsString> {
    const DELETED: &[u8] = b" (deleted)";
    let executable = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = executable.file_name()?.as_bytes();
    let mut name = name.strip_suffix(DELETED).unwrap_or(name).to_vec();
    if INTERPRETERS.iter().any(|known| name.starts_with(known.as_bytes()))
        && let Some(script) = script(pid)
    {
        name.extend([b" (", script.as_bytes(), b")"].concat());
    }
    Some(OsString::from_vec(name))
}

/// The script that an interpreter was started with: its first argument, unless that is an option.
fn script(pid: i32) -> Option<OsString> {
    let mut text = Vec::new();
    fs::File::open(format!("/proc/{pid}/cmdline")).ok()?.take(ENOUGH).read_to_end(&mut text).ok()?;
    let argument =
        text.split(|byte| *byte == 0).nth(1).filter(|word| !word.is_empty() && !word.starts_with(b"-"))?;
    Some(Path::new(OsStr::from_bytes(argument)).file_name()?.to_owned())
}

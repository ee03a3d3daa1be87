//! A real bash in which nothing can be harmed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// An ordinary account without files of its own, on every Unix.
const NOBODY: u32 = 65534;

/// bash as an ordinary user, without programs, start-up files, environment and input, killed after three seconds. Its arguments follow.
pub fn harmless_bash() -> Command {
    let mut bash = Command::new("/usr/bin/timeout");
    bash.args(["-s", "KILL", "3", "/bin/bash", "--noprofile", "--norc"]);
    bash.env_clear().env("PATH", "/nowhere").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        bash.uid(NOBODY).gid(NOBODY);
    }
    bash
}

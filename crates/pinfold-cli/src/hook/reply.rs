//! The one answer of a hook, given by what comes first: the decision, the time limit, or a panic.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::process::{ExitCode, exit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pinfold_dialects::{Dialect, HookOutput};

use crate::output;

/// Set once an answer was given.
static SAID: AtomicBool = AtomicBool::new(false);

/// Reply to the agent.
pub(super) struct HookReply;

impl HookReply {
    /// Installs the answers for a time limit that is over and for a panic: from now on there is an answer in any case.
    pub(super) fn install(dialect: &'static dyn Dialect, time: Duration) -> Self {
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
            last(
                &dialect.closed(&format!("pinfold: nothing is allowed, since pinfold itself failed{place}")),
            );
        }));
        let late =
            format!("pinfold: nothing is allowed, since judging took longer than {} s", time.as_secs_f32());
        let clock = thread::Builder::new().name("clock".to_owned()).spawn(move || {
            thread::sleep(time);
            last(&dialect.closed(&late));
        });
        if clock.is_err() {
            last(&dialect.closed("pinfold: nothing is allowed, since no clock could be started"));
        }
        Self
    }

    /// Says the answer, unless there is one.
    #[expect(clippy::unused_self, reason = "only who has made sure of an answer may give one")]
    pub(super) fn send(self, said: &HookOutput) -> ExitCode {
        if SAID.swap(true, Ordering::SeqCst) {
            // Another one is being said, and ends the program.
            thread::sleep(Duration::from_mins(1));
        }
        ExitCode::from(write_output(said))
    }
}

/// The last word: says it, unless there is an answer, and ends the program.
fn last(said: &HookOutput) {
    if SAID.swap(true, Ordering::SeqCst) {
        return;
    }
    exit(i32::from(write_output(said)));
}

/// The exit code that goes with what was said. What cannot be said on standard output is a no, for those who read one
/// there.
fn write_output(said: &HookOutput) -> u8 {
    let _ = output::message(&said.stderr);
    let text =
        if said.stdout.starts_with('{') { output::printable_json(&said.stdout) } else { said.stdout.clone() };
    match written(text.as_bytes()) {
        Ok(()) => said.code,
        Err(e) => {
            output::warn(format_args!("nothing is allowed, since nothing could be said: {e}"));
            2
        }
    }
}

/// Writes to standard output itself: the library's own takes one that cannot be written for one that was, and puts the null
/// device in the place of one that is closed.
fn written(text: &[u8]) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let there = out.metadata()?;
    let null = fs::metadata("/dev/null").map(|null| null.rdev());
    if there.file_type().is_char_device() && null.is_ok_and(|null| null == there.rdev()) {
        return Err(io::Error::other("standard output is closed, or is the null device"));
    }
    out.write_all(text)
}

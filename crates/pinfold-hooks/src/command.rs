//! Programs that are asked: started, told, listened to, and ended.
//!
//! A program gets its input as a file that is all there, so that it may read or not, and reads no slower than it likes.
//! It runs in a process group of its own: what a person types at a terminal is not for it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pinfold::policy::hook::HookShell;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process_group;
use crate::runner::{HookResult, MAX_ANSWER, MAX_ASIDE, Output};

/// Environment variable that counts how deep hooks start each other.
const DEPTH: &str = "PINFOLD_HOOK_DEPTH";
/// Deepest nesting of hooks whose own calls have hooks: more is a mistake.
const DEEPEST: u32 = 3;

/// Time to wait for output after the program has ended: a child of it may hold its output open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Starts programs.
#[derive(Debug)]
pub(crate) struct Commands {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    depth: u32,
}

impl Commands {
    pub(crate) fn new(folder: PathBuf, project: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        let own = environment
            .iter()
            .find(|(name, _)| name == DEPTH)
            .and_then(|(_, value)| value.to_str()?.parse().ok());
        let depth = own.unwrap_or(0_u32).saturating_add(1);
        let also = [
            ("PINFOLD_PROJECT_DIR", project.clone().into_os_string()),
            // What hooks of the most used agent look for.
            ("CLAUDE_PROJECT_DIR", project.into_os_string()),
            (DEPTH, depth.to_string().into()),
        ];
        let also = also.map(|(name, value)| (OsString::from(name), value));
        Self { folder, environment: environment.into_iter().chain(also).collect(), depth }
    }

    /// Asks a program and waits for it, no longer than its time.
    pub(crate) fn ask(
        &self,
        command: &str,
        args: Option<&[String]>,
        shell: HookShell,
        input: &[u8],
        timeout: Duration,
    ) -> HookResult {
        let by = Instant::now() + timeout;
        let piped = || (Stdio::piped(), Stdio::piped());
        let mut running = match self.spawn(command, args, shell, input, piped) {
            Ok(running) => running,
            Err(why) => return HookResult::NotAsked(why),
        };
        match running.listen(by) {
            Ok(Some((status, out, err))) => HookResult::Ended { code: status.code(), out, err },
            Ok(None) => {
                running.end();
                HookResult::Late(timeout)
            }
            Err(e) => {
                running.end();
                HookResult::NotAsked(format!("it could not be listened to: {e}"))
            }
        }
    }

    /// Starts a program without listening to it. It is ended after its time as any other, while this process lives.
    pub(crate) fn start(
        &self,
        command: &str,
        args: Option<&[String]>,
        shell: HookShell,
        input: &[u8],
        timeout: Duration,
    ) -> Result<(), String> {
        let by = Instant::now() + timeout;
        let mut running = self.spawn(command, args, shell, input, || (Stdio::null(), Stdio::null()))?;
        let wait = move || {
            if !matches!(running.listen(by), Ok(Some(_))) {
                running.end();
            }
        };
        thread::Builder::new()
            .name("pinfold-hook".to_owned())
            .spawn(wait)
            .map(drop)
            .map_err(|e| e.to_string())
    }

    fn spawn(
        &self,
        command: &str,
        args: Option<&[String]>,
        shell: HookShell,
        input: &[u8],
        outputs: impl FnOnce() -> (Stdio, Stdio),
    ) -> Result<HookProcess, String> {
        if self.depth > DEEPEST {
            return Err(format!("hooks start one another, {} deep", self.depth));
        }
        let mut program = match (args, shell) {
            (Some(args), _) => {
                let mut program = Command::new(command);
                program.args(args);
                program
            }
            (None, HookShell::Sh) => line_of("/bin/sh", command),
            (None, HookShell::Bash) => line_of("bash", command),
        };
        let stdin = input_file(input).map_err(|e| format!("its input could not be written: {e}"))?;
        let mark = mark();
        let (out, err) = outputs();
        program
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(process_group::MARK, &mark)
            .stdin(stdin)
            .stdout(out)
            .stderr(err)
            .process_group(0);
        let child = program.spawn().map_err(|e| format!("it cannot be started: {e}"))?;
        Ok(HookProcess { child, mark })
    }
}

fn line_of(shell: &str, line: &str) -> Command {
    let mut program = Command::new(shell);
    program.arg("-c").arg(line);
    program
}

/// The input as a file that has no name.
fn input_file(input: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("hook-input", MemfdFlags::CLOEXEC)?);
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}

/// Returns a mark for the environment that no other start has.
fn mark() -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{}-{now}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed))
}

/// A program that was started.
struct HookProcess {
    child: Child,
    mark: String,
}

impl HookProcess {
    /// Listens until it has ended; `None` when its time is over before.
    fn listen(&mut self, by: Instant) -> io::Result<Option<(ExitStatus, Output, Output)>> {
        let ended = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        let mut out = Pipe::new(self.child.stdout.take().map(OwnedFd::from), MAX_ANSWER)?;
        let mut err = Pipe::new(self.child.stderr.take().map(OwnedFd::from), MAX_ASIDE)?;
        let mut gone = false;
        let mut by = by;
        loop {
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(3);
            if !gone {
                polled.push(PollFd::new(&ended, PollFlags::IN));
            }
            for pipe in [&out, &err] {
                polled
                    .extend(pipe.open.as_ref().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
            }
            if polled.is_empty() {
                break;
            }
            match poll(&mut polled, Some(&timespec(left))) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            let has_ended = !gone && polled.first().is_some_and(|first| !first.revents().is_empty());
            out.read()?;
            err.read()?;
            if has_ended {
                gone = true;
                by = by.min(Instant::now() + LAST_WORDS);
            }
        }
        if !gone {
            return Ok(None);
        }
        let status = self.child.wait()?;
        Ok(Some((status, out.kept, err.kept)))
    }

    /// Ends it with everything it started.
    fn end(&mut self) {
        process_group::end(Pid::from_child(&self.child), &self.mark);
        // It is gone; what is left is its number.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An output of a program, read as far as there is something.
struct Pipe {
    open: Option<OwnedFd>,
    kept: Output,
    most: usize,
}

impl Pipe {
    fn new(open: Option<OwnedFd>, most: usize) -> io::Result<Self> {
        if let Some(fd) = &open {
            fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { open, kept: Output::default(), most })
    }

    /// Reads the bytes at hand. Bytes beyond the limit are dropped, so that the writer can come to an end.
    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; 16 << 10];
        // A program that writes without end is not listened to without end.
        for _ in 0..64 {
            let Some(fd) = &self.open else { return Ok(()) };
            match rustix::io::read(fd, &mut buffer) {
                Ok(0) => self.open = None,
                Ok(read) => self.kept.take(buffer.get(..read).unwrap_or_default(), self.most),
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

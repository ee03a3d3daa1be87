//! One shell, from its start to its end: a thread that accompanies it, one that reads what it says.
//!
//! The sandbox dies with the thread that built it, so the thread that starts a shell is the one that waits for
//! its end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pinfold::consent::Caller;
use pinfold::policy::Guards;
use pinfold::{Failure, RefusalCode, WeakSession};
use pinfold_boundary::{Egress, EgressOptions, NotStarted, Run, RunListener, RunResult, SandboxRequest};
use pinfold_sandbox::{Command, End, Remote, Signalling, StartError, Tier};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::capture::{Capture, Output};
use super::scratch::RunScratch;
use crate::escalations::SandboxEscalations;
use crate::secrets::Scrubbing;

/// Time that a shell has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Time that input waits for a shell that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval between looks whether a caller still waits for a shell.
const CALLER_LOOK: Duration = Duration::from_millis(100);

/// Bytes read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// Pieces read after everything has ended: more than a pipe holds, and an end even if a process outside has the other
/// side.
const LAST_PIECES: usize = 32;

/// `SIGTERM`, which asks a process to end.
const TERM: i32 = 15;

/// A command to start.
pub(crate) struct Order {
    pub(crate) request: SandboxRequest,
    pub(crate) guards: Guards,
    pub(crate) tier: Tier,
    /// The command, every byte as it was judged.
    pub(crate) command: String,
    /// Input can be sent; else there is none.
    pub(crate) input: bool,
    pub(crate) scratch: RunScratch,
    /// Session that decides about attempts outside. Not kept: it ends its shells with itself.
    pub(crate) session: WeakSession,
    /// Choice to take secrets out of what it says.
    pub(crate) scrubbing: Scrubbing,
    /// Prefix of the names of what its egress proxy refuses. How a shell in the background ends is recorded with
    /// another call, so that nothing of it has a name before.
    pub(crate) names: Option<String>,
}

/// A shell that was started.
#[derive(Debug)]
pub(crate) struct Running {
    state: Mutex<ShellState>,
    changed: Condvar,
    input: Mutex<Option<File>>,
}

#[derive(Debug)]
struct ShellState {
    output: Capture,
    stage: ShellStage,
    /// A kill was requested.
    killed: bool,
}

#[derive(Debug)]
enum ShellStage {
    Starting,
    Runs(Remote),
    Ended(Arc<ShellResult>),
    NotStarted(Failure),
}

/// The end of a shell, and the result of its run.
#[derive(Debug)]
pub(crate) struct ShellResult {
    pub(crate) how: ShellEnd,
    pub(crate) run: RunResult,
}

/// End of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellEnd {
    /// Exit code; 128 and more for a signal.
    Code(i32),
    /// Its time was over.
    TimedOut,
    /// Killed by request.
    Killed,
}

impl Running {
    /// Starts a shell on a thread of its own.
    pub(crate) fn start(order: Order) -> Result<(Arc<Self>, JoinHandle<()>), Failure> {
        let streams = Streams::new(order.input).map_err(|error| not_started(&error))?;
        let Streams { stdio, output, input } = streams;
        let running = Arc::new(Self {
            state: Mutex::new(ShellState {
                output: Capture::new(order.scrubbing.stream()),
                stage: ShellStage::Starting,
                killed: false,
            }),
            changed: Condvar::new(),
            input: Mutex::new(input),
        });
        let accompanied = Arc::clone(&running);
        let thread = thread::Builder::new().name("pinfold-shell".into()).spawn(move || {
            let finish = NotifyOnDrop(&accompanied);
            let stage = match accompanied.accompany(order, stdio, output) {
                Ok(ending) => ShellStage::Ended(Arc::new(ending)),
                Err(failure) => ShellStage::NotStarted(failure),
            };
            finish.0.enter(stage);
        });
        Ok((running, thread.map_err(|error| not_started(&error))?))
    }

    /// Runs the command and observes it to its end, while another thread reads its output.
    fn accompany(
        &self,
        order: Order,
        stdio: [OwnedFd; 3],
        mut output: PipeReader,
    ) -> Result<ShellResult, Failure> {
        let Order { request, guards, tier, command, scratch, session, names, .. } = order;
        let prepare = || -> io::Result<Command> {
            let [input, out, error] = &stdio;
            let stdio = [input.try_clone()?, out.try_clone()?, error.try_clone()?];
            Ok(bash(command.clone()).new_session().stdio(stdio.map(Some)))
        };
        let run = Run::start(&request, &guards, tier, Signalling::Own, prepare).map_err(not_begun)?;
        // Its ends of the streams are its own now.
        drop(stdio);
        let remote = run.remote().map_err(|error| not_started(&error))?;
        let (done, over) = io::pipe().map_err(|error| not_started(&error))?;
        let result = thread::scope(|scope| {
            let reader = thread::Builder::new().name("pinfold-output".into());
            let reader = reader.spawn_scoped(scope, || self.listen(&mut output, &done));
            let mut course = ShellCourse { running: self, remote: Some(remote), over: Some(over) };
            if reader.is_err() {
                // Nothing reads what it says, which it would wait for.
                course.kill();
            }
            let options = EgressOptions { names, published: Vec::new() };
            let escalations = SandboxEscalations::observer(Some(session));
            let result = run.observe(options, escalations, &mut course);
            reader.map(|_| result)
        });
        drop(scratch);
        let run = result.map_err(|error| lost(&error))?;
        let how = match &run.ended {
            Ok(End::TimedOut) => ShellEnd::TimedOut,
            Ok(End::Code(_)) if self.state().killed => ShellEnd::Killed,
            Ok(End::Code(code)) => ShellEnd::Code(*code),
            Err(error) => return Err(lost(error)),
        };
        Ok(ShellResult { how, run })
    }

    /// Reads what is said until everything has ended.
    fn listen(&self, output: &mut PipeReader, done: &PipeReader) {
        let mut piece = vec![0; PIECE];
        let mut last_pieces = LAST_PIECES;
        loop {
            let Ok((said, over)) = ready(output, done) else { return };
            if over {
                last_pieces = last_pieces.saturating_sub(1);
            }
            if (over && !said) || last_pieces == 0 {
                return;
            }
            if !said {
                continue;
            }
            match output.read(&mut piece) {
                Ok(0) => return,
                Ok(len) => {
                    self.state().output.push(piece.get(..len).unwrap_or_default());
                    self.changed.notify_all();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Enters the stage in which the shell can be killed.
    fn runs(&self, remote: Remote) {
        let mut state = self.state();
        if state.killed {
            // The kill was requested before the process started.
            let _ = remote.kill();
        }
        state.stage = ShellStage::Runs(remote);
        drop(state);
        self.changed.notify_all();
    }

    fn enter(&self, stage: ShellStage) {
        self.state().stage = stage;
        self.changed.notify_all();
    }

    /// Ends it with all that it started, at once.
    pub(crate) fn kill(&self) {
        let mut state = self.state();
        if let ShellStage::Starting | ShellStage::Runs(_) = state.stage {
            state.killed = true;
        }
        if let ShellStage::Runs(remote) = &state.stage {
            // It has ended already when this fails.
            let _ = remote.kill();
        }
    }

    /// Asks it to end, and ends it when it does not.
    pub(crate) fn end(&self) {
        {
            let mut state = self.state();
            if let ShellStage::Runs(remote) = &state.stage {
                let asked = remote.signal(TERM).is_ok();
                state.killed |= asked;
            }
        }
        if !self.wait(GRACE, ShellState::is_over) {
            self.kill();
        }
        self.wait_end();
    }

    /// Waits until it runs or it is known why not.
    pub(crate) fn wait_started(&self) -> Result<(), Failure> {
        let state = self.wait_for(|state| !matches!(state.stage, ShellStage::Starting));
        match &state.stage {
            ShellStage::NotStarted(failure) => Err(failure.clone()),
            ShellStage::Starting | ShellStage::Runs(_) | ShellStage::Ended(_) => Ok(()),
        }
    }

    /// Waits until it has ended.
    pub(crate) fn wait_end(&self) {
        drop(self.wait_for(ShellState::is_over));
    }

    /// Waits until it has ended or the caller gives up, in which case it is killed.
    pub(crate) fn wait_end_for(&self, caller: Caller<'_>) {
        if caller.waits.is_none() {
            return self.wait_end();
        }
        while !self.wait(CALLER_LOOK, ShellState::is_over) {
            if !caller.is_waiting() {
                return self.end();
            }
        }
    }

    /// Waits until there is something to read, or it has ended, or the time is over, or the caller does not wait.
    pub(crate) fn wait_news(&self, limit: Duration, caller: Caller<'_>) {
        let news = |state: &ShellState| !state.output.is_empty() || state.is_over();
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.wait(left.min(CALLER_LOOK), news) || left <= CALLER_LOOK || !caller.is_waiting() {
                return;
            }
        }
    }

    /// Returns the new output, and the end if it has ended.
    pub(crate) fn read(&self) -> Result<(Output, Option<Arc<ShellResult>>), Failure> {
        let mut state = self.state();
        let ending = match &state.stage {
            ShellStage::NotStarted(failure) => return Err(failure.clone()),
            ShellStage::Ended(ending) => Some(Arc::clone(ending)),
            ShellStage::Starting | ShellStage::Runs(_) => None,
        };
        Ok((state.output.take(ending.is_some()), ending))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over()
    }

    /// Sends input. Says how much was taken before the shell stopped reading, if not all of it.
    pub(crate) fn send(&self, text: &[u8], close: bool) -> Result<usize, io::Error> {
        let mut input = self.input();
        let Some(pipe) = input.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut rest = text;
        while !rest.is_empty() {
            match pipe.write(rest) {
                Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !writable(pipe)? {
                        return Ok(text.len() - rest.len());
                    }
                }
                Err(error) => {
                    *input = None;
                    return Err(error);
                }
            }
        }
        if close {
            *input = None;
        }
        Ok(text.len())
    }

    fn state(&self) -> MutexGuard<'_, ShellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn input(&self) -> MutexGuard<'_, Option<File>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(&self, until: impl Fn(&ShellState) -> bool) -> MutexGuard<'_, ShellState> {
        self.changed.wait_while(self.state(), |state| !until(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, limit: Duration, until: impl Fn(&ShellState) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.state(), limit, |state| !until(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        until(&state)
    }
}

impl ShellState {
    fn is_over(&self) -> bool {
        matches!(self.stage, ShellStage::Ended(_) | ShellStage::NotStarted(_))
    }
}

/// The course of a shell, for those who wait for it.
struct ShellCourse<'a> {
    running: &'a Running,
    remote: Option<Remote>,
    /// Closed when nothing more is said.
    over: Option<PipeWriter>,
}

impl ShellCourse<'_> {
    fn kill(&self) {
        // It has ended already when this fails.
        self.remote.iter().for_each(|remote| drop(remote.kill()));
    }
}

impl RunListener for ShellCourse<'_> {
    fn observed(&mut self, _egress: Egress) {
        if let Some(remote) = self.remote.take() {
            self.running.runs(remote);
        }
    }

    fn ended(&mut self) {
        drop(self.over.take());
        // No process of it is left to read.
        drop(self.running.input().take());
    }
}

/// Notification of those that wait for a shell, also when its supervising thread panics.
struct NotifyOnDrop<'a>(&'a Running);

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if !state.is_over() {
            state.stage = ShellStage::NotStarted(lost(&io::Error::other("its supervisor is gone")));
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Never a login shell, no start-up files; the command is a single argument, whatever it begins with.
fn bash(command: String) -> Command {
    let fixed = ["--noprofile", "--norc", "-c", "--"].map(OsString::from);
    Command::new("bash").args(fixed.into_iter().chain([command.into()]))
}

/// The ends of the streams: both outputs share one pipe, so that their order is kept.
struct Streams {
    stdio: [OwnedFd; 3],
    output: PipeReader,
    input: Option<File>,
}

impl Streams {
    fn new(with_input: bool) -> io::Result<Self> {
        let (output, said) = io::pipe()?;
        let (stdin, input) = if with_input {
            let (stdin, input): (PipeReader, PipeWriter) = io::pipe()?;
            let input = File::from(OwnedFd::from(input));
            // A shell that does not read must not block the writer.
            rustix::fs::fcntl_setfl(&input, rustix::fs::OFlags::NONBLOCK)?;
            (OwnedFd::from(stdin), Some(input))
        } else {
            (OwnedFd::from(File::open("/dev/null")?), None)
        };
        Ok(Self { stdio: [stdin, said.try_clone()?.into(), said.into()], output, input })
    }
}

/// Waits until something was said or everything is over.
fn ready(output: &PipeReader, done: &PipeReader) -> io::Result<(bool, bool)> {
    let mut fds = [
        PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(done.as_fd(), PollFlags::IN),
    ];
    match poll(&mut fds, None) {
        Err(rustix::io::Errno::INTR) => return Ok((false, false)),
        other => other?,
    };
    let [output, done] = &fds;
    Ok((!output.revents().is_empty(), !done.revents().is_empty()))
}

fn writable(input: &File) -> io::Result<bool> {
    let timeout = Timespec::try_from(SEND_TIMEOUT).map_err(io::Error::other)?;
    let mut fds = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT)];
    match poll(&mut fds, Some(&timeout)) {
        Err(rustix::io::Errno::INTR) => Ok(true),
        other => Ok(other? > 0),
    }
}

fn not_started(error: &io::Error) -> Failure {
    let message = format!("no shell was started: {error}");
    Failure::plain(RefusalCode::Io, message, "try again, with fewer shells at a time")
}

fn not_begun(error: NotStarted<io::Error>) -> Failure {
    match error {
        NotStarted::Compile(error) => {
            let message = format!("no shell was started: {error}");
            Failure::plain(RefusalCode::NotHeld, message, "tell the user; the file tools still work")
        }
        NotStarted::Start(error) => no_walls(&error),
        NotStarted::Command(error) => not_started(&error),
    }
}

fn no_walls(error: &StartError) -> Failure {
    let code = if error.is_machine() { RefusalCode::NotHeld } else { RefusalCode::Io };
    let message = format!("no shell was started: {error}");
    Failure::plain(code, message, "tell the user; the file tools still work")
}

fn lost(error: &io::Error) -> Failure {
    let message = format!("lost the shell; all its processes were killed: {error}");
    Failure::plain(RefusalCode::Io, message, "look at what it left, then decide")
}

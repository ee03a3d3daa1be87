//! The first process inside: it builds the sandbox around itself, starts the command, reaps, and ends everything.
//!
//! Everything here runs in a forked child, perhaps of a process with other threads: no allocation, no lock, no
//! panic. What it needs was written down in a [`Plan`] before the fork.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::landlock::{HandledAccess, Ruleset};
use super::plan::Plan;
use super::relay_sockets::{self, RelayPlan};
use crate::sys::{self, ChildExit, Listener, Pid, Signals};

/// Signal that asks the first process to end everything. It has no other meaning.
pub(crate) const END_ALL: i32 = 63;

/// A message of the first process to the supervisor: a stage, an index within it, an error number (or that of a
/// signal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) stage: Stage,
    pub(crate) index: u8,
    pub(crate) errno: i32,
}

/// Stage of the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The sandbox holds, from inside; the command is next.
    Ready = 0,
    /// The sandbox is closed; with this report comes the descriptor for the watch, if there is one. The index says
    /// whether those who ask wait undisturbed by signals (1), the number in which mount namespace they are.
    Closed,
    Identity,
    Loopback,
    Mount,
    Folder,
    Privileges,
    Limits,
    Landlock,
    Seccomp,
    Fork,
    SelfTest,
    Exec,
    /// The command has become itself.
    Started,
    /// The command was stopped, by this signal. The index says whether it had the terminal to itself (1) or shared the
    /// place of the supervisor there (0).
    Stopped,
    Terminal,
    /// With this report comes a socket at which what is sent to other addresses arrives; the index says which.
    RelaySocket,
    /// Before the fork; no process reports it.
    Streams,
}

impl Report {
    pub(crate) fn encode(self) -> [u8; 6] {
        let [a, b, c, d] = self.errno.to_le_bytes();
        [self.stage as u8, self.index, a, b, c, d]
    }

    pub(crate) fn decode(bytes: [u8; 6]) -> Option<Self> {
        const STAGES: [Stage; 18] = [
            Stage::Ready,
            Stage::Closed,
            Stage::Identity,
            Stage::Loopback,
            Stage::Mount,
            Stage::Folder,
            Stage::Privileges,
            Stage::Limits,
            Stage::Landlock,
            Stage::Seccomp,
            Stage::Fork,
            Stage::SelfTest,
            Stage::Exec,
            Stage::Started,
            Stage::Stopped,
            Stage::Terminal,
            Stage::RelaySocket,
            Stage::Streams,
        ];
        let [stage, index, a, b, c, d] = bytes;
        let stage = *STAGES.get(usize::from(stage))?;
        Some(Self { stage, index, errno: i32::from_le_bytes([a, b, c, d]) })
    }
}

/// A failure on the way, with the stage it happened in.
struct StageFailure {
    stage: Stage,
    index: usize,
    error: io::Error,
}

fn failure(stage: Stage) -> impl Fn(io::Error) -> StageFailure {
    move |error| StageFailure { stage, index: 0, error }
}

/// Runs the first process to its end. Reports go to `supervisor`.
pub(crate) fn run(plan: &mut Plan, supervisor: &OwnedFd) -> ! {
    if let Some(Err(error)) = plan.terminal.as_ref().map(|own| sys::new_session_at(own.as_fd())) {
        give_up(supervisor.as_fd(), &failure(Stage::Terminal)(error));
    }
    let Ok((supervisor, terminal)) = own_descriptors(plan, supervisor.as_fd()) else {
        sys::exit_now(EXIT_NOT_STARTED)
    };
    let supervisor = supervisor.as_fd();
    let terminal = terminal.as_ref().map(AsFd::as_fd);
    // Once the filter stands, an open waits for the supervisor, which may be gone when this is needed.
    let children = (plan.namespaces == 0).then(sys::children).and_then(Result::ok);
    if let Err(failed) = prepare(plan, supervisor) {
        give_up(supervisor, &failed);
    }
    let flags = if plan.counts_processes() { sys::UNASKED } else { 0 };
    // SAFETY: a fresh fork has one thread; `command` only makes system calls, and gives handlers of signals up first.
    match unsafe { sys::borrow_until_exec(&mut || give_up(supervisor, &command(plan, terminal)), flags) } {
        Err(error) => give_up(supervisor, &StageFailure { stage: Stage::Fork, index: 0, error }),
        Ok(command) => {
            // A command that could not be started has said so before.
            let _ = reached(Stage::Started, supervisor);
            keep(command, plan, supervisor, children.as_ref().map(AsFd::as_fd))
        }
    }
}

/// Keeps the standard streams, the way to the supervisor and the terminal of the command's own, and closes all else:
/// this process is a copy of one that may have opened anything, and another run that waits for an end of file must not
/// wait for us.
fn own_descriptors(plan: &Plan, supervisor: BorrowedFd<'_>) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    const SUPERVISOR: i32 = 3;
    for (number, fd) in (0..).zip(&plan.stdio) {
        if let Some(fd) = fd {
            sys::place(fd.as_fd(), number)?;
        }
    }
    sys::keep_only_below(SUPERVISOR, supervisor, plan.terminal.as_ref().map(AsFd::as_fd))
}

fn give_up(to: BorrowedFd<'_>, failed: &StageFailure) -> ! {
    let report = Report {
        stage: failed.stage,
        index: u8::try_from(failed.index).unwrap_or(u8::MAX),
        errno: failed.error.raw_os_error().unwrap_or(libc::EIO),
    };
    let _ = sys::send(to, &report.encode(), None);
    sys::exit_now(EXIT_NOT_STARTED)
}

/// The exit status of a first process that could not build its sandbox. The report says more.
const EXIT_NOT_STARTED: i32 = 125;

/// The parts of the sandbox, in the order in which they can be built.
fn prepare(plan: &mut Plan, to: BorrowedFd<'_>) -> Result<(), StageFailure> {
    // Inherited as ignored it would never arrive, and the end of the command would not be seen.
    sys::default_action(libc::SIGCHLD);
    die_with_supervisor(plan)?;
    if sys::hung_up(to) {
        sys::exit_now(EXIT_NOT_STARTED);
    }
    if plan.namespaces != 0 {
        identity(plan).map_err(failure(Stage::Identity))?;
    }
    if plan.loopback {
        sys::loopback_up().map_err(failure(Stage::Loopback))?;
    }
    if let Some(relayed) = &plan.relayed {
        relay(relayed, to)?;
    }
    mounts(plan)?;
    sys::change_dir(&plan.cwd).map_err(failure(Stage::Folder))?;
    if plan.new_session {
        sys::new_session().map_err(failure(Stage::Terminal))?;
    }
    for &(resource, value) in &plan.limits {
        sys::limit(resource, value).map_err(failure(Stage::Limits))?;
    }
    let ruleset = landlock(plan).map_err(failure(Stage::Landlock))?;
    privileges(plan).map_err(failure(Stage::Privileges))?;
    if let Some(ruleset) = ruleset {
        ruleset.restrict().map_err(failure(Stage::Landlock))?;
    }
    self_test(plan, true)?;
    let listener = install_filter(plan).map_err(failure(Stage::Seccomp))?;
    report_closed(to, listener.as_ref())?;
    // Held here too, it would keep this process waiting for an answer of a supervisor that is gone.
    drop(listener);
    self_test(plan, false)?;
    reached(Stage::Ready, to)
}

/// Makes every address local and hands out the sockets at which what is sent there arrives. None of them stays here.
fn relay(relayed: &RelayPlan, to: BorrowedFd<'_>) -> Result<(), StageFailure> {
    sys::route(&relayed.v4).map_err(failure(Stage::Loopback))?;
    // Without it there is no way for an address of version 6, and the other version is used.
    let _ = sys::route(&relayed.v6);
    for (index, socket) in relayed.sockets.iter().enumerate() {
        let failed = |error| StageFailure { stage: Stage::RelaySocket, index, error };
        match socket.open() {
            Ok(socket) => {
                let index = u8::try_from(index).unwrap_or(u8::MAX);
                let report = Report { stage: Stage::RelaySocket, index, errno: 0 };
                sys::send(to, &report.encode(), Some(socket.as_fd())).map_err(failed)?;
            }
            // A kernel without IPv6.
            Err(e) if socket.address.is_ipv6() && is_missing_family(&e) => {}
            // Nothing is held by it.
            Err(_) if socket.kind == relay_sockets::SocketPurpose::Unheard => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(())
}

fn is_missing_family(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

fn self_test(plan: &Plan, about_files: bool) -> Result<(), StageFailure> {
    for (index, probe) in plan.self_test.iter().enumerate() {
        if probe.is_about_files() == about_files {
            probe.run().map_err(|error| StageFailure { stage: Stage::SelfTest, index, error })?;
        }
    }
    Ok(())
}

fn install_filter(plan: &mut Plan) -> io::Result<Option<Listener>> {
    if plan.watched {
        match sys::install_filter(plan.filter.code(), true) {
            // A program above watches already, and there can be only one.
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && plan.mediated.is_none() => {}
            other => return other,
        }
    }
    plan.filter.drop_notifications();
    sys::install_filter(plan.filter.code(), false)
}

/// Reports that the sandbox is closed. With the descriptor of the notifications goes what the supervisor has to know of the watched.
fn report_closed(to: BorrowedFd<'_>, listener: Option<&Listener>) -> Result<(), StageFailure> {
    let stage = Stage::Closed;
    // Without the number of the mount namespace no call is ever held: the view that a path belongs to would be unknown.
    let view = sys::mount_namespace().unwrap_or(0);
    let index = u8::from(listener.is_some_and(|l| l.uninterrupted));
    let report = Report { stage, index, errno: view.cast_signed() };
    sys::send(to, &report.encode(), listener.map(|l| l.fd.as_fd())).map_err(failure(stage))
}

fn reached(stage: Stage, to: BorrowedFd<'_>) -> Result<(), StageFailure> {
    sys::send(to, &Report { stage, index: 0, errno: 0 }.encode(), None).map_err(failure(stage))
}

/// Ends with the supervisor: at once where the kernel ends the others too, else by a signal that makes this
/// process end them first.
fn die_with_supervisor(plan: &Plan) -> Result<(), StageFailure> {
    let signal = if plan.namespaces == 0 { libc::SIGTERM } else { libc::SIGKILL };
    sys::die_with_parent(signal).map_err(failure(Stage::Privileges))
}

/// The user and group inside are those outside, and no others exist.
/// [user_namespaces(7)](https://man7.org/linux/man-pages/man7/user_namespaces.7.html)
fn identity(plan: &Plan) -> io::Result<()> {
    for (path, text) in [
        (c"/proc/self/setgroups", b"deny".as_slice()),
        (c"/proc/self/uid_map", &plan.uid_map),
        (c"/proc/self/gid_map", &plan.gid_map),
    ] {
        sys::write_all(sys::open(path, libc::O_WRONLY)?.as_fd(), text)?;
    }
    Ok(())
}

fn mounts(plan: &mut Plan) -> Result<(), StageFailure> {
    let umask = sys::umask(0);
    // Each granted place takes a descriptor until it is mounted. The command has the caller's limit again.
    let files = sys::allow_most_files().ok();
    for (index, step) in plan.steps.iter().enumerate() {
        step.perform(&mut plan.slots).map_err(|error| StageFailure { stage: Stage::Mount, index, error })?;
    }
    // Attached by now.
    plan.slots.fill_with(|| None);
    if let Some(files) = files {
        sys::restore_files(&files).map_err(failure(Stage::Limits))?;
    }
    sys::umask(umask);
    Ok(())
}

fn landlock(plan: &Plan) -> io::Result<Option<Ruleset>> {
    let version = match plan.landlock {
        Some(version) => version,
        // Mounts hold the line too.
        None if plan.namespaces != 0 => return Ok(None),
        None => return Err(io::Error::from_raw_os_error(libc::ENOSYS)),
    };
    let ruleset = match Ruleset::new(version, plan.handles) {
        // Nothing that this version could hold was asked for.
        Err(e) if e.raw_os_error() == Some(libc::ENOMSG) => return Ok(None),
        other => other?,
    };
    let HandledAccess { writes, reads, .. } = plan.handles;
    if writes {
        for place in &plan.writable {
            ruleset.allow_writing(sys::open_held(place)?.as_fd())?;
        }
        for device in [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty"]
        {
            ruleset.allow_device(device)?;
        }
        for place in &plan.bindable {
            ruleset.allow_sockets(sys::open_held(place)?.as_fd())?;
        }
        for terminals in [c"/dev/pts", c"/dev/ptmx"] {
            ruleset.allow_device(terminals)?;
        }
    }
    if reads {
        for place in &plan.readable {
            match sys::open_held(place) {
                Ok(place) => ruleset.allow_reading(place.as_fd())?,
                // Gone since it was listed, or closed to us anyway.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::EACCES)) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(Some(ruleset))
}

fn privileges(plan: &Plan) -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    sys::drop_capabilities()?;
    // SAFETY: one thread, and this process starts the command with an environment of its own.
    unsafe { sys::scrub_environment() };
    if plan.namespaces == 0 {
        sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0)?;
    }
    // Not being dumpable keeps this process, a copy of the supervisor, from being read inside.
    sys::prctl(libc::PR_SET_DUMPABLE, 0, 0).map(drop)
}

/// The command's own process.
fn command(plan: &Plan, terminal: Option<BorrowedFd<'_>>) -> StageFailure {
    if let Err(error) = sys::die_with_parent(libc::SIGKILL) {
        return StageFailure { stage: Stage::Exec, index: 0, error };
    }
    // In a group of its own below this process, which stays in the session: a group without a parent in its session
    // cannot be stopped by a key.
    let group = match terminal {
        Some(terminal) => sys::lead_foreground(terminal),
        None if plan.new_session => sys::lead_group(),
        // That of the caller, who is at the terminal too.
        None => Ok(()),
    };
    if let Err(error) = group {
        return failure(Stage::Terminal)(error);
    }
    let error = become_it(plan);
    StageFailure { stage: Stage::Exec, index: 0, error }
}

fn become_it(plan: &Plan) -> io::Error {
    if let Err(error) = sys::close_on_exec_from(3) {
        return error;
    }
    for signal in plan.before.reset.clone() {
        sys::default_action(signal);
    }
    if let Err(error) = plan.before.mask.restore() {
        return error;
    }
    // As execvp(3): the first that can be started; a refusal is remembered over a mere absence.
    let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in &plan.candidates {
        let error = sys::exec(candidate, &plan.argv, &plan.envp);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => worst = error,
            _ => return error,
        }
    }
    worst
}

/// Reaps until the command has ended, passes signals on, then ends all that is left and says how it went.
fn keep(command: Pid, plan: &Plan, supervisor: BorrowedFd<'_>, children: Option<BorrowedFd<'_>>) -> ! {
    let namespace = plan.namespaces != 0;
    let has_group = plan.terminal.is_some() || plan.new_session;
    let all = Signals::all();
    loop {
        let signal = all.wait();
        if !namespace && sys::parent_pid() != plan.supervisor {
            finish(ChildExit::Signalled(libc::SIGKILL), children);
        }
        match signal {
            Ok(signal) if signal.number == libc::SIGCHLD => {
                while let Ok(Some((pid, ended))) = sys::reap(-1, false) {
                    if pid == command {
                        finish(ended, children);
                    }
                }
                tell_stop(command, supervisor);
            }
            Ok(signal) if signal.sent_by_process && signal.number == END_ALL => {
                finish(ChildExit::Signalled(libc::SIGKILL), children);
            }
            // A shell continues a whole job, which here is out of its reach. And a terminal tells only the leader of
            // its session, which is this process, that it is gone.
            Ok(signal)
                if (plan.terminal.is_some() && signal.number == libc::SIGHUP)
                    || (has_group && signal.number == libc::SIGCONT) =>
            {
                let group = sys::group_of(command).filter(|group| *group > 0);
                let _ = sys::kill(group.map_or(command, |group| -group), signal.number);
            }
            // From the supervisor. What a terminal sends, it sends to the command as well.
            Ok(signal) if signal.sent_by_process => drop(sys::kill(command, signal.number)),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Tells the supervisor when the command has stopped, so that it stops too, and not before.
fn tell_stop(command: Pid, to: BorrowedFd<'_>) {
    let Some(signal) = sys::stopped_by(command) else { return };
    let group = sys::group_of(command);
    let alone = group != sys::group_of(0) && group == sys::foreground();
    let report = Report { stage: Stage::Stopped, index: u8::from(alone), errno: signal };
    let _ = sys::send(to, &report.encode(), None);
}

fn finish(ended: ChildExit, children: Option<BorrowedFd<'_>>) -> ! {
    // With a process namespace the kernel does this when its first process ends.
    if let Some(children) = children {
        while sys::kill_children(children) {
            while let Ok(Some(_)) = sys::reap(-1, false) {}
        }
    }
    sys::exit_now(match ended {
        ChildExit::Exited(code) => code,
        ChildExit::Signalled(signal) => 128 + signal,
    })
}

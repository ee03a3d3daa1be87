//! Processes of a run that the kernel kills by a limit: for their processor time, for the size of a file.
//!
//! Only its parent is told how a process ended, and below a shell that is the shell. Since Linux 6.15 a descriptor of a process
//! tells its end as well, however it was reaped, so that the supervisor opens one of each process that it meets: by a call of it,
//! by the start of a program, and by looking through all of them now and then, which finds those that start no program.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::limits::Limit;
use crate::program::{UNSEEN_PROGRAM, program_of};
use crate::sys::{self, ChildExit, Pid};

/// Processes of which a descriptor is open at one time. Further ones are not followed until some of these have ended.
const MAX_WATCHED: usize = 256;

/// Time between two looks through all processes. The least limit of processor time is a second.
const INTERVAL: Duration = Duration::from_millis(200);

/// The processes that were met, and the limits that ended some of them.
pub(super) struct KilledProcesses {
    met: HashMap<Pid, Process>,
    ended: Vec<(Limit, OsString)>,
    next_look: Instant,
}

/// One process, and the program that it runs.
struct Process {
    descriptor: OwnedFd,
    program: OsString,
    /// The name is that of the file which was to be started: read before it was.
    starting: bool,
}

impl KilledProcesses {
    /// `None` on a kernel whose descriptors of processes tell nothing.
    pub(super) fn new() -> Option<Self> {
        let own = sys::pidfd(sys::own_pid(), 0).ok()?;
        sys::end_of(own.as_fd()).ok()?;
        Some(Self { met: HashMap::new(), ended: Vec::new(), next_look: Instant::now() + INTERVAL })
    }

    /// Meets a process by a call of it. A thread that is not the first of its process is passed over.
    pub(super) fn meet(&mut self, pid: Pid) {
        if self.is_known(pid) {
            if let Some(process) = self.met.get_mut(&pid) {
                process.look_again(pid);
            }
        } else if let Some(descriptor) = self.descriptor(pid) {
            let process = Process { descriptor, program: program_of(pid), starting: false };
            self.met.insert(pid, process);
        }
    }

    /// Meets a process that is about to start the program at a path.
    pub(super) fn meet_start(&mut self, pid: Pid, path: Option<&OsStr>) {
        self.meet(pid);
        let name = path.and_then(|path| Path::new(path).file_name());
        if let (Some(process), Some(name)) = (self.met.get_mut(&pid), name) {
            name.clone_into(&mut process.program);
            process.starting = true;
        }
    }

    /// Time until the next look through all processes.
    pub(super) fn looks_in(&self) -> Duration {
        self.next_look.saturating_duration_since(Instant::now())
    }

    /// Meets all of these, which are those of the run, when it is time.
    pub(super) fn look(&mut self, processes: impl FnOnce() -> Vec<Pid>) {
        if self.looks_in().is_zero() {
            for pid in processes() {
                self.meet(pid);
            }
            self.next_look = Instant::now() + INTERVAL;
        }
    }

    /// Takes the limits that ended processes, and the program of each.
    pub(super) fn take_ended(&mut self) -> Vec<(Limit, OsString)> {
        self.sweep();
        std::mem::take(&mut self.ended)
    }

    /// Returns whether a number still means the process that was met by it.
    fn is_known(&mut self, pid: Pid) -> bool {
        let Some(process) = self.met.get(&pid) else { return false };
        if let Ok(None) = sys::end_of(process.descriptor.as_fd()) {
            return true;
        }
        self.sweep();
        false
    }

    fn descriptor(&mut self, pid: Pid) -> Option<OwnedFd> {
        if self.met.len() >= MAX_WATCHED {
            self.sweep();
        }
        if self.met.len() >= MAX_WATCHED {
            return None;
        }
        sys::pidfd(pid, 0).ok()
    }

    /// Lets go of those that have ended.
    fn sweep(&mut self) {
        let ended = &mut self.ended;
        self.met.retain(|_, process| match sys::end_of(process.descriptor.as_fd()) {
            Ok(None) => true,
            Ok(Some(end)) => {
                let limit = limit_behind(end);
                ended.extend(limit.map(|limit| (limit, std::mem::take(&mut process.program))));
                false
            }
            // Before Linux 6.15 that one has ended is known, and not how.
            Err(_) => false,
        });
    }
}

impl Process {
    /// Names the program by its executable, once it runs.
    fn look_again(&mut self, pid: Pid) {
        if std::mem::take(&mut self.starting) {
            let program = program_of(pid);
            if program != UNSEEN_PROGRAM {
                self.program = program;
            }
        }
    }
}

/// The limit by which the kernel sends such a signal.
/// [signal(7)](https://man7.org/linux/man-pages/man7/signal.7.html)
fn limit_behind(end: ChildExit) -> Option<Limit> {
    match end {
        ChildExit::Signalled(libc::SIGXCPU) => Some(Limit::CpuTime),
        ChildExit::Signalled(libc::SIGXFSZ) => Some(Limit::FileSize),
        ChildExit::Signalled(_) | ChildExit::Exited(_) => None,
    }
}

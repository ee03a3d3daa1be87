//! Resource limits that the kernel enforces for each process without a report: the one that a call is about to meet, and the one
//! that ended a process.
//!
//! Observation alone: the call continues, and the kernel decides. The checks are those of the kernel (`may_expand_vm`,
//! `copy_process`), a moment before.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use super::attempt::SyscallHandler;
use super::file_call::int;
use super::killed_processes::KilledProcesses;
use super::memory;
use crate::profile::Limits;
use crate::sys::Pid;

/// Something that a run may use up only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::processes`].
    Processes,
    /// [`Limits::file_size`].
    FileSize,
    /// [`Limits::cpu_time`].
    CpuTime,
    /// [`Limits::wall_time`].
    WallTime,
}

/// The observed limits of a run.
pub(crate) struct Watched {
    memory: Option<u64>,
    processes: Option<u64>,
    /// The first process of the run.
    init: Pid,
    /// The run has a namespace of processes: elsewhere all of the user's count.
    alone: bool,
    /// At least as many processes as there are: counted, and those started since. `None` before the first count.
    most: Option<u64>,
    /// `None` where no limit ends a process, or the kernel does not tell.
    killed: Option<KilledProcesses>,
}

impl Watched {
    /// `None` where there is nothing to look at.
    pub(crate) fn new(limits: Limits, init: Pid, alone: bool) -> Option<Self> {
        let Limits { memory, processes, .. } = limits;
        let killed = if limits.end_processes() { KilledProcesses::new() } else { None };
        (memory.is_some() || processes.is_some() || killed.is_some()).then_some(Self {
            memory,
            processes,
            init,
            alone,
            most: None,
            killed,
        })
    }

    /// Meets the process that makes a call.
    pub(super) fn meet(&mut self, pid: Pid) {
        if let Some(killed) = &mut self.killed {
            killed.meet(pid);
        }
    }

    /// Meets a process that is about to start a program.
    pub(super) fn meet_start(&mut self, question: &libc::seccomp_notif) {
        let Some(killed) = &mut self.killed else { return };
        let pid = question.pid.cast_signed();
        let [first, second, ..] = question.data.args;
        let at = if i64::from(question.data.nr) == libc::SYS_execve { first } else { second };
        killed.meet_start(pid, memory::path(pid, at).ok().as_deref());
    }

    /// Time until the next look through all processes.
    pub(super) fn looks_in(&self) -> Option<Duration> {
        self.killed.as_ref().map(KilledProcesses::looks_in)
    }

    /// Looks through all processes, when it is time.
    pub(super) fn look(&mut self) {
        let init = self.init;
        if let Some(killed) = &mut self.killed {
            killed.look(|| {
                let mut processes = Vec::new();
                visit_descendants(init, |pid, _| processes.push(pid));
                processes.retain(|pid| *pid != init);
                processes
            });
        }
    }

    /// Tells of the limits that ended processes.
    pub(crate) fn tell_of_killed(&mut self, handler: &mut dyn SyscallHandler) {
        let ended = self.killed.as_mut().map(KilledProcesses::take_ended).unwrap_or_default();
        for (limit, program) in &ended {
            handler.limit_met(*limit, program);
        }
    }

    /// The limit that a call is about to meet.
    pub(super) fn met_by(&mut self, question: &libc::seccomp_notif) -> Option<Limit> {
        if is_start(i64::from(question.data.nr)) {
            return self.is_full().then_some(Limit::Processes);
        }
        let (memory, wanted) = (self.memory?, wanted(question)?);
        let used = data_of(question.pid.cast_signed())?;
        (used.saturating_add(wanted) > memory).then_some(Limit::Memory)
    }

    /// Returns whether no further process can be started. Counted only where there may be as many.
    fn is_full(&mut self) -> bool {
        let Some(limit) = self.processes else { return false };
        let known = self.most.filter(|most| *most < limit);
        let count = known.unwrap_or_else(|| if self.alone { descendants(self.init) } else { of_the_user() });
        self.most = Some(count.saturating_add(1));
        count >= limit
    }
}

/// Returns whether a call starts a program.
pub(super) fn starts_program(number: i64) -> bool {
    [libc::SYS_execve, libc::SYS_execveat].contains(&number)
}

/// Returns whether a call starts a process or thread, or asks for memory to write to.
pub(super) fn concerns(number: i64) -> bool {
    is_start(number) || [libc::SYS_mmap, libc::SYS_mremap, libc::SYS_mprotect].contains(&number)
}

fn is_start(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    const STARTS: &[i64] = &[libc::SYS_clone, libc::SYS_fork, libc::SYS_vfork];
    #[cfg(not(target_arch = "x86_64"))]
    const STARTS: &[i64] = &[libc::SYS_clone];
    STARTS.contains(&number)
}

/// Returns the bytes of private memory that a call asks for. The heap (`brk`) is left out: allocators that get no more of it ask here.
fn wanted(question: &libc::seccomp_notif) -> Option<u64> {
    let [_, second, third, fourth, ..] = question.data.args;
    match i64::from(question.data.nr) {
        libc::SYS_mmap => (int(fourth) & libc::MAP_TYPE == libc::MAP_PRIVATE).then_some(second),
        libc::SYS_mremap => third.checked_sub(second).filter(|grown| *grown > 0),
        libc::SYS_mprotect => Some(second),
        _ => None,
    }
}

/// The private writable memory of a process, in bytes.
/// [proc_pid_status(5)](https://man7.org/linux/man-pages/man5/proc_pid_status.5.html), `VmData`
fn data_of(pid: Pid) -> Option<u64> {
    let kibibytes: u64 = field(pid, "VmData:")?.strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn field(pid: Pid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

/// The threads of a process and of all that it and its own have started.
fn descendants(init: Pid) -> u64 {
    let mut all = 0;
    visit_descendants(init, |_, threads| all += threads);
    all
}

/// Visits a process and all that it and its own have started, with the number of threads of each.
fn visit_descendants(init: Pid, mut visit: impl FnMut(Pid, u64)) {
    let (mut seen, mut next) = (BTreeSet::from([init]), vec![init]);
    while let Some(pid) = next.pop() {
        let mut threads = 0;
        for task in numbers(&format!("/proc/{pid}/task")) {
            threads += 1;
            let children =
                fs::read_to_string(format!("/proc/{pid}/task/{task}/children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
            next.extend(children.filter(|child| seen.insert(*child)));
        }
        visit(pid, threads);
    }
}

/// The threads of all processes of this user.
fn of_the_user() -> u64 {
    let user = rustix::process::getuid().as_raw().to_string();
    let is_ours = |pid: &Pid| field(*pid, "Uid:").is_some_and(|uid| uid.split('\t').next() == Some(&user));
    let threads = |pid: Pid| field(pid, "Threads:").and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    numbers("/proc").filter(is_ours).map(threads).sum()
}

/// The names in a directory that are numbers.
fn numbers(directory: &str) -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

//! The program of a connection, by the socket tables of the kernel.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use pinfold_sandbox::{Caller, UNSEEN_PROGRAM};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::outcome::shown_program;

/// The tables of sockets, of both versions.
const CONNECTIONS: [&str; 2] = ["tcp", "tcp6"];
const DATAGRAMS: [&str; 2] = ["udp", "udp6"];

/// Process that wanted a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConnectingProcess<'a> {
    /// The owner of this TCP port inside.
    At(u16),
    /// The owner of this UDP port inside.
    Asking(u16),
    /// This program.
    Program(&'a str),
}

impl ConnectingProcess<'_> {
    /// The program, by its executable. `init` is the first process inside.
    pub(super) fn program(self, init: i32) -> String {
        let named = |port, tables| {
            let sockets = sockets(init, port, tables);
            let holder = processes_with(init, &sockets).find_map(Caller::from_pid);
            shown_program(holder.as_ref().map_or(OsStr::new(UNSEEN_PROGRAM), |holder| &holder.program))
        };
        match self {
            Self::At(port) => named(port, CONNECTIONS),
            Self::Asking(port) => named(port, DATAGRAMS),
            Self::Program(name) => name.to_owned(),
        }
    }
}

/// Reason why it cannot be shown who wants a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownCallerReason {
    /// The connection is closed.
    Closed,
    /// No process holds it: its socket is under way in a message between processes (`SCM_RIGHTS`), or its holder may not be
    /// looked at.
    Unseen,
    /// More processes than can be shown.
    TooMany,
}

/// A process: its number, and when it started, since numbers are given again.
pub(super) type Process = (i32, u64);

/// The program that a process runs. Names alone are not enough: any executable can have any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunningProgram {
    /// Device and inode of the executable.
    file: (u64, u64),
    /// Last change of that inode: one that was written anew, or whose number was given to another file, is another program.
    changed: (i64, i64),
    /// The name by which it is shown, with the script of an interpreter.
    name: OsString,
}

/// A process that holds a connection.
#[derive(Debug)]
pub(super) struct Holder {
    /// The process as it is shown.
    pub(super) caller: Caller,
    /// The process.
    pub(super) process: Process,
    /// Its program.
    pub(super) program: RunningProgram,
    /// The executable: while it is open, no other file gets its inode.
    _executable: File,
}

impl Holder {
    /// Returns a process with its program. `None` when it is gone, or executes another program at this moment.
    pub(super) fn from_pid(pid: i32) -> Option<Self> {
        let path = format!("/proc/{pid}/exe");
        let executable = openat(CWD, &*path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let executable = File::from(executable);
        let (file, changed) = identity(&executable.metadata().ok()?);
        let caller = Caller::from_pid(pid)?;
        let process = (caller.process, started(caller.process)?);
        let program = RunningProgram { file, changed, name: caller.program.clone() };
        // The name was read meanwhile.
        let is_same = identity(&fs::metadata(path).ok()?) == (file, changed);
        is_same.then_some(Self { caller, process, program, _executable: executable })
    }
}

fn identity(file: &Metadata) -> ((u64, u64), (i64, i64)) {
    ((file.dev(), file.ino()), (file.ctime(), file.ctime_nsec()))
}

/// Returns when a process started: the 22nd field, counted behind its name.
/// [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html)
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Most holders of one connection that are shown.
const MAX_HOLDERS: usize = 8;

/// Returns every process inside that holds the connection from this port. `init` is the first process inside. Reads every
/// process of the run, so it must not run on a thread that others wait for.
pub(super) fn holders(init: i32, port: u16) -> Result<Vec<Holder>, UnknownCallerReason> {
    /// Looks, since a socket can be passed on, and a program executed, while processes are read one after the other.
    const LOOKS: u64 = 3;
    for look in 0..LOOKS {
        thread::sleep(Duration::from_millis(10 * look));
        let sockets = sockets(init, port, CONNECTIONS);
        if sockets.is_empty() {
            return Err(UnknownCallerReason::Closed);
        }
        let holders: Vec<Option<Holder>> =
            processes_with(init, &sockets).map(Holder::from_pid).take(MAX_HOLDERS + 1).collect();
        if holders.len() > MAX_HOLDERS {
            return Err(UnknownCallerReason::TooMany);
        }
        // One that cannot be told is not left out: it holds the connection as well.
        let holders: Option<Vec<Holder>> = holders.into_iter().collect();
        if let Some(holders) = holders.filter(|holders| !holders.is_empty()) {
            return Ok(holders);
        }
    }
    Err(UnknownCallerReason::Unseen)
}

/// The sockets at a port, as `/proc/PID/fd` names them. Without a network of its own others have sockets there too.
fn sockets(init: i32, port: u16, tables: [&str; 2]) -> Vec<String> {
    let at_port = own_ports(init, tables).filter(|(own, _)| *own == port);
    at_port.map(|(_, inode)| format!("socket:[{inode}]")).collect()
}

/// The processes that hold one of these sockets: those of the run, and where none of them does, any (a kernel may keep no lists
/// of children).
fn processes_with(init: i32, sockets: &[String]) -> impl Iterator<Item = i32> {
    let holds = |pid: &i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut open = open.filter_map(|fd| fs::read_link(fd.path()).ok());
        open.any(|to| sockets.iter().any(|socket| to.as_os_str() == socket.as_str()))
    };
    let mut known = vec![init];
    let mut next = 0;
    let inside = std::iter::from_fn(move || {
        let pid = *known.get(next)?;
        known.extend(children(pid));
        next += 1;
        Some(pid)
    });
    let mut inside = inside.filter(holds).peekable();
    let elsewhere = inside.peek().is_none() && !sockets.is_empty();
    let elsewhere = elsewhere.then(|| numbers("/proc").filter(holds)).into_iter().flatten();
    inside.chain(elsewhere)
}

/// The processes that a process has started and that live, whichever of its threads started them.
fn children(pid: i32) -> Vec<i32> {
    let tasks = format!("/proc/{pid}/task");
    let lists =
        numbers(&tasks).filter_map(|task| fs::read_to_string(format!("{tasks}/{task}/children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The names in a folder that are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Returns whether any of these connections still belongs to a process.
pub(super) fn any_is_open(init: i32, ports: &[u16]) -> bool {
    own_ports(init, CONNECTIONS).any(|(own, _)| ports.contains(&own))
}

/// Returns whether a server listens on a port, in the network of a process.
pub(crate) fn is_listened_on(pid: i32, port: u16) -> bool {
    /// `TCP_LISTEN`, the fourth field.
    const LISTENS: &str = "0A";
    let listens = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let own = fields.nth(1).and_then(|own| u16::from_str_radix(own.rsplit_once(':')?.1, 16).ok());
        own == Some(port) && fields.nth(1) == Some(LISTENS)
    };
    let tables = CONNECTIONS.map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")));
    tables.iter().flatten().any(|text| text.lines().skip(1).any(listens))
}

/// The ports of all sockets inside that belong to a process, with the numbers of the sockets.
/// [proc_pid_net(5)](https://man7.org/linux/man-pages/man5/proc_pid_net.5.html)
fn own_ports(init: i32, tables: [&str; 2]) -> impl Iterator<Item = (u16, u64)> {
    let tables = tables.map(|table| fs::read_to_string(format!("/proc/{init}/net/{table}")));
    let lines = tables.into_iter().flatten().flat_map(|text| {
        let lines: Vec<_> = text.lines().skip(1).filter_map(socket).collect();
        lines
    });
    lines.collect::<Vec<_>>().into_iter()
}

fn socket(line: &str) -> Option<(u16, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (_, own) = fields.nth(1)?.rsplit_once(':')?;
    let inode = fields.nth(7)?.parse().ok().filter(|inode| *inode != 0)?;
    Some((u16::from_str_radix(own, 16).ok()?, inode))
}

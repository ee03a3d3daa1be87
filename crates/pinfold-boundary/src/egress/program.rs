//! The program of a connection, by the socket tables of the kernel.

use std::ffi::OsStr;
use std::fs;

use pinfold_sandbox::{Caller, UNSEEN_PROGRAM};

use crate::outcome::shown_program;

/// The tables of sockets, of both versions.
const CONNECTIONS: [&str; 2] = ["tcp", "tcp6"];
const DATAGRAMS: [&str; 2] = ["udp", "udp6"];

/// Process that wanted a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who<'a> {
    /// The owner of this TCP port inside.
    At(u16),
    /// The owner of this UDP port inside.
    Asking(u16),
    /// This program.
    Program(&'a str),
}

impl Who<'_> {
    /// The program, by its executable. `init` is the first process inside.
    pub(super) fn program(self, init: i32) -> String {
        let named = |caller: Option<Caller>| name(caller.as_ref());
        match self {
            Self::At(port) => named(owner(init, port, CONNECTIONS)),
            Self::Asking(port) => named(owner(init, port, DATAGRAMS)),
            Self::Program(name) => name.to_owned(),
        }
    }
}

/// The program of a caller, if that can be seen.
pub(super) fn name(caller: Option<&Caller>) -> String {
    shown_program(caller.map_or(OsStr::new(UNSEEN_PROGRAM), |caller| &caller.program))
}

/// Returns the process inside that owns the connection from this port; `None` where that cannot be seen. `init` is the first
/// process inside. Reads every process of the run, so it must not run on a thread that others wait for.
pub(super) fn caller(init: i32, port: u16) -> Option<Caller> {
    owner(init, port, CONNECTIONS)
}

fn owner(init: i32, port: u16, tables: [&str; 2]) -> Option<Caller> {
    // Without a network of its own others have sockets there too.
    let sockets: Vec<String> = own_ports(init, tables)
        .filter(|(own, _)| *own == port)
        .map(|(_, inode)| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    let holds = |pid: i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut open = open.filter_map(|fd| fs::read_link(fd.path()).ok());
        open.any(|to| sockets.iter().any(|socket| to.as_os_str() == socket.as_str()))
    };
    let mut known = vec![init];
    let mut next = 0;
    while let Some(&pid) = known.get(next) {
        if holds(pid) {
            return Caller::of(pid);
        }
        known.extend(children(pid));
        next += 1;
    }
    // A kernel that keeps no lists of children.
    numbers("/proc").find(|pid| holds(*pid)).and_then(Caller::of)
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

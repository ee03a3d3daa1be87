//! Which program a connection belongs to, as the kernel has it.

use std::fs;

use crate::witness::program;

/// The program inside that owns the connection from this port; empty where that cannot be seen. `init` is the first
/// process inside. Looks at every process: to be asked once for each different refusal.
pub(super) fn of(init: i32, port: u16) -> String {
    found(init, port).map(program).unwrap_or_default()
}

fn found(init: i32, port: u16) -> Option<i32> {
    let socket =
        format!("socket:[{}]", ["tcp", "tcp6"].into_iter().find_map(|table| inode(init, table, port))?);
    let processes = fs::read_dir("/proc").ok()?;
    // Sockets are numbered over the whole machine.
    let mut numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let holds = |pid: &i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|to| to.as_os_str() == socket.as_str())
    };
    numbers.find(holds)
}

/// The number of the socket whose own port this is.
/// [proc_pid_net(5)](https://man7.org/linux/man-pages/man5/proc_pid_net.5.html)
fn inode(init: i32, table: &str, port: u16) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{init}/net/{table}")).ok()?;
    text.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (_, own) = fields.nth(1)?.rsplit_once(':')?;
        let inode = fields.nth(7)?.parse().ok().filter(|inode| *inode != 0)?;
        (u16::from_str_radix(own, 16) == Ok(port)).then_some(inode)
    })
}

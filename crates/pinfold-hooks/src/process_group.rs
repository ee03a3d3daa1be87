//! Ends a program with everything it started.
//!
//! The processes that belong to it are known by several marks, since each of them can be shed: process group and session, the
//! chain of parents, and a variable in the environment that children inherit. A process that sheds all of them at once
//! outlives the hook; that takes a program that is written to do so.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// The variable that everything a hook starts inherits.
pub(crate) const MARK: &str = "PINFOLD_HOOK";

/// Number of looks: a process that forks between two looks is found by the next.
const MAX_LOOKS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(2);

/// Ends `leader`, which was started as the leader of a group and has not been waited for, and everything it started.
pub(crate) fn end(leader: Pid, mark: &str) {
    let mut known = Vec::new();
    for look in 0..MAX_LOOKS {
        let all = processes();
        let found = members(&all, leader, mark, &known);
        if found.is_empty() {
            return;
        }
        for process in &found {
            end_one(process);
        }
        // Its number is not given to another process before it is waited for.
        let _ = kill_process_group(leader, Signal::KILL);
        known.extend(found.into_iter().map(|process| (process.pid, process.started)));
        if look > 0 {
            std::thread::sleep(BETWEEN);
        }
    }
}

/// Ends the very process that was looked at, and none that got its number since.
fn end_one(process: &Process) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if self::process(process.pid).is_some_and(|now| now.started == process.started) {
        let _ = pidfd_send_signal(&held, Signal::KILL);
    }
}

/// A process, as the kernel tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// Start time in ticks: with the number it tells one process from the next of that number.
    started: u64,
    /// Set for a process that has ended and was not waited for.
    over: bool,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html)
fn process(pid: i32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let number = |at: usize| fields.get(at)?.trim().parse::<i64>().ok();
    let small = |at: usize| number(at).and_then(|number| i32::try_from(number).ok());
    Some(Process {
        pid,
        parent: small(1)?,
        group: small(2)?,
        session: small(3)?,
        started: u64::try_from(number(19)?).ok()?,
        over: matches!(fields.first(), Some(&("Z" | "X"))),
    })
}

/// Returns the processes that belong to the leader and still run.
fn members(all: &[Process], leader: Pid, mark: &str, known: &[(i32, u64)]) -> Vec<Process> {
    let leader = leader.as_raw_nonzero().get();
    let by_number: HashMap<i32, &Process> = all.iter().map(|process| (process.pid, process)).collect();
    let marked =
        |process: &Process| process.pid == leader || process.group == leader || process.session == leader;
    let is_ours = |process: &Process| {
        let mut at = Some(process);
        // Parents, up to the first process of all.
        for _ in 0..=all.len() {
            let Some(process) = at else { return false };
            if marked(process) || known.contains(&(process.pid, process.started)) {
                return true;
            }
            at = by_number.get(&process.parent).copied();
        }
        false
    };
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    all.iter()
        .filter(|process| !process.over && process.pid != own)
        .filter(|process| is_ours(process) || carries(process.pid, mark))
        .cloned()
        .collect()
}

/// Returns `true` if a process was started with the mark.
fn carries(pid: i32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, group: i32, session: i32) -> Process {
        Process { pid, parent, group, session, started: 1, over: false }
    }

    #[test]
    fn who_belongs_to_a_leader_is_told_by_any_of_its_marks() {
        let all = [
            process(1, 0, 1, 1),
            process(10, 1, 10, 10),
            // The leader, its child, a child in a group of its own, a grandchild of that one.
            process(100, 10, 100, 10),
            process(101, 100, 100, 10),
            process(102, 101, 102, 102),
            process(103, 102, 103, 103),
            // Whose parent has gone.
            process(104, 1, 100, 10),
            Process { over: true, ..process(105, 100, 100, 10) },
            process(200, 10, 200, 10),
        ];
        let leader = Pid::from_raw(100).unwrap();
        let found: Vec<i32> =
            members(&all, leader, "no such mark", &[]).iter().map(|found| found.pid).collect();
        assert_eq!(found, [100, 101, 102, 103, 104]);
        let found = members(&all, Pid::from_raw(300).unwrap(), "no such mark", &[(102, 1)]);
        assert_eq!(found.iter().map(|found| found.pid).collect::<Vec<_>>(), [102, 103]);
    }

    #[test]
    fn a_loop_of_parents_comes_to_an_end() {
        let all = [process(5, 6, 5, 5), process(6, 5, 6, 6)];
        assert!(members(&all, Pid::from_raw(7).unwrap(), "no such mark", &[]).is_empty());
    }
}

//! Identity of a process: its number and start time, not the name that it claims.

use std::fs;

/// A process that nothing else is ever taken for: a number is given again, with another beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProcessId {
    pid: i32,
    /// Start time in clock ticks since boot.
    started: u64,
}

/// Most parents that are looked up; no shell is started from so many others.
const MAX_PARENTS: usize = 256;

impl ProcessId {
    /// The process of that number, and its parents, the nearest first. Empty when it is gone.
    pub(super) fn lineage(pid: i32) -> Vec<Self> {
        let mut lineage = Vec::new();
        let mut next = pid;
        while let Some((process, parent)) = Self::look(next).filter(|_| lineage.len() < MAX_PARENTS) {
            lineage.push(process);
            next = parent;
        }
        lineage
    }

    /// [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html): `ppid` is the fourth field,
    /// `starttime` the twenty-second. The second, the name, may hold anything.
    fn look(pid: i32) -> Option<(Self, i32)> {
        if pid <= 0 {
            return None;
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ').skip(1);
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some((Self { pid, started }, parent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_descends_from_its_parents_and_is_itself_alone() {
        let own = i32::try_from(std::process::id()).unwrap();
        let lineage = ProcessId::lineage(own);
        assert_eq!(lineage.first().map(|process| process.pid), Some(own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let below = ProcessId::lineage(i32::try_from(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(below.get(1..), Some(lineage.as_slice()));
        assert!(below.first().unwrap().started >= lineage.first().unwrap().started);
        assert_eq!(ProcessId::lineage(0), []);
        assert_eq!(ProcessId::lineage(i32::try_from(child.id()).unwrap()), []);
    }
}

//! What is left behind: names that pinfold held, processes, mounts, temporary directories.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

use super::{Found, Look, Violation, is_placeholder};
use crate::hostile::roles::Role;
use crate::hostile::snapshot::Change;
use crate::hostile::world::World;
use crate::processes::find_mentioning;

/// How long processes may take to end after their run.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Placeholders after a run that ended by itself. At a name that is not guarded none is made: what looks like one there was made,
/// and given that mode, by the program.
pub(super) fn check(look: &Look<'_>, all: &mut Vec<Violation>) {
    if look.was_killed() {
        return;
    }
    let there = look.changes().filter_map(|change| Some((change, change.after?)));
    for (Change { path, before, .. }, entry) in there {
        let old = before.is_some_and(|before| before.place == entry.place);
        let may_be_held = !matches!(look.role(path), Role::Own | Role::Content);
        if !old && may_be_held && is_placeholder(look.after, path, entry) {
            let what = "a name that was held is still there".to_owned();
            all.push(look.violation(Found { kind: "something is left behind", path, what }));
        }
    }
}

/// After the last run nothing of any run is left.
pub(in crate::hostile) fn after_the_last(world: &World, mark: &Path) -> Vec<Violation> {
    let mark = mark.to_string_lossy().into_owned();
    let until = Instant::now() + END_TIMEOUT;
    let mut processes = find_mentioning(&mark);
    while !processes.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        processes = find_mentioning(&mark);
    }
    let processes = processes.into_iter().map(|pid| ("process", end(pid)));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = mounts.lines().filter(|line| line.contains(&mark)).map(|line| ("mount", line.to_owned()));
    let mounts = mounts.collect::<Vec<_>>();
    let directories =
        run_directories(&world.temp).into_iter().map(|at| ("directory", at.display().to_string()));
    let all = processes.chain(mounts).chain(directories);
    all.map(|(class, what)| Violation { kind: "something is left behind", class: class.into(), what })
        .collect()
}

/// Ends a process of the machine's own, and says what it was.
fn end(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Directories that belong to one run each.
fn run_directories(temp: &Path) -> Vec<std::path::PathBuf> {
    let homes = fs::read_dir(temp).into_iter().flatten().flatten().map(|entry| entry.path());
    homes
        .flat_map(|home| fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path()))
        .collect()
}

/// Whether a run has left its directory.
pub(in crate::hostile) fn has_run_directories(world: &World) -> bool {
    !run_directories(&world.temp).is_empty()
}

/// What a killed run left counts as old from now on: the next run takes away only what has been there for a while.
pub(in crate::hostile) fn grow_old(world: &World) {
    let long_ago = SystemTime::now() - Duration::from_mins(10);
    for at in run_directories(&world.temp) {
        drop(fs::File::open(at).and_then(|directory| directory.set_modified(long_ago)));
    }
}

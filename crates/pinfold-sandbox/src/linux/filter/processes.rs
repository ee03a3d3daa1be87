//! Rules about processes: starting them, their memory, and what reaches those outside.

use libc::c_long;

use super::program::{Action, Rule, Test, always};
use super::{ENOSYS, EPERM, Group, SEEN};
use crate::profile::Profile;
use crate::sys;

/// `open_tree_attr(2)`, which the C library does not number yet.
const OPEN_TREE_ATTR: c_long = 467;

/// The start of the command itself.
pub(super) const UNASKED: Test = Test::AnyOf(0, sys::UNASKED.cast_unsigned());

/// Calls that ask for memory, where that is limited. The kernel enforces the limit without a report.
pub(super) fn limited(profile: &Profile) -> Vec<Rule> {
    if profile.limits.memory.is_none() {
        return Vec::new();
    }
    let writable = vec![(Test::AnyOf(2, libc::PROT_WRITE.cast_unsigned()), SEEN)];
    let writing = |number| Rule { number, tests: writable.clone(), otherwise: Action::Allow };
    vec![writing(libc::SYS_mmap), writing(libc::SYS_mprotect), always(libc::SYS_mremap, SEEN)]
}

/// Starts of programs, where a limit may end one of them: by its start the supervisor meets it.
pub(super) fn starts_of_programs(profile: &Profile) -> Vec<Rule> {
    if !profile.limits.end_processes() {
        return Vec::new();
    }
    let command = vec![(Test::Equals(3, sys::UNASKED_EXEC), Action::Allow)];
    let exec = Rule { number: libc::SYS_execve, tests: command, otherwise: SEEN };
    vec![exec, always(libc::SYS_execveat, SEEN)]
}

pub(super) fn namespaces_and_mounts(starts: Action) -> Vec<Rule> {
    const NEW: u32 = (libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWUTS) as u32;
    const NEWTIME: u32 = 0x80;
    let mut rules = vec![
        Rule {
            number: libc::SYS_clone,
            tests: vec![(Test::AnyOf(0, NEW), EPERM), (UNASKED, Action::Allow)],
            otherwise: starts,
        },
        // Its flags are in memory. The C library falls back to clone.
        always(libc::SYS_clone3, ENOSYS),
        Rule {
            number: libc::SYS_unshare,
            tests: vec![(Test::AnyOf(0, NEW | NEWTIME), EPERM)],
            otherwise: Action::Allow,
        },
    ];
    let calls = [
        libc::SYS_chroot,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_mount,
        libc::SYS_mount_setattr,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        OPEN_TREE_ATTR,
        libc::SYS_pivot_root,
        libc::SYS_umount2,
    ];
    rules.extend(calls.map(|number| always(number, EPERM)));
    rules
}

// Of setpriority(2), which C libraries type in different ways.
const PRIO_PROCESS: u32 = 0;

const PRIO_PGRP: u32 = 1;

/// Calls that reach all of a process group, where a process namespace stands: it hides the numbers of other groups, and
/// the caller's own one, which is 0, is no number.
pub(super) fn of_group(group: Group) -> Vec<Rule> {
    const IOPRIO_WHO_PGRP: u32 = 2;
    if group == Group::Own {
        return Vec::new();
    }
    let own = |which: u32| Test::Both([(0, which), (1, 0)]);
    vec![
        Rule {
            number: libc::SYS_setpriority,
            tests: vec![(own(PRIO_PGRP), EPERM)],
            otherwise: Action::Allow,
        },
        Rule {
            number: libc::SYS_ioprio_set,
            tests: vec![(own(IOPRIO_WHO_PGRP), EPERM)],
            otherwise: Action::Allow,
        },
    ]
}

/// Signals to the whole process group, by its number or by a descriptor of a process in it.
pub(super) fn of_signals_to(group: Group) -> Vec<Rule> {
    const PIDFD_SIGNAL_PROCESS_GROUP: u32 = 1 << 2;
    match group {
        Group::Own | Group::SharedAndScoped => Vec::new(),
        Group::Shared => vec![
            Rule {
                number: libc::SYS_kill,
                tests: vec![(Test::Equals(0, 0), EPERM)],
                otherwise: Action::Allow,
            },
            Rule {
                number: libc::SYS_pidfd_send_signal,
                tests: vec![(Test::AnyOf(3, PIDFD_SIGNAL_PROCESS_GROUP), EPERM)],
                otherwise: Action::Allow,
            },
        ],
    }
}

/// Rules in place of namespaces: System V objects, message queues, priority, memory and limits of other processes.
pub(super) fn without_namespaces() -> Vec<Rule> {
    const IOPRIO_WHO_PROCESS: u32 = 1;
    let calls = [
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_process_madvise,
        SYS_PROCESS_MRELEASE,
        libc::SYS_kcmp,
    ];
    let mut rules: Vec<Rule> = calls.into_iter().map(|number| always(number, EPERM)).collect();
    // Itself (0) is fine; any number may be an outsider.
    let by_number = [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
    ];
    rules.extend(by_number.map(|number| Rule {
        number,
        tests: vec![(Test::Equals(0, 0), Action::Allow)],
        otherwise: EPERM,
    }));
    // The first argument says whether the second is a process, a group or a user.
    let by_kind = [(libc::SYS_setpriority, PRIO_PROCESS), (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS)];
    rules.extend(by_kind.map(|(number, process)| Rule {
        number,
        tests: vec![(Test::Both([(0, process), (1, 0)]), Action::Allow)],
        otherwise: EPERM,
    }));
    rules
}

/// `process_mrelease(2)`, which the C library does not number everywhere.
const SYS_PROCESS_MRELEASE: c_long = 448;

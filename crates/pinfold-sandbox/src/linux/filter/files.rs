//! Rules about files: opening, naming and changing them.

use libc::c_long;

use super::program::{Action, Rule, Test, always};
use super::{ENOSYS, SEEN};
use crate::profile::Profile;
use crate::watch::FCHMODAT2;

/// Rules for changes of attributes by path, where mounts hold them. Times are shown to a handler that may have them set outside; they are mostly set without a
/// path, on the file that was just written, and that is not shown, so that it costs nothing.
pub(super) fn attributes_by_name(times: bool) -> Vec<Rule> {
    let is_about_times = |number: c_long| TIMES_BY_NAME.contains(&number);
    let shown = ATTRIBUTES_BY_NAME.iter().copied().filter(|number| times || !is_about_times(*number));
    let open_file = vec![(Test::Equals(1, 0), Action::Allow)];
    shown
        .map(|number| match number {
            libc::SYS_utimensat => Rule { number, tests: open_file.clone(), otherwise: SEEN },
            number => always(number, SEEN),
        })
        .collect()
}

#[cfg(target_arch = "x86_64")]
const TIMES_BY_NAME: &[c_long] =
    &[libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_utimensat];
#[cfg(not(target_arch = "x86_64"))]
const TIMES_BY_NAME: &[c_long] = &[libc::SYS_utimensat];

/// Calls that ask whether a place could be written: a read-only mount says no where an approver may still say yes.
pub(super) fn questions_about_writing() -> Vec<Rule> {
    let writing = |number, mode| {
        let tests = vec![(Test::AnyOf(mode, libc::W_OK.cast_unsigned()), SEEN)];
        Rule { number, tests, otherwise: Action::Allow }
    };
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(unused_mut, reason = "the older calls are that processor's")
    )]
    let mut rules = vec![writing(libc::SYS_faccessat, 2), writing(libc::SYS_faccessat2, 2)];
    #[cfg(target_arch = "x86_64")]
    rules.push(writing(libc::SYS_access, 1));
    rules
}

/// Calls that change the attributes of a file by its name.
#[cfg(target_arch = "x86_64")]
const ATTRIBUTES_BY_NAME: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];

#[cfg(not(target_arch = "x86_64"))]
const ATTRIBUTES_BY_NAME: &[c_long] =
    &[libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchownat, libc::SYS_utimensat];

/// The others that change attributes: extended ones, and those of an open file.
const OTHER_ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Returns whether a call changes the attributes of a file without writing to it.
pub(crate) fn changes_attributes(number: i64) -> bool {
    ATTRIBUTES_BY_NAME.iter().chain(OTHER_ATTRIBUTES).any(|known| *known == number)
}

/// Calls that change a file without writing to it, which Landlock does not govern, nor a mount where the file was opened
/// outside. The newest are too new to be relied upon, and what they mean lies in structures.
pub(super) fn attributes() -> Vec<Rule> {
    // setxattrat, removexattrat, file_setattr
    const NEW: [c_long; 3] = [463, 466, 469];
    let known = ATTRIBUTES_BY_NAME.iter().chain(OTHER_ATTRIBUTES);
    let mut rules: Vec<Rule> = known.map(|number| always(*number, SEEN)).collect();
    rules.extend(NEW.map(|number| always(number, ENOSYS)));
    rules
}

/// Rules for a mediating supervisor: system calls that it has to know of beside those that it executes, and sandboxes of
/// the run's own, whose limits it would not keep: for programs the kernel has none.
pub(super) fn of_mediation() -> Vec<Rule> {
    let landlock =
        [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
    let exclusive = vec![(Test::AnyOf(1, libc::LOCK_EX.cast_unsigned()), SEEN)];
    let mut rules = vec![
        always(libc::SYS_umask, SEEN),
        Rule { number: libc::SYS_flock, tests: exclusive, otherwise: Action::Allow },
    ];
    rules.extend(landlock.map(|number| always(number, ENOSYS)));
    rules
}

/// Opens: those that may change something, and where reading is watched all of them.
pub(super) fn opens(profile: &Profile) -> Vec<Rule> {
    let writing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;
    let open = |number, flags| {
        if profile.watches_reading {
            // What opens nothing but a handle reads nothing.
            let handle = vec![(Test::AnyOf(flags, libc::O_PATH as u32), Action::Allow)];
            return Rule { number, tests: handle, otherwise: SEEN };
        }
        let tests = vec![(Test::AnyOf(flags, writing), SEEN)];
        Rule { number, tests, otherwise: Action::Allow }
    };
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(unused_mut, reason = "the older calls are that processor's")
    )]
    let mut rules = vec![
        open(libc::SYS_openat, 2),
        // Its flags are in memory, where a filter cannot look.
        always(libc::SYS_openat2, SEEN),
    ];
    #[cfg(target_arch = "x86_64")]
    rules.extend([open(libc::SYS_open, 1), always(libc::SYS_creat, SEEN)]);
    rules
}

/// Calls that change what a path names.
pub(super) fn names() -> Vec<Rule> {
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(unused_mut, reason = "the older calls are that processor's")
    )]
    let mut numbers = vec![
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_unlinkat,
        libc::SYS_truncate,
    ];
    #[cfg(target_arch = "x86_64")]
    numbers.extend([
        libc::SYS_mkdir,
        libc::SYS_mknod,
        libc::SYS_rename,
        libc::SYS_link,
        libc::SYS_symlink,
        libc::SYS_unlink,
        libc::SYS_rmdir,
    ]);
    numbers.into_iter().map(|number| always(number, SEEN)).collect()
}

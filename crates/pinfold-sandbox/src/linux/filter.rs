//! The seccomp filter: which system calls are refused, and of which the supervisor is notified.
//!
//! It closes what mounts and Landlock cannot see: sockets of brokers outside, kernel interfaces with a record of holes,
//! foreign system-call numbers. Calls that change files are notified (`SECCOMP_RET_USER_NOTIF`): in a mediated run the
//! supervisor judges each and carries it out itself, otherwise it only [watches](crate::watch) what the mounts refuse.
//! Argument tests compare the low 32 bits, as the kernel does for the types concerned (CVE-2019-10063 compared 64).

mod files;
mod processes;
mod program;
mod sockets;

use self::files::{attributes, attributes_by_name, names, of_mediation, opens, questions_about_writing};
use self::processes::{
    UNASKED, limited, namespaces_and_mounts, of_group, of_signals_to, starts_of_programs, without_namespaces,
};
use self::program::{Action, Rule, Test, always};
use self::sockets::{SO_PASSPIDFD, SO_PEERPIDFD, of_handed_sockets, of_option, sockets};
use crate::profile::{Network, Profile, Writes};

pub(crate) use self::files::changes_attributes;
pub(crate) use self::program::Filter;

/// Limits that the filter has to stand in for: the fewer others there are, the more it closes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backing {
    /// Namespaces and mounts stand.
    Namespaces,
    /// Landlock alone stands.
    Landlock,
}

/// Membership of outside processes in the process group of a run, and the protection of them from its signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Every group that a process inside can be in is the run's own.
    Own,
    /// The caller's, for the terminal that they share; Landlock keeps signals within the run.
    SharedAndScoped,
    /// The caller's, and nothing but this filter keeps signals within the run.
    Shared,
}

const EPERM: Action = Action::Refuse(libc::EPERM);

const EACCES: Action = Action::Refuse(libc::EACCES);

/// Action for interfaces that programs probe for and can do without.
const ENOSYS: Action = Action::Refuse(libc::ENOSYS);

const SEEN: Action = Action::Watch { unwatched: None };

const SEEN_AND_REFUSED: Action = Action::Watch { unwatched: Some(libc::EACCES) };

fn rules(profile: &Profile, backing: Backing, group: Group) -> Vec<Rule> {
    let mediated = profile.mediated.is_some();
    let mut rules = Vec::with_capacity(128);
    rules.extend(opens(profile));
    rules.extend(names());
    rules.extend(sockets(profile, backing));
    if matches!(profile.network, Network::Proxied(_)) {
        rules.extend(of_handed_sockets());
    }
    rules.extend(controls(profile, backing));
    rules.extend(always_closed());
    rules.extend(closed_unless_opened(profile));
    rules.extend(limited(profile));
    rules.extend(starts_of_programs(profile));
    match backing {
        Backing::Landlock => rules.extend(without_namespaces()),
        Backing::Namespaces => rules.extend(of_group(group)),
    }
    rules.extend(of_signals_to(group));
    if mediated {
        rules.extend(of_mediation());
    }
    if mediated || backing == Backing::Landlock {
        rules.extend(attributes());
    } else {
        rules.extend(attributes_by_name(profile.negotiable));
    }
    if profile.negotiable && backing == Backing::Namespaces {
        rules.extend(questions_about_writing());
    }
    rules
}

/// Typing into the terminal that we share with the person, and its virtual-console cousins. Without mounts also
/// what changes a file through a descriptor that is only read: flags, project, seal, version and encryption of an inode.
fn controls(profile: &Profile, backing: Backing) -> Vec<Rule> {
    const TIOCLINUX: u32 = 0x541c;
    // FS_IOC_SETFLAGS, its 32-bit form, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY, FS_IOC_SETVERSION, its 32-bit form,
    // EXT4_IOC_SETVERSION, its 32-bit form, FS_IOC_SET_ENCRYPTION_POLICY
    const OF_INODES: [u32; 9] = [
        0x4008_6602,
        0x4004_6602,
        0x401c_5820,
        0x4080_6685,
        0x4008_7602,
        0x4004_7602,
        0x4008_6604,
        0x4004_6604,
        0x800c_6613,
    ];
    // BTRFS_IOC_SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY, their later forms, SUBVOL_SETFLAGS: they make and remove names
    // in a directory that is only read.
    const OF_NAMES: [u32; 7] =
        [0x5000_9401, 0x5000_940e, 0x5000_940f, 0x5000_9417, 0x5000_9418, 0x5000_943f, 0x4008_941a];
    #[expect(clippy::cast_possible_truncation, reason = "request numbers are 32 bits")]
    let mut refused = vec![libc::TIOCSTI as u32, TIOCLINUX, libc::TIOCSETD as u32];
    let mediated = profile.mediated.is_some();
    if mediated || backing == Backing::Landlock && profile.writes != Writes::Anywhere {
        refused.extend(OF_INODES);
    }
    if mediated {
        refused.extend(OF_NAMES);
    }
    vec![Rule {
        number: libc::SYS_ioctl,
        tests: refused.into_iter().map(|request| (Test::Equals(1, request), EPERM)).collect(),
        otherwise: Action::Allow,
    }]
}

/// Closed whatever the profile says: nothing that runs in a folder needs them.
fn always_closed() -> Vec<Rule> {
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        allow(unused_mut, reason = "these processors have calls of their own")
    )]
    let mut numbers = vec![
        libc::SYS_acct,
        libc::SYS_bpf,
        libc::SYS_delete_module,
        libc::SYS_finit_module,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_lookup_dcookie,
        libc::SYS_nfsservctl,
        libc::SYS_open_by_handle_at,
        libc::SYS_perf_event_open,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_reboot,
        libc::SYS_setdomainname,
        libc::SYS_sethostname,
        libc::SYS_setns,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_swapoff,
        libc::SYS_swapon,
        libc::SYS_syslog,
        libc::SYS_userfaultfd,
        libc::SYS_vhangup,
    ];
    #[cfg(target_arch = "x86_64")]
    numbers.extend([
        libc::SYS_ioperm,
        libc::SYS_iopl,
        libc::SYS_kexec_file_load,
        libc::SYS_uselib,
        libc::SYS_ustat,
        libc::SYS_sysfs,
        libc::SYS__sysctl,
    ]);
    // `kexec_file_load` in the table that new processors share; libc names it for glibc alone.
    #[cfg(target_arch = "aarch64")]
    numbers.push(294);
    let mut rules: Vec<Rule> = numbers.into_iter().map(|number| always(number, EPERM)).collect();
    // Core scheduling, for whole groups and sessions.
    let cores = vec![(Test::Equals(0, libc::PR_SCHED_CORE.cast_unsigned()), Action::Refuse(libc::EINVAL))];
    rules.push(Rule { number: libc::SYS_prctl, tests: cores, otherwise: Action::Allow });
    // Leases and delegations hold up programs outside that open the file: it is one file inside and outside.
    let leases = [libc::F_SETLEASE.cast_unsigned(), F_SETDELEG];
    let leases = leases.map(|command| (Test::Equals(1, command), EACCES)).to_vec();
    rules.push(Rule { number: libc::SYS_fcntl, tests: leases, otherwise: Action::Allow });
    // Handles of the process at the other end of a socket, which may be one outside.
    rules.push(of_option(libc::SYS_getsockopt, SO_PEERPIDFD));
    rules.push(of_option(libc::SYS_setsockopt, SO_PASSPIDFD));
    rules
}

/// `fcntl(2)`, Linux 6.19; the C library does not number it.
const F_SETDELEG: u32 = 1024 + 16;

/// Closed unless the profile opens them by name.
fn closed_unless_opened(profile: &Profile) -> Vec<Rule> {
    let open = profile.openings;
    let mut rules = Vec::new();
    // Whether a further process can be started is looked at where the number is limited.
    let starts = if profile.limits.processes.is_some() { SEEN } else { Action::Allow };
    if open.user_namespaces {
        let tests = vec![(UNASKED, Action::Allow)];
        rules.push(Rule { number: libc::SYS_clone, tests, otherwise: starts });
    } else {
        rules.extend(namespaces_and_mounts(starts));
    }
    #[cfg(target_arch = "x86_64")]
    rules.extend([libc::SYS_fork, libc::SYS_vfork].map(|number| always(number, starts)));
    if !open.io_uring {
        let calls = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
        rules.extend(calls.map(|number| always(number, ENOSYS)));
    }
    if !open.keyrings {
        let calls = [libc::SYS_add_key, libc::SYS_keyctl, libc::SYS_request_key];
        rules.extend(calls.map(|number| always(number, EPERM)));
    }
    if !open.personality {
        // Linux, its query form, and the short-inode forms that old 32-bit tools set: what container runtimes
        // allow by default.
        let plain = [0, 0x8, 0x2_0000, 0x2_0008, u32::MAX].map(|p| (Test::Equals(0, p), Action::Allow));
        rules.push(Rule { number: libc::SYS_personality, tests: plain.to_vec(), otherwise: EPERM });
    }
    rules
}

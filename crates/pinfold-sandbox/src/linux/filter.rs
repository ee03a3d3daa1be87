//! The seccomp filter: which system calls are refused, and of which the supervisor is notified.
//!
//! It closes what mounts and Landlock cannot see: sockets of brokers outside, kernel interfaces with a record of holes,
//! foreign system-call numbers. Calls that change files are notified (`SECCOMP_RET_USER_NOTIF`): in a mediated run the
//! supervisor judges each and carries it out itself, otherwise it only [watches](crate::watch) what the mounts refuse.
//! Argument tests compare the low 32 bits, as the kernel does for the types concerned (CVE-2019-10063 compared 64).

use libc::{c_int, c_long, sock_filter};

use crate::profile::{Network, Profile, Writes};
use crate::sys;
use crate::watch::FCHMODAT2;

/// Result of the filter for a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Allow,
    /// Fails with this error number.
    Refuse(c_int),
    /// The supervisor is notified and decides. The error number applies without a supervisor.
    Watch {
        unwatched: Option<c_int>,
    },
}

/// A test of the low 32 bits of an argument.
#[derive(Clone, Copy)]
enum Test {
    Equals(u32, u32),
    /// Two arguments, both with these values.
    Both([(u32, u32); 2]),
    /// Any of these bits is set.
    AnyOf(u32, u32),
    /// The family of a socket, and its kind without flags.
    Socket(c_int, c_int),
}

/// One system call: the first test that holds decides, else `otherwise`.
struct Rule {
    number: c_long,
    tests: Vec<(Test, Action)>,
    otherwise: Action,
}

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

/// A BPF program, with user notifications for a supervisor.
pub(crate) struct Filter {
    code: Vec<sock_filter>,
    /// Index of each instruction that notifies, with its action without a supervisor.
    questions: Vec<(usize, u32)>,
}

impl Filter {
    /// The filter for a profile.
    pub(crate) fn new(profile: &Profile, backing: Backing, group: Group) -> Self {
        let mut filter = Self { code: prologue(), questions: Vec::with_capacity(64) };
        for rule in rules(profile, backing, group) {
            filter.assemble(&rule);
        }
        filter.code.push(ret(libc::SECCOMP_RET_ALLOW));
        filter
    }

    /// Replaces every notification by its action without a supervisor. Does not allocate: it is known only after the fork
    /// whether notifications are available.
    pub(crate) fn drop_notifications(&mut self) {
        for (at, answer) in self.questions.drain(..) {
            if let Some(question) = self.code.get_mut(at) {
                question.k = answer;
            }
        }
    }

    /// The program.
    pub(crate) fn code(&self) -> &[sock_filter] {
        &self.code
    }

    fn assemble(&mut self, rule: &Rule) {
        let Ok(number) = u32::try_from(rule.number) else { return };
        let start = self.code.len();
        self.code.push(jump(libc::BPF_JEQ, number, 0, 0));
        for &(test, action) in &rule.tests {
            match test {
                Test::Equals(arg, wanted) => {
                    self.code.extend([load(ARGS + 8 * arg), jump(libc::BPF_JEQ, wanted, 0, 1)]);
                }
                Test::Both([(first, one), (second, other)]) => {
                    self.code.extend([load(ARGS + 8 * first), jump(libc::BPF_JEQ, one, 0, 3)]);
                    self.code.extend([load(ARGS + 8 * second), jump(libc::BPF_JEQ, other, 0, 1)]);
                }
                Test::Socket(family, kind) => {
                    const KIND: u32 = 0xf;
                    let mask = statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, KIND);
                    self.code.extend([load(ARGS), jump(libc::BPF_JEQ, family.cast_unsigned(), 0, 4)]);
                    self.code.extend([load(ARGS + 8), mask, jump(libc::BPF_JEQ, kind.cast_unsigned(), 0, 1)]);
                }
                Test::AnyOf(arg, bits) => {
                    self.code.extend([load(ARGS + 8 * arg), jump(libc::BPF_JSET, bits, 0, 1)]);
                }
            }
            self.end(action);
        }
        self.end(rule.otherwise);
        // Every body ends the program, so the number stays loaded for the next rule.
        let skip = u8::try_from(self.code.len() - start - 1).unwrap_or(u8::MAX);
        if let Some(first) = self.code.get_mut(start) {
            first.jf = skip;
        }
    }

    /// Ends the program with what an action means.
    fn end(&mut self, action: Action) {
        let value = match action {
            Action::Allow => libc::SECCOMP_RET_ALLOW,
            Action::Refuse(errno) => refusal(errno),
            Action::Watch { unwatched } => {
                let answer = unwatched.map_or(libc::SECCOMP_RET_ALLOW, refusal);
                self.questions.push((self.code.len(), answer));
                libc::SECCOMP_RET_USER_NOTIF
            }
        };
        self.code.push(ret(value));
    }
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

/// Rules for changes of attributes by path, where mounts hold them. Times are shown to a handler that may have them set outside; they are mostly set without a
/// path, on the file that was just written, and that is not shown, so that it costs nothing.
fn attributes_by_name(times: bool) -> Vec<Rule> {
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
fn questions_about_writing() -> Vec<Rule> {
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
fn attributes() -> Vec<Rule> {
    // setxattrat, removexattrat, file_setattr
    const NEW: [c_long; 3] = [463, 466, 469];
    let known = ATTRIBUTES_BY_NAME.iter().chain(OTHER_ATTRIBUTES);
    let mut rules: Vec<Rule> = known.map(|number| always(*number, SEEN)).collect();
    rules.extend(NEW.map(|number| always(number, ENOSYS)));
    rules
}

/// Rules for a mediating supervisor: system calls that it has to know of beside those that it executes, and sandboxes of
/// the run's own, whose limits it would not keep: for programs the kernel has none.
fn of_mediation() -> Vec<Rule> {
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
fn opens(profile: &Profile) -> Vec<Rule> {
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
fn names() -> Vec<Rule> {
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

/// Socket families: the internet's where there is a network (or a private loopback), routing tables, and
/// `AF_UNIX` by name only. Everything uncommon is closed: it is attack surface that no build needs.
fn sockets(profile: &Profile, backing: Backing) -> Vec<Rule> {
    let family = |f: c_int| Test::Equals(0, f.cast_unsigned());
    let mut tests = Vec::new();
    let both = [libc::AF_INET, libc::AF_INET6];
    match (&profile.network, backing) {
        (Network::Host, _) | (Network::Off, Backing::Namespaces) => {
            tests.extend(both.map(|of| (family(of), Action::Allow)));
        }
        // What a relay carries, and what names are asked by.
        (Network::Relayed(_), Backing::Namespaces) => {
            for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
                tests.extend(both.map(|of| (Test::Socket(of, kind), Action::Allow)));
            }
        }
        // No namespace to be alone in: no socket at all, or one that the supervisor hands out.
        (Network::Off | Network::Relayed(_), Backing::Landlock) | (Network::Proxied(_), _) => {
            tests.extend(both.map(|of| (family(of), SEEN_AND_REFUSED)));
        }
    }
    let local = if profile.openings.unix_sockets { Action::Allow } else { SEEN_AND_REFUSED };
    tests.push((family(libc::AF_UNIX), local));
    let pairs = if profile.openings.unix_sockets {
        vec![(family(libc::AF_UNIX), Action::Allow)]
    } else {
        // An end that carries datagrams sends them to any address (SOCK_RAW means the same); the others only to each other.
        [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
            .map(|kind| (Test::Socket(libc::AF_UNIX, kind), Action::Allow))
            .into()
    };
    let mut rules = vec![Rule { number: libc::SYS_socketpair, tests: pairs, otherwise: EACCES }];
    // `getifaddrs` and `ip addr` speak NETLINK_ROUTE, as nearly every program does; all other protocols are closed.
    let route = if backing == Backing::Namespaces || profile.network == Network::Host {
        Action::Allow
    } else {
        EACCES
    };
    let routes = [(0, libc::AF_NETLINK.cast_unsigned()), (2, libc::NETLINK_ROUTE.cast_unsigned())];
    tests.push((Test::Both(routes), route));
    rules.push(Rule { number: libc::SYS_socket, tests, otherwise: SEEN_AND_REFUSED });
    // Elsewhere none can be reached, and those that are tried are named.
    let declared =
        !profile.sockets.is_empty() && backing == Backing::Namespaces && profile.network != Network::Host;
    let names_sockets = !profile.openings.unix_sockets && !declared;
    if names_sockets && !matches!(profile.network, Network::Proxied(_)) {
        rules.push(always(libc::SYS_bind, SEEN));
    }
    match profile.network {
        Network::Host if names_sockets => rules.push(always(libc::SYS_connect, SEEN)),
        Network::Host => {}
        // Where no network of its own keeps a process from the real one, no `connect` is ever the kernel's to carry out.
        Network::Proxied(_) => rules.push(always(libc::SYS_connect, SEEN_AND_REFUSED)),
        Network::Off | Network::Relayed(_) => rules.push(always(libc::SYS_connect, SEEN)),
    }
    rules
}

/// Rules against reuse of a connected socket of the real network: another peer, a server, another route.
fn of_handed_sockets() -> Vec<Rule> {
    let fast_open = libc::MSG_FASTOPEN.cast_unsigned();
    let sending = |number, flags| {
        let tests = vec![(Test::AnyOf(flags, fast_open), Action::Refuse(libc::EOPNOTSUPP))];
        Rule { number, tests, otherwise: Action::Allow }
    };
    let harmless = HARMLESS_OPTIONS.iter().flat_map(|(level, options)| {
        let both = |option: &c_int| Test::Both([(1, level.cast_unsigned()), (2, option.cast_unsigned())]);
        options.iter().map(move |option| (both(option), Action::Allow))
    });
    vec![
        always(libc::SYS_bind, SEEN_AND_REFUSED),
        always(libc::SYS_listen, EACCES),
        sending(libc::SYS_sendto, 3),
        sending(libc::SYS_sendmsg, 2),
        sending(libc::SYS_sendmmsg, 3),
        Rule {
            number: libc::SYS_setsockopt,
            tests: harmless.collect(),
            otherwise: Action::Refuse(libc::ENOPROTOOPT),
        },
    ]
}

/// Options that change how a connection behaves, and never where its packets go: IP options, routing headers and devices
/// do that, also of a socket that is connected.
const HARMLESS_OPTIONS: [(c_int, &[c_int]); 4] = [
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_REUSEADDR,
            libc::SO_REUSEPORT,
            libc::SO_SNDBUF,
            libc::SO_RCVBUF,
            libc::SO_KEEPALIVE,
            libc::SO_OOBINLINE,
            libc::SO_LINGER,
            libc::SO_RCVLOWAT,
            libc::SO_RCVTIMEO,
            libc::SO_SNDTIMEO,
            libc::SO_PASSCRED,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_CORK,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
            libc::TCP_SYNCNT,
            libc::TCP_QUICKACK,
            libc::TCP_USER_TIMEOUT,
            libc::TCP_NOTSENT_LOWAT,
        ],
    ),
    (libc::IPPROTO_IP, &[libc::IP_TOS]),
    (libc::IPPROTO_IPV6, &[libc::IPV6_V6ONLY, libc::IPV6_TCLASS]),
];

/// `open_tree_attr(2)`, which the C library does not number yet.
const OPEN_TREE_ATTR: c_long = 467;

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

// Of socket(7), which the C library does not number everywhere.
const SO_PASSPIDFD: u32 = 76;
const SO_PEERPIDFD: u32 = 77;

fn of_option(number: c_long, option: u32) -> Rule {
    let level = libc::SOL_SOCKET.cast_unsigned();
    let tests = vec![(Test::Both([(1, level), (2, option)]), Action::Refuse(libc::ENOPROTOOPT))];
    Rule { number, tests, otherwise: Action::Allow }
}

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

/// The start of the command itself.
const UNASKED: Test = Test::AnyOf(0, sys::UNASKED.cast_unsigned());

/// Calls that ask for memory, where that is limited. The kernel enforces the limit without a report.
fn limited(profile: &Profile) -> Vec<Rule> {
    if profile.limits.memory.is_none() {
        return Vec::new();
    }
    let writable = vec![(Test::AnyOf(2, libc::PROT_WRITE.cast_unsigned()), SEEN)];
    let writing = |number| Rule { number, tests: writable.clone(), otherwise: Action::Allow };
    vec![writing(libc::SYS_mmap), writing(libc::SYS_mprotect), always(libc::SYS_mremap, SEEN)]
}

/// Starts of programs, where a limit may end one of them: by its start the supervisor meets it.
fn starts_of_programs(profile: &Profile) -> Vec<Rule> {
    if !profile.limits.end_processes() {
        return Vec::new();
    }
    let command = vec![(Test::Equals(3, sys::UNASKED_EXEC), Action::Allow)];
    let exec = Rule { number: libc::SYS_execve, tests: command, otherwise: SEEN };
    vec![exec, always(libc::SYS_execveat, SEEN)]
}

fn namespaces_and_mounts(starts: Action) -> Vec<Rule> {
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
fn of_group(group: Group) -> Vec<Rule> {
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
fn of_signals_to(group: Group) -> Vec<Rule> {
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
fn without_namespaces() -> Vec<Rule> {
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

fn always(number: c_long, action: Action) -> Rule {
    Rule { number, tests: Vec::new(), otherwise: action }
}

// ---- assembling

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e; // AUDIT_ARCH_X86_64
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7; // AUDIT_ARCH_AARCH64

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGS: u32 = 16;

/// The first system call that this filter knows nothing of (Linux 6.18 ends with `listns`, 470). What came later may do
/// anything; programs meet kernels that do not have it.
const FIRST_UNKNOWN: u32 = 471;

/// Foreign system-call tables end the process.
fn prologue() -> Vec<sock_filter> {
    let mut code = vec![
        load(ARCH),
        jump(libc::BPF_JEQ, NATIVE, 1, 0),
        ret(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    // x32 numbers (bit 30) are among them.
    code.push(jump(libc::BPF_JGE, FIRST_UNKNOWN, 0, 1));
    code.push(ret(refusal(libc::ENOSYS)));
    code
}

fn refusal(errno: c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn ret(value: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, value)
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: narrow(code), jt: 0, jf: 0, k }
}

fn jump(kind: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: narrow(libc::BPF_JMP | kind | libc::BPF_K), jt, jf, k }
}

#[expect(clippy::cast_possible_truncation, reason = "instruction codes are 16 bits")]
const fn narrow(code: u32) -> u16 {
    code as u16
}

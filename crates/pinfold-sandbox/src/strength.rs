//! Strength of the sandbox that this machine allows.

use std::fmt;

/// Strength of a sandbox: its tier, and mediation of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength {
    /// The means of the kernel.
    pub tier: Tier,
    /// Every call that changes a shared file is carried out by the supervisor ([`Mediation`](crate::Mediation)). Else
    /// places inside the folder are held by mounts, or only watched, and missing names by directories that stand there for
    /// the length of the run.
    pub mediated: bool,
}

/// The best that this kernel can do within the tier.
impl From<Tier> for Strength {
    fn from(tier: Tier) -> Self {
        Self { tier, mediated: crate::can_mediate() }
    }
}

impl Strength {
    /// Returns the gaps against the full tier: one sentence each, for the user.
    pub fn gaps(self) -> impl Iterator<Item = &'static str> {
        let of_tier = match self.tier {
            Tier::Full => &[][..],
            Tier::Landlock => OF_LANDLOCK,
        };
        let (of_watch, of_both) = match (self.mediated, self.tier) {
            (true, _) => (&[][..], &[][..]),
            (false, Tier::Full) => (OF_THE_WATCH, &[][..]),
            (false, Tier::Landlock) => (OF_THE_WATCH, OF_A_WATCH_WITHOUT_MOUNTS),
        };
        of_watch.iter().chain(of_both).chain(of_tier).copied()
    }
}

const OF_THE_WATCH: &[&str] = &[
    "protected names inside the folder are those that the start finds: a run can close, move or replace a directory around \
     them, and the next run does not find them any more",
    "links can be put into a git directory (`logs`, `COMMIT_EDITMSG`), through which git outside writes to any place of yours",
    "repositories and protected names that are made at a depth (`.git/modules/x`, `sub/.envrc`) are not refused, and not \
     always reported",
];

const OF_A_WATCH_WITHOUT_MOUNTS: &[&str] = &[
    "protected names inside the folder (`.git/config`, `.mcp.json`, …) are watched, not walled: a program that races the \
     watch can change them",
    "mode, owner, times and attributes of your own files outside the folder are watched, not walled",
];

const OF_LANDLOCK: &[&str] = &[
    "`/tmp` is shared with the machine and read-only but for a private directory at `TMPDIR`",
    "files that appear beside a hidden place after the start cannot be run inside, nor read outside the folder",
    "names in a hidden directory can be listed, though nothing in it can be read",
    "processes outside can be seen in `/proc`, though not read, and before Linux 6.12 be signalled",
    "descendants that outlive a killed supervisor are not ended",
    "sockets of programs on this machine cannot be allowed one by one: none is, or all",
    "hosts that are allowed are reached by programs that use the proxy of `HTTP_PROXY` alone, and by none in a run within \
     a run",
    "with `--network host` the abstract sockets of other programs are reachable before Linux 6.12",
];

/// Set of kernel features that enforces a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Landlock and seccomp: for machines and containers that forbid user namespaces.
    Landlock,
    /// User, mount, process, IPC, host-name, cgroup and (offline) network namespaces, with Landlock and seccomp
    /// as a second ring.
    Full,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Landlock => "landlock",
        })
    }
}

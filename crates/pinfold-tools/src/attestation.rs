//! Attestation: a process proves to itself that it is inside a run by making a call that the kernel never grants, and
//! the run's supervisor answers it.
//!
//! The call opens a name below a `/proc` that is the kernel's own, for writing. No process can make a file there,
//! mount one or link to one, so that without a supervisor the answer is always "no such file". The supervisor hears of
//! it by the seccomp filter that binds the caller with all its descendants
//! ([seccomp_unotify(2)](https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html)) and hands over a sealed
//! description instead. No variable, file or socket takes part, so none can imitate it; an answer needs a filter above
//! the caller and a program behind it.
//!
//! Not stopped: a program that starts the hook under a filter of its own and answers this call. A program that chooses
//! the hook needs no attestation to get a yes.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};

use pinfold::policy::ShellConfinement;
use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, SealFlags};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

/// The version of the description.
const VERSION: u32 = 1;

/// The beginning of the name that is opened; a nonce follows, in hexadecimal.
pub(crate) const PREFIX: &str = "pinfold-attestation-";

/// The random bytes of a nonce: one that was asked before is not met again.
const NONCE: usize = 16;

/// The longest description that is read.
const MAX_BYTES: u64 = 4096;

/// The seals of a description that is handed over: its content stays as it is.
pub(crate) const SEALS: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// The hold on a run, as its supervisor says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attestation {
    v: u32,
    /// The nonce that was asked with.
    pub(crate) nonce: String,
    held: HoldStrength,
    open_network: bool,
}

/// The firmness of the hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HoldStrength {
    /// Held by namespaces and mounts.
    Full,
    /// Held with the gaps of the Landlock tier, which the user has accepted.
    Landlock,
}

impl Attestation {
    pub(crate) fn new(nonce: &str, held: HoldStrength, open_network: bool) -> Self {
        Self { v: VERSION, nonce: nonce.to_owned(), held, open_network }
    }

    /// The hold on a shell that is started beside the caller.
    pub fn confinement(&self) -> ShellConfinement {
        match self.held {
            HoldStrength::Full => ShellConfinement::Full,
            HoldStrength::Landlock => ShellConfinement::Degraded,
        }
    }

    /// Returns true if such a shell reaches hosts that nothing decides about.
    pub fn opens_network(&self) -> bool {
        self.open_network
    }

    /// Asks the supervisor of the run that this process is inside. `None` outside every run, inside one without a
    /// supervisor that watches, and where the kernel cannot hold a call (before Linux 5.19).
    pub fn receive() -> Option<Self> {
        if !is_filtered(&fs::read_to_string("/proc/self/status").ok()?) {
            return None;
        }
        let nonce = nonce()?;
        let said = File::from(asked(&nonce)?);
        let mut text = String::new();
        said.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        let attestation: Self = serde_json::from_str(&text).ok()?;
        (attestation.v == VERSION && attestation.nonce == nonce).then_some(attestation)
    }
}

/// Returns true if a filter binds a process that can never be privileged again: else no supervisor could answer it.
fn is_filtered(status: &str) -> bool {
    let is = |name: &str, value: &str| {
        let fields = status.lines().filter_map(|line| line.strip_prefix(name));
        fields.map(str::trim).next() == Some(value)
    };
    is("NoNewPrivs:", "1") && is("Seccomp:", "2")
}

fn nonce() -> Option<String> {
    let mut bytes = [0_u8; NONCE];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty()).ok()?;
    (filled == NONCE).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the answer to the call that the kernel never grants, if it is one that only a supervisor hands over:
/// sealed, and for reading although it was asked for writing.
fn asked(nonce: &str) -> Option<OwnedFd> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let proc = rustix::fs::openat(CWD, "/proc", folder, Mode::empty()).ok()?;
    if rustix::fs::fstatfs(&proc).ok()?.f_type != PROC_SUPER_MAGIC {
        return None;
    }
    let writing = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let answer = rustix::fs::openat(&proc, format!("{PREFIX}{nonce}"), writing, Mode::empty()).ok()?;
    let only_read =
        rustix::fs::fcntl_getfl(&answer).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDONLY);
    let sealed = rustix::fs::fcntl_get_seals(answer.as_fd()).is_ok_and(|seals| seals.contains(SEALS));
    (only_read && sealed).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_filtered_where_it_has_a_filter_and_no_way_to_more_rights() {
        let status = |privileges: u8, seccomp: u8| {
            format!("Name:\tx\nNoNewPrivs:\t{privileges}\nSeccomp:\t{seccomp}\nSeccomp_filters:\t1\n")
        };
        for (privileges, seccomp, filtered) in [(1, 2, true), (0, 2, false), (1, 0, false), (1, 1, false)] {
            assert_eq!(is_filtered(&status(privileges, seccomp)), filtered, "{privileges} {seccomp}");
        }
        assert!(!is_filtered("NoNewPrivs_:\t1\nSeccomp_filters:\t2\n"));
    }

    #[test]
    fn a_name_that_the_kernel_never_grants_is_not_granted() {
        // Whatever runs this test, no supervisor of ours stands above it, or it says so.
        if Attestation::receive().is_none() {
            assert!(asked(&nonce().unwrap()).is_none());
        }
    }
}

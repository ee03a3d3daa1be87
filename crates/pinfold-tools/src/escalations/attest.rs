//! The supervisor's side of an attestation: which call asks for one, and what is handed over for it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd};

use pinfold_boundary::Boundary;
use pinfold_sandbox::{self as sandbox, Attempt, Intent, Tier};
use rustix::fs::MemfdFlags;

use crate::attestation::{Attestation, HoldStrength, PREFIX, SEALS};

/// `ENOENT`: what the kernel would have said.
const MISSING: i32 = 2;

/// Answers processes of one run that ask what holds them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attester {
    held: HoldStrength,
    open_network: bool,
}

impl Attester {
    pub(super) fn new(boundary: &Boundary, tier: Tier) -> Self {
        let held = match tier {
            Tier::Full => HoldStrength::Full,
            Tier::Landlock => HoldStrength::Landlock,
        };
        Self { held, open_network: boundary.profile().network == sandbox::Network::Host }
    }

    /// Returns whether a process asks for an attestation by what it tries.
    pub(super) fn is_asked(attempt: &Attempt) -> bool {
        attempt.intent == Intent::Write && nonce(&attempt.place).is_some()
    }

    /// Answers a call that asks for one; gives back any other.
    pub(super) fn answer(self, held: sandbox::PendingSyscall) -> Option<sandbox::PendingSyscall> {
        let Some(nonce) = held.call().places.first().and_then(|place| nonce(place)).map(str::to_owned) else {
            return Some(held);
        };
        match self.described(&nonce) {
            // A process that is gone, or has too many descriptors, has no use for it.
            Ok(file) => drop(held.hand_over(file.as_fd())),
            Err(_) => held.refuse(MISSING),
        }
        None
    }

    /// Writes the description to a sealed memfd, and opens that for reading.
    fn described(self, nonce: &str) -> io::Result<File> {
        let made = rustix::fs::memfd_create(PREFIX, MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?;
        let mut file = File::from(made);
        serde_json::to_writer(&mut file, &Attestation::new(nonce, self.held, self.open_network))?;
        file.flush()?;
        rustix::fs::fcntl_add_seals(file.as_fd(), SEALS)?;
        File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// The nonce that a place asks with.
fn nonce(place: &std::path::Path) -> Option<&str> {
    let name = place.strip_prefix("/proc").ok()?.to_str()?.strip_prefix(PREFIX)?;
    let plain = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    (plain && !name.is_empty() && name.len() <= 64).then_some(name)
}

//! The rights with which the supervisor does something for a caller: no more than the caller has.

use std::io;

use crate::sys::{self, Capabilities};

/// Capabilities that the supervising thread lowers for each call that it executes.
pub(super) struct Rights {
    /// `None` where it has no capabilities at all, as those of ordinary users have.
    capabilities: Option<Capabilities>,
    /// The umask that this thread has, once it has one of its own.
    umask: Option<u32>,
}

impl Rights {
    /// # Errors
    /// When the capabilities of this thread cannot be told.
    pub(super) fn new() -> io::Result<Self> {
        let now = Capabilities::current()?;
        Ok(Self { capabilities: now.are_in_effect().then_some(now), umask: None })
    }

    /// Runs `action` without capabilities in effect, as inside, and where it creates a file with the caller's umask. This thread has a umask and a working directory of its own from then on.
    ///
    /// # Errors
    /// When the rights cannot be given up; then nothing was done.
    pub(super) fn as_caller<T>(&mut self, umask: Option<u32>, action: impl FnOnce() -> T) -> io::Result<T> {
        if let Some(umask) = umask.filter(|umask| self.umask != Some(*umask)) {
            if self.umask.is_none() {
                sys::own_umask()?;
            }
            sys::umask(umask);
            self.umask = Some(umask);
        }
        match self.capabilities {
            None => Ok(action()),
            Some(before) => run_without(before, action),
        }
    }
}

/// Runs `action` without capabilities in effect.
///
/// # Errors
/// When they cannot be put aside; then nothing was done.
pub(super) fn without_capabilities<T>(action: impl FnOnce() -> T) -> io::Result<T> {
    run_without(Capabilities::current()?, action)
}

fn run_without<T>(before: Capabilities, action: impl FnOnce() -> T) -> io::Result<T> {
    struct CapabilitiesGuard(Capabilities);
    impl Drop for CapabilitiesGuard {
        fn drop(&mut self) {
            // What is permitted may always be taken up again.
            let _ = self.0.set();
        }
    }
    before.at_rest().set()?;
    let _back = CapabilitiesGuard(before);
    Ok(action())
}

//! Options of the shells of a session. This library reads nothing of them from the process that it runs in.

use std::path::PathBuf;

use pinfold_boundary::SandboxRequest;
use pinfold_sandbox::Tier;

use crate::secrets::Scrubbing;

/// Options of shells: what they take from the process that starts them, and how they are held.
#[derive(Debug, Clone)]
pub struct ShellOptions {
    /// The part of every request that is the user's: environment, caches, network, openings, limits, what may be read. Folder, mode,
    /// home and temporary files come from the plan of the session.
    pub request: SandboxRequest,
    /// An existing directory in which the session can make one of its own.
    pub private: PathBuf,
    /// The weakest tier that the user accepts. On a machine that holds less no shell runs.
    pub weakest: Tier,
    /// The strongest tier that is used.
    pub strongest: Tier,
    /// Choice to take secrets out of what shells say.
    pub scrubbing: Scrubbing,
}

impl ShellOptions {
    /// Returns options with an empty environment, no network, nothing less than the full tier, and without secrets.
    pub fn new(private: impl Into<PathBuf>) -> Self {
        let (weakest, strongest) = (Tier::Full, Tier::Full);
        let (request, scrubbing) = (SandboxRequest::default(), Scrubbing::On);
        Self { request, private: private.into(), weakest, strongest, scrubbing }
    }
}

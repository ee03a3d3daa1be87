//! What shells take from the process they are started by. This library reads none of it by itself.

use std::path::PathBuf;

use pinfold_boundary::Grant;
use pinfold_sandbox::Tier;

use crate::secrets::Scrubbing;

/// What shells take from the process they are started by, and what its owner wishes for them.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The owner's wishes: environment, caches, network, openings, limits, what may be read. Folder, mode,
    /// home and temporary files come from the plan of the session.
    pub grant: Grant,
    /// An existing directory in which the session can make one of its own.
    pub private: PathBuf,
    /// The weakest tier that the owner accepts. On a machine that holds less no shell runs.
    pub weakest: Tier,
    /// The strongest tier that is used.
    pub strongest: Tier,
    /// Whether secrets are taken out of what shells say.
    pub scrubbing: Scrubbing,
}

impl Surroundings {
    /// With an empty environment, no network, nothing less than the full tier, and without secrets.
    pub fn new(private: impl Into<PathBuf>) -> Self {
        let (weakest, strongest) = (Tier::Full, Tier::Full);
        let (grant, scrubbing) = (Grant::default(), Scrubbing::On);
        Self { grant, private: private.into(), weakest, strongest, scrubbing }
    }
}

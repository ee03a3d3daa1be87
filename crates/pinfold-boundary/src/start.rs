//! From a grant to a command that runs within its boundary.

use pinfold_policy::Guards;
use pinfold_sandbox::{Command, Confined, Signalling, StartError, Strength, Tier, can_mediate, start};

use crate::boundary::{Boundary, CompileError};
use crate::grant::Grant;

/// A command that runs, and the boundary that it runs within.
#[derive(Debug)]
pub struct Started {
    /// The boundary.
    pub boundary: Boundary,
    /// The command.
    pub confined: Confined,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted<E> {
    /// The grant cannot be carried out.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The sandbox could not be set up, or the program not be started.
    #[error(transparent)]
    Start(StartError),
    /// The command could not be prepared.
    #[error("{0}")]
    Command(E),
}

impl Boundary {
    /// Compiles a grant and starts a command within it, with its calls [mediated](pinfold_sandbox::Mediation) where the
    /// machine lets them be. `command` prepares the command; it is asked again where another program above watches already,
    /// which only the start tells, and the run is held in another way then.
    ///
    /// # Errors
    /// When the grant cannot be carried out, the sandbox not be set up, or the program not be started. Nothing has run then.
    pub fn start<E>(
        grant: &Grant,
        guards: &Guards,
        tier: Tier,
        signalling: Signalling,
        mut command: impl FnMut() -> Result<Command, E>,
    ) -> Result<Started, NotStarted<E>> {
        let mut attempt = |mediated| {
            let boundary = Self::compile(grant, guards, Strength { tier, mediated })?;
            let command = command().map_err(NotStarted::Command)?;
            let confined =
                start(boundary.profile(), command, tier, signalling, true).map_err(NotStarted::Start)?;
            Ok(Started { boundary, confined })
        };
        match attempt(can_mediate()) {
            Err(NotStarted::Start(error)) if error.is_unmediated() => attempt(false),
            other => other,
        }
    }
}

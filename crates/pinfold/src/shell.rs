//! The port to the host of shells, which an embedder that knows the kernel provides.

use std::any::Any;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use pinfold_policy::ShellConfinement;

/// Directories in which the kernel gives every process a place of its own.
pub const PRIVATE_TEMP_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The host of a session's shells, which says how firmly they are held. The gate only asks; the tool that performs
/// the call finds it again in the targets of the permit.
///
/// Dropped with the session, it ends every shell that still runs.
pub trait ShellHost: Any + Debug + Send + Sync {
    /// The hold on a shell that is started now.
    fn confinement(&self) -> ShellConfinement;

    /// Returns true if a shell could reach hosts that nothing decides about.
    fn opens_network(&self) -> bool;

    /// Places that a shell has of its own, so that what it writes there stays there: a private `/tmp`.
    fn private(&self) -> &[PathBuf] {
        &[]
    }

    /// The folder that its shells are held to, resolved.
    fn folder(&self) -> &Path;
}

/// Shells that are judged and never started. They count as held in full, whether or not this machine could hold them: for
/// questions about rules and settings, whose answer must not depend on the machine.
#[derive(Debug)]
pub struct AssumedShells {
    folder: PathBuf,
    open_network: bool,
    private: Vec<PathBuf>,
}

impl AssumedShells {
    /// Shells that are held to `folder`, a resolved path, reach no host that nothing decides about, and have no places of
    /// their own.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), open_network: false, private: Vec::new() }
    }

    /// The same shells with [`ShellHost::opens_network`] and [`ShellHost::private`] as given.
    #[must_use]
    pub fn with_network(self, open_network: bool, private: Vec<PathBuf>) -> Self {
        Self { open_network, private, ..self }
    }
}

impl ShellHost for AssumedShells {
    fn confinement(&self) -> ShellConfinement {
        ShellConfinement::Full
    }

    fn opens_network(&self) -> bool {
        self.open_network
    }

    fn private(&self) -> &[PathBuf] {
        &self.private
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

//! What runs the shells of a session: brought along by whoever knows the kernel, carried by the session.

use std::any::Any;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use pinfold_policy::ShellHold;

/// Where every process has a place of its own that the kernel holds in full.
pub const OWN_PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// What runs the shells of a session, and says how firmly they are held. The gate only asks; whoever performs
/// the call finds it again in the targets of the permit.
///
/// Dropped with the session, it ends every shell that still runs.
pub trait ShellHost: Any + Debug + Send + Sync {
    /// What holds a shell that is started now.
    fn held(&self) -> ShellHold;

    /// Whether a shell could reach hosts that nothing decides about.
    fn opens_network(&self) -> bool;

    /// Places that a shell has of its own, so that what it writes there stays there: a private `/tmp`.
    fn private(&self) -> &[PathBuf] {
        &[]
    }

    /// The folder that its shells are held to, resolved.
    fn folder(&self) -> &Path;
}

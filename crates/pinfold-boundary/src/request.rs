//! A sandbox request: what a run may do, as data, before it meets the file system.

use std::ffi::OsString;
use std::path::PathBuf;

use pinfold_policy::path_scopes::KernelLists;
use pinfold_policy::settings::Secrets;
use pinfold_policy::{DeniedPaths, FolderChoice};
use pinfold_sandbox::{Limits, Openings, Temp};

use crate::agents::AgentProfile;
use crate::hosts::HostList;
use crate::private::Private;

/// Part of the file system that can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxMode {
    /// Nothing but a private temporary directory.
    ReadOnly,
    /// The granted folder, private temporary files and declared caches.
    #[default]
    WorkspaceWrite,
    /// Anywhere but guarded places.
    DefaultWrite,
}

/// Selection of cache profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheChoice {
    /// Every known one.
    #[default]
    All,
    /// None: tools see their caches read-only.
    None,
    /// These, by name.
    Only(Vec<String>),
}

/// Hosts that can be reached over the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Network {
    /// Processes inside alone.
    #[default]
    Off,
    /// These hosts, and what runs inside.
    Hosts(HostList),
    /// Everything that this machine can reach.
    Host,
}

/// Override of one environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvOverride {
    /// Pass it on although its name or value looks secret.
    Pass(OsString),
    /// Take it away.
    Unset(OsString),
    /// Give it this value.
    Set(OsString, OsString),
}

/// A request for a sandbox. Paths may be relative to `cwd` and may hold links; compiling resolves them.
///
/// [`SandboxRequest::new`] asks for the least; fields are set one by one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SandboxRequest {
    /// The folder.
    pub folder: PathBuf,
    /// Folders that are no project, beside [`Self::home`], and whether the user means one all the same.
    pub folder_choice: FolderChoice,
    /// Working directory of the command; the folder when empty.
    pub cwd: PathBuf,
    /// Part of the file system that can be written.
    pub mode: SandboxMode,
    /// Further directories, treated like the folder.
    pub add: Vec<PathBuf>,
    /// Further files or directories that can be written, even if they are guarded.
    pub allow_write: Vec<PathBuf>,
    /// Guarded files or directories that can be read all the same.
    pub allow_read: Vec<PathBuf>,
    /// Further directories that stay readable although one above them is covered (`/tmp`, `/run`).
    pub visible: Vec<PathBuf>,
    /// Files or directories that cannot be read. Of one that is missing a note tells: what appears later is held by `denied`.
    pub deny_read: Vec<PathBuf>,
    /// Declared path scopes of the terminal, resolved. They narrow everything else that is granted here.
    pub lists: KernelLists,
    /// Paths that rules deny. They are denied whatever else is granted here.
    pub denied: DeniedPaths,
    /// The person's home directory, if there is one.
    pub home: Option<PathBuf>,
    /// Directory for copies that the command may change, and for temporary files where no memory can be mounted.
    pub private: Private,
    /// Directory of private layers of caches between runs: `$XDG_CACHE_HOME/pinfold` or its like.
    pub cache_home: Option<PathBuf>,
    /// Directory in which supervisors of this user's runs meet, so that of two runs in one folder none undoes what the other has judged:
    /// `$XDG_STATE_HOME/pinfold` or its like. A file is made there. Where there is none they are not kept apart.
    pub state_home: Option<PathBuf>,
    /// Selection of cache profiles.
    pub caches: CacheChoice,
    /// The agent that is run: it writes its state to private layers, reads its own login, and is given its keys. Its
    /// hosts are part of [`Self::network`], where others decide about them too.
    pub agent: Option<&'static AgentProfile>,
    /// The environment before it is filtered.
    pub environment: Vec<(OsString, OsString)>,
    /// Overrides of single variables; a later one wins.
    pub env_overrides: Vec<EnvOverride>,
    /// Hosts that can be reached over the network.
    pub network: Network,
    /// An approver decides about hosts that the list does not name, while the command waits.
    pub asks_about_hosts: bool,
    /// Ports inside are published on this machine: see [`EgressOptions::published`](crate::EgressOptions::published).
    pub publishes: bool,
    /// Sockets of programs on this machine that can be connected to, or directories of such. Those that do not exist are
    /// told of and left out.
    pub sockets: Vec<PathBuf>,
    /// Secrets that stay outside, and are put in on the way to the hosts that they are for. Only where hosts are allowed.
    pub secrets: Secrets,
    /// Kernel features allowed by name.
    pub openings: Openings,
    /// Limits of resources.
    pub limits: Limits,
    /// Place of temporary files.
    pub temp: Temp,
    /// An approver decides about writes outside, while the command waits: see [`DenialObserver::negotiating`].
    ///
    /// [`DenialObserver::negotiating`]: crate::DenialObserver::negotiating
    pub negotiable: bool,
}

impl SandboxRequest {
    /// Returns a request for a folder that can be written, and nothing else: an empty environment, no network, no private
    /// directory.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..Self::default() }
    }

    /// Returns the request with further places that cannot be read.
    #[must_use]
    pub fn and_deny_read(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.deny_read.extend(places);
        self
    }

    /// Returns the request with decisions of an approver about writes that lie outside (`paths`) and about hosts of which
    /// the list says nothing (`hosts`), while the command waits.
    #[must_use]
    pub fn with_escalations(self, paths: bool, hosts: bool) -> Self {
        Self { negotiable: paths, asks_about_hosts: hosts, ..self }
    }
}

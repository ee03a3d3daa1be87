//! Operations of a process of a shell outside the boundary, as calls of their own: in folders, or over the network.
//!
//! No model can make such a call: it has no name that is parsed and no input. It is made by the supervisor that holds the process, from what
//! the kernel showed, and goes down the same road as every call.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use pinfold_host::Host;

use pinfold_commands::HostClaim;
use pinfold_commands::PathText;
use pinfold_commands::{Operation, Origin, PathClaim};

/// An operation that a process is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCall {
    /// The name of its executable, of an interpreter with its script.
    pub program: String,
    /// Its command line, which it can change.
    pub command_line: String,
    /// Operations by place, in the order in which the deed needs them.
    pub effects: Vec<ProcessEffect>,
    /// The host that it connects to.
    pub connects: Option<Connection>,
}

/// A host that a process connects to, as it named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// Set if rules that name no port are about this one.
    pub is_usual: bool,
}

impl std::fmt::Display for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

/// The operation on one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEffect {
    /// The kind of it, for the judge.
    pub operation: Operation,
    /// Exact description for the approver.
    pub says: String,
    /// The place: absolute, and free of links when it was looked up.
    pub place: PathText,
    /// The path as the process named it, made absolute. A restricting rule covers either.
    pub named: PathText,
    /// Further content for the approver.
    pub preview: Preview,
}

/// Content that a place gets or loses, to be shown before it does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Preview {
    /// No content that could be shown.
    #[default]
    None,
    /// The text of the file that gets the name.
    Text(String),
    /// The file that gets the name, where it is no text that a person reads.
    Bytes {
        /// Length in bytes.
        length: u64,
        /// Their SHA-256, in hexadecimal.
        sha256: String,
    },
    /// Names below the place, which go with it.
    Below {
        /// Their number.
        count: usize,
        /// The first of them, relative to the place.
        names: Vec<String>,
    },
}

impl ProcessCall {
    /// Returns the claims of the operation.
    pub(crate) fn claims(&self) -> Vec<PathClaim> {
        let claim = |touch: &ProcessEffect| {
            PathClaim::new(Some(touch.place.clone()), touch.operation, Origin::Process)
        };
        self.effects.iter().map(claim).collect()
    }

    /// The host that it would reach, with its port where rules that name none say nothing about it.
    pub(crate) fn hosts(&self) -> Vec<HostClaim> {
        let named = |to: &Connection| if to.is_usual { to.host.to_string() } else { to.to_string() };
        self.connects.iter().map(|to| HostClaim::from_command(Some(named(to)))).collect()
    }

    /// Returns `true` if it connects to a port that only rules with a port are about.
    pub(crate) fn is_at_unusual_port(&self) -> bool {
        self.connects.as_ref().is_some_and(|to| !to.is_usual)
    }

    /// Returns the names that the process used for the place of a claim.
    pub(crate) fn named(&self, claim: &PathClaim) -> impl Iterator<Item = PathBuf> {
        let same = |touch: &&ProcessEffect| Some(&touch.place) == claim.path.as_ref();
        self.effects.iter().filter(same).map(|touch| plain(Path::new(touch.named.as_os_str())))
    }
}

/// The names of a path, without `.` and doubled slashes; `..` goes up by name.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            std::path::Component::Normal(name) => plain.push(name),
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::RootDir
            | std::path::Component::CurDir
            | std::path::Component::Prefix(_) => {}
        }
    }
    plain
}

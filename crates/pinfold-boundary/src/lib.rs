//! Sandboxed runs: from a folder grant to the places that a process can write, that are held, and that are hidden.
//!
//! A [`SandboxRequest`] is the wish of a user; [`Boundary::compile`] compares it with the file system (git layouts, autorun
//! files, credentials, caches, the environment) and gives one [`Boundary`]. Its profile goes to the kernel, its
//! standing answers the file tools, and after the run it reports what the user should look at. Nothing of a
//! repository is run, and no git command is started.
//!
//! # Vocabulary
//! [`SandboxRequest`], [`Boundary`], [`AccessEntry`], [`PathAccess`], [`RunReport`].
//!
//! # Invariants
//! 1. Kernel and file tools are told the same: both answers are read off one list of places.
//! 2. A pointer in the folder grants nothing outside it unless the place it names points back.
//! 3. What a run stored in git's configuration comes back only if it says which branch follows which.
//!
//! # What this does not stop
//! - A repository that is made during the run: it is writable, and reported.
//! - Guarded names that are made at a depth or after the start, beyond the autorun names at the top of each
//!   project: the file tools ask, the run reports.
//! - Programs of the project that the person runs afterwards: changed build files are reported.
//! - A process outside that replaces a held file during the run (`git config` in another terminal): the kernel then
//!   lets go of the name inside. The next run holds it again, and the report compares with the state before.

mod access_list;
mod agents;
mod boundary;
mod build_files;
mod builder;
mod caches;
mod compile;
mod compile_error;
mod credentials;
mod denied;
mod egress;
mod environment;
mod folder;
mod git;
mod granted;
mod guarded_links;
mod hosts;
mod hosts_file;
mod left_behind;
mod limits_reached;
mod lists;
mod lookup;
mod mediation;
mod observer;
mod outcome;
mod private;
mod profile_parts;
mod report;
mod request;
mod run;
mod scan;
mod secrets;
mod settle;
mod snapshot;
mod still_written;
mod turns;
mod within;

pub use access_list::{AccessEntry, PathAccess};
pub use agents::{AGENTS, AgentProfile, Key, MissingStandIn, PresetVariable, ProtectedStateName, State};
pub use boundary::Boundary;
pub use compile_error::CompileError;
pub use egress::{
    EgressOptions, HostApproval, HostApprover, HostContact, HostContacts, HostOutcome, HostRequest,
};
pub use environment::SANDBOX_VARIABLE;
pub use git::settle::ConfigOutcome;
pub use granted::Granted;
pub use hosts::HostList;
pub use limits_reached::{Amount, LimitKind, LimitReached};
pub use observer::{
    DenialObserver, INSTEAD_OUTSIDE, Observer, TO_ALLOW_OUTSIDE, intent_name, observe_denials,
};
pub use outcome::{Approved, EscalationOutcome, LimitMet, Refused};
pub use pinfold_egress::PortForward;
pub use private::Private;
pub use report::{AutorunChanges, RunReport};
pub use request::{CacheChoice, EnvOverride, Network, SandboxMode, SandboxRequest};
pub use run::{Egress, NotStarted, Run, RunListener, RunResult};

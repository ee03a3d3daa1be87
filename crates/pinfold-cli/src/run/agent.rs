//! The agent profile of a run, and what it opens.
//!
//! A profile opens hosts, logins and keys, so it is never given to what the folder brought along: a program is known by
//! its name only where it lies outside of everything that the run can write. `--agent` names any other.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use pinfold::policy::hosts::HostMatch;
use pinfold_boundary::{AgentProfile, Network, SandboxRequest, State};
use pinfold_host::Name;
use serde::Serialize;

use crate::args::RunArgs;
use crate::env;
use crate::output::{visible, warn};

/// The word for no agent at all.
pub(crate) const NONE: &str = "none";

/// The agent of a run, as far as the command line says.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    /// Named on the command line.
    Named(&'static AgentProfile),
    /// Known by the name of its program.
    Known(&'static AgentProfile),
}

impl Choice {
    pub(super) fn agent(self) -> &'static AgentProfile {
        match self {
            Self::Named(agent) | Self::Known(agent) => agent,
        }
    }

    /// Returns the profile that the command line chooses. `writable`: places that the run can write.
    pub(super) fn from_args(run: &RunArgs, writable: &[PathBuf]) -> Option<Self> {
        match run.agent.as_deref() {
            Some(NONE) => None,
            Some(name) => AgentProfile::find(name).map(Self::Named),
            None => {
                let word = run.command.first()?;
                let agent = AgentProfile::of_program(Path::new(word).file_name()?)?;
                let apart = program(word).is_some_and(|program| is_apart(&program, writable));
                if !apart && !run.quiet {
                    let name = agent.name;
                    warn(format_args!(
                        "`{}` is not taken for the agent {name}, since it lies where the run can write; --agent {name} \
                         if it is",
                        visible(&word.to_string_lossy())
                    ));
                }
                apart.then_some(Self::Known(agent))
            }
        }
    }

    /// Checks the choice again once more writable places are known.
    pub(super) fn outside_folder(self, run: &RunArgs, writable: &[PathBuf]) -> Option<Self> {
        match self {
            Self::Named(_) => Some(self),
            Self::Known(_) => Self::from_args(run, writable),
        }
    }
}

/// The program that a word stands for, as the start will look for it.
fn program(word: &OsStr) -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    if word.as_bytes().contains(&b'/') {
        return Some(here.join(word));
    }
    let path = std::env::var_os("PATH")?;
    let runs = |at: &PathBuf| {
        fs::metadata(at).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    // A relative entry is looked up from where the command starts, which is in the folder.
    std::env::split_paths(&path).map(|folder| here.join(folder).join(word)).find(runs)
}

/// Returns whether neither the program nor what it leads to lies in one of these places.
fn is_apart(program: &Path, writable: &[PathBuf]) -> bool {
    let Ok(real) = fs::canonicalize(program) else { return false };
    let Some(way) = program.parent().and_then(|parent| fs::canonicalize(parent).ok()) else { return false };
    writable.iter().all(|place| {
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.clone());
        !real.starts_with(&place) && !way.starts_with(&place)
    })
}

/// Access of an agent to state, logins, keys and hosts.
#[derive(Serialize)]
pub(super) struct AgentAccess {
    name: &'static str,
    state: Vec<PathBuf>,
    logins: Vec<PathBuf>,
    keys: Vec<&'static str>,
    hosts: Vec<&'static str>,
}

impl AgentAccess {
    pub(super) fn from_request(request: &SandboxRequest) -> Option<Self> {
        let agent = request.agent?;
        let home = request.home.as_deref().unwrap_or(Path::new("/"));
        let at = |state: &State| state.path(home, &request.environment);
        let logins =
            agent.state.iter().flat_map(|state| state.logins.iter().map(move |login| at(state).join(login)));
        Some(Self {
            name: agent.name,
            state: agent.state.iter().map(at).collect(),
            logins: logins.filter(|at| at.exists()).collect(),
            keys: agent.keys_in(&request.environment).map(|key| key.variable).collect(),
            hosts: agent
                .hosts_in(&request.environment)
                .into_iter()
                .filter(|host| reaches(request, host))
                .collect(),
        })
    }

    /// One line for the person.
    pub(super) fn print(&self) {
        let Self { name, state, logins, keys, hosts } = self;
        let paths = |paths: &[PathBuf]| {
            paths.iter().map(|at| visible(&at.to_string_lossy())).collect::<Vec<_>>().join(", ")
        };
        let mut given = vec![format!("writes {} to a private layer", paths(state))];
        if !logins.is_empty() {
            given.push(format!("reads {}", paths(logins)));
        }
        if !keys.is_empty() {
            given.push(format!("is given {}", keys.join(", ")));
        }
        if !hosts.is_empty() {
            given.push(format!("reaches {}", hosts.join(", ")));
        }
        warn(format_args!("the agent {name} {} (--agent none: nothing of it)", given.join("; ")));
    }
}

/// Returns whether a host of the profile is reached in the end: settings may say no to it.
fn reaches(request: &SandboxRequest, host: &str) -> bool {
    const HTTPS: u16 = 443;
    match &request.network {
        Network::Off => false,
        Network::Host => true,
        Network::Hosts(hosts) => Name::parse(host)
            .is_some_and(|name| matches!(hosts.configured().name(&name, HTTPS), HostMatch::Allowed(_))),
    }
}

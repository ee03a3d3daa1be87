//! Needs of coding agents beyond the folder, as data: directories of their state, hosts, and API keys.
//!
//! An agent's state is its own to write, and of no other program: a run writes it to a private layer of the folder, as it
//! does with package caches. Files that the agent acts on by itself later (settings, hooks, instructions, plug-ins) cannot be
//! written even there, so that the next run begins with what the person configured. Its login can be read, by the run
//! of this agent alone.
//!
//! Trap: a host in these tables is reached by every process of the run, not by the agent alone. None is there for telemetry,
//! updates or extensions, nor to renew a login where that would make the one outside worthless.

mod state;
mod table;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::request::{EnvOverride, SandboxRequest};

pub(crate) use state::States;
pub use table::AGENTS;

/// Needs of one agent.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct AgentProfile {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// Names of its program.
    pub programs: &'static [&'static str],
    /// Directories in which it keeps its state.
    pub state: &'static [State],
    /// Hosts that it talks to whatever its settings say.
    pub hosts: &'static [&'static str],
    /// Keys that it takes from the environment.
    pub keys: &'static [Key],
    /// Variables that it is given, where the user set none of that name.
    pub told: &'static [PresetVariable],
}

/// A variable that an agent is given.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PresetVariable {
    /// Its name.
    pub variable: &'static str,
    /// Its value.
    pub value: &'static str,
    /// Not where the folder has this.
    pub unless: &'static str,
}

/// A directory in which an agent keeps its state.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// The variable with which the person moves it, and what follows below the place that it names.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// Below the home directory.
    pub usual: &'static str,
    /// Below it: what the agent acts on by itself. Read-only, and a missing one cannot be made.
    pub fixed: &'static [ProtectedStateName],
    /// Below it: logins. This agent reads them; read-only where there is one outside.
    pub logins: &'static [&'static str],
    /// A file of the home directory that belongs to the state. The agent finds a copy of it in the state, once it is presets
    /// by its variable where that is.
    pub brought: Option<&'static str>,
}

/// A name that is held within an agent's state.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ProtectedStateName {
    /// Below the state.
    pub name: &'static str,
    /// Content that is found there when there is none outside.
    #[serde(skip)]
    pub missing: MissingStandIn,
}

/// Stand-in for a name that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingStandIn {
    /// An empty directory.
    Directory,
    /// A file that says nothing, in its own language.
    File(&'static str),
}

/// A key in the environment, and what is reached with it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// The variable.
    pub variable: &'static str,
    /// Hosts that are reached where it is set.
    pub hosts: &'static [&'static str],
}

impl AgentProfile {
    /// The profile of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// Returns the profile of a program by its file name. The caller has to make sure that the file is that program.
    pub fn of_program(program: &OsStr) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.programs.iter().any(|known| program == *known))
    }

    /// The keys that are set, which are passed on although their names sound secret.
    pub fn keys_in(&self, environment: &[(OsString, OsString)]) -> impl Iterator<Item = &'static Key> {
        let set =
            |key: &Key| environment.iter().any(|(name, value)| name == key.variable && !value.is_empty());
        self.keys.iter().filter(move |key| set(key))
    }

    /// Returns the hosts that it needs with the keys of this environment.
    pub fn hosts_in(&self, environment: &[(OsString, OsString)]) -> Vec<&'static str> {
        let of_keys = self.keys_in(environment).flat_map(|key| key.hosts);
        let mut hosts: Vec<&'static str> = Vec::new();
        for host in self.hosts.iter().chain(of_keys) {
            if !hosts.contains(host) {
                hosts.push(host);
            }
        }
        hosts
    }
}

/// A file of variables, in which agents expect the keys of their providers.
const KEYS: &str = ".env";

impl State {
    /// Files below it that hold logins and keys.
    pub fn secrets(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.fixed.iter().map(|fixed| fixed.name).filter(|name| *name == KEYS);
        self.logins.iter().copied().chain(keys)
    }

    /// Returns its path: the usual one below home, unless the user moved it.
    pub fn path(&self, home: &Path, environment: &[(OsString, OsString)]) -> PathBuf {
        let named = self.moved_by.and_then(|(variable, below)| {
            let (_, value) = environment.iter().find(|(name, _)| name == variable)?;
            let named = Path::new(value);
            named.is_absolute().then(|| if below.is_empty() { named.to_owned() } else { named.join(below) })
        });
        named.unwrap_or_else(|| home.join(self.usual))
    }
}

/// The logins and settings that the agent of a grant reads, as far as they are there: keys stand in both. None through a
/// link, nor in a place that runs can write as it is: an earlier run may have chosen the target.
pub(crate) fn logins(request: &SandboxRequest, home: Option<&Path>, granted: &[PathBuf]) -> Vec<PathBuf> {
    let (Some(agent), Some(home)) = (request.agent, home) else { return Vec::new() };
    let places = agent.state.iter().map(|state| (state.path(home, &request.environment), state));
    let apart = places.filter(|(at, _)| !granted.iter().any(|granted| at.starts_with(granted)));
    let of_state = |(at, state): (PathBuf, &'static State)| {
        state
            .logins
            .iter()
            .copied()
            .chain(state.fixed.iter().map(|fixed| fixed.name))
            .map(move |name| at.join(name))
    };
    let files =
        apart.flat_map(of_state).filter(|at| fs::symlink_metadata(at).is_ok_and(|found| found.is_file()));
    files.filter_map(|login| fs::canonicalize(login).ok()).collect()
}

/// Logins of agents whose state the person has moved away from its usual place, where no list of places knows them.
pub(crate) fn moved_logins(request: &SandboxRequest, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(home) = home else { return Vec::new() };
    let states = AGENTS.iter().flat_map(|agent| agent.state);
    let moved = states.map(|state| (state.path(home, &request.environment), state));
    let moved = moved.filter(|(at, state)| *at != home.join(state.usual));
    let secrets = moved.flat_map(|(at, state)| state.secrets().map(move |name| at.join(name)));
    secrets.filter_map(|secret| fs::canonicalize(secret).ok()).collect()
}

/// Returns the overrides of single variables: the keys of the agent are passed on, and its settings are set, unless the user
/// overrides them.
pub(crate) fn env_overrides(request: &SandboxRequest, folder: &Path) -> Vec<EnvOverride> {
    let is_set = |variable: &str| request.environment.iter().any(|(name, _)| name == variable);
    let presets = request.agent.into_iter().flat_map(|agent| agent.told);
    let presets =
        presets.filter(|presets| !is_set(presets.variable) && !folder.join(presets.unless).exists());
    let presets = presets.map(|presets| EnvOverride::Set(presets.variable.into(), presets.value.into()));
    let keys = request.agent.into_iter().flat_map(|agent| agent.keys_in(&request.environment));
    let passed = keys.map(|key| EnvOverride::Pass(key.variable.into()));
    presets.chain(passed).chain(request.env_overrides.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;

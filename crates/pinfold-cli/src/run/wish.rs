//! From the words of the command line to a grant.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use pinfold_boundary::{CacheChoice, EnvironmentWish, Grant, Private, SandboxMode};
use pinfold_sandbox::{Network, Openings};

use super::private::RunDirectory;
use crate::args::{self, Door, Reach, Run, Sandbox};
use crate::exit::{Failure, USAGE};
use crate::surroundings;

pub(super) fn grant(run: &Run) -> Result<Grant, Failure> {
    let here = surroundings::current_dir()?;
    let folder = run.folder.as_ref().map_or_else(|| here.clone(), |f| here.join(f));
    let from_here = |paths: &[PathBuf]| paths.iter().map(|p| here.join(p)).collect::<Vec<_>>();
    Ok(Grant {
        cwd: folder.clone(),
        folder,
        mode: match run.sandbox {
            _ if run.read_only => SandboxMode::ReadOnly,
            Sandbox::ReadOnly => SandboxMode::ReadOnly,
            Sandbox::WorkspaceWrite | Sandbox::Off => SandboxMode::WorkspaceWrite,
            Sandbox::DefaultWrite => SandboxMode::DefaultWrite,
        },
        add: from_here(&run.add_dir),
        allow_write: from_here(&run.allow_write),
        allow_read: from_here(&run.allow_read),
        deny_read: from_here(&run.deny_read),
        home: surroundings::home(),
        private: private(),
        cache_home: surroundings::cache_home(),
        caches: caches(&run.cache),
        environment: std::env::vars_os().collect(),
        environment_wishes: wishes(run)?,
        network: match run.network {
            Reach::Off => Network::Off,
            Reach::Host => Network::Host,
        },
        openings: openings(&run.open),
        limits: limits(&run.limits),
        ..Grant::default()
    })
}

/// A directory of the run's own, made where the first of the usual places can be written.
fn private() -> Private {
    Private::later(|| RunDirectory::new(&surroundings::temporary_homes()))
}

fn caches(names: &[String]) -> CacheChoice {
    match names {
        [one] if one == "all" => CacheChoice::All,
        [one] if one == "none" => CacheChoice::None,
        names => CacheChoice::Only(names.to_vec()),
    }
}

fn wishes(run: &Run) -> Result<Vec<EnvironmentWish>, Failure> {
    let unset = run.unset_env.iter().map(|name| Ok(EnvironmentWish::Unset(name.clone())));
    let given = run.env.iter().map(|text| match text.as_bytes().iter().position(|b| *b == b'=') {
        Some(0) => {
            Err(Failure::new(USAGE, "--env has no name before the `=`").mend("write --env NAME=VALUE"))
        }
        Some(at) => {
            let mut name = text.clone().into_vec();
            let value = name.split_off(at + 1);
            name.truncate(at);
            Ok(EnvironmentWish::Set(OsString::from_vec(name), OsString::from_vec(value)))
        }
        None => Ok(EnvironmentWish::Pass(text.clone())),
    });
    unset.chain(given).collect()
}

fn openings(doors: &[Door]) -> Openings {
    Openings {
        unix_sockets: doors.contains(&Door::UnixSockets),
        user_namespaces: doors.contains(&Door::UserNamespaces),
        io_uring: doors.contains(&Door::IoUring),
        keyrings: doors.contains(&Door::Keyrings),
        personality: doors.contains(&Door::Personality),
    }
}

/// What opening a door means.
pub(super) fn warning(door: Door) -> &'static str {
    match door {
        Door::UnixSockets => {
            "--open unix-sockets: any program that listens on a socket it can see may act outside for it"
        }
        Door::UserNamespaces => "--open user-namespaces: much more of the kernel can be attacked from inside",
        Door::IoUring => "--open io-uring: its operations are not seen by the watch",
        Door::Keyrings => "--open keyrings: keys that you hold in the kernel can be used from inside",
        Door::Personality => "--open personality: address randomisation can be switched off inside",
    }
}

fn limits(limits: &args::Limits) -> pinfold_sandbox::Limits {
    pinfold_sandbox::Limits {
        memory: limits.max_memory,
        processes: limits.max_processes,
        cpu_time: limits.cpu_time,
        wall_time: limits.timeout,
        file_size: limits.max_file_size,
    }
}

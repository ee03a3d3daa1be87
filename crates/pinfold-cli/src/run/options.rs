//! The sandbox request of a command line.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use pinfold::Plan;
use pinfold::audit::Limits;
use pinfold::policy::merge::Merged;
use pinfold::policy::path_scopes::{KernelLists, ScopedTool};
use pinfold::policy::settings::{self, ApprovalSettings, Flags, Secrets};
use pinfold::policy::{DeniedPaths, Guards, Layer, Located, WayIn};
use pinfold::settings::{Locations, SessionSetup};
use pinfold_boundary::{CacheChoice, EnvOverride, Network, Private, SandboxMode, SandboxRequest};
use pinfold_sandbox::Openings;
use pinfold_tools::{Purpose, TemporaryDirectory};

use super::agent::Choice;
use crate::approvers;
use crate::args::{self, Feature, RunArgs, Sandbox};
use crate::env;
use crate::exit::{Failure, USAGE};
use crate::network;
use crate::output::warn;
use crate::settings as settings_of;

/// Options of a run: of flags, and of settings where no flag says otherwise.
pub(super) struct RunOptions {
    /// `None` where the sandbox is off.
    pub(super) request: Option<SandboxRequest>,
    pub(super) guards: Guards,
    /// Plan by which calls of its processes are judged.
    pub(super) escalation_settings: EscalationSettings,
}

/// Plan by which calls of processes are judged, and the approver's settings.
pub(super) struct EscalationSettings {
    pub(super) plan: Plan,
    /// Settings files in which rules for good are written.
    pub(super) rules_to: Option<Locations>,
    /// Settings of approvals.
    pub(super) approvals: ApprovalSettings,
    /// Limits on the size of the audit log.
    pub(super) limits: Limits,
}

/// Resolves the options of a run.
pub(super) fn resolve(run: &RunArgs) -> Result<RunOptions, Failure> {
    let here = env::current_dir()?;
    let folder = run.folder.as_ref().map_or_else(|| here.clone(), |f| here.join(f));
    let from_here = |paths: &[PathBuf]| paths.iter().map(|p| here.join(p)).collect::<Vec<_>>();
    let named = [vec![folder.clone()], from_here(&run.add_dir), from_here(&run.allow_write)].concat();
    let first = Choice::from_args(run, &named);
    let mut resolved = resolve_flags(run, &folder, first)?;
    let choice =
        first.and_then(|choice| choice.outside_folder(run, &resolved.escalation_settings.plan.also_writable));
    if first.is_some() && choice.is_none() {
        resolved = resolve_flags(run, &folder, None)?;
    }
    let ResolvedFlags { escalation_settings, sandbox, network, secrets, sockets } = resolved;
    let EscalationSettings { plan, .. } = &escalation_settings;
    let path_scopes = &plan.policy.path_scopes;
    if let Some(no) = path_scopes.tool_no(ScopedTool::Terminal) {
        let message = format!("nothing is run here: {} ({}, {})", no.why.clause(), no.list, no.source);
        return Err(Failure::new(USAGE, message));
    }
    let Some(mode) = mode(run, sandbox) else {
        let held = path_scopes.kernel_lists() != KernelLists::default();
        let options = RunOptions { request: None, guards: plan.guards.clone(), escalation_settings };
        return if held { Err(not_held()) } else { Ok(options) };
    };
    let (files, folders): (Vec<_>, Vec<_>) =
        plan.also_writable.iter().cloned().partition(|place| place.is_file());
    let (deny_read, to_come): (Vec<_>, Vec<_>) =
        from_here(&run.deny_read).into_iter().partition(|place| place.exists());
    let mut request = SandboxRequest::new(folder.clone());
    request.cwd = folder;
    request.folder_choice = plan.folder_choice.clone();
    request.mode = mode;
    request.add = from_here(&run.add_dir).into_iter().chain(folders).collect();
    request.allow_write = from_here(&run.allow_write).into_iter().chain(files).collect();
    request.allow_read = from_here(&run.allow_read);
    request.deny_read = deny_read.into_iter().chain(env::hidden()).collect();
    request.home = env::home();
    request.private = private();
    // Inside another run the caches are private already, and no further layers can be made.
    request.cache_home = env::cache_home().filter(|_| !env::is_inside_another());
    request.state_home = env::state_home();
    request.caches = caches(&run.cache);
    request.agent = choice.map(Choice::agent);
    request.environment = std::env::vars_os().collect();
    request.env_overrides = approvers::own_secret(&escalation_settings.approvals)
        .into_iter()
        .chain(env_overrides(run)?)
        .collect();
    request.network = network;
    request.publishes = !run.listen.is_empty();
    request.secrets = secrets;
    request.sockets = from_here(&run.allow_socket).into_iter().chain(sockets).collect();
    request.lists = plan.policy.path_scopes.kernel_lists();
    request.denied = denied(plan, &to_come)?;
    request.openings = openings(&run.allow_feature);
    request.limits = self::limits(&run.limits);
    Ok(RunOptions { request: Some(request), guards: plan.guards.clone(), escalation_settings })
}

/// Returns the paths that deny rules close, and those of `--deny-read` that are not there yet.
fn denied(plan: &Plan, to_come: &[PathBuf]) -> Result<DeniedPaths, Failure> {
    let places: Vec<PathBuf> = to_come.iter().map(|place| real_name(place)).collect();
    plan.policy.denied_paths().and_places(&places, Layer::CommandLine).map_err(|place| {
        let message = format!("--deny-read: `{}` is not there, and no rule can name it", place.display());
        Failure::new(USAGE, message)
    })
}

/// The name by which the kernel will know a place that is not there: links on the way to it are followed.
fn real_name(place: &Path) -> PathBuf {
    let there = place.ancestors().find_map(|above| Some((fs::canonicalize(above).ok()?, above)));
    let Some((real, above)) = there else { return place.to_owned() };
    place.strip_prefix(above).map_or_else(|_| place.to_owned(), |below| real.join(below))
}

/// Flags of a run and settings, resolved together.
struct ResolvedFlags {
    escalation_settings: EscalationSettings,
    sandbox: Option<settings::SandboxMode>,
    network: Network,
    secrets: Secrets,
    sockets: Vec<PathBuf>,
}

fn resolve_flags(run: &RunArgs, folder: &Path, choice: Option<Choice>) -> Result<ResolvedFlags, Failure> {
    let folder_choice = env::folder_choice(run.allow_home && run.folder.is_some());
    let plan = Plan::for_folder(folder).with_home(env::home()).with_folder_choice(folder_choice);
    let locations = settings_of::locations_unless(run.no_settings, run.folder.as_deref())?
        .with_allowed_home(run.allow_home && run.folder.is_some());
    let of_agent = choice.map(|choice| choice.agent().hosts_in(&env::environment()));
    let of_agent = of_agent.into_iter().flatten().map(str::to_owned);
    let flags =
        Flags { allow_host: run.allow_host.iter().cloned().chain(of_agent).collect(), ..Flags::default() };
    let mut setup = settings_of::setup(folder, locations, flags, run.profile.as_deref())?;
    // The sandbox hides these places from every process: no rule has to say it.
    setup.closed.clear();
    let resolved = settings_of::resolved(&setup)?;
    // What a look finds is held by the boundary of the run.
    let plan = settings_of::plan(&resolved, plan, WayIn::OwnTools)?.with_guard_search(None);
    let SessionSetup { locations, flags, .. } = &setup;
    let merged = &resolved.merged;
    let (secrets, sockets) = (network::secrets(merged), network::sockets(merged));
    let (reach, named) = (run.network, !run.allow_host.is_empty());
    let network = network::run_network(reach, named, merged)?;
    let of_run = move |merged: &Merged| network::run_network(reach, named, merged);
    let network = network::following(network, (locations, flags), of_run);
    let value = |mode: Located<settings::SandboxMode>| mode.value;
    Ok(ResolvedFlags {
        escalation_settings: EscalationSettings {
            limits: Limits::from(&merged.record),
            plan,
            approvals: merged.approvals.clone(),
            rules_to: resolved.rules_to(),
        },
        sandbox: merged.sandbox.mode.clone().map(value),
        network,
        secrets,
        sockets,
    })
}

/// Scopes are declared, and nothing is to hold them.
fn not_held() -> Failure {
    Failure::new(USAGE, "without a sandbox nothing holds the path scopes of the terminal")
        .mend("choose another --sandbox, or leave the scopes out")
}

/// Returns the write access; `None` without a sandbox.
fn mode(run: &RunArgs, said: Option<settings::SandboxMode>) -> Option<SandboxMode> {
    use settings::SandboxMode as Said;
    if run.read_only {
        return Some(SandboxMode::ReadOnly);
    }
    match (run.sandbox, said) {
        (Some(Sandbox::ReadOnly), _) | (None, Some(Said::ReadOnly)) => Some(SandboxMode::ReadOnly),
        (Some(Sandbox::WorkspaceWrite), _) | (None, Some(Said::WorkspaceWrite) | None) => {
            Some(SandboxMode::WorkspaceWrite)
        }
        (Some(Sandbox::DefaultWrite), _) | (None, Some(Said::DefaultWrite)) => {
            Some(SandboxMode::DefaultWrite)
        }
        (Some(Sandbox::Off), _) | (None, Some(Said::Off)) => None,
    }
}

/// A directory of the run's own, made where the first of the usual places can be written.
fn private() -> Private {
    Private::later(|| TemporaryDirectory::new(&env::temporary_homes(), Purpose::Run))
}

fn caches(names: &[String]) -> CacheChoice {
    match names {
        [one] if one == "all" => CacheChoice::All,
        [one] if one == "none" => CacheChoice::None,
        names => CacheChoice::Only(names.to_vec()),
    }
}

fn env_overrides(run: &RunArgs) -> Result<Vec<EnvOverride>, Failure> {
    let unset = run.unset_env.iter().map(|name| Ok(EnvOverride::Unset(name.clone())));
    let given = run.env.iter().map(|text| match text.as_bytes().iter().position(|b| *b == b'=') {
        Some(0) => {
            Err(Failure::new(USAGE, "--env has no name before the `=`").mend("write --env NAME=VALUE"))
        }
        Some(at) => {
            let mut name = text.clone().into_vec();
            let value = name.split_off(at + 1);
            name.truncate(at);
            Ok(EnvOverride::Set(OsString::from_vec(name), OsString::from_vec(value)))
        }
        None => Ok(EnvOverride::Pass(text.clone())),
    });
    unset.chain(given).collect()
}

fn openings(features: &[Feature]) -> Openings {
    Openings {
        unix_sockets: features.contains(&Feature::UnixSockets),
        user_namespaces: features.contains(&Feature::UserNamespaces),
        io_uring: features.contains(&Feature::IoUring),
        keyrings: features.contains(&Feature::Keyrings),
        personality: features.contains(&Feature::Personality),
        landlock: features.contains(&Feature::Landlock),
    }
}

/// Warns of what flags expose: kernel features and sockets.
pub(super) fn warn_of_exposure(run: &RunArgs) {
    run.allow_feature.iter().for_each(|feature| warn(warning(*feature)));
    run.allow_socket.iter().for_each(|socket| warn(socket_warning(socket)));
}

/// Returns the warning about an allowed kernel feature.
fn warning(feature: Feature) -> &'static str {
    match feature {
        Feature::UnixSockets => {
            "--allow-feature unix-sockets: any program that listens on a socket it can see may act outside for it"
        }
        Feature::UserNamespaces => {
            "--allow-feature user-namespaces: much more of the kernel can be attacked from inside"
        }
        Feature::IoUring => "--allow-feature io-uring: its operations are not seen by the watch",
        Feature::Keyrings => {
            "--allow-feature keyrings: keys that you hold in the kernel can be used from inside"
        }
        Feature::Personality => {
            "--allow-feature personality: address randomisation can be switched off inside"
        }
        Feature::Landlock => {
            "--allow-feature landlock: names that do not exist are held by directories that stand in the folder during the run"
        }
    }
}

/// Sockets whose clients are as good as root: the daemon starts what they ask for, with all of this machine in it.
const AS_GOOD_AS_ROOT: [&str; 7] = [
    "docker.sock",
    "containerd.sock",
    "podman.sock",
    "crio.sock",
    "buildkitd.sock",
    "libvirt-sock",
    "system_bus_socket",
];

/// Returns the warning about a socket that is reached.
fn socket_warning(socket: &Path) -> String {
    let place = socket.display();
    if socket.file_name().is_some_and(|name| AS_GOOD_AS_ROOT.iter().any(|known| name == *known)) {
        return format!(
            "--allow-socket {place}: its clients can do anything on this machine; nothing is held then"
        );
    }
    format!("--allow-socket {place}: the program behind it acts outside for every client")
}

fn limits(limits: &args::LimitFlags) -> pinfold_sandbox::Limits {
    pinfold_sandbox::Limits {
        memory: limits.max_memory,
        processes: limits.max_processes,
        cpu_time: limits.cpu_time,
        wall_time: limits.timeout,
        file_size: limits.max_file_size,
    }
}

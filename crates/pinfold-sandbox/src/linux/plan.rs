//! Everything that a child needs between `fork` and `exec`, written down before the fork.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::filter::{Backing, Filter, Group};
use super::landlock::HandledAccess;
use super::relay_sockets::RelayPlan;
use super::steps::MountStep;
use super::view;
use crate::command::Command;
use crate::profile::{Limits, Network, Profile, Temp, Writes};
use crate::self_test::Probe;
use crate::strength::Tier;
use crate::sys::{self, Pid, Signals, Strings};

/// The prepared start of one command.
pub(crate) struct Plan {
    pub(crate) namespaces: u64,
    pub(crate) uid_map: Vec<u8>,
    pub(crate) gid_map: Vec<u8>,
    pub(crate) loopback: bool,
    /// Makes every address local, and the sockets at which what is sent there arrives.
    pub(crate) relayed: Option<RelayPlan>,
    pub(crate) steps: Vec<MountStep>,
    pub(crate) slots: Vec<Option<OwnedFd>>,
    pub(crate) cwd: CString,
    /// A session of the command's own, with no terminal to control it.
    pub(crate) new_session: bool,
    pub(crate) terminal: Option<OwnedFd>,
    pub(crate) limits: Vec<(sys::LimitedResource, u64)>,
    /// The Landlock version to use, if the kernel has one.
    pub(crate) landlock: Option<u32>,
    pub(crate) handles: HandledAccess,
    pub(crate) writable: Vec<CString>,
    pub(crate) readable: Vec<CString>,
    /// Places in which sockets can be created without the supervisor.
    pub(crate) bindable: Vec<CString>,
    pub(crate) filter: Filter,
    /// Set where a supervisor answers the notifications of the filter.
    pub(crate) watched: bool,
    /// Places of mediated system calls: without notifications the start fails.
    pub(crate) mediated: Option<SupervisedPlaces>,
    pub(crate) self_test: Vec<Probe>,
    pub(crate) candidates: Vec<CString>,
    pub(crate) argv: Strings,
    pub(crate) envp: Strings,
    pub(crate) stdio: [Option<OwnedFd>; 3],
    pub(crate) before: SupervisorSignals,
    pub(crate) supervisor: Pid,
}

/// Signal state of the supervisor before the start.
pub(crate) struct SupervisorSignals {
    pub(crate) mask: Signals,
    /// Signals that the command meets with their default action, whatever we do with them. The others stay as the
    /// person's shell left them (`nohup`, background jobs).
    pub(crate) reset: RangeInclusive<libc::c_int>,
}

impl Plan {
    /// Returns whether the filter has the supervisor look at each start of a process.
    pub(crate) fn counts_processes(&self) -> bool {
        self.limits.iter().any(|(resource, _)| *resource == libc::RLIMIT_NPROC)
    }

    /// Writes the plan. Opens and changes nothing but what `command` hands over.
    pub(crate) fn new(
        profile: &Profile,
        command: Command,
        tier: Tier,
        watched: bool,
        before: SupervisorSignals,
    ) -> io::Result<Self> {
        let (uid, gid) = sys::effective_ids();
        let full = tier == Tier::Full;
        let view = if full { Some(view::view(profile)?) } else { None };
        let (steps, slots, scratch) = view.map_or_else(Default::default, |v| (v.steps, v.slots, v.scratch));
        let backing = if full { Backing::Namespaces } else { Backing::Landlock };
        let environment = profile.environment.iter().map(|(name, value)| pair(name, value));
        let LandlockGrants { by_itself, carried } = landlock_grants(profile, &scratch);
        let landlock = sys::landlock_version().ok();
        let own_session = command.new_session || (command.terminal.is_none() && !sys::has_terminal());
        let group = match (own_session || command.terminal.is_some(), landlock) {
            (true, _) => Group::Own,
            (false, Some(SCOPES_SIGNALS..)) => Group::SharedAndScoped,
            (false, _) => Group::Shared,
        };
        Ok(Self {
            namespaces: if full { namespaces(&profile.network) } else { 0 },
            uid_map: format!("{uid} {uid} 1").into_bytes(),
            gid_map: format!("{gid} {gid} 1").into_bytes(),
            loopback: full && profile.network != Network::Host,
            relayed: relayed(&profile.network, full)?,
            steps,
            slots: (0..slots).map(|_| None).collect(),
            cwd: c_string(profile.cwd.as_os_str())?,
            new_session: own_session,
            terminal: command.terminal,
            limits: limits(profile.limits),
            landlock,
            handles: handles(profile, full),
            writable: c_paths(&by_itself)?,
            bindable: bindable(profile, &carried)?,
            readable: if full { Vec::new() } else { readable(profile)? },
            filter: Filter::new(profile, backing, group),
            watched,
            mediated: profile.mediated.is_some().then_some(carried),
            self_test: Probe::all(profile, full),
            candidates: candidates(&command.program, &profile.environment, &profile.cwd)?,
            argv: Strings::new(c_strings(std::iter::once(command.program).chain(command.args))?),
            envp: Strings::new(c_strings(environment)?),
            stdio: command.stdio,
            before,
            supervisor: sys::own_pid(),
        })
    }
}

impl Plan {
    /// Closes what it holds and leaves the memory as it is: its pages are shared with the first process, and each that is
    /// touched here has to be copied first. For a program that ends with the command.
    pub(crate) fn leave(mut self) {
        self.stdio = [None, None, None];
        self.terminal = None;
        std::mem::forget(self);
    }
}

/// The version of Landlock that keeps signals within the run.
const SCOPES_SIGNALS: u32 = 6;

/// Fails where nothing keeps a process from going another way than the one that is relayed.
fn relayed(network: &Network, full: bool) -> io::Result<Option<RelayPlan>> {
    match network {
        Network::Relayed(_) if !full => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        // There a loopback of the run's own answers at that address.
        Network::Proxied(_) if full => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        Network::Relayed(entrances) => RelayPlan::new(entrances).map(Some),
        Network::Off | Network::Proxied(_) | Network::Host => Ok(None),
    }
}

fn namespaces(network: &Network) -> u64 {
    let mut flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if *network != Network::Host {
        flags |= libc::CLONE_NEWNET;
    }
    u64::from(flags.cast_unsigned())
}

fn handles(profile: &Profile, full: bool) -> HandledAccess {
    HandledAccess {
        writes: profile.mediated.is_some() || profile.writes != Writes::Anywhere,
        // With mounts, an empty place stands over what cannot be read.
        reads: !full && profile.hidden.iter().chain(&profile.covered).next().is_some(),
        network: !full && profile.network != Network::Host,
    }
}

/// Places of a run's own that its processes cannot write by themselves.
pub(crate) type SupervisedPlaces = Vec<PathBuf>;

/// Places that Landlock grants.
#[derive(Default)]
struct LandlockGrants {
    /// Places that a process writes by itself.
    by_itself: Vec<PathBuf>,
    /// Places of the run's own in which shared ones are mounted. A grant of such a place would reach those too, so that the
    /// supervisor does there what the process would do.
    carried: SupervisedPlaces,
}

fn landlock_grants(profile: &Profile, scratch: &[PathBuf]) -> LandlockGrants {
    let granted: &[PathBuf] = match (&profile.mediated, &profile.writes) {
        (Some(mediation), _) => &mediation.own,
        (None, Writes::Beneath(places)) => places,
        (None, Writes::Nowhere | Writes::Anywhere) => &[],
    };
    let layers = profile.layers.iter().map(|layer| &layer.shared);
    let temporary = match &profile.temp {
        Temp::Directory(directory) if scratch.is_empty() => Some(directory),
        Temp::Directory(_) | Temp::Private => None,
    };
    let all = granted.iter().chain(scratch).chain(layers.filter(|_| !scratch.is_empty())).chain(temporary);
    let mut found = LandlockGrants::default();
    // Some are one directory by two names, and a grant is of the directory.
    let scratch_covers = scratch.iter().any(|place| has_shared_beneath(profile, place));
    for place in all.cloned() {
        let covers = has_shared_beneath(profile, &place) || (scratch_covers && scratch.contains(&place));
        if profile.mediated.is_some() && covers {
            found.carried.push(place);
        } else {
            found.by_itself.push(place);
        }
    }
    found
}

fn has_shared_beneath(profile: &Profile, place: &Path) -> bool {
    let own = profile.mediated.iter().flat_map(|mediation| &mediation.own);
    let own: Vec<&PathBuf> = own.collect();
    let granted = match &profile.writes {
        Writes::Beneath(places) => places.as_slice(),
        Writes::Nowhere | Writes::Anywhere => &[],
    };
    let shared = granted.iter().chain(&profile.visible).filter(|shared| !own.contains(shared));
    shared.into_iter().any(|shared| shared.starts_with(place))
}

fn c_paths(paths: &[PathBuf]) -> io::Result<Vec<CString>> {
    paths.iter().map(|path| c_string(path.as_os_str())).collect()
}

fn bindable(profile: &Profile, carried: &[PathBuf]) -> io::Result<Vec<CString>> {
    match (&profile.mediated, &profile.writes) {
        (Some(_), Writes::Beneath(places)) if profile.openings.unix_sockets => {
            places.iter().chain(carried).map(|path| c_string(path.as_os_str())).collect()
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns the places that may be read, which is everything but what is hidden or covered: at each level the siblings of what leads there; and below a cover what
/// shows through. Names that appear later are not in the list, and so unreadable: the safe side of an allow-list.
fn readable(profile: &Profile) -> io::Result<Vec<CString>> {
    // What the user cannot read anyway needs no list of its many siblings (`/etc/shadow` in `/etc`).
    let hidden: Vec<&Path> =
        profile.hidden.iter().map(PathBuf::as_path).filter(|path| sys::can_use_content(path)).collect();
    let shut: Vec<&Path> =
        hidden.iter().copied().chain(profile.covered.iter().map(PathBuf::as_path)).collect();
    if shut.is_empty() {
        return Ok(vec![c"/".to_owned()]);
    }
    let mut found = Vec::new();
    siblings(Path::new("/"), &shut, &mut found)?;
    for place in visible_in_covers(profile) {
        if hidden.iter().any(|h| place.starts_with(h)) {
            continue;
        }
        if hidden.iter().any(|h| h.starts_with(place)) {
            siblings(place, &hidden, &mut found)?;
        } else {
            found.push(place.to_owned());
        }
    }
    found.iter().map(|path| c_string(path.as_os_str())).collect()
}

/// Returns the paths that stay visible through a cover.
fn visible_in_covers(profile: &Profile) -> impl Iterator<Item = &Path> {
    let granted = match &profile.writes {
        Writes::Beneath(places) => places.as_slice(),
        Writes::Nowhere | Writes::Anywhere => &[],
    };
    let temporary = match &profile.temp {
        Temp::Directory(directory) => Some(directory),
        Temp::Private => None,
    };
    let all = granted.iter().chain(&profile.visible).chain(temporary);
    let covered = |path: &&PathBuf| profile.covered.iter().any(|cover| path.starts_with(cover));
    all.filter(covered).map(PathBuf::as_path)
}

fn siblings(directory: &Path, hidden: &[&Path], found: &mut Vec<PathBuf>) -> io::Result<()> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_symlink() || hidden.contains(&path.as_path()) {
            continue;
        }
        if hidden.iter().any(|h| h.starts_with(&path)) {
            siblings(&path, hidden, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

fn limits(limits: Limits) -> Vec<(sys::LimitedResource, u64)> {
    let Limits { memory, processes, cpu_time, wall_time: _, file_size } = limits;
    // No core files of a confined process.
    [
        (libc::RLIMIT_CORE, Some(0)),
        (libc::RLIMIT_DATA, memory),
        (libc::RLIMIT_NPROC, processes),
        (libc::RLIMIT_CPU, cpu_time.map(|t| t.as_secs().max(1))),
        (libc::RLIMIT_FSIZE, file_size),
    ]
    .into_iter()
    .filter_map(|(resource, value)| Some((resource, value?)))
    .collect()
}

/// Returns the candidates for the program, as execvp(3) searches `PATH` in the view of the run.
fn candidates(program: &OsStr, environment: &[(OsString, OsString)], cwd: &Path) -> io::Result<Vec<CString>> {
    // Joined to a directory, the empty name would be that directory.
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(program)?]);
    }
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let path = path.unwrap_or_else(|| OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    path.as_bytes()
        .split(|&b| b == b':')
        .map(|directory| c_string(cwd.join(OsStr::from_bytes(directory)).join(program).as_os_str()))
        .collect()
}

fn pair(name: &OsStr, value: &OsStr) -> OsString {
    let mut text = name.as_bytes().to_vec();
    text.push(b'=');
    text.extend_from_slice(value.as_bytes());
    OsString::from_vec(text)
}

fn c_strings(strings: impl Iterator<Item = OsString>) -> io::Result<Vec<CString>> {
    strings.map(|s| c_string(&s)).collect()
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

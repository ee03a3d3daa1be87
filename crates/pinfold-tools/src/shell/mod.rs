//! The shells of one session: each in a boundary of its own, drawn from the same folder.
//!
//! The boundary is drawn anew for every command, so that a repository that one command made is held for the
//! next. Temporary files are shared by all shells of a session and go with it.

mod capture;
mod options;
mod running;
mod scratch;

pub(crate) mod shell_report;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pinfold::consent::Caller;
use pinfold::policy::{Access, Guards, ShellConfinement};
use pinfold::{Failure, PRIVATE_TEMP_DIRS, Plan, RefusalCode, ShellHost, WeakSession};
use pinfold_boundary::{EnvOverride, Network, Private, SandboxMode, SandboxRequest};
use pinfold_sandbox::{Temp, Tier, probe, strongest};

use crate::secrets::Scrubbing;
pub(crate) use capture::Output;
pub use options::ShellOptions;
pub(crate) use running::ShellResult;
use running::{Order, Running};
use scratch::{RunScratch, Scratch};

/// Background shells at one time, with those that have ended and were not read to the end.
const MAX_BACKGROUND: usize = 32;

/// Variables through which bash would run, or behave by, something else than the command.
const BASH_STARTS: [&str; 5] = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_XTRACEFD"];

/// Prefix of the variables by which bash passes functions on.
const BASH_FUNCTION: &[u8] = b"BASH_FUNC_";

/// Why a session has no shells.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be used for shells: {error}", path.display())]
pub struct ShellsError {
    path: PathBuf,
    error: io::Error,
}

/// Runs the shells of one session inside the kernel's line.
pub struct Shells {
    /// Request of every shell, but for what one run has of its own.
    request: SandboxRequest,
    guards: Guards,
    /// The folder as it was when the session began: device and inode.
    identity: (u64, u64),
    tiers: (Tier, Tier),
    scrubbing: Scrubbing,
    background: Mutex<Background>,
    scratch: Scratch,
    /// Directories that every shell of the full tier has of its own.
    own_places: [PathBuf; 3],
}

#[derive(Default)]
struct Background {
    started: u64,
    shells: BTreeMap<u64, Shell>,
}

struct Shell {
    running: Arc<Running>,
    thread: JoinHandle<()>,
}

impl Shells {
    /// The shells of a session of this plan: held to its folder, and to reading only if it only reads.
    ///
    /// # Errors
    /// When a folder of the plan, or the private directory, cannot be used.
    pub fn from_plan(plan: &Plan, options: ShellOptions) -> Result<Self, ShellsError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| ShellsError { path, error }
        };
        let resolve = |path: &Path| fs::canonicalize(path).map_err(at(path));
        let ShellOptions { mut request, private, weakest, strongest, scrubbing } = options;
        let folder = resolve(&plan.scope.root)?;
        let identity = identity(&folder).map_err(at(&folder))?;
        let scratch = resolve(&private).and_then(|base| Scratch::new(&base).map_err(at(&base)))?;
        // A restricted subagent stays in the folder, whatever the user granted to others.
        let (mode, allow_write) = match (plan.access, plan.scope.enforce_write) {
            (Access::ReadOnly, _) => (SandboxMode::ReadOnly, Vec::new()),
            (Access::ReadWrite | Access::DefaultWrite, true) => {
                (SandboxMode::WorkspaceWrite.min(request.mode), Vec::new())
            }
            (Access::ReadWrite, false) => (request.mode, request.allow_write),
            (Access::DefaultWrite, false) => (SandboxMode::DefaultWrite, request.allow_write),
        };
        let (files, add): (Vec<_>, Vec<_>) = plan.also_writable.iter().cloned().partition(|p| p.is_file());
        let allow_write = allow_write.into_iter().chain(files).collect();
        request.visible = vec![resolve(&plan.scope.display_root)?];
        request.cwd.clone_from(&folder);
        request.folder = folder;
        request.folder_choice = plan.folder_choice.clone();
        request.mode = mode;
        request.allow_write = allow_write;
        request.add = add;
        request.home.clone_from(&plan.home);
        request.temp = Temp::Directory(scratch.temp());
        request.lists = plan.policy.path_scopes.kernel_lists();
        request.denied = plan.policy.denied_paths();
        request.env_overrides.extend(disable_start_files(&request.environment));
        Ok(Self {
            request,
            guards: plan.guards.clone(),
            identity,
            tiers: (weakest, strongest),
            scrubbing,
            background: Mutex::default(),
            scratch,
            own_places: PRIVATE_TEMP_DIRS.map(PathBuf::from),
        })
    }

    /// Runs a command to its end, or until the caller gives up. Its escalations go to `session`. `names`: prefix of the names
    /// of its network refusals.
    pub(crate) fn run(
        &self,
        command: &str,
        limit: Duration,
        session: &WeakSession,
        names: Option<String>,
        caller: Caller<'_>,
    ) -> Result<(Output, Arc<ShellResult>), Failure> {
        let order = Order { names, ..self.order(command, Some(limit), false, session)? };
        let (running, thread) = Running::start(order)?;
        running.wait_end_for(caller);
        // It has said all it had to say; only its own end is waited for.
        let _ = thread.join();
        match running.read()? {
            (output, Some(ending)) => Ok((output, ending)),
            (_, None) => Err(Failure::input("the shell has no end", "report this as a defect of the tool")),
        }
    }

    /// Starts a command and lets it run. Comes back when it runs.
    pub(crate) fn start(
        &self,
        command: &str,
        limit: Option<Duration>,
        session: &WeakSession,
    ) -> Result<String, Failure> {
        let order = self.order(command, limit, true, session)?;
        let mut background = self.background();
        if background.shells.len() >= MAX_BACKGROUND {
            let message = format!("{MAX_BACKGROUND} background shells are there already");
            let names = background.names();
            let hint = format!("end one with KillBash, or read one that has ended: {names}");
            return Err(Failure::plain(RefusalCode::TooLarge, message, hint));
        }
        let (running, thread) = Running::start(order)?;
        background.started += 1;
        let number = background.started;
        background.shells.insert(number, Shell { running: Arc::clone(&running), thread });
        drop(background);
        if let Err(failure) = running.wait_started() {
            self.forget(number);
            return Err(failure);
        }
        Ok(name(number))
    }

    /// Returns the new output of a background shell, waiting no longer than the caller does. A shell that has ended is
    /// removed with that.
    pub(crate) fn read(
        &self,
        id: &str,
        wait: Duration,
        caller: Caller<'_>,
    ) -> Result<(Output, Option<Arc<ShellResult>>), Failure> {
        let (number, running) = self.find(id)?;
        running.wait_news(wait, caller);
        let read = running.read();
        if matches!(read, Err(_) | Ok((_, Some(_)))) {
            self.forget(number);
        }
        read
    }

    /// Ends a background shell with all that it started, and gives what it had still to say.
    pub(crate) fn kill(&self, id: &str) -> Result<(Output, Option<Arc<ShellResult>>), Failure> {
        let (_, running) = self.find(id)?;
        running.end();
        self.read(id, Duration::ZERO, Caller::default())
    }

    /// Sends input to a background shell. Says how many bytes it took.
    pub(crate) fn send(&self, id: &str, text: &str, close: bool) -> Result<usize, Failure> {
        let (_, running) = self.find(id)?;
        running.send(text.as_bytes(), close).map_err(|error| {
            let message = if running.is_over() {
                format!("{id} has ended")
            } else {
                format!("{id} takes no more input: {error}")
            };
            Failure::plain(RefusalCode::Io, message, "read it with BashOutput")
        })
    }

    fn order(
        &self,
        command: &str,
        limit: Option<Duration>,
        input: bool,
        session: &WeakSession,
    ) -> Result<Order, Failure> {
        let not_held = |message: String| {
            Failure::plain(RefusalCode::NotHeld, message, "tell the user; the file tools still work")
        };
        let tier = self.tier().ok_or_else(|| not_held("nothing holds a shell here".to_owned()))?;
        // The boundary goes by the name of the folder; it has to be the folder that the session holds.
        if identity(&self.request.folder).ok() != Some(self.identity) {
            let folder = self.request.folder.display();
            return Err(not_held(format!(
                "`{folder}` is not the folder any more that the session began with"
            )));
        }
        let scratch = self.scratch.run().map_err(|error| {
            not_held(format!("no private directory could be made for the shell: {error}"))
        })?;
        let request = self.request_now(&scratch, limit, session);
        let (guards, command, session) = (self.guards.clone(), command.to_owned(), session.clone());
        let scrubbing = self.scrubbing;
        Ok(Order { request, guards, tier, command, input, scratch, session, scrubbing, names: None })
    }

    /// Returns the request for one command, by the rules as they are now.
    fn request_now(
        &self,
        scratch: &RunScratch,
        limit: Option<Duration>,
        session: &WeakSession,
    ) -> SandboxRequest {
        let mut request = self.request.clone();
        request.private = Private::existing(scratch.path());
        request.limits.wall_time = [request.limits.wall_time, limit].into_iter().flatten().min();
        if let Network::Hosts(list) = &mut request.network {
            list.renew();
        }
        let Some(session) = session.upgrade() else { return request };
        request.denied = session.policy().denied_paths();
        request.with_escalations(session.may_let_processes_out(), session.may_let_processes_reach())
    }

    /// The tier in which shells are held. Found out once, by trying.
    fn tier(&self) -> Option<Tier> {
        /// The strongest tier of this machine: probing starts several processes, and every agent of a process has shells.
        static FOUND: OnceLock<Option<Tier>> = OnceLock::new();
        let (weakest, most) = self.tiers;
        let found = (*FOUND.get_or_init(|| strongest(&probe())))?.min(most);
        (found >= weakest).then_some(found)
    }

    fn find(&self, id: &str) -> Result<(u64, Arc<Running>), Failure> {
        let background = self.background();
        let found = background.shells.iter().find(|(number, _)| name(**number) == id);
        found.map(|(number, shell)| (*number, Arc::clone(&shell.running))).ok_or_else(|| {
            let message = format!("there is no background shell `{id}`, or it has ended and was read");
            let hint = match background.names() {
                none if none.is_empty() => "start one with run_in_background".to_owned(),
                names => format!("there are: {names}"),
            };
            Failure::plain(RefusalCode::NotFound, message, hint)
        })
    }

    fn forget(&self, number: u64) {
        let shell = self.background().shells.remove(&number);
        if let Some(Shell { running, thread }) = shell {
            running.wait_end();
            let _ = thread.join();
        }
    }

    fn background(&self) -> MutexGuard<'_, Background> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShellHost for Shells {
    fn confinement(&self) -> ShellConfinement {
        match self.tier() {
            Some(Tier::Full) => ShellConfinement::Full,
            Some(Tier::Landlock) => ShellConfinement::Degraded,
            None => ShellConfinement::Nothing,
        }
    }

    fn opens_network(&self) -> bool {
        // With a list of hosts the relay holds each connection to it.
        self.request.network == Network::Host
    }

    fn private(&self) -> &[PathBuf] {
        match self.tier() {
            Some(Tier::Full) => &self.own_places,
            // The Landlock tier has no mount namespace.
            Some(Tier::Landlock) | None => &[],
        }
    }

    fn folder(&self) -> &Path {
        &self.request.folder
    }
}

impl Background {
    fn names(&self) -> String {
        self.shells.keys().map(|number| name(*number)).collect::<Vec<_>>().join(", ")
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        let shells = std::mem::take(&mut self.background().shells);
        for shell in shells.values() {
            shell.running.kill();
        }
        for shell in shells.into_values() {
            // Their private directories are in use until then.
            let _ = shell.thread.join();
        }
    }
}

/// The environment is the person's own and stays out of every log.
impl fmt::Debug for Shells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shells").field("folder", &self.request.folder).finish_non_exhaustive()
    }
}

fn name(number: u64) -> String {
    format!("bash_{number}")
}

fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(folder).map(|meta| (meta.dev(), meta.ino()))
}

/// Returns the changes of the environment with which nothing runs before the command that was judged.
fn disable_start_files(environment: &[(std::ffi::OsString, std::ffi::OsString)]) -> Vec<EnvOverride> {
    use std::os::unix::ffi::OsStrExt;
    let functions =
        environment.iter().map(|(name, _)| name).filter(|n| n.as_bytes().starts_with(BASH_FUNCTION));
    let fixed = BASH_STARTS.iter().map(std::ffi::OsString::from);
    fixed.chain(functions.cloned()).map(EnvOverride::Unset).collect()
}

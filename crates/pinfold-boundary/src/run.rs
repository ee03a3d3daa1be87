//! One run of a command: compile, start, observe, settle, report.

use std::io;
use std::time::{Duration, Instant};

use pinfold_policy::Guards;
use pinfold_sandbox::{
    Command, End, JobControl, Limits, Remote, RunningSandbox, Signalling, StartError, Strength,
    SyscallHandler, Tier, can_mediate, start,
};

use crate::boundary::Boundary;
use crate::compile_error::CompileError;
use crate::egress::{EgressOptions, EgressProxy, HostContacts};
use crate::limits_reached::{LimitReached, limits_reached};
use crate::observer::Observer;
use crate::outcome::EscalationOutcome;
use crate::report::RunReport;
use crate::request::SandboxRequest;

/// A command that runs within its boundary.
#[derive(Debug)]
pub struct Run {
    boundary: Boundary,
    confined: RunningSandbox,
    limits: Limits,
    started: Instant,
}

/// Reasons why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted<E> {
    /// The request cannot be carried out.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The sandbox could not be set up, or the program not be started.
    #[error(transparent)]
    Start(StartError),
    /// The command could not be prepared.
    #[error("{0}")]
    Command(E),
}

/// A listener to the course of a run. Both methods are called on the thread that observes it.
pub trait RunListener {
    /// Called when the command is observed. `egress`: whether the hosts of its list can be reached.
    fn observed(&mut self, _egress: Egress) {}

    /// Called when no process of the run lives any more, before its folder is settled: its streams and terminal are free.
    fn ended(&mut self) {}
}

/// The listener of a run that is only waited for.
impl RunListener for () {}

/// The way of a run to the hosts of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Egress {
    /// The run has none to ask for, or all of the network.
    NotNeeded,
    /// The proxy carries its connections.
    Open,
    /// Hosts are listed, and this machine cannot hold a run to some: none is reached.
    Unavailable,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunResult {
    /// The tier that held it.
    pub tier: Tier,
    /// False when what was refused could not be seen.
    pub watched: bool,
    /// End of the command.
    ///
    /// An error when it could not be observed to its end; all its processes were killed then.
    pub ended: io::Result<End>,
    /// Time from the request to the end.
    pub took: Duration,
    /// Attempts outside, and their outcome.
    pub tried: EscalationOutcome,
    /// Limits that it reached.
    pub limits: Vec<LimitReached>,
    /// Changes that a person should look at.
    pub left: RunReport,
    /// Hosts that it reached, or was refused.
    pub hosts: HostContacts,
}

impl Run {
    /// Compiles a request and starts a command within its boundary, with its calls [mediated](pinfold_sandbox::Mediation)
    /// where the machine lets them be. `command` prepares the command; it is asked again where another program above
    /// watches already, which only the start shows, and the run is held in another way then.
    ///
    /// # Errors
    /// When the request cannot be carried out, the sandbox not be set up, or the program not be started. Nothing has run then.
    pub fn start<E>(
        request: &SandboxRequest,
        guards: &Guards,
        tier: Tier,
        signalling: Signalling,
        mut command: impl FnMut() -> Result<Command, E>,
    ) -> Result<Self, NotStarted<E>> {
        let started = Instant::now();
        let mut attempt = |mediated| {
            let boundary = Boundary::compile(request, guards, Strength { tier, mediated })?;
            boundary.clear_left_behind();
            let command = command().map_err(NotStarted::Command)?;
            let confined =
                start(boundary.profile(), command, tier, signalling, true).map_err(NotStarted::Start)?;
            Ok(Self { boundary, confined, limits: request.limits, started })
        };
        match attempt(can_mediate()) {
            Err(NotStarted::Start(error)) if error.is_unmediated() => attempt(false),
            other => other,
        }
    }

    /// Returns the boundary.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Returns the tier that holds it.
    pub fn tier(&self) -> Tier {
        self.confined.tier()
    }

    /// Returns the number of the first process inside.
    pub fn pid(&self) -> i32 {
        self.confined.pid()
    }

    /// Returns whether sockets were declared that cannot be reached on this machine.
    pub fn lacks_sockets(&self) -> bool {
        !self.boundary.profile().sockets.is_empty() && !self.confined.reaches_sockets()
    }

    /// Sets what is called when the supervisor's terminal is resized, or the supervisor stops and continues.
    pub fn set_job_control(&mut self, job_control: Box<dyn JobControl>) {
        self.confined.set_job_control(job_control);
    }

    /// Returns a handle with which another thread can signal or kill the command.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn remote(&self) -> io::Result<Remote> {
        self.confined.remote()
    }

    /// Observes the command to its end, settles its folder, and reports. `observer` makes the observer of the run.
    ///
    /// Where the egress proxy cannot be started the command is killed, since no part of it may go on unobserved.
    pub fn observe(
        self,
        egress: EgressOptions,
        observer: impl for<'b> FnOnce(&'b Boundary, Tier) -> Box<dyn Observer + 'b>,
        listener: &mut dyn RunListener,
    ) -> RunResult {
        let Self { boundary, mut confined, limits, started } = self;
        let (tier, watched) = (confined.tier(), confined.is_watched());
        let mut observer = observer(&boundary, tier);
        let opened = EgressProxy::open(&boundary, &mut confined, egress, observer.host_approver());
        let (proxy, ended) = match opened {
            Ok(proxy) => {
                listener.observed(egress_of(&boundary, proxy.as_ref()));
                (proxy, confined.supervise(&mut *observer))
            }
            Err(error) => (None, end(confined, &mut *observer).and(Err(error))),
        };
        let took = started.elapsed();
        listener.ended();
        let (mut tried, changed) = observer.finish();
        let left = boundary.settle(changed.as_ref());
        let closed = proxy.map(|proxy| proxy.close(&mut tried));
        let mut hosts = closed.unwrap_or_default();
        hosts.add_refused(&tried.refused);
        let limits = limits_reached(&limits, &tried.limits, ended.as_ref().ok().copied());
        RunResult { tier, watched, ended, took, tried, limits, left, hosts }
    }
}

fn egress_of(boundary: &Boundary, proxy: Option<&EgressProxy>) -> Egress {
    match proxy {
        // A proxy that only hears which hosts are wanted carries nothing.
        _ if boundary.hosts().is_none() || !boundary.reaches_hosts() => Egress::NotNeeded,
        Some(_) => Egress::Open,
        None => Egress::Unavailable,
    }
}

/// Kills a command that cannot be observed. Dropped, it would go on.
fn end(confined: RunningSandbox, observer: &mut dyn SyscallHandler) -> io::Result<End> {
    confined.remote()?.kill()?;
    confined.supervise(observer)
}

//! Start and supervision of a confined process.

mod error;
mod remote;
mod supervise;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Instant;

use crate::command::Command;
use crate::job_control::JobControl;
use crate::linux::init::{self, Report, Stage};
use crate::linux::plan::{Plan, SupervisedPlaces, SupervisorSignals};
use crate::linux::relay_sockets::{RelayPlan, RelaySockets};
use crate::passing::RelayedStreams;
use crate::placeholder::Placeholders;
use crate::profile::{Network, Profile};
use crate::streams;
use crate::strength::Tier;
use crate::sys::{self, Forked, Pid, Signals};
use crate::watch::{
    ConnectionSink, ContinueAll, Enforcement, LocalSockets, Proxied, SyscallNotifier, WatchedLimits,
};
pub use error::StartError;
use error::{explain, unusable};
pub use remote::Remote;
use remote::end_all;

/// Signals that a supervisor passes on, instead of ending or stopping by them.
const PASSED_ON: [libc::c_int; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGCONT,
];

/// Signals that a supervisor handles beside them when the command has a terminal of its own: a new size of the terminal.
const MINDED: [libc::c_int; 1] = [libc::SIGWINCH];

/// The last of the kernel's signals.
const LAST_SIGNAL: libc::c_int = 64;

/// Relation of the supervisor to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalling {
    /// This process stands for the command: signals sent to it are passed on. For a program that does nothing
    /// else.
    PassOn,
    /// Signals of this process are its own business. For a library in a larger program.
    Own,
}

/// A command that runs inside its sandbox.
pub struct RunningSandbox {
    init: Pid,
    process: OwnedFd,
    notifier: Option<NotifierHandle>,
    signals: Option<OwnedFd>,
    /// Reports of the first process about stops, when they are to be followed.
    stops: Option<OwnedFd>,
    /// Ready while anything is that is waited for beside the notifications; `None` until it is waited for, and when that changes.
    beside: Option<OwnedFd>,
    /// The command has a terminal of its own, so that nothing which happens at ours reaches it by itself.
    own_terminal: bool,
    job_control: Option<Box<dyn JobControl>>,
    /// A process sent `SIGTSTP` to the supervisor; it did not come from a key of the terminal.
    asked_to_stop: bool,
    deadline: Option<Instant>,
    tier: Tier,
    reaches_sockets: bool,
    /// Calls are carried out here, or not at all.
    mediated: Option<SupervisedPlaces>,
    /// Listeners for the relay, until it has taken them.
    relay_sockets: Option<RelaySockets>,
    /// The port of the proxy, where that is all that can be reached.
    proxied: Option<u16>,
    /// Streams of the command that pass through this process.
    flowing: RelayedStreams,
    /// Taken away when the run is over.
    _placeholders: Placeholders,
}

struct NotifierHandle(SyscallNotifier);

impl fmt::Debug for RunningSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confined").field("init", &self.init).field("tier", &self.tier).finish_non_exhaustive()
    }
}

/// The end of a confined command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Exit code; 128 and more for a signal, as shells count.
    Code(i32),
    /// Its time limit was over (wall-clock time).
    TimedOut,
}

/// Returns whether this kernel lets a supervisor carry calls out ([`Profile::mediated`]): Landlock that keeps names together
/// (version 2), and questions that wait undisturbed by signals; both since Linux 5.19. Where another program above watches
/// already only the start tells.
pub fn can_mediate() -> bool {
    const REFER: u32 = 2;
    sys::landlock_version().is_ok_and(|version| version >= REFER) && sys::can_wait_undisturbed()
}

/// Starts a command within a profile. `watched` asks for the calls that change files to be shown to a
/// [`SyscallHandler`]; where another filter of this process tree is watched already there can be no second one, and the
/// command runs unwatched.
///
/// # Errors
/// When the sandbox cannot be built or does not hold, or the program cannot be started: then nothing has run.
pub fn start(
    profile: &Profile,
    mut command: Command,
    tier: Tier,
    signalling: Signalling,
    watched: bool,
) -> Result<RunningSandbox, StartError> {
    let program = command.program.to_string_lossy().into_owned();
    let own_terminal = command.terminal.is_some();
    let failed = |stage, detail: &str| {
        let detail = detail.to_owned();
        move |error| StartError { stage, detail, error }
    };
    if profile.limits.processes.is_some() && sys::effective_ids().0 == 0 {
        // RLIMIT_NPROC spares the superuser. A limit that does not limit is worse than none.
        let error = io::Error::new(io::ErrorKind::Unsupported, "the kernel does not count those of root");
        let detail = "limiting processes (run as an ordinary user)".into();
        return Err(StartError { stage: Stage::Limits, detail, error });
    }
    let (handed, passing) = streams::prepare(command.stdio, profile.mediated.is_some()).map_err(unusable)?;
    command.stdio = handed;
    let (absent, stand_ins) = match tier {
        Tier::Full => (profile.absent.as_slice(), profile.stand_ins.as_slice()),
        Tier::Landlock => Default::default(),
    };
    let placeholders = Placeholders::hold(absent, stand_ins, profile.spare.as_deref())
        .map_err(failed(Stage::Folder, "holding a protected name"))?;
    let (ours, theirs) = sys::socket_pair().map_err(failed(Stage::Fork, "preparing the start"))?;
    let before = hold_signals(signalling).map_err(failed(Stage::Fork, "preparing the start"))?;
    let mask = before.mask;
    let prepared = Plan::new(profile, command, tier, watched, before);
    if prepared.is_err() {
        let _ = mask.restore();
    }
    let mut plan = prepared.map_err(failed(Stage::Mount, "looking at the granted places"))?;
    // SAFETY: the child runs `init::run`, which allocates nothing, takes no lock and never returns.
    match unsafe { sys::fork(plan.namespaces) } {
        Err(error) => {
            let _ = mask.restore();
            Err(StartError { stage: Stage::Fork, detail: "making the namespaces".into(), error })
        }
        Ok(Forked::Child) => init::run(&mut plan, &theirs),
        Ok(Forked::Parent { pid, pidfd }) => {
            drop(theirs);
            let signals = after_fork(mask, signalling, own_terminal)
                .map_err(failed(Stage::Fork, "preparing the start"))?;
            let deadline = profile.limits.wall_time.map(|t| Instant::now() + t);
            let mut confined = RunningSandbox {
                init: pid,
                process: pidfd,
                notifier: None,
                signals,
                stops: None,
                beside: None,
                own_terminal,
                job_control: None,
                asked_to_stop: false,
                deadline,
                tier,
                reaches_sockets: false,
                mediated: plan.mediated.clone(),
                relay_sockets: plan.relayed.as_ref().map(|_| RelaySockets::default()),
                proxied: match profile.network {
                    Network::Proxied(port) => Some(port),
                    Network::Off | Network::Relayed(_) | Network::Host => None,
                },
                flowing: RelayedStreams::default(),
                _placeholders: placeholders,
            };
            match confined.await_start(&ours, plan.relayed.as_ref()) {
                Ok(()) => {
                    if let Err(error) = confined.open_sockets(profile) {
                        let _ = end_all(&confined.process, tier);
                        let _ = sys::reap(pid, true);
                        return Err(failed(Stage::Seccomp, "opening sockets of this machine")(error));
                    }
                    match passing.start() {
                        Ok(flowing) => confined.flowing = flowing,
                        Err(error) => {
                            let _ = end_all(&confined.process, tier);
                            let _ = sys::reap(pid, true);
                            return Err(failed(Stage::Fork, "passing the standard streams on")(error));
                        }
                    }
                    // A caller who keeps its signals decides by itself when to stop, and goes on after the command.
                    if signalling == Signalling::PassOn {
                        confined.stops = Some(ours);
                        plan.leave();
                    }
                    Ok(confined)
                }
                Err((report, error)) => {
                    // Notifications are no longer answered: those of an ending command fail at once.
                    confined.notifier = None;
                    let _ = sys::reap(pid, true);
                    let stage = report.map_or(Stage::Fork, |r| r.stage);
                    Err(StartError { stage, detail: explain(&plan, report, &program), error })
                }
            }
        }
    }
}

/// Blocks every signal, so that none is lost between the fork and the moment when both sides are ready.
fn hold_signals(signalling: Signalling) -> io::Result<SupervisorSignals> {
    let reset = match signalling {
        // Which our language runtime ignores.
        Signalling::PassOn => libc::SIGPIPE..=libc::SIGPIPE,
        Signalling::Own => 1..=LAST_SIGNAL,
    };
    Ok(SupervisorSignals { mask: Signals::all().block()?, reset })
}

fn after_fork(mask: Signals, signalling: Signalling, own_terminal: bool) -> io::Result<Option<OwnedFd>> {
    mask.restore()?;
    match signalling {
        Signalling::Own => Ok(None),
        Signalling::PassOn => {
            // Inherited as ignored, it would keep the supervisor from waiting for the command.
            sys::default_action(libc::SIGCHLD);
            // What is done for the command meets limits of the supervisor too, as an error.
            sys::ignore(libc::SIGXFSZ);
            let minded: &[_] = if own_terminal { &MINDED } else { &[] };
            let ours: Vec<_> = PASSED_ON.iter().chain(minded).copied().collect();
            let ours = Signals::from_list(&ours);
            ours.block()?;
            ours.descriptor().map(Some)
        }
    }
}

impl RunningSandbox {
    /// The number of the first process inside.
    pub fn pid(&self) -> i32 {
        self.init
    }

    /// Returns the tier of the sandbox.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Lets the declared sockets be reached, where that can be held; where none is, those that are tried are named.
    fn open_sockets(&mut self, profile: &Profile) -> io::Result<()> {
        let held = self.tier == Tier::Full && profile.network != Network::Host && !profile.sockets.is_empty();
        if let (true, Some(notifier)) = (held, &mut self.notifier) {
            let local = LocalSockets::new(profile.sockets.clone(), profile.hidden.clone())?;
            self.reaches_sockets = notifier.0.open(local);
        }
        if let (false, Some(notifier)) = (profile.openings.unix_sockets, &mut self.notifier) {
            notifier.0.close_sockets();
        }
        if let Some(notifier) = &mut self.notifier {
            notifier.0.watch_limits(WatchedLimits::new(profile.limits, self.init, self.tier == Tier::Full));
        }
        Ok(())
    }

    /// Returns whether the sockets of [`Profile::sockets`] can be reached.
    pub fn reaches_sockets(&self) -> bool {
        self.reaches_sockets
    }

    /// Returns whether attempts are shown to the handler.
    pub fn is_watched(&self) -> bool {
        self.notifier.is_some()
    }

    /// Sets the receiver of events at the supervisor's terminal: for a command with a terminal of its own, and
    /// [`Signalling::PassOn`].
    pub fn set_job_control(&mut self, job_control: Box<dyn JobControl>) {
        self.job_control = Some(job_control);
    }

    /// Takes the listeners at which every connection of the run arrives ([`Network::Relayed`]), once. The local address of a
    /// connection is the destination that the process wanted. Until they are taken, connecting processes wait.
    ///
    /// [`Network::Relayed`]: crate::Network::Relayed
    pub fn relay_sockets(&mut self) -> Option<RelaySockets> {
        self.relay_sockets.take()
    }

    /// Sets the taker of the connections to the proxy ([`Network::Proxied`]). False where there is no proxy, no user
    /// notification, or no way to hand out sockets: then no host is reached.
    pub fn connections_go_to(&mut self, taker: ConnectionSink) -> bool {
        self.notifier.as_mut().is_some_and(|notifier| notifier.0.connections_go_to(taker))
    }

    /// A handle with which another thread can signal or end the command.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn remote(&self) -> io::Result<Remote> {
        Ok(Remote { process: self.process.try_clone()?, tier: self.tier })
    }

    /// Waits until the command has become itself, or says why it has not.
    fn await_start(
        &mut self,
        reports: &OwnedFd,
        relayed: Option<&RelayPlan>,
    ) -> Result<(), (Option<Report>, io::Error)> {
        let wrap = |error| (None, error);
        let mut testing = false;
        loop {
            // Once the command is on its way its questions wait for the real handler.
            let notifier = self.notifier.as_ref().filter(|_| testing).map_or(-1, |w| w.0.fd().as_raw_fd());
            let [report, question] = sys::poll([reports.as_raw_fd(), notifier], None).map_err(wrap)?;
            if report == 0 {
                // Only now: with a report waiting, the question may be the command's own.
                if question != 0
                    && let Some(notifier) = &mut self.notifier
                {
                    // The self-test, whose attempts the sandbox refuses.
                    notifier.0.handle_notification(&mut ContinueAll).map_err(wrap)?;
                }
                continue;
            }
            let mut bytes = [0u8; 6];
            let (len, fd) = sys::receive(reports.as_fd(), &mut bytes).map_err(wrap)?;
            match (len, Report::decode(bytes)) {
                (0, _) => return Err((None, io::Error::from_raw_os_error(libc::ECHILD))),
                (_, Some(Report { stage: Stage::Closed, index, errno })) => {
                    let view = Some(errno.cast_unsigned()).filter(|view| *view != 0 && index == 1);
                    let enforcement = Enforcement {
                        mediated: self.mediated.is_some(),
                        private_paths: self.mediated.clone().unwrap_or_default(),
                        mounts: self.tier == Tier::Full,
                    };
                    let notifier = fd.map(|fd| {
                        SyscallNotifier::new(fd, view, self.proxied.map(Proxied::new), enforcement)
                    });
                    self.notifier = notifier.transpose().map_err(wrap)?.map(NotifierHandle);
                    if self.mediated.is_some()
                        && !self.notifier.as_ref().is_some_and(|notifier| notifier.0.mediates(index == 1))
                    {
                        let _ = end_all(&self.process, self.tier);
                        let report = Report { stage: Stage::Seccomp, index: 0, errno: libc::EBUSY };
                        return Err((Some(report), io::Error::from_raw_os_error(libc::EBUSY)));
                    }
                    testing = true;
                }
                (_, Some(Report { stage: Stage::RelaySocket, errno: 0, index })) => {
                    let socket = relayed.and_then(|relayed| relayed.sockets.get(usize::from(index)));
                    let (Some(socket), Some(relay_sockets), Some(fd)) = (socket, &mut self.relay_sockets, fd)
                    else {
                        return Err((None, io::Error::from_raw_os_error(libc::EPROTO)));
                    };
                    relay_sockets.add(socket.kind, fd);
                }
                (_, Some(Report { stage: Stage::Ready, .. })) => testing = false,
                (_, Some(Report { stage: Stage::Started, .. })) => return Ok(()),
                (_, report) => {
                    let errno = report.map_or(libc::EPROTO, |r| r.errno);
                    return Err((report, io::Error::from_raw_os_error(errno)));
                }
            }
        }
    }
}

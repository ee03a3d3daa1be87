//! The supervisor's end of seccomp user notifications.
//!
//! The kernel lets the supervisor look at certain calls before they are carried out
//! ([seccomp_unotify(2)](https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html)). Where a run is
//! [mediated](crate::Profile::mediated) a call that changes files in a shared place never goes on: the supervisor carries it
//! out, through the directory that it has opened and judged, and the process gets the result. Landlock lets a process write
//! by itself only in places of the run's own, so that a call which is let go on can do no more, whatever its memory holds by
//! the time the kernel reads it again.
//!
//! Elsewhere the call continues and the sandbox decides, or it is refused at once: the supervisor observes, it does not
//! enforce. A *pending* call never continues because of an approval: its holder executes it, as it was read, and answers.

mod address;
mod attempt;
mod call;
mod caller;
mod carry_out;
mod closed_sockets;
mod connect;
mod directories;
mod file_answer;
mod file_call;
mod file_question;
mod held_path;
mod hidden_paths;
mod killed_processes;
mod limits;
mod memory;
mod path_text;
mod pending_syscall;
mod proxied;
mod rights;
mod understand;
mod view;
mod waiting;
mod walk;

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::program::program_of;
use crate::sys::{self, NotifyResponse, Pid};
use crate::turn::MoveCount;
pub use attempt::{
    Attempt, CompletedSyscall, ContinueAll, Detail, EntryType, Intent, LinkedFile, Reply, SyscallHandler,
};
pub use call::{Caller, FileOperation, Opening, Sync, Syscall, Time};
use caller::Callers;
pub use carry_out::is_being_written;
pub(crate) use connect::LocalSockets;
use connect::{ConnectQuestion, answer_if_there};
use directories::{Directories, ReadBases};
pub(crate) use file_call::FCHMODAT2;
use held_path::OwnDescriptors;
pub use limits::Limit;
pub(crate) use limits::Watched as WatchedLimits;
use pending_syscall::PendingShared;
pub use pending_syscall::PendingSyscall;
pub use proxied::ConnectionSink;
pub(crate) use proxied::Proxied;
use rights::Rights;
pub use view::MountView;
use waiting::WaitingCalls;

/// Enforcement beneath the notifications.
#[derive(Debug)]
pub(crate) struct Enforcement {
    /// The supervisor carries out what is allowed.
    pub(crate) mediated: bool,
    /// Places of the run's own in which the supervisor executes calls as well.
    pub(crate) private_paths: Vec<PathBuf>,
    /// Mounts keep what lies outside.
    pub(crate) mounts: bool,
}

/// The supervisor's end of the seccomp user notifications.
pub(crate) struct SyscallNotifier {
    listener: Arc<OwnedFd>,
    enforcement: Enforcement,
    callers: Callers,
    known: RefCell<Directories>,
    /// The count of moves before the first of the known directories was walked to. `None`: no turn was taken yet.
    moves: Option<MoveCount>,
    own: OwnDescriptors,
    /// The root that every process of a mediated run has, once one of them was met.
    root: Option<OwnedFd>,
    read_bases: ReadBases,
    rights: Rights,
    waiting: WaitingCalls,
    /// None where calls cannot be held.
    holding: Option<PendingShared>,
    /// None where no socket of this machine can be reached.
    local: Option<LocalSockets>,
    /// None where no limit is looked at.
    limits: Option<WatchedLimits>,
    /// No socket of this machine can be reached: `socket` returns one without a peer.
    closed_sockets: bool,
    /// None where a run has a network of its own, or the one of the machine.
    proxied: Option<Proxied>,
}

impl SyscallNotifier {
    /// `view`: the mount namespace of the watched, where those who ask wait undisturbed by signals. Elsewhere a call that
    /// waits could be started again by one, and be asked about and done twice: none is held there.
    ///
    /// # Errors
    /// When the rights of this thread cannot be told.
    pub(crate) fn new(
        listener: OwnedFd,
        view: Option<u32>,
        proxied: Option<Proxied>,
        enforcement: Enforcement,
    ) -> io::Result<Self> {
        sys::wake_in_step(listener.as_fd());
        Ok(Self {
            listener: Arc::new(listener),
            enforcement,
            callers: Callers::default(),
            known: RefCell::default(),
            moves: None,
            own: OwnDescriptors::open(),
            root: None,
            read_bases: ReadBases::default(),
            rights: Rights::new()?,
            waiting: WaitingCalls::default(),
            holding: view.map(PendingShared::new),
            local: None,
            limits: None,
            closed_sockets: false,
            proxied,
        })
    }

    /// Lets sockets of this machine be reached. Only where a call that waits is not started again by a signal (it would be
    /// carried out twice), and where descriptors can be copied. False where that cannot be had.
    pub(crate) fn open(&mut self, local: LocalSockets) -> bool {
        let copies = sys::copied_from(sys::own_pid(), self.fd().as_raw_fd()).is_ok();
        self.local = (copies && self.holding.is_some()).then_some(local);
        self.local.is_some()
    }

    /// Tells of limits that are met.
    pub(crate) fn watch_limits(&mut self, limits: Option<WatchedLimits>) {
        self.limits = limits;
    }

    /// Names the sockets of this machine that are tried, where descriptors can be handed out; elsewhere their kind is named.
    pub(crate) fn close_sockets(&mut self) {
        self.closed_sockets = self.local.is_none() && sys::hands_over(self.fd());
    }

    /// Lets connections to the proxy be taken. False where there is none, or where no descriptor can be handed out.
    pub(crate) fn connections_go_to(&mut self, taker: ConnectionSink) -> bool {
        let can = sys::hands_over(self.fd());
        let Some(proxied) = self.proxied.as_mut().filter(|_| can) else { return false };
        proxied.taken_by(taker);
        true
    }

    /// Returns whether calls can be carried out: a question waits undisturbed, and can be answered with a descriptor.
    pub(crate) fn mediates(&self, undisturbed: bool) -> bool {
        undisturbed && sys::hands_over(self.fd())
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Returns whether any call waits for an answer that is not given here.
    pub(crate) fn holds(&self) -> bool {
        self.holding.as_ref().is_some_and(PendingShared::is_in_use)
    }

    /// Returns the milliseconds until a waiting call is retried, or the processes are looked through.
    pub(crate) fn next_timeout_ms(&self) -> Option<i32> {
        let whole = |left: Duration| i32::try_from(left.as_millis()).unwrap_or(i32::MAX - 1) + 1;
        let looks = self.limits.as_ref().and_then(WatchedLimits::looks_in).map(whole);
        self.waiting.next_try().into_iter().chain(looks).min()
    }

    /// Does what is to be done again.
    pub(crate) fn wake(&mut self, handler: &mut dyn SyscallHandler) {
        self.waiting.retry(self.listener.as_fd(), &mut self.rights, handler);
        if let Some(limits) = &mut self.limits {
            limits.look();
        }
    }

    /// Ends the notifications. What is left are the limits: which of them ended a process is known when all are reaped.
    pub(crate) fn into_limits(self) -> Option<WatchedLimits> {
        self.limits
    }

    /// Takes one question, lets `handler` say what becomes of it, and answers unless it is held.
    pub(crate) fn handle_notification(&mut self, handler: &mut dyn SyscallHandler) -> io::Result<()> {
        let question = match sys::receive_notification(self.fd()) {
            // The asker was killed while it waited.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => return Ok(()),
            other => other?,
        };
        let number = i64::from(question.data.nr);
        match number {
            libc::SYS_connect | libc::SYS_socket | libc::SYS_bind => {
                self.answer_network_call(&question, handler)
            }
            libc::SYS_umask => {
                self.callers.note_umask_call();
                self.answer(&question, NotifyResponse::Continue)
            }
            _ if limits::concerns(number) => {
                let met = self.limits.as_mut().and_then(|limits| limits.met_by(&question));
                // Else its number may mean another process by now.
                if let Some(limit) = met.filter(|_| sys::is_notification_valid(self.fd(), question.id)) {
                    handler.limit_met(limit, &program_of(question.pid.cast_signed()));
                }
                self.answer(&question, NotifyResponse::Continue)
            }
            _ if limits::starts_program(number) => {
                if let Some(limits) = &mut self.limits {
                    limits.meet_start(&question);
                }
                self.answer(&question, NotifyResponse::Continue)
            }
            _ if self.is_plain_reading(&question, handler) => {
                self.answer(&question, NotifyResponse::Continue)
            }
            _ => {
                if let Some(limits) = &mut self.limits {
                    limits.meet(question.pid.cast_signed());
                }
                self.answer_file_call(&question, handler)
            }
        }
    }

    fn answer(&self, question: &libc::seccomp_notif, answer: NotifyResponse) -> io::Result<()> {
        answer_if_there(&self.listener, question.id, answer)
    }

    fn answer_network_call(
        &mut self,
        question: &libc::seccomp_notif,
        handler: &mut dyn SyscallHandler,
    ) -> io::Result<()> {
        let asked = ConnectQuestion { listener: &self.listener, question };
        let number = i64::from(question.data.nr);
        let connects = number == libc::SYS_connect;
        if self.closed_sockets {
            let intent = if connects { Intent::Connect } else { Intent::Bind };
            match number {
                libc::SYS_socket if closed_sockets::makes(question) => {
                    return closed_sockets::hand_out(&asked);
                }
                libc::SYS_socket => {}
                _ if closed_sockets::refuse(&asked, intent, handler)? => return Ok(()),
                _ => {}
            }
        }
        if number == libc::SYS_bind {
            return match &self.proxied {
                Some(_) => Proxied::bind(&asked, handler),
                None => self.answer(question, NotifyResponse::Continue),
            };
        }
        if let Some(proxied) = &mut self.proxied {
            match connects {
                true => return proxied.connect(&asked, handler),
                false if proxied.opens(question) => return proxied.socket(&asked),
                false => {}
            }
        }
        if let Some(local) = &self.local {
            match connects {
                true => return local.connect(&asked, handler),
                // Its arguments are in registers: what was looked at is what is done.
                false if LocalSockets::opens(question) => {
                    return self.answer(question, NotifyResponse::Continue);
                }
                false => {}
            }
        }
        let pid = question.pid.cast_signed();
        let [a, b, c, ..] = question.data.args;
        let (intent, place) = if connects {
            (Intent::Connect, address::address(pid, b, c).as_deref().and_then(address::network_place))
        } else {
            (Intent::Socket, Some(address::kind_of_socket(a, b)))
        };
        // Else its number may mean another process by now.
        let place = place.filter(|_| sys::is_notification_valid(self.fd(), question.id));
        let reply = place.map(|place| handler.attempt(&Attempt::new(pid, intent, place)));
        // Sockets are reported only where the filter would refuse them without a supervisor.
        let refused = !connects || reply == Some(Reply::Refuse);
        self.answer(
            question,
            if refused { NotifyResponse::Fail(libc::EACCES) } else { NotifyResponse::Continue },
        )
    }
}

/// The absolute path of what a path names for a process, links and all.
pub(super) fn absolute(pid: Pid, directory: i32, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let path = std::path::Path::new(path);
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let base = match directory {
        libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        fd => format!("/proc/{pid}/fd/{fd}"),
    };
    Some(std::fs::read_link(base).ok()?.join(path))
}

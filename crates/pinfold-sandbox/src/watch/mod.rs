//! What confined processes try to change, as it happens.
//!
//! The kernel lets the supervisor look at certain calls before they are carried out
//! ([seccomp_unotify(2)](https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html)). The call then goes on
//! and meets the walls as if nobody had looked, is refused on the spot, or is held until somebody has decided.
//!
//! What is seen is what the caller's memory held at that moment; a program with several threads can change it
//! before the kernel reads it again. So this is eyes, not a wall: *letting a call go on* never allows anything
//! that the walls do not, and *refusing* one keeps honest programs from places that no wall can name. A call that was
//! *held* never goes on to do what somebody consented to: whoever holds it does that, as it was read, and answers.

mod call;
mod connect;
mod held;
mod memory;
mod operands;
mod parents;
mod proxied;
mod understand;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::sys::{self, Answer};
pub use call::{Call, Caller, Deed, Opening, Sync, Time};
pub(crate) use connect::Local;
use connect::{Asked, answer_if_there};
pub use held::Held;
use held::Holding;
use operands::Read;
use parents::Parents;
pub(crate) use proxied::Proxied;
pub use proxied::Taker;

/// What a call would do to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// Open for writing, or cut short, what exists.
    Write,
    /// Open for writing, making the file if need be; or make a special file.
    Create,
    /// Make a directory.
    MakeDir,
    /// Remove a name.
    Remove,
    /// Take a name away by renaming.
    MoveFrom,
    /// Give a name by renaming or linking.
    MoveTo,
    /// Make a symbolic link.
    Symlink,
    /// Change mode, owner, times or attributes.
    Metadata,
    /// Ask whether it could be written, and do nothing.
    Access,
    /// Connect to an address of another machine, where there is no way to it; or to a socket of this machine that was
    /// not declared.
    Connect,
    /// Make a socket of a kind that is closed.
    Socket,
}

/// One thing that a confined process is about to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The process or thread, as numbered outside.
    pub pid: i32,
    /// What it would do.
    pub intent: Intent,
    /// Where: an absolute path, the links of its parent followed. For a socket its family, for a connection its
    /// address: `ADDRESS:PORT`, the path of a socket, or `@` and its abstract name.
    pub place: PathBuf,
}

/// What becomes of a call. Of a call with two places the later in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    /// It goes on; no wall is known to stand there.
    GoOn,
    /// It waits, if it is understood whole: [`Watcher::hold`] gets it. Of [`Intent::Access`]: the answer is what the machine
    /// says where no walls are.
    Hold,
    /// It goes on to meet a wall.
    MeetWall,
    /// It fails with "permission denied".
    Refuse,
}

/// Someone who is told of attempts. Called on the supervisor's thread: the process waits meanwhile.
pub trait Watcher {
    /// Says what becomes of an attempt.
    fn attempt(&mut self, attempt: &Attempt) -> Reply;

    /// Takes over a call that is to wait. It comes back at once: others are waiting to be looked at.
    fn hold(&mut self, held: Held) {
        drop(held);
    }

    /// Says what becomes of an attempt that was to be held and cannot be: it is not understood in every part, its caller
    /// sees other files, or too many wait already.
    fn not_held(&mut self, attempt: &Attempt) -> Reply {
        let _ = attempt;
        Reply::Refuse
    }
}

/// Lets everything go on and remembers nothing.
#[derive(Debug, Default)]
pub struct Blind;

impl Watcher for Blind {
    fn attempt(&mut self, _: &Attempt) -> Reply {
        Reply::GoOn
    }
}

/// The supervisor's end of the watch.
pub(crate) struct Watch {
    listener: Arc<OwnedFd>,
    parents: Parents,
    /// None where calls cannot be held.
    holding: Option<Holding>,
    /// None where no socket of this machine can be reached.
    local: Option<Local>,
    /// None where a run has a network of its own, or the one of the machine.
    proxied: Option<Proxied>,
}

impl Watch {
    /// `view`: the mount namespace of the watched, where those who ask wait undisturbed by signals. Elsewhere a call that
    /// waits could be started again by one, and be asked about and done twice: none is held there.
    pub(crate) fn new(listener: OwnedFd, view: Option<u32>, proxied: Option<Proxied>) -> Self {
        sys::wake_in_step(listener.as_fd());
        let holding = view.map(Holding::new);
        Self { listener: Arc::new(listener), parents: Parents::default(), holding, local: None, proxied }
    }

    /// Lets sockets of this machine be reached. Only where a call that waits is not started again by a signal (it would be
    /// carried out twice), and where descriptors can be copied. False where that cannot be had.
    pub(crate) fn open(&mut self, local: Local) -> bool {
        let copies = sys::copied_from(sys::own_pid(), self.fd().as_raw_fd()).is_ok();
        self.local = (copies && self.holding.is_some()).then_some(local);
        self.local.is_some()
    }

    /// Lets connections to the proxy be taken. False where there is none, or where no descriptor can be handed out.
    pub(crate) fn connections_go_to(&mut self, taker: Taker) -> bool {
        let can = sys::hands_over(self.fd());
        let Some(proxied) = self.proxied.as_mut().filter(|_| can) else { return false };
        proxied.taken_by(taker);
        true
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Whether any call waits for an answer that is not given here.
    pub(crate) fn holds(&self) -> bool {
        self.holding.as_ref().is_some_and(Holding::is_in_use)
    }

    /// Takes one question, lets `watcher` say what becomes of it, and answers unless it is held.
    pub(crate) fn answer_one(&mut self, watcher: &mut dyn Watcher) -> io::Result<()> {
        let question = match sys::next_question(self.fd()) {
            // The asker was killed while it waited.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => return Ok(()),
            other => other?,
        };
        let asked = Asked { listener: &self.listener, question: &question };
        if let Some(proxied) = &mut self.proxied {
            match i64::from(question.data.nr) {
                libc::SYS_connect => return proxied.connect(&asked, watcher),
                libc::SYS_socket if proxied.opens(&question) => return proxied.socket(&asked),
                _ => {}
            }
        }
        if let Some(local) = &self.local {
            match i64::from(question.data.nr) {
                libc::SYS_connect => return local.connect(&asked, watcher),
                // Its arguments are in registers: what was looked at is what is done.
                libc::SYS_socket if Local::opens(&question) => {
                    return answer_if_there(&self.listener, question.id, Answer::GoOn);
                }
                _ => {}
            }
        }
        let read = Read::new(&question, &mut self.parents);
        // Else its number may mean another process by now.
        let waits = sys::still_asking(self.fd(), question.id);
        let attempts = read.attempts(question.pid.cast_signed()).filter(|_| waits).collect::<Vec<_>>();
        // Sockets are shown only where the filter would refuse them if nobody watched.
        let socket = i64::from(question.data.nr) == libc::SYS_socket;
        let first = if socket { Reply::Refuse } else { Reply::GoOn };
        let replies: Vec<Reply> = attempts.iter().map(|attempt| watcher.attempt(attempt)).collect();
        let mut reply = replies.iter().copied().fold(first, Reply::max);
        let could = read.access.filter(|_| reply == Reply::Hold);
        if let Some(mode) = could {
            let could = waits && self.could(&question, &attempts, mode);
            return answer_if_there(
                &self.listener,
                question.id,
                if could { Answer::Done } else { Answer::GoOn },
            );
        }
        if reply == Reply::Hold {
            if let Some(held) = self.hold(&question, &read, &attempts) {
                watcher.hold(held);
                return Ok(());
            }
            let held = attempts.iter().zip(&replies).filter(|(_, reply)| **reply == Reply::Hold);
            reply = held.map(|(attempt, _)| watcher.not_held(attempt)).fold(Reply::GoOn, Reply::max);
        }
        let answer = if reply == Reply::Refuse { Answer::Fail(libc::EACCES) } else { Answer::GoOn };
        answer_if_there(&self.listener, question.id, answer)
    }

    /// Whether a place could be used like this if no walls stood there. Programs ask that before they try (`rm` at a
    /// terminal): told of the walls they would give up where somebody can still say yes.
    fn could(&self, question: &libc::seccomp_notif, attempts: &[Attempt], mode: i32) -> bool {
        let pid = question.pid.cast_signed();
        self.holding.as_ref().is_some_and(|holding| holding.shares_its_view(pid))
            && attempts.iter().all(|attempt| sys::can_access(&attempt.place, mode))
    }

    /// Holds a call that is understood whole, and whose places are those that the watcher was told.
    fn hold(&self, question: &libc::seccomp_notif, read: &Read, attempts: &[Attempt]) -> Option<Held> {
        let holding = self.holding.as_ref()?;
        let deed = understand::deed(question, read)?;
        let places = understand::places(&deed)?;
        let told = |attempt: &Attempt| places.contains(&attempt.place);
        let pid = question.pid.cast_signed();
        if attempts.is_empty() || !attempts.iter().all(told) || !holding.shares_its_view(pid) {
            return None;
        }
        let call = Call { deed, places, caller: Caller::of(pid)? };
        // Else its number may have meant another process.
        let waits = sys::still_asking(self.fd(), question.id);
        if waits { holding.hold(&self.listener, question.id, call) } else { None }
    }
}

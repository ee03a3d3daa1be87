//! A pending system call, which waits for an answer from any thread.
//!
//! Promise: it is answered once; dropped unanswered it is refused. A caller that is gone is answered nothing.

use std::ffi::{CString, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::call::{Caller, FileOperation, Opening, Syscall};
use super::rights::without_capabilities;
use crate::program::program_of;
use crate::sys::{self, NotifyResponse, Pid};

/// Calls that wait at one time. Each is a process or thread that does nothing else.
const MAX_PENDING: usize = 256;

/// The longest command line that is shown.
const COMMAND_LINE: u64 = 16 * 1024;

/// A call that waits. It can be answered from any thread, while others are asked about theirs.
pub struct PendingSyscall {
    call: Syscall,
    /// None once it was answered.
    waiting: Option<UnansweredCall>,
}

struct UnansweredCall {
    listener: Arc<OwnedFd>,
    id: u64,
    _place: PendingSlot,
}

/// A place among those that wait.
struct PendingSlot(Arc<AtomicUsize>);

impl PendingSlot {
    fn take(waiting: &Arc<AtomicUsize>) -> Option<Self> {
        let free = |n: usize| (n < MAX_PENDING).then_some(n + 1);
        waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).ok()?;
        Some(Self(Arc::clone(waiting)))
    }
}

impl Drop for PendingSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// State that all pending system calls of a run share.
pub(super) struct PendingShared {
    /// The mount namespace of the run. A path of another one means something else.
    view: u32,
    waiting: Arc<AtomicUsize>,
}

impl PendingShared {
    pub(super) fn new(view: u32) -> Self {
        Self { view, waiting: Arc::default() }
    }

    /// Returns whether any system call waits.
    pub(super) fn is_in_use(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Returns whether a process sees what the run sees, from the same root.
    pub(super) fn shares_its_view(&self, pid: Pid) -> bool {
        let view =
            fs::metadata(format!("/proc/{pid}/ns/mnt")).is_ok_and(|at| at.ino() == u64::from(self.view));
        let root = |path: &str| fs::metadata(path).map(|at| (at.dev(), at.ino()));
        view && matches!((root(&format!("/proc/{pid}/root")), root("/")), (Ok(theirs), Ok(ours)) if theirs == ours)
    }

    /// Holds a call, unless too many are held already.
    pub(super) fn hold(&self, listener: &Arc<OwnedFd>, id: u64, call: Syscall) -> Option<PendingSyscall> {
        let place = PendingSlot::take(&self.waiting)?;
        Some(PendingSyscall {
            call,
            waiting: Some(UnansweredCall { listener: Arc::clone(listener), id, _place: place }),
        })
    }
}

impl Caller {
    /// Reads the identity of a process by its number outside or that of a thread; `None` when it is gone.
    pub fn from_pid(pid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let process = field("Tgid:")?.parse().ok()?;
        let umask = u32::from_str_radix(field("Umask:")?, 8).ok()?;
        Some(Self { pid, process, program: program_of(pid), command_line: command_line(pid), umask })
    }
}

fn command_line(pid: Pid) -> Vec<OsString> {
    let mut text = Vec::new();
    let Ok(file) = fs::File::open(format!("/proc/{pid}/cmdline")) else { return Vec::new() };
    // Without one it can still be told what is called, and by which program.
    let _ = io::Read::read_to_end(&mut io::Read::take(file, COMMAND_LINE), &mut text);
    text.pop_if(|last| *last == 0);
    text.split(|byte| *byte == 0).map(|word| OsStringExt::from_vec(word.to_vec())).collect()
}

impl PendingSyscall {
    /// The call.
    pub fn call(&self) -> &Syscall {
        &self.call
    }

    /// Returns whether the caller still waits. To be called right before the operation: for a process that is gone nothing is done.
    pub fn is_waiting(&self) -> bool {
        self.waiting.as_ref().is_some_and(|w| sys::is_notification_valid(w.listener.as_fd(), w.id))
    }

    /// Returns whether the caller finds the same thing at an absolute path without links as this process does: it is no place
    /// of the run's own, and nothing covers it there.
    pub fn sees(&self, real: &Path) -> bool {
        let (Some(parent), Ok(below)) = (real.parent(), real.strip_prefix("/")) else { return false };
        let root = |path: &str| sys::open(&CString::new(path)?, libc::O_PATH | libc::O_DIRECTORY);
        let theirs = root(&format!("/proc/{}/root", self.call.caller.pid));
        let (Ok(theirs), Ok(ours)) = (theirs, root("/")) else { return false };
        let at = |root: &OwnedFd, below: &Path| {
            let missing = |e: &io::Error| e.raw_os_error() == Some(libc::ENOENT);
            match sys::identity_below(root.as_fd(), below) {
                Ok(found) => Ok(Some(found)),
                Err(e) if missing(&e) => Ok(None),
                Err(e) => Err(e),
            }
        };
        let same = |below: &Path| match (at(&theirs, below), at(&ours, below)) {
            (Ok(theirs), Ok(ours)) => (theirs == ours).then_some(ours),
            _ => None,
        };
        let folder = parent.strip_prefix("/").is_ok_and(|parent| same(parent).flatten().is_some());
        folder && same(below).is_some() && self.is_waiting()
    }

    /// Continues the call, which the sandbox then decides.
    pub fn go_on(mut self) {
        self.answer(NotifyResponse::Continue);
    }

    /// The call fails with this error number.
    pub fn refuse(mut self, errno: i32) {
        self.answer(NotifyResponse::Fail(errno));
    }

    /// The call was done, and returns zero.
    pub fn done(mut self) {
        self.answer(NotifyResponse::Done);
    }

    /// The call returns this descriptor, which becomes the caller's.
    ///
    /// # Errors
    /// When it cannot be handed over: the caller is gone, or has as many as it may. The call has failed then.
    pub fn hand_over(mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let close_on_exec =
            matches!(&self.call.operation, FileOperation::Open(Opening { close_on_exec: true, .. }));
        let Some(waiting) = &self.waiting else { return Ok(()) };
        let handed = sys::answer_with(waiting.listener.as_fd(), waiting.id, fd, close_on_exec);
        match &handed {
            Ok(()) => self.waiting = None,
            Err(error) => self.answer(NotifyResponse::Fail(error.raw_os_error().unwrap_or(libc::EACCES))),
        }
        handed
    }

    /// Runs `action` with no more rights than the caller has: without capabilities, as inside, and with the caller's umask. This thread has a umask and a working directory of its own from then on.
    ///
    /// # Errors
    /// When the rights cannot be given up; then nothing was done.
    pub fn as_caller<T>(&self, action: impl FnOnce() -> T) -> io::Result<T> {
        struct UmaskGuard(u32);
        impl Drop for UmaskGuard {
            fn drop(&mut self) {
                sys::umask(self.0);
            }
        }
        sys::own_umask()?;
        without_capabilities(|| {
            let _back = UmaskGuard(sys::umask(self.call.caller.umask));
            action()
        })
    }

    fn answer(&mut self, answer: NotifyResponse) {
        if let Some(waiting) = self.waiting.take() {
            // A process that is gone gets no answer.
            let _ = sys::answer(waiting.listener.as_fd(), waiting.id, answer);
        }
    }
}

impl Drop for PendingSyscall {
    fn drop(&mut self) {
        self.answer(NotifyResponse::Fail(libc::EACCES));
    }
}

impl fmt::Debug for PendingSyscall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingSyscall").field("call", &self.call).finish_non_exhaustive()
    }
}

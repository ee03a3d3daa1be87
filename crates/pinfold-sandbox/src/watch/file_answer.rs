//! Answers to calls on files: what each names is found, judged and carried out.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use super::attempt::{Attempt, CompletedSyscall, EntryType, Intent, Reply, SyscallHandler};
use super::call::{Caller, Syscall};
use super::file_call::{BaseDirectory, FileCall, PathArg, RequestedChange, SET_ID};
use super::file_question::{CarriedOut, FileQuestion};
use super::pending_syscall::PendingSyscall;
use super::view::MountView;
use super::walk::{ResolvedPath, Walk};
use super::{SyscallNotifier, file_question, hidden_paths, memory, understand};
use crate::identity::FileIdentity;
use crate::sys::{self, NotifyResponse, Pid};
use crate::turn::Turn;

impl SyscallNotifier {
    pub(super) fn answer_file_call(
        &mut self,
        question: &libc::seccomp_notif,
        handler: &mut dyn SyscallHandler,
    ) -> io::Result<()> {
        let pid = question.pid.cast_signed();
        let mut call = match FileCall::read(question) {
            Ok(Some(call)) => call,
            // Its flags lie in memory, and it is none that changes anything.
            Ok(None) => return self.answer(question, NotifyResponse::Continue),
            Err(error) => return self.not_found(question, is_about_attributes(question), &error),
        };
        let is_unheld = matches!(call, FileCall::Change { .. } | FileCall::Lock { .. });
        let would_set_id = self.enforcement.mediated && call.drop_set_id();
        let mut found = match self.find(pid, &call) {
            Ok((places, passed)) => FileQuestion { call, places, passed },
            Err(error) => {
                self.tell_of_hidden(question, &call, handler);
                return self.not_found(question, is_unheld, &error);
            }
        };
        // Else its number may mean another process by now.
        if !sys::is_notification_valid(self.fd(), question.id) {
            return Ok(());
        }
        let mut attempts = found.attempts(pid);
        let turn = match handler.turn(&attempts) {
            Ok(turn) => turn,
            Err(error) => {
                return self
                    .answer(question, NotifyResponse::Fail(error.raw_os_error().unwrap_or(libc::EBUSY)));
            }
        };
        if let Some(turn) = &turn
            && !self.is_way_unchanged(turn, &found)
        {
            // Another supervisor may have moved a directory on the way since it was walked to. In this turn it moves none.
            (found.places, found.passed) = match self.find(pid, &found.call) {
                Ok(anew) => anew,
                Err(error) => return self.not_found(question, is_unheld, &error),
            };
            attempts = found.attempts(pid);
        }
        let gone = found.look(&mut attempts);
        if let Some(errno) = found.fails_anyway(&attempts) {
            return self.answer(question, NotifyResponse::Fail(errno));
        }
        let replies: Vec<Reply> = attempts.iter().map(|attempt| handler.attempt(attempt)).collect();
        let mut reply = replies.iter().copied().fold(Reply::Continue, Reply::max);
        if let (FileCall::Access { mode, .. }, Reply::Hold) = (&found.call, reply) {
            let could = self.could(pid, &attempts, *mode);
            return self
                .answer(question, if could { NotifyResponse::Done } else { NotifyResponse::Continue });
        }
        if reply == Reply::Hold {
            let held = if would_set_id { None } else { self.hold(question, &found) };
            if let Some(held) = held {
                handler.hold(held);
                return Ok(());
            }
            let held = attempts.iter().zip(&replies).filter(|(_, reply)| **reply == Reply::Hold);
            reply = held.map(|(attempt, _)| handler.not_held(attempt)).fold(Reply::Continue, Reply::max);
        }
        match reply {
            Reply::Refuse => self.answer(question, NotifyResponse::Fail(refusal(&found.call))),
            Reply::CrossDevice => self.answer(question, NotifyResponse::Fail(libc::EXDEV)),
            Reply::LeaveToSandbox if self.enforcement.mediated && is_unprotected_by_the_kernel(&found) => {
                let errno = if self.enforcement.mounts { libc::EROFS } else { libc::EACCES };
                self.answer(question, NotifyResponse::Fail(errno))
            }
            Reply::CarryOut if is_left_to_the_kernel(&found.call) => {
                self.answer(question, NotifyResponse::Continue)
            }
            Reply::CarryOut if self.enforcement.mediated => {
                self.carry_out(question, found, (attempts, gone), (handler, turn.as_ref()))
            }
            Reply::Continue
                if self.enforcement.mediated
                    && (found.is_about_attributes() || found.is_lock() || self.is_carried(&found)) =>
            {
                self.carry_out(question, found, (attempts, gone), (handler, turn.as_ref()))
            }
            // The kernel would read the mode as it was said.
            Reply::Continue if would_set_id => self.answer(question, NotifyResponse::Fail(libc::EPERM)),
            Reply::Continue | Reply::CarryOut | Reply::Hold | Reply::LeaveToSandbox => {
                if found.changes() {
                    self.forget_beside(&attempts);
                }
                self.answer(question, NotifyResponse::Continue)
            }
        }
    }

    /// Returns whether the places of a call are where their paths lead now. Forgets all known directories, unless they are too.
    ///
    /// A place that still has its path is not enough: a way over a directory that was moved, and back, or through one that was closed, leads there no more.
    fn is_way_unchanged(&mut self, turn: &Turn, found: &FileQuestion) -> bool {
        let moves = turn.moves().ok();
        if moves.is_none() || moves != self.moves {
            self.known.take();
            self.moves = moves;
            return false;
        }
        found.names_entries_only() || found.is_path_unchanged(&self.own)
    }

    /// Tells other supervisors that a call may move or close a directory.
    fn count_move(
        &mut self,
        turn: Option<&Turn>,
        found: &FileQuestion,
        attempts: &[Attempt],
    ) -> io::Result<()> {
        if let Some(turn) = turn
            && (found.moves_directory(attempts) || !turn.is_shared() && found.is_about_attributes())
        {
            self.moves = Some(turn.count_move()?);
        }
        Ok(())
    }

    /// Returns whether a call changes something in a place of the run's own that it cannot write by itself.
    fn is_carried(&self, found: &FileQuestion) -> bool {
        let within = |place: &ResolvedPath| {
            place.view() == MountView::Run
                && self.enforcement.private_paths.iter().any(|own| place.real().starts_with(own))
        };
        found.changes() && found.places.iter().any(within)
    }

    /// Reports a call whose path exists outside, but not for the caller.
    fn tell_of_hidden(
        &self,
        question: &libc::seccomp_notif,
        call: &FileCall,
        handler: &mut dyn SyscallHandler,
    ) {
        let is_worth_it = |(arg, _): &(&PathArg, Intent)| handler.looks_at_reading(&arg.path);
        if !hidden_paths::named_paths(call).iter().any(is_worth_it) {
            return;
        }
        let attempts = hidden_paths::attempts(question.pid.cast_signed(), call);
        // Else its number may mean another process by now.
        if sys::is_notification_valid(self.fd(), question.id) {
            for attempt in &attempts {
                handler.on_hidden_path(attempt);
            }
        }
    }

    /// A path that leads nowhere fails in the kernel as it did here; where nothing but the supervisor would hold what it
    /// leads to a moment later, it fails at once.
    fn not_found(&self, question: &libc::seccomp_notif, unheld: bool, error: &io::Error) -> io::Result<()> {
        let errno = error.raw_os_error().unwrap_or(libc::EACCES);
        let fails = self.enforcement.mediated && unheld;
        self.answer(question, if fails { NotifyResponse::Fail(errno) } else { NotifyResponse::Continue })
    }

    /// The places of a call, and the names on the way that lead elsewhere.
    fn find(&mut self, pid: Pid, call: &FileCall) -> io::Result<(Vec<ResolvedPath>, Vec<PathBuf>)> {
        match self.walk(pid, call) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                // Another thread that had its number was met before.
                self.callers.forget(pid);
                self.walk(pid, call)
            }
            found => found,
        }
    }

    fn walk(&mut self, pid: Pid, call: &FileCall) -> io::Result<(Vec<ResolvedPath>, Vec<PathBuf>)> {
        let caller = self.callers.get(pid)?;
        let own_root;
        let mediated = self.enforcement.mediated;
        let root: &OwnedFd = if mediated {
            // No process of a mediated run can change root or see other mounts.
            match &mut self.root {
                Some(root) => root,
                none => none.insert(caller.root()?),
            }
        } else {
            own_root = caller.root()?;
            &own_root
        };
        let known = (mediated && call.takes_turn()).then_some(&self.known);
        let passed = RefCell::default();
        let notes = call.may_read().then_some(&passed);
        let walk = Walk { root, caller, mediated, known, began: Cell::default(), passed: notes };
        let places = self.rights.as_caller(None, || file_question::places(call, &walk))??;
        Ok((places, passed.take()))
    }

    /// Returns whether a call opens a file for reading alone that is not observed. Most calls are such, and need no further
    /// checks.
    pub(super) fn is_plain_reading(
        &mut self,
        question: &libc::seccomp_notif,
        handler: &dyn SyscallHandler,
    ) -> bool {
        let Some((base, address)) = FileCall::read_open(question) else { return false };
        let pid = question.pid.cast_signed();
        // A path that cannot be read leads the kernel nowhere either.
        let Ok(path) = memory::path(pid, address) else { return true };
        let is_absolute = path.as_encoded_bytes().first() == Some(&b'/');
        !handler.looks_at_reading(&path) && (is_absolute || !self.looks_at_reading_in(pid, base, handler))
    }

    /// Returns whether opens for reading below a directory are observed. One that cannot be told is.
    fn looks_at_reading_in(&mut self, pid: Pid, base: BaseDirectory, handler: &dyn SyscallHandler) -> bool {
        let Ok(caller) = self.callers.get(pid) else { return true };
        let Ok(beginning) = caller.look(base) else { return true };
        let own = &self.own;
        let look = || {
            let path = caller.base(base).and_then(|held| own.read_path(held.as_fd()));
            path.map_or(true, |path| handler.looks_at_reading_in(&path))
        };
        self.read_bases.get(beginning.inode, look)
    }

    /// The umask of the thread that asks, as it is now.
    fn umask(&mut self, question: &libc::seccomp_notif) -> io::Result<u32> {
        let pid = question.pid.cast_signed();
        match self.callers.umask(pid) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                // Another thread that had its number was met before.
                self.callers.forget(pid);
                let umask = self.callers.umask(pid)?;
                // Else its number may mean another thread by now.
                let lives = sys::is_notification_valid(self.fd(), question.id);
                if lives { Ok(umask) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
            }
            umask => umask,
        }
    }

    fn carry_out(
        &mut self,
        question: &libc::seccomp_notif,
        found: FileQuestion,
        (attempts, gone): (Vec<Attempt>, Option<FileIdentity>),
        (handler, turn): (&mut dyn SyscallHandler, Option<&Turn>),
    ) -> io::Result<()> {
        let pid = question.pid.cast_signed();
        if let Err(error) = self.count_move(turn, &found, &attempts) {
            return self.answer(question, NotifyResponse::Fail(error.raw_os_error().unwrap_or(libc::EBUSY)));
        }
        let umask = if found.makes() { self.umask(question).map(Some) } else { Ok(None) };
        let content = handler.content_for(&attempts);
        let carried = umask.and_then(|umask| {
            // Beyond its own limit the supervisor would get a signal.
            let largest = || sys::largest_file(pid).min(sys::largest_file(sys::own_pid()));
            let mut may = |file| handler.can_change_linked(&attempts, file);
            self.rights.as_caller(umask, || found.carry_out(content, largest, &mut may))?
        });
        match carried {
            Ok(CarriedOut::Done) => {
                self.forget_moved(&attempts);
                report_done(handler, &found, attempts, gone);
                self.answer(question, NotifyResponse::Done)
            }
            Ok(CarriedOut::File(file)) => {
                report_done(handler, &found, attempts, gone);
                let close_on_exec = matches!(&found.call, FileCall::Open(open) if open.closes_on_exec());
                match sys::answer_with(self.fd(), question.id, file.as_fd(), close_on_exec) {
                    Ok(()) => Ok(()),
                    // As many as it may have.
                    Err(error) => self
                        .answer(question, NotifyResponse::Fail(error.raw_os_error().unwrap_or(libc::EMFILE))),
                }
            }
            Ok(CarriedOut::Waits) => match self.waiting.take((question.id, pid), found, attempts) {
                Ok(()) => Ok(()),
                Err(errno) => self.answer(question, NotifyResponse::Fail(errno)),
            },
            Err(error) => {
                self.answer(question, NotifyResponse::Fail(error.raw_os_error().unwrap_or(libc::EIO)))
            }
        }
    }

    /// Drops what was walked to, where a directory that lay on the way may have been made, moved or removed.
    fn forget_moved(&self, attempts: &[Attempt]) {
        let is_on_no_way =
            |attempt: &Attempt| matches!(attempt.entry_type, Some(EntryType::File | EntryType::Nothing));
        let renames =
            |attempt: &Attempt| matches!(attempt.intent, Intent::Remove | Intent::MoveFrom | Intent::MoveTo);
        if !attempts.iter().all(|attempt| renames(attempt) && is_on_no_way(attempt)) {
            let mut known = self.known.borrow_mut();
            for attempt in attempts {
                known.forget(&attempt.place);
            }
        }
    }

    /// Drops what was walked to on the way to a change that the process makes itself, and below: nothing tells when it has made it.
    fn forget_beside(&self, attempts: &[Attempt]) {
        let mut known = self.known.borrow_mut();
        for attempt in attempts {
            known.forget_around(&attempt.place);
        }
    }

    /// Returns whether a path could be accessed like this without the sandbox. Programs check that before they try (`rm` at a
    /// terminal): with the answer of the sandbox they would give up where an approver can still say yes.
    fn could(&self, pid: Pid, attempts: &[Attempt], mode: i32) -> bool {
        let mode = mode & (libc::R_OK | libc::W_OK | libc::X_OK);
        self.holding.as_ref().is_some_and(|holding| holding.shares_its_view(pid))
            && attempts.iter().all(|attempt| sys::can_access(&attempt.place, mode))
    }

    /// Suspends a call that is fully understood, and whose paths are those of the reported attempts.
    fn hold(&self, question: &libc::seccomp_notif, found: &FileQuestion) -> Option<PendingSyscall> {
        let holding = self.holding.as_ref()?;
        let operation = understand::operation(found)?;
        let pid = question.pid.cast_signed();
        if !holding.shares_its_view(pid) {
            return None;
        }
        let call = Syscall { operation, places: found.real_places(), caller: Caller::from_pid(pid)? };
        // Else its number may have meant another process.
        let waits = sys::is_notification_valid(self.fd(), question.id);
        if waits { holding.hold(&self.listener, question.id, call) } else { None }
    }
}

/// Calls that nothing but the kernel does, and that give no way to a content.
fn is_left_to_the_kernel(call: &FileCall) -> bool {
    match call {
        FileCall::Access { .. } => true,
        FileCall::Open(open) => open.only_names(),
        _ => false,
    }
}

/// Calls that neither Landlock nor, for an open file, a mount keeps from what lies outside.
fn is_unprotected_by_the_kernel(found: &FileQuestion) -> bool {
    found.is_about_attributes() || found.is_lock() || matches!(found.call, FileCall::Truncate { .. })
}

/// Returns whether a call that could not be read would change attributes.
fn is_about_attributes(question: &libc::seccomp_notif) -> bool {
    crate::linux::filter::changes_attributes(i64::from(question.data.nr))
}

/// Returns the error of a refused call.
fn refusal(call: &FileCall) -> i32 {
    match call {
        FileCall::Lock { .. } => libc::ENOLCK,
        FileCall::Change { change: RequestedChange::Mode(mode), .. } if mode & SET_ID != 0 => libc::EPERM,
        _ => libc::EACCES,
    }
}

/// Tells the handler what was carried out. `gone`: the directory that is no more.
pub(super) fn report_done(
    handler: &mut dyn SyscallHandler,
    found: &FileQuestion,
    attempts: Vec<Attempt>,
    mut gone: Option<FileIdentity>,
) {
    for (attempt, place) in attempts.into_iter().zip(&found.places) {
        let made = (attempt.intent == Intent::MakeDir).then(|| place.lasting_identity()).flatten();
        let gone = if attempt.intent == Intent::MoveFrom { None } else { gone.take() };
        handler.carried_out(&CompletedSyscall { attempt, made, gone });
    }
}

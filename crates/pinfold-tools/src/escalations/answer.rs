//! Execution of a permitted system call through the held paths, and the answer to the process.

use std::fs::File;
use std::os::fd::AsFd;

use pinfold::paths::{Copied, Opening as InPlace, OperationError, Owner, SetTime};
use pinfold::policy::Operation;
use pinfold::{Failure, Outcome, Permit, RefusalCode, Targets, ToolCall, WriteTarget};
use pinfold_sandbox::{FileOperation, Opening, PendingSyscall, Sync, Syscall, Time};

/// End of a permitted operation: done, or why not.
pub(super) type PerformResult = Result<(), String>;

/// Spends a permit for a pending system call, and answers it. `copied`: the content that gets a name, as it was shown.
/// `tell` gets the result before the process does, whose end may be the end of the run.
pub(super) fn answer(
    permit: Permit,
    pending: PendingSyscall,
    copied: Option<&Copied>,
    tell: impl FnOnce(&Syscall, PerformResult),
) {
    let (call, mut targets, receipt) = permit.spend();
    let done = match places(&call, &mut targets, pending.call()) {
        Ok(_) if !pending.is_waiting() => Err(gone()),
        Ok(places) => pending
            .as_caller(|| perform(&pending.call().operation, &places, copied))
            .unwrap_or_else(|error| Err(error.into()))
            .map_err(|error| FailedOperation { errno: error.errno(), why: io_failure(&places, &error) }),
        Err(failure) => Err(FailedOperation { errno: OperationError::Changed.errno(), why: failure }),
    };
    let outcome = match &done {
        Ok(_) => Outcome::Done,
        Err(undone) => Outcome::Failed(undone.why.clone()),
    };
    // That the record did not take it changes nothing any more.
    let _ = receipt.close(&outcome);
    tell(pending.call(), done.as_ref().map(drop).map_err(|undone| undone.why.message.clone()));
    match done {
        Ok(None) => pending.done(),
        // The process is gone, or has as many descriptors as it may have, and has been told.
        Ok(Some(file)) => drop(pending.hand_over(file.as_fd())),
        Err(undone) => pending.refuse(undone.errno),
    }
}

/// An operation that did not happen: what the process hears, and what is recorded.
struct FailedOperation {
    errno: i32,
    why: Failure,
}

fn gone() -> FailedOperation {
    let why = Failure::plain(RefusalCode::Changed, "the process has ended meanwhile", "nothing was done");
    FailedOperation { errno: OperationError::Changed.errno(), why }
}

fn io_failure(places: &[WriteTarget], error: &OperationError) -> Failure {
    let named = places.last().map(|place| place.failed(error));
    named.unwrap_or_else(|| {
        Failure::plain(RefusalCode::Io, error.to_string(), "look at the place, then decide")
    })
}

/// The held places that the operation changes. Each has to be where the process was seen to mean it: what moved since is not
/// what it asked for.
fn places(call: &ToolCall, targets: &mut Targets, pending: &Syscall) -> Result<Vec<WriteTarget>, Failure> {
    let changed =
        || Failure::plain(RefusalCode::Changed, "the place changed since it was looked at", "try it again");
    let ToolCall::Process(process) = call else { return Err(changed()) };
    let mut places = Vec::with_capacity(pending.places.len());
    for touch in &process.effects {
        if touch.operation == Operation::Read {
            let read = targets.next_read()?;
            if !pending.places.iter().any(|place| place == read.real()) {
                return Err(changed());
            }
            continue;
        }
        let target = targets.next_write()?;
        if pending.places.get(places.len()).is_none_or(|place| place != target.real()) {
            return Err(changed());
        }
        places.push(target);
    }
    let moves = matches!(pending.operation, FileOperation::Rename { .. });
    let all_outside = places.iter().all(|place| !place.is_inside());
    let some_outside = places.iter().any(|place| !place.is_inside());
    // What lies inside the process can do by itself; it has no need of us for it.
    if places.len() == pending.places.len() && (all_outside || moves && some_outside) {
        Ok(places)
    } else {
        Err(changed())
    }
}

fn perform(
    operation: &FileOperation,
    places: &[WriteTarget],
    copied: Option<&Copied>,
) -> Result<Option<File>, OperationError> {
    let (at, second) = match places {
        [at] => (at, None),
        [at, second] => (at, Some(second)),
        _ => return Err(OperationError::Changed),
    };
    let second = || second.ok_or(OperationError::Changed);
    match operation {
        FileOperation::Open(opening) => return at.open_in_place(in_place(opening)).map(Some),
        FileOperation::MakeDir { mode, .. } => at.make_dir_in_place(*mode),
        FileOperation::Remove { .. } => at.remove_in_place(),
        FileOperation::RemoveDir { .. } => at.remove_dir_in_place(),
        FileOperation::Rename { replace, .. } => match copied {
            Some(copied) => at.rename_copied_in_place(second()?, copied, *replace),
            None => at.rename_in_place(second()?, *replace),
        },
        FileOperation::Link { .. } => at.link_in_place(second()?),
        FileOperation::Symlink { text, .. } => at.make_link_in_place(text),
        FileOperation::Truncate { length, .. } => at.set_length_in_place(*length),
        FileOperation::SetMode { mode, .. } => at.set_mode_in_place(*mode),
        FileOperation::SetOwner { owner, group, .. } => {
            at.set_owner_in_place(Owner { user: *owner, group: *group })
        }
        FileOperation::SetTimes { times: [access, change], .. } => {
            at.set_times_in_place(time(*access), time(*change))
        }
    }
    .map(|()| None)
}

fn in_place(opening: &Opening) -> InPlace {
    InPlace {
        read: opening.read,
        write: opening.write,
        append: opening.append,
        truncate: opening.truncate,
        create: opening.create,
        exclusive: opening.exclusive,
        nonblocking: opening.nonblocking,
        sync: opening.sync == Some(Sync::All),
        content_sync: opening.sync == Some(Sync::Content),
    }
}

fn time(time: Time) -> SetTime {
    match time {
        Time::Now => SetTime::Now,
        Time::Kept => SetTime::Kept,
        Time::At { seconds, nanoseconds } => SetTime::At { seconds, nanoseconds },
    }
}

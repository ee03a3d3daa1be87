//! From a held call to a call of the gate: what it does to which place, in words and for the judge.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use pinfold::consent::ProcessShown;
use pinfold::paths::show;
use pinfold::policy::{Operation, PathText, ProcessCall, Touch};
use pinfold_sandbox::{Call, Caller, Deed, Opening, Time};

/// The call that a held one becomes.
pub(super) fn process_call(call: &Call) -> ProcessCall {
    let said = said(call);
    let touches = said.into_iter().filter_map(|(at, operation, says)| {
        Some(Touch {
            operation,
            says,
            place: PathText::new(call.places.get(at)?),
            named: PathText::new(call.deed.paths().nth(at)?),
        })
    });
    ProcessCall {
        program: show(&call.caller.program),
        command_line: command_line(&call.caller),
        touches: touches.collect(),
        connects: None,
    }
}

/// Who is shown to wait.
pub(super) fn process(caller: &Caller) -> ProcessShown {
    ProcessShown { pid: caller.process, program: show(&caller.program), command_line: command_line(caller) }
}

/// The words of a command line, told apart: one that holds a blank or a quote stands in quotes.
pub(super) fn command_line(caller: &Caller) -> String {
    let word = |word: &OsStr| {
        let shown = show(word);
        let plain = !shown.is_empty() && !shown.contains([' ', '\'', '"']);
        if plain { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
    };
    caller.command_line.iter().map(|w| word(w)).collect::<Vec<_>>().join(" ")
}

/// What is done to the paths of a deed, by their number.
fn said(call: &Call) -> Vec<(usize, Operation, String)> {
    let found = |at: usize| call.places.get(at).and_then(|place| fs::symlink_metadata(place).ok());
    let missing = |at: usize| found(at).is_none();
    match &call.deed {
        Deed::Open(opening) => opened(opening, missing(0)),
        Deed::MakeDir { mode, .. } => {
            vec![(0, Operation::MakeDir, format!("make directory (mode {mode:04o})"))]
        }
        Deed::Remove { .. } => vec![(0, Operation::Delete, "remove".to_owned())],
        Deed::RemoveDir { .. } => vec![(0, Operation::Delete, "remove empty directory".to_owned())],
        Deed::Rename { .. } => {
            let to = if missing(1) { "give it the name" } else { "put it in place of" };
            let is_link = found(0).is_some_and(|found| found.is_symlink());
            let moves = if is_link { Operation::Link } else { Operation::MoveTo };
            vec![(0, Operation::MoveFrom, "move away".to_owned()), (1, moves, to.to_owned())]
        }
        Deed::Link { .. } => vec![
            (0, Operation::Edit, "give a second name to".to_owned()),
            (1, Operation::MoveTo, "make a hard link at".to_owned()),
        ],
        Deed::Symlink { text, .. } => {
            vec![(0, Operation::Link, format!("make a link that leads to `{}` at", show(text)))]
        }
        Deed::Truncate { length, .. } => vec![(0, Operation::Write, format!("cut to {length} bytes"))],
        Deed::SetMode { mode, .. } => vec![(0, Operation::Edit, format!("set mode {mode:04o} of"))],
        Deed::SetOwner { owner, group, .. } => {
            let id = |id: &Option<u32>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
            vec![(0, Operation::Edit, format!("set owner {}:{} of", id(owner), id(group)))]
        }
        Deed::SetTimes { times, .. } => {
            let now = times.iter().all(|time| *time == Time::Now);
            let says = if now { "set the times to now of" } else { "set the times of" };
            vec![(0, Operation::Edit, says.to_owned())]
        }
    }
}

/// What is read through the same descriptor is a claim of its own: a place that may not be read is not opened for both.
fn opened(opening: &Opening, missing: bool) -> Vec<(usize, Operation, String)> {
    let Opening { read, write, append, truncate, exclusive, .. } = *opening;
    let operation = if exclusive { Operation::Create } else { Operation::Write };
    let does = match (missing, truncate, append) {
        (true, _, _) => "create",
        (false, true, _) => "overwrite",
        (false, false, true) => "append to",
        (false, false, false) => "write",
    };
    let mut said = vec![(0, operation, does.to_owned())];
    if read && write && !missing {
        said.push((0, Operation::Read, "read".to_owned()));
    }
    said
}

/// What a deed is called in reports, and the place that it is told of.
pub(super) fn report(call: &Call) -> (&'static str, &Path) {
    let word = match &call.deed {
        Deed::Open(Opening { create: Some(_), .. }) => "create",
        Deed::Open(_) | Deed::Truncate { .. } => "write",
        Deed::MakeDir { .. } => "make directory",
        Deed::Remove { .. } | Deed::RemoveDir { .. } => "remove",
        Deed::Rename { .. } => "move to",
        Deed::Link { .. } | Deed::Symlink { .. } => "link",
        Deed::SetMode { .. } | Deed::SetOwner { .. } | Deed::SetTimes { .. } => "change mode or owner",
    };
    (word, call.places.last().map_or(Path::new(""), |place| place.as_path()))
}

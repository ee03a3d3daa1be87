//! Conversion of a pending system call to a call of the pipeline: paths, operations and descriptions.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold::consent::ProcessShown;
use pinfold::paths::Copied;
use pinfold::paths::show;
use pinfold::policy::{Operation, PathText, Preview, ProcessCall, ProcessEffect};
use pinfold_sandbox::{Caller, FileOperation, Opening, Syscall, Time};
use sha2::{Digest as _, Sha256};

use super::moved_tree::MovedTree;
use super::removal::Removal;

/// The call that a held one becomes. `copied`: the file that gets a name by it, to be shown.
pub(super) fn process_call(call: &Syscall, copied: Option<&Copied>) -> ProcessCall {
    let said = path_operations(call);
    let last = call.places.len().saturating_sub(1);
    let effects = said.into_iter().filter_map(|(at, operation, says)| {
        let shown = copied.filter(|_| at == last);
        let mode = shown.map(Copied::mode).filter(|mode| mode & 0o111 != 0);
        Some(ProcessEffect {
            operation,
            says: mode.map_or(says.clone(), |mode| format!("{says} (executable, mode {mode:04o})")),
            place: PathText::new(call.places.get(at)?),
            named: PathText::new(call.operation.paths().nth(at)?),
            preview: shown.map(preview).unwrap_or_default(),
        })
    });
    new_process_call(&call.caller, effects.collect())
}

/// A call that writes a file by way of the one that is made beside it.
pub(super) fn write_call(call: &Syscall, file: &Path) -> ProcessCall {
    let by_way = call.places.last().and_then(|place| place.file_name()).map(show).unwrap_or_default();
    let does = if file.symlink_metadata().is_ok() { "write" } else { "create" };
    let folder = call.operation.paths().last().and_then(|named| named.parent());
    let named =
        folder.zip(file.file_name()).map_or_else(|| file.to_owned(), |(folder, name)| folder.join(name));
    let touch = ProcessEffect {
        operation: Operation::Write,
        says: format!("{does}, by way of `{by_way}` beside it,"),
        place: PathText::new(file),
        named: PathText::new(named),
        preview: Preview::None,
    };
    new_process_call(&call.caller, vec![touch])
}

/// A call that removes all that goes with what is removed first.
pub(super) fn removal_call(caller: &Caller, removal: &Removal) -> ProcessCall {
    let effects = removal.roots.iter().map(|root| {
        let count = root.below.len();
        let below = || Preview::Below { count, names: root.names() };
        ProcessEffect {
            operation: Operation::Delete,
            says: if count > 0 { "remove all or part of" } else { "remove" }.to_owned(),
            place: PathText::new(&root.place),
            named: PathText::new(&root.place),
            preview: if count > 0 { below() } else { Preview::None },
        }
    });
    new_process_call(caller, effects.collect())
}

/// A call that moves a tree out of the folder, which the program copies.
pub(super) fn move_call(call: &Syscall, tree: &MovedTree) -> ProcessCall {
    let mut process = process_call(call, None);
    if let Some(to) = process.effects.last_mut() {
        let names = tree.names().to_vec();
        let count = names.len();
        "make a copy of it, with what is in it by then, at".clone_into(&mut to.says);
        to.preview = if count > 0 { Preview::Below { count, names } } else { Preview::None };
    }
    process
}

fn new_process_call(caller: &Caller, effects: Vec<ProcessEffect>) -> ProcessCall {
    let program = show(&caller.program);
    ProcessCall { program, command_line: command_line(caller), effects, connects: None }
}

/// Longest text that is shown: a longer one would not be read to its end.
const MAX_TEXT_LEN: usize = 1 << 20;

/// The content of a file, to be shown.
fn preview(copied: &Copied) -> Preview {
    let bytes = copied.bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= MAX_TEXT_LEN && !text.contains('\0') => Preview::Text(text.to_owned()),
        Ok(_) | Err(_) => Preview::Bytes {
            length: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            sha256: Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            }),
        },
    }
}

/// Returns the existing paths that the arguments of a command name: absolute, with links of their folders resolved. The
/// meaning of the arguments to the program is unknown.
pub(super) fn operands(caller: &Caller) -> Vec<PathBuf> {
    let Ok(cwd) = fs::read_link(format!("/proc/{}/cwd", caller.pid)) else { return Vec::new() };
    let words = caller.command_line.iter().skip(1).filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let mut places: Vec<PathBuf> = Vec::new();
    for word in words {
        let named = cwd.join(word);
        let Some((folder, name)) = named.parent().zip(named.file_name()) else { continue };
        let Ok(folder) = folder.canonicalize() else { continue };
        let place = folder.join(name);
        if place.symlink_metadata().is_ok() && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns the waiting process as it is shown.
pub(super) fn process(caller: &Caller) -> ProcessShown {
    ProcessShown { pid: caller.process, program: show(&caller.program), command_line: command_line(caller) }
}

/// The words of a command line, told apart: one that holds a blank or a quote stands in quotes. Empty ones at the end are
/// what is left of the words that a program has written its title over.
pub(super) fn command_line(caller: &Caller) -> String {
    let said = caller.command_line.iter().rposition(|word| !word.is_empty()).map_or(0, |last| last + 1);
    let word = |word: &OsStr| {
        let shown = show(word);
        let plain = !shown.is_empty() && !shown.contains([' ', '\'', '"']);
        if plain { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
    };
    caller.command_line.iter().take(said).map(|w| word(w)).collect::<Vec<_>>().join(" ")
}

/// Returns the operations on the paths of a system call, by their index.
fn path_operations(call: &Syscall) -> Vec<(usize, Operation, String)> {
    let found = |at: usize| call.places.get(at).and_then(|place| fs::symlink_metadata(place).ok());
    let missing = |at: usize| found(at).is_none();
    let is_link = |at: usize| found(at).is_some_and(|found| found.is_symlink());
    // Of a link itself, not of what it leads to.
    let changes = |at: usize| if is_link(at) { Operation::Link } else { Operation::Edit };
    match &call.operation {
        FileOperation::Open(opening) => opened(opening, missing(0)),
        FileOperation::MakeDir { mode, .. } => {
            vec![(0, Operation::MakeDir, format!("make directory (mode {mode:04o})"))]
        }
        FileOperation::Remove { .. } => vec![(0, Operation::Delete, "remove".to_owned())],
        FileOperation::RemoveDir { .. } => vec![(0, Operation::Delete, "remove empty directory".to_owned())],
        FileOperation::Rename { .. } => {
            let to = if missing(1) { "give it the name" } else { "put it in place of" };
            let is_link = is_link(0);
            let moves = if is_link { Operation::Link } else { Operation::MoveTo };
            let leads = call.places.first().filter(|_| is_link).and_then(|place| fs::read_link(place).ok());
            let away = leads.map_or_else(
                || "move away".to_owned(),
                |leads| format!("move away the link to `{}` at", show(leads.as_os_str())),
            );
            vec![(0, Operation::MoveFrom, away), (1, moves, to.to_owned())]
        }
        FileOperation::Link { .. } => vec![
            (0, Operation::Edit, "give a second name to".to_owned()),
            // One file from then on: what is written to the one name is written to the other.
            (1, Operation::MoveTo, "make a hard link to it at".to_owned()),
        ],
        FileOperation::Symlink { text, .. } => {
            vec![(0, Operation::Link, format!("make a link that leads to `{}` at", show(text)))]
        }
        FileOperation::Truncate { length, .. } => {
            vec![(0, Operation::Write, format!("cut to {length} bytes"))]
        }
        FileOperation::SetMode { mode, .. } => vec![(0, Operation::Edit, format!("set mode {mode:04o} of"))],
        FileOperation::SetOwner { owner, group, .. } => {
            let id = |id: &Option<u32>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
            vec![(0, changes(0), format!("set owner {}:{} of", id(owner), id(group)))]
        }
        FileOperation::SetTimes { times, .. } => {
            let now = times.iter().all(|time| *time == Time::Now);
            let says = if now { "set the times to now of" } else { "set the times of" };
            vec![(0, changes(0), says.to_owned())]
        }
    }
}

/// Returns the claims of an open. What is read through the same descriptor is a claim of its own: a place that may not be read is
/// not opened for both.
fn opened(opening: &Opening, missing: bool) -> Vec<(usize, Operation, String)> {
    let Opening { read, write, truncate, exclusive, .. } = *opening;
    let operation = if exclusive { Operation::Create } else { Operation::Write };
    // A descriptor that appends is one that writes: nothing keeps the process from switching that off, or from cutting
    // the file.
    let does = match (missing, truncate) {
        (true, _) => "create",
        (false, true) => "overwrite",
        (false, false) => "write",
    };
    let mut said = vec![(0, operation, does.to_owned())];
    if read && write && !missing {
        said.push((0, Operation::Read, "read".to_owned()));
    }
    said
}

/// Returns the name of a system call's operation in reports, and its path.
pub(super) fn report(call: &Syscall) -> (&'static str, &Path) {
    let word = match &call.operation {
        FileOperation::Open(Opening { create: Some(_), .. }) => "create",
        FileOperation::Open(_) | FileOperation::Truncate { .. } => "write",
        FileOperation::MakeDir { .. } => "make directory",
        FileOperation::Remove { .. } | FileOperation::RemoveDir { .. } => "remove",
        FileOperation::Rename { .. } => "move to",
        FileOperation::Link { .. } | FileOperation::Symlink { .. } => "link",
        FileOperation::SetMode { .. } | FileOperation::SetOwner { .. } | FileOperation::SetTimes { .. } => {
            "change mode or owner"
        }
    };
    (word, call.places.last().map_or(Path::new(""), |place| place.as_path()))
}

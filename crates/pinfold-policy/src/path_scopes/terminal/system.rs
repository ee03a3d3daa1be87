//! Places that belong to the system: its programs and its streams.

use std::path::Path;

use pinfold_commands::EMPTY_DEVICES;
use pinfold_commands::pieces::PossibleText;

use crate::path_scopes::expand::tidy;

/// Folders of programs that belong to the system. A program there is not a place that the agent reads.
const PROGRAMS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
];

/// Returns whether the text is a program of the system, spelled out.
pub(super) fn is_system_program(spelled: &PossibleText) -> bool {
    let path = Path::new(&spelled.text);
    let folder = path.parent().and_then(Path::to_str);
    spelled.open.is_none() && tidy(path) == path && folder.is_some_and(|folder| PROGRAMS.contains(&folder))
}

/// Returns whether a place is a standard stream or a device that holds nothing.
pub(super) fn is_stream(place: &str) -> bool {
    const STREAMS: [&str; 3] = ["/dev/fd/0", "/dev/fd/1", "/dev/fd/2"];
    EMPTY_DEVICES.contains(&place) || STREAMS.contains(&place)
}

//! Walk through a directory that is about to be moved as a whole, or has been.

use std::fs;
use std::path::{Path, PathBuf};

/// Entries that are looked at, dependencies included: a second or two. A larger directory is not moved as a whole.
const MAX_ENTRIES: usize = 1 << 20;

/// Decision about an entry of a walk.
pub(crate) enum Visit {
    /// Look inside, if it is a directory.
    Enter,
    /// Go on beside it.
    Skip,
    /// This is what was looked for.
    Found,
}

/// The end of a walk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WalkOutcome {
    Everything,
    Found(PathBuf),
    /// The tree is too large, or a part of it cannot be read.
    InPart,
}

/// Shows every entry below a directory to `visit`, links never followed.
pub(crate) fn walk(directory: &Path, mut visit: impl FnMut(&Path, fs::FileType) -> Visit) -> WalkOutcome {
    let mut ahead = vec![directory.to_owned()];
    let mut seen = 0;
    while let Some(directory) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { return WalkOutcome::InPart };
        for entry in entries {
            seen += 1;
            let Some((entry, kind)) =
                entry.ok().and_then(|entry| Some((entry.path(), entry.file_type().ok()?)))
            else {
                return WalkOutcome::InPart;
            };
            if seen > MAX_ENTRIES {
                return WalkOutcome::InPart;
            }
            match visit(&entry, kind) {
                Visit::Found => return WalkOutcome::Found(entry),
                Visit::Enter if kind.is_dir() => ahead.push(entry),
                Visit::Enter | Visit::Skip => {}
            }
        }
    }
    WalkOutcome::Everything
}

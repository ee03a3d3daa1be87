//! Changed files that another program still has open for writing when a run has ended: the report cannot know what they will hold.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{is_open_for_writing, open_plain};

/// Returns those of the files that are open for writing.
///
/// Of a file that cannot be looked at, since it is another user's or its file system has no leases, nothing is said: it is named as changed in
/// any case, and a note about each file of such a file system would hide the notes that know something.
pub(crate) fn still_written<'f>(files: impl IntoIterator<Item = &'f PathBuf>) -> Vec<&'f Path> {
    files
        .into_iter()
        .map(PathBuf::as_path)
        .filter(|file| is_still_written(file).unwrap_or_default())
        .collect()
}

fn is_still_written(path: &Path) -> Option<bool> {
    is_open_for_writing(open_plain(path).ok()?.as_fd()).ok()
}

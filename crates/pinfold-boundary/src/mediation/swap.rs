//! Files of git that take their place by a rename alone, after a look at what they hold: git writes `NAME.lock` and renames it.
//!
//! The supervisor puts there what it read and looked at, in a file of its own; a descriptor of the lock that is still open
//! writes to nothing.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Intent, Replacement};

use super::Why;

/// What there is to know of a kind of file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// The most that one holds.
    pub(super) most: u64,
    /// Whether it is [synced](Replacement::synced).
    pub(super) synced: bool,
    /// Why one that cannot be read is refused.
    pub(super) unread: &'static str,
}

/// A replacement that was looked at and is about to be carried out.
#[derive(Debug, Default)]
pub(crate) struct Swap {
    looked_at: Option<(PathBuf, PathBuf, Replacement)>,
}

impl Swap {
    /// Says why the file at `from` does not get the name: `refuses` looks at what it holds.
    pub(super) fn judge(
        &mut self,
        attempt: &Attempt,
        from: &Path,
        kind: Kind,
        refuses: impl FnOnce(&[u8]) -> Option<Why>,
    ) -> Option<Why> {
        self.looked_at = None;
        let Some(content) = read(from, kind.most) else { return Some(kind.unread.to_owned()) };
        let refused = refuses(&content);
        if refused.is_none() {
            let put = Replacement { content, synced: kind.synced };
            self.looked_at = Some((from.to_owned(), attempt.place.clone(), put));
        }
        refused
    }

    /// The content that was looked at, for the rename that it was looked at for.
    pub(super) fn content_for(&mut self, attempts: &[Attempt]) -> Option<Replacement> {
        let (from, to, put) = self.looked_at.take()?;
        match attempts {
            [Attempt { place: first, intent: Intent::MoveFrom, .. }, Attempt { place: second, .. }]
                if *first == from && *second == to =>
            {
                Some(put)
            }
            _ => None,
        }
    }
}

/// Reads a plain file that is no larger than this.
pub(super) fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file: File = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= most).then_some(content)
}

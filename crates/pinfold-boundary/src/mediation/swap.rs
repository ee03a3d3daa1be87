//! A file that git replaces by renaming another one over it, where its content decides whether it may.
//!
//! A process could hold the other file open for writing and change it after the look. So the supervisor reads it once and
//! puts what it has read into a file of its own, which gets the name.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Detail, Intent, open_plain};

use crate::within::is_within;

/// A replacement that was looked at and is about to be carried out.
#[derive(Debug, Default)]
pub(crate) struct PendingReplacement {
    looked_at: Option<CheckedReplacement>,
    /// The file that takes the content that was handed out last.
    handed_out: Option<PathBuf>,
    /// Configurations that are files of the supervisor's own.
    written: HashSet<PathBuf>,
}

/// Configurations that are remembered. Further ones count as another's.
const MAX_CONFIGS: usize = 10_000;

#[derive(Debug)]
struct CheckedReplacement {
    from: PathBuf,
    to: PathBuf,
    content: Vec<u8>,
}

impl PendingReplacement {
    /// Reads the file that is renamed to the place of the attempt, and keeps what it has read for that rename if it is
    /// accepted. Returns whether it is.
    pub(super) fn look(
        &mut self,
        attempt: &Attempt,
        from: &Path,
        max_size: u64,
        accepts: impl FnOnce(&[u8]) -> bool,
    ) -> bool {
        let content = read(from, max_size).filter(|content| accepts(content));
        self.looked_at = content.map(|content| CheckedReplacement {
            from: from.to_owned(),
            to: attempt.place.clone(),
            content,
        });
        self.looked_at.is_some()
    }

    /// Returns whether a change of a file that is only replaced as a whole is allowed: by a renamed file whose content is
    /// accepted. Removing the file is harmless; one that is moved away comes back only as any other file does.
    pub(super) fn replaces_whole(
        &mut self,
        attempt: &Attempt,
        max_size: u64,
        accepts: impl FnOnce(&[u8]) -> bool,
    ) -> bool {
        match (attempt.intent, &attempt.detail) {
            (Intent::Remove | Intent::Metadata | Intent::MakeDir, _) | (Intent::MoveFrom, Detail::To(_)) => {
                true
            }
            (Intent::MoveTo, Detail::From(from)) => self.look(attempt, from, max_size, accepts),
            _ => false,
        }
    }

    /// Forgets what was looked at.
    pub(super) fn forget(&mut self) {
        self.looked_at = None;
    }

    /// Returns whether a configuration is what the supervisor wrote, and has not been opened since.
    pub(super) fn wrote(&self, config: &Path) -> bool {
        self.written.contains(config)
    }

    /// Notes that a call was carried out that made or changed a configuration.
    pub(super) fn carried_out(&mut self, attempt: &Attempt) {
        let place = attempt.place.as_path();
        let is_written =
            matches!(attempt.detail, Detail::From(_)) && self.handed_out.as_deref() == Some(place);
        match attempt.intent {
            Intent::Read | Intent::Access | Intent::Lock => {}
            _ if is_written && place.ends_with("config") && self.written.len() < MAX_CONFIGS => {
                self.written.insert(place.to_owned());
            }
            _ if self.written.is_empty() => {}
            // What is moved takes along what is in it.
            Intent::MoveFrom | Intent::MoveTo => self.written.retain(|config| !is_within(config, place)),
            // Whatever it is: a second name is one to write by.
            _ => {
                self.written.remove(place);
            }
        }
    }

    /// The content that was looked at, for the rename that it was looked at for.
    pub(super) fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
        self.handed_out = None;
        let CheckedReplacement { from, to, content } = self.looked_at.take()?;
        match attempts {
            [Attempt { place: first, intent: Intent::MoveFrom, .. }, Attempt { place: second, .. }]
                if *first == from && *second == to =>
            {
                self.handed_out = Some(to);
                Some(content)
            }
            _ => None,
        }
    }
}

/// The content of a plain file that is not too large, following no link in the last component.
pub(super) fn read(path: &Path, max_size: u64) -> Option<Vec<u8>> {
    let file =
        open_plain(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.len() <= max_size))?;
    let mut content = Vec::new();
    file.take(max_size + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= max_size).then_some(content)
}

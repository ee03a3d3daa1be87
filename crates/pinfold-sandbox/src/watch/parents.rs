//! Where directories really are, as the supervisor sees them.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::Intent;

/// Where directories really are, remembered: a build makes many files in few directories.
#[derive(Default)]
pub(super) struct Parents {
    known: HashMap<PathBuf, PathBuf>,
}

impl Parents {
    /// How many directories are remembered before all are forgotten.
    const MOST: usize = 4096;

    /// How many links the kernel follows.
    const LINKS: usize = 40;

    /// Forgets everything when a call may put a link where a directory was.
    pub(super) fn expect(&mut self, intent: Intent, place: &Path) {
        let moves_more_than_a_file = || std::fs::symlink_metadata(place).is_ok_and(|found| !found.is_file());
        let forget = match intent {
            Intent::Symlink => true,
            Intent::MoveFrom | Intent::MoveTo => moves_more_than_a_file(),
            Intent::Write
            | Intent::Create
            | Intent::MakeDir
            | Intent::Remove
            | Intent::Metadata
            | Intent::Connect
            | Intent::Socket => false,
        };
        if forget {
            self.known.clear();
        }
    }

    /// Where a place leads if it is a link, whether or not anything is there.
    pub(super) fn followed(&mut self, mut place: PathBuf) -> PathBuf {
        for _ in 0..Self::LINKS {
            // Their links mean something else to every process.
            if ["/proc", "/dev"].iter().any(|own| place.starts_with(own)) {
                break;
            }
            let (Ok(target), Some(parent)) = (std::fs::read_link(&place), place.parent()) else { break };
            place = self.real(&parent.join(target));
        }
        place
    }

    /// The path with the links of its parent followed, as far as the parent exists outside.
    pub(super) fn real(&mut self, path: &Path) -> PathBuf {
        let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back())
        else {
            return path.to_owned();
        };
        if let Some(real) = self.known.get(parent) {
            return real.join(name);
        }
        // A directory that is not there outside is private to the run (`/tmp`), or the call will fail.
        let Ok(real) = std::fs::canonicalize(parent) else { return path.to_owned() };
        if self.known.len() >= Self::MOST {
            self.known.clear();
        }
        let place = real.join(name);
        self.known.insert(parent.to_owned(), real);
        place
    }
}

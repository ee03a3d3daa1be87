//! Where directories really are, as the supervisor sees them.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::Intent;
use crate::sys::Pid;

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
            | Intent::Access
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

    /// Where a path leads that goes through links of /proc, which are another's for every process: as `pid` goes.
    pub(super) fn as_process(pid: Pid, path: &Path) -> Option<PathBuf> {
        let names =
            |path: &Path| path.components().rev().map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>();
        let mut ahead = names(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            match name.as_bytes() {
                b"/" => at = PathBuf::from("/"),
                b"." => {}
                b".." => drop(at.pop()),
                _ => at.push(name),
            }
            if at == Path::new("/proc/self") {
                at = format!("/proc/{pid}").into();
            } else if at == Path::new("/proc/thread-self") {
                at = format!("/proc/{pid}/task/{pid}").into();
            }
            if let Ok(target) = std::fs::read_link(&at) {
                links += 1;
                if links > Self::LINKS {
                    return None;
                }
                at.pop();
                ahead.extend(names(&target));
            }
        }
        Some(at)
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

//! Settings that follow their files while a session runs.
//!
//! Promise: each decision is made on one state of all files, the newest. When a file comes to be unreadable, what was
//! denied stays denied and nothing is allowed by settings any more, until it is mended.
//! Looking costs one `stat` a file, two where it is a link; nothing is read unless something changed. No clock decides.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold_paths::Ambient;
use pinfold_policy::merge::Merged;
use pinfold_policy::settings::Flags;

use super::layers::{SettingsError, load};
use super::locations::Locations;

/// Settings as a value of the caller's that is made anew when a file changes.
pub struct Watched<T> {
    ambient: Ambient,
    locations: Locations,
    /// All files that settings depend on.
    files: Vec<PathBuf>,
    flags: Flags,
    make: Box<dyn Fn(&Merged) -> T + Send + Sync>,
    state: Mutex<ReloadState<T>>,
}

struct ReloadState<T> {
    stamps: Vec<[Option<Stamp>; 2]>,
    /// The policy of the last time that all files could be read.
    good: Merged,
    made: Arc<T>,
    trouble: Option<Arc<SettingsError>>,
}

/// One state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl<T> Watched<T> {
    /// Reads the files for the first time. `make` turns what they say into what is judged by.
    ///
    /// # Errors
    /// [`SettingsError`], as [`load`].
    pub fn start(
        ambient: Ambient,
        locations: Locations,
        flags: Flags,
        make: impl Fn(&Merged) -> T + Send + Sync + 'static,
    ) -> Result<Self, SettingsError> {
        // Stamps first: what changes while it is read is read again.
        let files = files(&locations);
        let stamps = stamps(&files);
        let good = load(&ambient, &locations, &flags)?.merged;
        let state = ReloadState { stamps, made: Arc::new(make(&good)), good, trouble: None };
        Ok(Self { ambient, locations, files, flags, make: Box::new(make), state: Mutex::new(state) })
    }

    /// The policy that holds now: to be asked for once a decision, and kept for all of it.
    pub fn current(&self) -> Arc<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.files);
        if stamps != state.stamps {
            state.stamps = stamps;
            self.read_again(&mut state);
        }
        Arc::clone(&state.made)
    }

    /// Why the files cannot be read, since they could be.
    pub fn trouble(&self) -> Option<Arc<SettingsError>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone()
    }

    fn read_again(&self, state: &mut ReloadState<T>) {
        match load(&self.ambient, &self.locations, &self.flags) {
            Ok(loaded) => {
                state.good = loaded.merged;
                state.made = Arc::new((self.make)(&state.good));
                state.trouble = None;
            }
            Err(trouble) => {
                state.made = Arc::new((self.make)(&state.good.closed()));
                state.trouble = Some(Arc::new(trouble));
            }
        }
    }
}

fn files(locations: &Locations) -> Vec<PathBuf> {
    locations.files().map(|file| file.path).chain(locations.trust.clone()).collect()
}

/// The states of files, by the names they are reached by and, where these are links, as what they lead to.
fn stamps(files: &[PathBuf]) -> Vec<[Option<Stamp>; 2]> {
    let stamps = |file: &PathBuf| {
        let named = file.symlink_metadata().ok();
        let is_link = named.as_ref().is_some_and(Metadata::is_symlink);
        let behind = if is_link { file.metadata().ok() } else { None };
        [named, behind].map(|seen| seen.as_ref().map(Stamp::from_metadata))
    };
    files.iter().map(stamps).collect()
}

impl Stamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

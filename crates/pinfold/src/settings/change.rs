//! Changes a settings file: one rule more or less, all else as it was.

use pinfold_paths::Ambient;
use pinfold_policy::settings::{Change, edited};
use pinfold_policy::{BadSettings, Layer};

use super::file::{FileTrouble, Held};
use super::locations::{Locations, SettingsFile};
use super::trust::{Trust, TrustError};

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub file: SettingsFile,
    /// It was not so already.
    pub changed: bool,
}

/// Why a settings file was not changed. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The layer has no file that could be changed here.
    #[error("{0} settings have no file that can be changed here")]
    NoFile(&'static str),
    /// The file cannot be understood, so it is not written either.
    #[error(transparent)]
    Bad(#[from] BadSettings),
    /// The file cannot be read or written.
    #[error("{shown}: {trouble}")]
    File {
        /// Which.
        shown: String,
        /// Why.
        trouble: FileTrouble,
    },
    /// The change was written; what follows it for trust was not.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// New files are nobody else's business; a shared one takes what the umask gives.
const OWN_MODE: u32 = 0o600;
const SHARED_MODE: u32 = 0o666;

/// Adds a rule to the file of a layer, or removes one. A file of a project that was trusted stays trusted: the change
/// is the person's, and what else stands in it was looked at before.
///
/// # Errors
/// [`ChangeError`].
pub fn change(
    ambient: &Ambient,
    locations: &Locations,
    layer: Layer,
    change: &Change,
) -> Result<Changed, ChangeError> {
    let no_file = || ChangeError::NoFile(layer.word());
    let file = locations.file(layer).filter(|file| file.layer != Layer::Managed).ok_or_else(no_file)?;
    let failed = |trouble| ChangeError::File { shown: file.shown.to_string(), trouble };
    let held = match &file.within {
        Some(project) => Ok(Held::within(project, &file.path)),
        None => Held::own(&file.path),
    };
    let mode = if layer == Layer::Project { SHARED_MODE } else { OWN_MODE };
    let mut followed = None;
    let changed = held.map_err(failed)?.replace(ambient, mode, |before| {
        let after = edited(before, layer, &file.shown, change)?.map(String::into_bytes);
        followed = after.clone().map(|after| (before.map(<[u8]>::to_vec), after));
        Ok::<_, Failed>(after)
    });
    let changed = changed.map_err(|failed| match failed {
        Failed::Bad(bad) => ChangeError::Bad(bad),
        Failed::File(trouble) => ChangeError::File { shown: file.shown.to_string(), trouble },
    })?;
    if let (true, Some((before, after))) = (changed, followed) {
        follow(ambient, locations, &file, before.as_deref(), &after)?;
    }
    Ok(Changed { file, changed })
}

enum Failed {
    Bad(BadSettings),
    File(FileTrouble),
}

impl From<BadSettings> for Failed {
    fn from(bad: BadSettings) -> Self {
        Self::Bad(bad)
    }
}

impl From<FileTrouble> for Failed {
    fn from(trouble: FileTrouble) -> Self {
        Self::File(trouble)
    }
}

/// Lets trust follow a file of a project to its new content, if the old content was trusted or there was none.
fn follow(
    ambient: &Ambient,
    locations: &Locations,
    file: &SettingsFile,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<(), TrustError> {
    let (Some(project), Some(record)) = (&file.within, &locations.trust) else { return Ok(()) };
    let Ok(project) = project.canonicalize() else { return Ok(()) };
    let trust = Trust::read(ambient, record).unwrap_or_default();
    if before.is_none_or(|before| trust.covers(&project, file, before)) {
        Trust::follow(ambient, locations, file, after)?;
    }
    Ok(())
}

//! Changes a settings file: one rule more or less, all else as it was.

use std::path::Path;

use pinfold_paths::Ambient;
use pinfold_policy::settings::{SettingsChange, edited};
use pinfold_policy::{BadSettings, Layer};

use super::file::{FileTrouble, ReplacedFile, read, read_within};
use super::locations::{Locations, SettingsFile};
use super::trust::{Trust, TrustError};

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub file: SettingsFile,
    /// The settings were changed.
    pub changed: bool,
}

/// Reason why a settings file was not changed. It is as it was.
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
    /// The file is not the one that was looked at.
    #[error("{0} was changed by another process meanwhile")]
    Other(String),
    /// The change was written; what follows it for trust was not.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// New files are private; a shared one takes what the umask gives.
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
    change: &SettingsChange,
) -> Result<Changed, ChangeError> {
    let file = own_file(locations, layer)?;
    let mut followed = None;
    let changed = replaced(ambient, &file, |before| {
        let after = edited(before, layer, &file.shown, std::slice::from_ref(change))?.map(String::into_bytes);
        followed = after.clone().map(|after| (before.map(<[u8]>::to_vec), after));
        Ok(after)
    })?;
    if let (true, Some((before, after))) = (changed, followed) {
        follow(ambient, locations, &file, before.as_deref(), &after)?;
    }
    Ok(Changed { file, changed })
}

/// A file as it would be after some changes, to be looked at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The file.
    pub file: SettingsFile,
    /// The text that is there.
    pub before: Option<String>,
    /// The text that would be; `None` when nothing changes.
    pub after: Option<String>,
}

/// Returns the result of changes. Nothing is written.
///
/// # Errors
/// [`ChangeError`].
pub fn propose(
    ambient: &Ambient,
    locations: &Locations,
    layer: Layer,
    changes: &[SettingsChange],
) -> Result<Proposal, ChangeError> {
    let file = own_file(locations, layer)?;
    let found = match &file.within {
        Some(project) => read_within(ambient, project, &file.path),
        None => read(ambient, &file.path),
    };
    let found = found.map_err(|trouble| ChangeError::File { shown: file.shown.to_string(), trouble })?;
    let before = found.map(|found| found.bytes);
    let after = edited(before.as_deref(), layer, &file.shown, changes)?;
    // It was understood, so it is text.
    let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Proposal { file, before, after })
}

/// Writes what was proposed, if the file is still what it was then. Trust does not follow: what comes from elsewhere is
/// looked at like everything that others wrote.
///
/// # Errors
/// [`ChangeError`].
pub fn carry_out(ambient: &Ambient, proposal: &Proposal) -> Result<bool, ChangeError> {
    let Proposal { file, before, after } = proposal;
    let Some(after) = after else { return Ok(false) };
    replaced(ambient, file, |now| {
        if now != before.as_deref().map(str::as_bytes) {
            return Err(ChangeFailure::Other);
        }
        Ok(Some(after.clone().into_bytes()))
    })
}

fn own_file(locations: &Locations, layer: Layer) -> Result<SettingsFile, ChangeError> {
    let no_file = || ChangeError::NoFile(layer.as_str());
    locations.file(layer).filter(|file| file.layer != Layer::Managed).ok_or_else(no_file)
}

fn replaced(
    ambient: &Ambient,
    file: &SettingsFile,
    mut with: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, ChangeFailure>,
) -> Result<bool, ChangeError> {
    let mut is_new = false;
    let with = |before: Option<&[u8]>| {
        is_new = before.is_none();
        with(before)
    };
    let failed = |trouble| ChangeError::File { shown: file.shown.to_string(), trouble };
    let held = match &file.within {
        Some(project) => Ok(ReplacedFile::new(project, &file.path)),
        None => ReplacedFile::own(&file.path),
    };
    let mode = if file.layer == Layer::Project { SHARED_MODE } else { OWN_MODE };
    let is_written = held.map_err(failed)?.replace(ambient, mode, with).map_err(|why| match why {
        ChangeFailure::Bad(bad) => ChangeError::Bad(bad),
        ChangeFailure::File(trouble) => failed(trouble),
        ChangeFailure::Other => ChangeError::Other(file.shown.to_string()),
    })?;
    if let (true, true, Layer::Local, Some(project)) = (is_written, is_new, file.layer, &file.within) {
        ignore_own_settings(ambient, project, &file.path);
    }
    Ok(is_written)
}

/// Keeps settings that are one person's out of what git shows and adds, beside them, unless there is an ignore file. The
/// settings hold without it, so that a failure is nothing to report.
fn ignore_own_settings(ambient: &Ambient, project: &Path, settings: &Path) {
    const IGNORED: &[u8] =
        b"# Written by pinfold: these settings are yours alone.\n/.gitignore\n/settings.local.json\n";
    let made = |before: Option<&[u8]>| Ok::<_, FileTrouble>(before.is_none().then(|| IGNORED.to_vec()));
    let _ = ReplacedFile::new(project, &settings.with_file_name(".gitignore")).replace(
        ambient,
        SHARED_MODE,
        made,
    );
}

enum ChangeFailure {
    Bad(BadSettings),
    File(FileTrouble),
    /// The file is not the one that was looked at.
    Other,
}

impl From<BadSettings> for ChangeFailure {
    fn from(bad: BadSettings) -> Self {
        Self::Bad(bad)
    }
}

impl From<FileTrouble> for ChangeFailure {
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
    let (Some(project), Some(_)) = (&file.within, &locations.trust) else { return Ok(()) };
    let Ok(project) = project.canonicalize() else { return Ok(()) };
    let trust = Trust::load(ambient, locations).unwrap_or_default();
    if before.is_none_or(|before| trust.covers(&project, file, before)) {
        Trust::follow(ambient, locations, file, after)?;
    }
    Ok(())
}

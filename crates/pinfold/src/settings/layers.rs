//! Reads the settings files of given locations, and decides which of them are trusted.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use pinfold_paths::Ambient;
use pinfold_policy::merge::{Layered, Merged, merge};
use pinfold_policy::settings::Flags;
use pinfold_policy::{BadSetting, BadSettings, Layer, Settings, Source};

use super::failed_expectations;
use super::file::{FileTrouble, LayerFile, read, read_within, trouble};
use super::locations::{Locations, SettingsFile};
use super::plan::Situation;
use super::trust::Trust;
use super::user_files::is_own;
use crate::plan::Plan;

/// The settings of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSettings {
    /// Each layer that says something, with what is believed of it.
    pub layers: Vec<Layered>,
    /// All of them together.
    pub merged: Merged,
    /// Why the record of trust could not be read; then no project is trusted.
    pub no_trust: Option<String>,
}

/// Why settings cannot be used: each file that cannot be read in full. No session starts with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The files, and what is wrong in each.
    pub files: Vec<BadSettings>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<_> = self.files.iter().map(ToString::to_string).collect();
        f.write_str(&files.join("\n"))
    }
}

impl std::error::Error for SettingsError {}

/// Reads all settings of a session and merges them.
///
/// # Errors
/// [`SettingsError`]: everything that is wrong in any of the files and flags.
pub fn load(
    ambient: &Ambient,
    locations: &Locations,
    flags: &Flags,
) -> Result<LoadedSettings, SettingsError> {
    let mut reading = LayerReader { ambient, locations, trust: None, layers: Vec::new(), bad: Vec::new() };
    match flags.settings() {
        Ok(settings) => reading.layers.push(Layered { settings, trusted: true }),
        Err(bad) => reading.bad.push(bad),
    }
    locations.files().for_each(|file| reading.file(&file));
    let LayerReader { layers, bad, trust, .. } = reading;
    if !bad.is_empty() {
        return Err(SettingsError { files: bad });
    }
    managed_hold(ambient, locations, &layers)?;
    let no_trust = trust.and_then(Result::err);
    Ok(LoadedSettings { merged: merge(&layers), layers, no_trust })
}

/// Managed settings that do not decide what they say they decide are not used, like any that cannot be read. They are
/// tried by themselves: what others add is not their business.
fn managed_hold(ambient: &Ambient, locations: &Locations, layers: &[Layered]) -> Result<(), SettingsError> {
    let managed = layers.iter().filter(|layered| layered.settings.layer == Layer::Managed);
    let merged = merge(&managed.cloned().collect::<Vec<_>>());
    if merged.tests.is_empty() {
        return Ok(());
    }
    let project = locations.project.clone().unwrap_or_else(|| PathBuf::from("/"));
    let plan = Plan { home: locations.home.clone(), ..Plan::for_folder(project.clone()) };
    let plan = plan.with_settings(ambient, &merged, &Situation { project, ..Situation::default() });
    let bad: Vec<_> = match plan {
        Ok(plan) => failed_expectations(ambient, &plan, &merged.tests)
            .into_iter()
            .map(|broken| bad_setting(broken.source, broken.what))
            .collect(),
        Err(e) => vec![bad_setting(Source::plain(Layer::Managed), e.to_string())],
    };
    if bad.is_empty() {
        Ok(())
    } else {
        Err(SettingsError { files: vec![BadSettings { text: "".into(), bad }] })
    }
}

fn bad_setting(source: Source, what: String) -> BadSetting {
    BadSetting { source, span: 0..0, what, mend: String::new() }
}

struct LayerReader<'a> {
    ambient: &'a Ambient,
    locations: &'a Locations,
    /// Read when it is first needed.
    trust: Option<Result<Trust, String>>,
    layers: Vec<Layered>,
    bad: Vec<BadSettings>,
}

impl LayerReader<'_> {
    fn file(&mut self, file: &SettingsFile) {
        let found = match (&file.within, file.layer) {
            (Some(within), _) => read_within(self.ambient, within, &file.path),
            (None, Layer::User) => {
                self.locations.hold_apart_to_read(&file.path).and_then(|()| read(self.ambient, &file.path))
            }
            (None, _) => read(self.ambient, &file.path),
        };
        let checked = found.and_then(|found| match (file.layer, found) {
            (Layer::Managed, Some(found)) => deployed(self.locations, &file.path, found).map(Some),
            (_, found) => Ok(found),
        });
        match checked {
            Ok(None) => {}
            Ok(Some(found)) => self.content(file, &found),
            Err(trouble) => self.bad.push(whole_file(file, trouble)),
        }
    }

    fn content(&mut self, file: &SettingsFile, found: &LayerFile) {
        match Settings::parse(&found.bytes, file.layer, &file.shown) {
            Ok(settings) => {
                let trusted = self.trusted(file, found);
                self.layers.push(Layered { settings, trusted });
            }
            Err(bad) => self.bad.push(bad),
        }
    }

    /// Returns true if a person stands behind a file. Behind a project's files no person does who has not said so, for
    /// just this content; but for the local one when it is plainly the person's own.
    fn trusted(&mut self, file: &SettingsFile, found: &LayerFile) -> bool {
        let Some(project) = file.within.as_deref().map(Path::canonicalize) else { return true };
        let Ok(project) = project else { return false };
        is_own(&project, file, found) || self.trust().covers(&project, file, &found.bytes)
    }

    fn trust(&mut self) -> Trust {
        let Self { ambient, locations, trust, .. } = self;
        let read = trust.get_or_insert_with(|| {
            let shown = locations.trust.as_deref().unwrap_or(Path::new("")).display();
            Trust::load(ambient, locations).map_err(|e| format!("{shown}: {e}"))
        });
        read.clone().unwrap_or_default()
    }
}

/// The settings that an organisation deployed: no other user could have written the file, or put another in its place.
fn deployed(locations: &Locations, path: &Path, found: LayerFile) -> Result<LayerFile, FileTrouble> {
    let real = path.canonicalize().map_err(|e| trouble(e.to_string(), MEND_MANAGED))?;
    // Where the name stands and where it leads: in either another user could put another file.
    let folders = [path.parent(), real.parent()].into_iter().flatten();
    let mut written_by = vec![("it", found.owner, found.mode)];
    for folder in folders {
        let metadata = folder.metadata().map_err(|e| trouble(e.to_string(), MEND_MANAGED))?;
        written_by.push(("its folder", metadata.uid(), metadata.mode()));
    }
    for (what, owner, mode) in written_by {
        if owner != locations.managed_owner {
            return Err(trouble(format!("{what} does not belong to the superuser"), MEND_MANAGED));
        }
        if mode & 0o022 != 0 {
            return Err(trouble(format!("{what} can be written by others than the superuser"), MEND_MANAGED));
        }
    }
    Ok(found)
}

const MEND_MANAGED: &str = "chown root, chmod go-w: managed settings are for the superuser to write";

fn whole_file(file: &SettingsFile, trouble: FileTrouble) -> BadSettings {
    let source = Source { layer: file.layer, file: Some(file.shown.clone()), at: None };
    let bad = BadSetting { mend: trouble.mend.to_owned(), ..bad_setting(source, trouble.what) };
    BadSettings { text: "".into(), bad: vec![bad] }
}

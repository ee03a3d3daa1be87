//! Which files of a project a person trusts: by folder and by content.
//!
//! Promise: a file that changed by one byte is not trusted any more; a record that cannot be read trusts nothing.
//! Trap: the record must lie outside every folder that an agent can write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinfold_paths::Ambient;
use pinfold_policy::merge::{Layered, WhyIgnored, merge};
use pinfold_policy::{Layer, Settings};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::{FileTrouble, ReplacedFile, read, read_within, trouble};
use super::locations::{Locations, SettingsFile};
use super::user_files::is_own;
use crate::agents::{Definition, project_files};

/// The record of trust, as it was when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    record: Record,
}

/// As it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    version: u32,
    /// Canonical folder → name of the file → SHA-256 of its content.
    projects: BTreeMap<String, BTreeMap<String, String>>,
}

const VERSION: u32 = 1;

/// Reason why trust cannot be recorded or taken back.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no place for the record.
    #[error("there is no place where trust could be recorded")]
    NoRecord,
    /// The record, or a file of the project, cannot be read or written.
    #[error("{shown}: {trouble}")]
    File {
        /// Which.
        shown: String,
        /// Why.
        trouble: FileTrouble,
    },
    /// A file of the project cannot be understood, so that it is not known what is trusted.
    #[error(transparent)]
    Bad(#[from] pinfold_policy::BadSettings),
}

/// A folder that is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedFolder {
    /// Its canonical path.
    pub folder: PathBuf,
    /// Each of its files that was trusted, and whether it still has the content that was trusted.
    pub files: Vec<(String, bool)>,
}

/// The parts of a project's files that would count and do not count now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// The effects that each of them would widen, in words: `allow Bash(make)`.
    pub what: Vec<String>,
    /// The files, with the content that was looked at, by which they will be known again.
    seen: Vec<(SettingsFile, String)>,
}

impl Trust {
    /// The record of these locations. One that lies in the project is a repository's, and trusts nothing.
    ///
    /// # Errors
    /// As those of [`Trust::read`].
    pub fn load(ambient: &Ambient, locations: &Locations) -> Result<Self, FileTrouble> {
        let Some(path) = &locations.trust else { return Ok(Self::default()) };
        locations.hold_apart_to_read(path)?;
        Self::read(ambient, path)
    }

    /// Reads the record. Where there is none nothing is trusted.
    ///
    /// # Errors
    /// When it cannot be understood, or other users could have written it. Nothing is trusted then.
    pub fn read(ambient: &Ambient, path: &Path) -> Result<Self, FileTrouble> {
        let Some(found) = read(ambient, path)? else { return Ok(Self::default()) };
        if found.owner != rustix::process::geteuid().as_raw() || found.mode & 0o022 != 0 {
            return Err(trouble("others could have written it", "make it yours alone: chmod 600"));
        }
        Self::parse(&found.bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, FileTrouble> {
        let record: Record = serde_json::from_slice(bytes).map_err(|e| {
            trouble(format!("it cannot be understood: {e}"), "take it away, and trust projects anew")
        })?;
        match record.version {
            VERSION => Ok(Self { record }),
            other => Err(trouble(format!("it is of version {other}"), "use the pinfold that wrote it")),
        }
    }

    /// Returns true if a file of this canonical folder is trusted with just this content.
    #[must_use]
    pub fn covers(&self, project: &Path, file: &SettingsFile, content: &[u8]) -> bool {
        let known = project.to_str().and_then(|project| self.record.projects.get(project));
        known.and_then(|files| files.get(&*file.shown)).is_some_and(|known| *known == digest(content))
    }

    /// Every folder that is trusted.
    #[must_use]
    pub fn folders(&self, ambient: &Ambient) -> Vec<TrustedFolder> {
        let is_same = |folder: &Path, name: &str, known: &str| {
            let found = read_within(ambient, folder, &folder.join(name)).ok().flatten();
            found.is_some_and(|found| digest(&found.bytes) == known)
        };
        let folder = |(folder, files): (&String, &BTreeMap<String, String>)| {
            let folder = PathBuf::from(folder);
            let files =
                files.iter().map(|(name, known)| (name.clone(), is_same(&folder, name, known))).collect();
            TrustedFolder { folder, files }
        };
        self.record.projects.iter().map(folder).collect()
    }

    /// Records that files of a project are trusted with the content that the person saw, and with no other.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn grant(ambient: &Ambient, locations: &Locations, widening: &Widening) -> Result<(), TrustError> {
        Self::record(ambient, locations, |files| {
            files.clear();
            files.extend(widening.seen.iter().map(|(file, digest)| (file.shown.to_string(), digest.clone())));
        })
    }

    /// Records one file with new content: for a change that the person made by way of pinfold.
    pub(super) fn follow(
        ambient: &Ambient,
        locations: &Locations,
        file: &SettingsFile,
        content: &[u8],
    ) -> Result<(), TrustError> {
        Self::record(ambient, locations, |files| {
            files.insert(file.shown.to_string(), digest(content));
        })
    }

    /// Takes trust back from a project. `false` when it had none.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn withdraw(ambient: &Ambient, locations: &Locations) -> Result<bool, TrustError> {
        let (project, path) = (canonical(locations), locations.trust.as_deref().ok_or(TrustError::NoRecord)?);
        let failed = |trouble| TrustError::File { shown: path.display().to_string(), trouble };
        Self::withdraw_from(ambient, locations, &project.map_err(failed)?)
    }

    /// Takes trust back from a folder by the name under which it is recorded; it need not be there any more.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn withdraw_from(ambient: &Ambient, locations: &Locations, folder: &str) -> Result<bool, TrustError> {
        let mut had = false;
        Self::write(ambient, locations, folder, |files| {
            had = !files.is_empty();
            files.clear();
        })?;
        Ok(had)
    }

    fn record(
        ambient: &Ambient,
        locations: &Locations,
        change: impl FnMut(&mut BTreeMap<String, String>),
    ) -> Result<(), TrustError> {
        let path = locations.trust.as_deref().ok_or(TrustError::NoRecord)?;
        let failed = |trouble| TrustError::File { shown: path.display().to_string(), trouble };
        Self::write(ambient, locations, &canonical(locations).map_err(failed)?, change)
    }

    fn write(
        ambient: &Ambient,
        locations: &Locations,
        project: &str,
        mut change: impl FnMut(&mut BTreeMap<String, String>),
    ) -> Result<(), TrustError> {
        let path = locations.trust.as_deref().ok_or(TrustError::NoRecord)?;
        let failed = |trouble| TrustError::File { shown: path.display().to_string(), trouble };
        locations.hold_apart(path).map_err(failed)?;
        let changed = |before: Option<&[u8]>| {
            let mut trust = before.map_or_else(|| Ok(Self::default()), Self::parse)?;
            trust.record.version = VERSION;
            let files = trust.record.projects.entry(project.to_owned()).or_default();
            change(files);
            trust.record.projects.retain(|_, files| !files.is_empty());
            let bytes = serde_json::to_vec_pretty(&trust.record).map_err(|e| trouble(e.to_string(), ""))?;
            Ok::<_, FileTrouble>(Some(bytes))
        };
        ReplacedFile::own(path).and_then(|held| held.replace(ambient, 0o600, changed)).map_err(failed)?;
        Ok(())
    }
}

impl Widening {
    /// Looks at the files of a project: what of them would count if they were trusted.
    ///
    /// # Errors
    /// [`TrustError`]: a file cannot be read or understood.
    pub fn scan(ambient: &Ambient, locations: &Locations) -> Result<Self, TrustError> {
        let mut widening = Self { what: Vec::new(), seen: Vec::new() };
        let mut layers = Vec::new();
        for file in [Layer::Local, Layer::Project].into_iter().filter_map(|layer| locations.file(layer)) {
            let failed = |trouble| TrustError::File { shown: file.shown.to_string(), trouble };
            let within = file.within.as_deref().unwrap_or(&file.path);
            let Some(found) = read_within(ambient, within, &file.path).map_err(failed)? else { continue };
            let settings = Settings::parse(&found.bytes, file.layer, &file.shown)?;
            if within.canonicalize().is_ok_and(|project| is_own(&project, &file, &found)) {
                continue;
            }
            layers.push(Layered { settings, trusted: false });
            widening.seen.push((file, digest(&found.bytes)));
        }
        let agents = widening.scan_agents(ambient, locations)?;
        let untrusted =
            merge(&layers).ignored.into_iter().filter(|ignored| ignored.why == WhyIgnored::NotTrusted);
        let of_settings = untrusted.map(|ignored| format!("{}: {}", ignored.source, ignored.what));
        widening.what = of_settings.chain(agents).collect();
        Ok(widening)
    }

    /// The same for a file of the project that another program reads, where `found` says of its content what would
    /// count. It is trusted with the rest, by its content.
    ///
    /// # Errors
    /// [`TrustError`]: it cannot be read.
    pub fn add(
        &mut self,
        ambient: &Ambient,
        locations: &Locations,
        name: &str,
        found: impl FnOnce(&[u8]) -> Vec<String>,
    ) -> Result<(), TrustError> {
        let Some(file) = project_file(locations, name) else { return Ok(()) };
        let failed = |trouble| TrustError::File { shown: name.to_owned(), trouble };
        let within = file.within.as_deref().unwrap_or(&file.path);
        let Some(content) = read_within(ambient, within, &file.path).map_err(failed)? else { return Ok(()) };
        let what = found(&content.bytes);
        if !what.is_empty() && !self.seen.iter().any(|(seen, _)| seen.shown == file.shown) {
            self.seen.push((file, digest(&content.bytes)));
        }
        self.what.extend(what);
        Ok(())
    }

    /// The same for the definitions of agents that a project brings along.
    fn scan_agents(&mut self, ambient: &Ambient, locations: &Locations) -> Result<Vec<String>, TrustError> {
        let failed = |shown: &str, trouble| TrustError::File { shown: shown.to_owned(), trouble };
        let files = project_files(locations).map_err(|trouble| failed(".pinfold/agents", trouble))?;
        let mut what = Vec::new();
        for file in files {
            let within = file.within.as_deref().unwrap_or(&file.path);
            let found =
                read_within(ambient, within, &file.path).map_err(|trouble| failed(&file.shown, trouble))?;
            let Some(found) = found else { continue };
            let definition = Definition::parse(&found.bytes, file.layer, &file.shown)?;
            what.extend(definition.widens().into_iter().map(|what| format!("{}: {what}", file.shown)));
            self.seen.push((file, digest(&found.bytes)));
        }
        Ok(what)
    }
}

/// A file of the project that another program reads, and whether the person trusts it with the content it has. `None`
/// where nothing stands there.
///
/// # Errors
/// When it cannot be read, or the record of trust cannot: it is not trusted then.
pub fn look_at(
    ambient: &Ambient,
    locations: &Locations,
    name: &str,
) -> Result<Option<(Vec<u8>, bool)>, FileTrouble> {
    let Some(file) = project_file(locations, name) else { return Ok(None) };
    let within = file.within.as_deref().unwrap_or(&file.path);
    let Some(content) = read_within(ambient, within, &file.path)? else { return Ok(None) };
    let is_trusted = Trust::load(ambient, locations).is_ok_and(|trust| {
        canonical(locations).is_ok_and(|it| trust.covers(Path::new(&it), &file, &content.bytes))
    });
    Ok(Some((content.bytes, is_trusted)))
}

fn project_file(locations: &Locations, name: &str) -> Option<SettingsFile> {
    let project = locations.project.as_deref()?;
    Some(SettingsFile {
        layer: Layer::Project,
        path: project.join(name),
        within: Some(project.to_owned()),
        shown: name.into(),
    })
}

/// The canonical folder of the project, by which it is known.
fn canonical(locations: &Locations) -> Result<String, FileTrouble> {
    let project =
        locations.project.as_deref().ok_or_else(|| trouble("there is no project", "name its folder"))?;
    let canonical: PathBuf =
        project.canonicalize().map_err(|e| trouble(e.to_string(), "name an existing folder"))?;
    let name =
        canonical.to_str().ok_or_else(|| trouble("the name of the folder is not UTF-8", "rename it"))?;
    Ok(name.to_owned())
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

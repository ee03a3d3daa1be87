//! Locations of settings files. Nothing is looked for in the environment: the caller that starts a session names them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_policy::{Guards, Layer};

use super::user_files::really;

/// The folder of a project that its settings stand in.
const FOLDER: &str = ".pinfold";

/// The file of an organisation.
#[cfg(target_os = "macos")]
const MANAGED: &str = "/Library/Application Support/pinfold/managed-settings.json";
/// The file of an organisation.
#[cfg(not(target_os = "macos"))]
const MANAGED: &str = "/etc/pinfold/managed-settings.json";

/// The locations of a session's settings. A field that is `None` is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    /// The file of an organisation.
    pub managed: Option<PathBuf>,
    /// The user that has to own that file and its folder, by number: the superuser, but in tests.
    pub managed_owner: u32,
    /// The folder of the project, absolute.
    pub project: Option<PathBuf>,
    /// The person's own file.
    pub user: Option<PathBuf>,
    /// The record of which projects the person trusts; without one no project is trusted.
    pub trust: Option<PathBuf>,
    /// The person's home by the environment, to show paths below it as `~/…`.
    pub home: Option<PathBuf>,
    /// The person said that the project may hold that home (`--folder ~ --allow-home`).
    pub allow_home: bool,
}

/// A settings file, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// The layer that it belongs to.
    pub layer: Layer,
    /// The path.
    pub path: PathBuf,
    /// The folder that it must not lead out of.
    pub within: Option<PathBuf>,
    /// Its name for messages: `.pinfold/settings.json`, `~/.config/pinfold/settings.json`.
    pub shown: Arc<str>,
}

impl Locations {
    /// The usual places: for a project, and a person whose configuration and state are kept in these folders
    /// (`~/.config/pinfold` and `~/.local/state/pinfold`, where nothing else is said).
    #[must_use]
    pub fn usual(project: &Path, home: Option<PathBuf>, config: Option<&Path>, state: Option<&Path>) -> Self {
        Self {
            managed: Some(PathBuf::from(MANAGED)),
            managed_owner: 0,
            project: Some(project.to_owned()),
            user: config.map(|config| config.join("settings.json")),
            trust: state.map(|state| state.join("trust.json")),
            home,
            allow_home: false,
        }
    }

    /// Returns the locations where the person said whether the project may hold the home that the environment names.
    #[must_use]
    pub fn with_allowed_home(self, allow_home: bool) -> Self {
        Self { allow_home, ..self }
    }

    /// Adds guards for the files that the user's and managed settings are read from, where they really lie: by a link, or by a
    /// variable that names another folder, that may be anywhere.
    #[must_use]
    pub fn guard(&self, guards: Guards) -> Guards {
        const WHY: &str = "your own settings are read from there: an agent does not write its own limits";
        let own = self.managed.iter().chain(&self.user).chain(&self.trust).map(|file| really(file));
        own.fold(guards, |guards, file| match guards.write(&file, self.home.as_deref(), false) {
            // The usual place is guarded by its name.
            Some(_) => guards,
            None => guards.with_policy_file(&file, WHY),
        })
    }

    /// The files, the strongest first.
    pub fn files(&self) -> impl Iterator<Item = SettingsFile> + '_ {
        [Layer::Managed, Layer::Local, Layer::Project, Layer::User]
            .into_iter()
            .filter_map(|layer| self.file(layer))
    }

    /// The file of a layer, if that layer has one.
    #[must_use]
    pub fn file(&self, layer: Layer) -> Option<SettingsFile> {
        match layer {
            Layer::Managed => self.managed.as_deref().map(|path| self.plain(layer, path)),
            Layer::User => self.user.as_deref().map(|path| self.plain(layer, path)),
            Layer::Local => self.project_file(layer, "settings.local.json"),
            Layer::Project => self.project_file(layer, "settings.json"),
            Layer::CommandLine | Layer::Agent | Layer::Call | Layer::Session | Layer::BuiltIn => None,
        }
    }

    fn plain(&self, layer: Layer, path: &Path) -> SettingsFile {
        let below_home = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        let shown = below_home.map_or_else(|| path.to_owned(), |below| Path::new("~").join(below));
        SettingsFile { layer, path: path.to_owned(), within: None, shown: shown.display().to_string().into() }
    }

    fn project_file(&self, layer: Layer, name: &str) -> Option<SettingsFile> {
        let project = self.project.as_deref()?;
        let shown = format!("{FOLDER}/{name}");
        let path = project.join(&shown);
        Some(SettingsFile { layer, path, within: Some(project.to_owned()), shown: shown.into() })
    }
}

/// The project that a folder belongs to: the nearest folder, from `start` up, that holds `.pinfold` or `.git`;
/// `start` itself where there is none. Neither home nor `/` is a project because of what lies in it: what every
/// program keeps there would be taken for the person's word.
#[must_use]
pub fn project_root(start: &Path, home: Option<&Path>) -> PathBuf {
    let holds =
        |folder: &&Path| [FOLDER, ".git"].iter().any(|name| folder.join(name).symlink_metadata().is_ok());
    let below_home = |folder: &&Path| Some(*folder) != home && folder.parent().is_some();
    start.ancestors().take_while(below_home).find(holds).unwrap_or(start).to_owned()
}

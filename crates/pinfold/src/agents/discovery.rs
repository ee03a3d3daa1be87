//! Definitions of agents in their folders, and which of them are trusted.
//!
//! A folder of definitions holds `NAME.md` and `NAME/AGENT.md`. Of several with one name the person's own counts: those
//! that a flag names, then those beside their settings, then those of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_paths::Ambient;
use pinfold_policy::{BadSetting, BadSettings, Layer, Source};

use super::definition::Definition;
use super::files::{BELOW_PROJECT, names, project_file};
use crate::settings::file::{FileTrouble, read, read_within};
use crate::settings::{Locations, SettingsFile, Trust};

/// The folder of definitions, beside settings.
const FOLDER: &str = "agents";

/// A file that should hold a definition.
#[derive(Debug, Clone)]
pub struct AgentFile {
    /// The file, for messages.
    pub shown: Arc<str>,
    /// The layer that it belongs to.
    pub layer: Layer,
    /// The definition, or the error in it.
    pub said: Result<Definition, BadSettings>,
    /// Another one of the same name counts instead.
    pub hidden: bool,
}

/// All definitions that can be found.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// The files, those that count first.
    pub files: Vec<AgentFile>,
}

impl Definitions {
    /// Reads the definitions of the folders that the person `added` for this run, of the person and of the project.
    pub fn find(ambient: &Ambient, locations: &Locations, added: &[PathBuf]) -> Self {
        let mut finding = DefinitionFinding { ambient, locations, trust: None, files: Vec::new() };
        for folder in added {
            finding.folder(Layer::CommandLine, folder, None, &folder.display().to_string());
        }
        if let Some(config) = locations.user.as_deref().and_then(Path::parent) {
            let folder = config.join(FOLDER);
            let shown = match locations.home.as_deref().and_then(|home| folder.strip_prefix(home).ok()) {
                Some(below) => format!("~/{}", below.display()),
                None => folder.display().to_string(),
            };
            finding.folder(Layer::User, &folder, None, &shown);
        }
        if let Some(project) = &locations.project {
            finding.folder(Layer::Project, &project.join(BELOW_PROJECT), Some(project), BELOW_PROJECT);
        }
        let mut names = std::collections::BTreeSet::new();
        for file in &mut finding.files {
            if let Ok(definition) = &file.said {
                file.hidden = !names.insert(definition.name.clone());
            }
        }
        Self { files: finding.files }
    }

    /// The definitions that count, by name.
    pub fn all(&self) -> impl Iterator<Item = &Definition> {
        self.files.iter().filter(|file| !file.hidden).filter_map(|file| file.said.as_ref().ok())
    }

    /// The one of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.all().find(|definition| definition.name == name)
    }

    /// The errors, file by file.
    pub fn bad(&self) -> impl Iterator<Item = &BadSettings> {
        self.files.iter().filter_map(|file| file.said.as_ref().err())
    }
}

struct DefinitionFinding<'a> {
    ambient: &'a Ambient,
    locations: &'a Locations,
    /// Read when it is first needed.
    trust: Option<Trust>,
    files: Vec<AgentFile>,
}

impl DefinitionFinding<'_> {
    fn folder(&mut self, layer: Layer, folder: &Path, project: Option<&PathBuf>, shown: &str) {
        let names = match names(folder) {
            Ok(names) => names,
            Err(trouble) => return self.push(layer, shown.into(), Err(bad(layer, &shown.into(), trouble))),
        };
        for name in names {
            let shown: Arc<str> = format!("{shown}/{name}").into();
            let path = folder.join(&name);
            let said = match project {
                Some(project) => self.read_project_file(project, &project_file(project, &name)),
                None => read(self.ambient, &path).map_err(|trouble| bad(layer, &shown, trouble)).and_then(
                    |found| {
                        let bytes = found.map(|found| found.bytes).unwrap_or_default();
                        Ok(Definition { trusted: true, ..Definition::parse(&bytes, layer, &shown)? })
                    },
                ),
            };
            self.push(layer, shown, said);
        }
    }

    fn read_project_file(&mut self, project: &Path, file: &SettingsFile) -> Result<Definition, BadSettings> {
        let found = read_within(self.ambient, project, &file.path);
        let found = found.map_err(|trouble| bad(file.layer, &file.shown, trouble))?;
        let bytes = found.map(|found| found.bytes).unwrap_or_default();
        let definition = Definition::parse(&bytes, file.layer, &file.shown)?;
        let trusted = project.canonicalize().is_ok_and(|project| self.trust().covers(&project, file, &bytes));
        Ok(Definition { trusted, ..definition })
    }

    /// A record of trust that cannot be read trusts nothing.
    fn trust(&mut self) -> &Trust {
        let Self { ambient, locations, trust, .. } = self;
        trust.get_or_insert_with(|| Trust::load(ambient, locations).unwrap_or_default())
    }

    fn push(&mut self, layer: Layer, shown: Arc<str>, said: Result<Definition, BadSettings>) {
        self.files.push(AgentFile { shown, layer, said, hidden: false });
    }
}

fn bad(layer: Layer, shown: &Arc<str>, trouble: FileTrouble) -> BadSettings {
    let source = Source { layer, file: Some(Arc::clone(shown)), at: None };
    let bad = BadSetting { source, span: 0..0, what: trouble.what, mend: trouble.mend.to_owned() };
    BadSettings { text: "".into(), bad: vec![bad] }
}

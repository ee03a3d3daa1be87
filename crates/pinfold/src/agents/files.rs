//! Files that should hold definitions of agents.

use std::path::Path;

use pinfold_policy::Layer;

use crate::settings::file::FileTrouble;
use crate::settings::{Locations, SettingsFile};

/// The name of a definition that has a folder of its own.
const OWN_FOLDER: &str = "AGENT.md";

/// The most definitions in one folder: more than are ever written, and few enough to be read at each start.
const MAX_DEFINITIONS: usize = 256;

/// The folder of a project's definitions.
pub(super) const BELOW_PROJECT: &str = ".pinfold/agents";

/// The files of a project that should hold definitions, as they are trusted: by name and content.
pub(crate) fn project_files(locations: &Locations) -> Result<Vec<SettingsFile>, FileTrouble> {
    let Some(project) = locations.project.as_deref() else { return Ok(Vec::new()) };
    let names = names(&project.join(BELOW_PROJECT))?;
    Ok(names.into_iter().map(|name| project_file(project, &name)).collect())
}

pub(super) fn project_file(project: &Path, name: &str) -> SettingsFile {
    let shown = format!("{BELOW_PROJECT}/{name}");
    let (path, within) = (project.join(&shown), Some(project.to_owned()));
    SettingsFile { layer: Layer::Project, path, within, shown: shown.into() }
}

/// The names of the files in a folder that should hold definitions, in order. A folder that is not there has none.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, FileTrouble> {
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(FileTrouble { what: format!("it cannot be listed: {e}"), mend: MEND }),
    };
    let mut names = Vec::new();
    for entry in entries.take(MAX_DEFINITIONS + 1) {
        let entry = entry.map_err(|e| FileTrouble { what: e.to_string(), mend: MEND })?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let own = format!("{name}/{OWN_FOLDER}");
        if Path::new(&name).extension().is_some_and(|ending| ending == "md") {
            names.push(name);
        } else if folder.join(&own).symlink_metadata().is_ok() {
            names.push(own);
        }
    }
    if names.len() > MAX_DEFINITIONS {
        return Err(FileTrouble {
            what: format!("it holds more than {MAX_DEFINITIONS} definitions"),
            mend: MEND,
        });
    }
    names.sort();
    Ok(names)
}

const MEND: &str = "make it a folder of definitions, NAME.md each";

//! Files in which agents keep their rules, and ours that each corresponds to.

use std::fs;
use std::path::{Path, PathBuf};

use pinfold::Ambient;
use pinfold::policy::Layer;
use pinfold::settings::{Locations, is_persons_own};

use crate::env;
use crate::exit::Failure;
use crate::setup::file;

/// A file of an agent that is there.
pub(super) struct ForeignFile {
    pub(super) layer: Layer,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Places of the files of one agent.
struct AgentFiles {
    agent: &'static str,
    /// The variable that moves its folder, and where that is below home otherwise.
    own: (&'static str, &'static str),
    /// In its folder.
    user: &'static [&'static str],
    /// In a project.
    project: &'static [&'static str],
    /// In a project, and the person's own.
    local: &'static [&'static str],
}

const PLACES: [AgentFiles; 4] = [
    AgentFiles {
        agent: "claude",
        own: ("CLAUDE_CONFIG_DIR", ".claude"),
        user: &["settings.json"],
        project: &[".claude/settings.json"],
        local: &[".claude/settings.local.json"],
    },
    AgentFiles {
        agent: "codex",
        own: ("CODEX_HOME", ".codex"),
        user: &["config.toml", "rules/*.rules"],
        project: &[".codex/config.toml", ".codex/rules/*.rules"],
        local: &[],
    },
    AgentFiles {
        agent: "gemini",
        own: ("", ".gemini"),
        user: &["settings.json", "policies/*.toml"],
        project: &[".gemini/settings.json"],
        local: &[],
    },
    AgentFiles {
        agent: "opencode",
        own: ("", ".config/opencode"),
        user: &["config.json", "opencode.json", "opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
        local: &[],
    },
];

/// The folder of an agent for one layer: its own, or the one that its files of a project are named from.
fn folder(places: &AgentFiles, locations: &Locations, layer: Layer) -> Option<PathBuf> {
    let (variable, usual) = places.own;
    match layer {
        Layer::User => env::absolute(variable).or_else(|| Some(env::home()?.join(usual))),
        _ => locations.project.clone(),
    }
}

/// Returns the path of a file of an agent that `export` writes.
pub(crate) fn target(agent: &str, locations: &Locations, layer: Layer, name: &str) -> Option<PathBuf> {
    let places = PLACES.iter().find(|places| places.agent == agent)?;
    let folder = folder(places, locations, layer)?;
    match layer {
        Layer::User => Some(folder.join(name)),
        _ => places.local.iter().find(|local| local.ends_with(name)).map(|local| folder.join(local)),
    }
}

/// The files that are there, weakest first. `only`: those of one layer.
pub(super) fn find(
    agent: &str,
    locations: &Locations,
    only: Option<Layer>,
) -> Result<Vec<ForeignFile>, Failure> {
    let Some(places) = PLACES.iter().find(|places| places.agent == agent) else { return Ok(Vec::new()) };
    let groups = [(Layer::User, places.user), (Layer::Project, places.project), (Layer::Local, places.local)];
    let mut found = Vec::new();
    for (layer, names) in groups {
        let Some(folder) = folder(places, locations, layer).filter(|_| only.is_none_or(|only| only == layer))
        else {
            continue;
        };
        for path in names.iter().flat_map(|name| all_of(&folder, name)) {
            // A project that is home has the person's own file where another has its.
            if found.iter().any(|theirs: &ForeignFile| theirs.path == path) {
                continue;
            }
            if let Some(text) = file::read(&path)? {
                let layer = believed(layer, locations, &path, &text);
                found.push(ForeignFile { layer, path, text });
            }
        }
    }
    Ok(found)
}

/// The layer that a file is taken into: what may have come with the project is the project's, whatever its name says and
/// whichever variable leads to it.
fn believed(layer: Layer, locations: &Locations, path: &Path, text: &str) -> Layer {
    let is_own = match (layer, locations.project.as_deref()) {
        (Layer::Local, Some(project)) => is_persons_own(&Ambient::claim(), project, path, text.as_bytes()),
        (Layer::User, _) => !locations.is_in_project(path),
        _ => true,
    };
    if is_own { layer } else { Layer::Project }
}

/// A name, or all that end as it does behind its `*`; files that `export` wrote are ours already.
fn all_of(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((below, ending)) = name.split_once('*') else { return vec![folder.join(name)] };
    let entries = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
    let meant = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(ending) && name != format!("pinfold{ending}")
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(meant).collect();
    paths.sort();
    paths
}

//! Where agents keep their rules, and which of our files each corresponds to.

use std::path::{Path, PathBuf};

use pinfold::policy::Layer;
use pinfold::settings::Locations;

use crate::exit::Failure;
use crate::setup::file;
use crate::surroundings;

/// A file of an agent that is there.
pub(super) struct Theirs {
    pub(super) layer: Layer,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Where the files of one agent stand.
struct Places {
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

const PLACES: [Places; 4] = [
    Places {
        agent: "claude",
        own: ("CLAUDE_CONFIG_DIR", ".claude"),
        user: &["settings.json"],
        project: &[".claude/settings.json"],
        local: &[".claude/settings.local.json"],
    },
    Places {
        agent: "codex",
        own: ("CODEX_HOME", ".codex"),
        user: &["config.toml", "rules/default.rules"],
        project: &[".codex/config.toml", ".codex/rules/default.rules"],
        local: &[],
    },
    Places {
        agent: "gemini",
        own: ("", ".gemini"),
        user: &["settings.json"],
        project: &[".gemini/settings.json"],
        local: &[],
    },
    Places {
        agent: "opencode",
        own: ("", ".config/opencode"),
        user: &["config.json", "opencode.json", "opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
        local: &[],
    },
];

/// The files that are there, weakest first. `only`: those of one layer.
pub(super) fn of(agent: &str, locations: &Locations, only: Option<Layer>) -> Result<Vec<Theirs>, Failure> {
    let Some(places) = PLACES.iter().find(|places| places.agent == agent) else { return Ok(Vec::new()) };
    let (variable, usual) = places.own;
    let own = surroundings::absolute(variable).or_else(|| Some(surroundings::home()?.join(usual)));
    let groups: [(Layer, Option<&Path>, &[&str]); 3] = [
        (Layer::User, own.as_deref(), places.user),
        (Layer::Project, locations.project.as_deref(), places.project),
        (Layer::Local, locations.project.as_deref(), places.local),
    ];
    let mut found = Vec::new();
    for (layer, folder, names) in groups {
        let Some(folder) = folder.filter(|_| only.is_none_or(|only| only == layer)) else { continue };
        for name in names {
            let path = folder.join(name);
            // A project that is home has the person's own file where another has its.
            if found.iter().any(|theirs: &Theirs| theirs.path == path) {
                continue;
            }
            if let Some(text) = file::read(&path)? {
                found.push(Theirs { layer, path, text });
            }
        }
    }
    Ok(found)
}

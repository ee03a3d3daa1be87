//! The person's own configuration of git, which counts in every repository: `/etc/gitconfig`, `~/.config/git/config` and
//! `~/.gitconfig`, with what they include. What it names by a relative path lies in each repository.
//!
//! Where `GIT_CONFIG_GLOBAL` or `XDG_CONFIG_HOME` lead git elsewhere is not known here.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::config::{Config, ConfigEntry};

/// Most included files.
const MAX_FILES: usize = 64;

/// Files of the person's configuration, each with its directory.
#[derive(Debug, Default)]
pub(crate) struct Person(Vec<(PathBuf, Config)>);

impl Person {
    /// Reads what is there. Conditions of includes are taken for met: what is held too much is not written.
    pub(crate) fn read(home: Option<&Path>) -> Self {
        let own =
            home.into_iter().flat_map(|home| [home.join(".config/git/config"), home.join(".gitconfig")]);
        let mut files: VecDeque<PathBuf> = std::iter::once("/etc/gitconfig".into()).chain(own).collect();
        let mut read = Vec::new();
        while let Some(file) = files.pop_front() {
            let directory = file.parent().unwrap_or(&file).to_owned();
            let Ok(config) = Config::read_roughly(&file) else { continue };
            if read.len() == MAX_FILES {
                break;
            }
            let included = config.entries().iter().filter_map(included);
            files.extend(included.map(|path| expanded(&directory, path, home)));
            read.push((directory, config));
        }
        Self(read)
    }

    /// Returns its entries, each with the directory to which its paths are relative.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &ConfigEntry)> {
        self.0.iter().flat_map(|(at, config)| config.entries().iter().map(move |entry| (at.as_path(), entry)))
    }
}

fn included(entry: &ConfigEntry) -> Option<&str> {
    let includes = matches!(entry.section.as_str(), "include" | "includeif") && entry.key == "path";
    entry.value.as_deref().filter(|_| includes)
}

/// A path as git expands it: `~/` is the person's home.
pub(crate) fn expanded(base: &Path, text: &str, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => base.join(text),
    }
}

//! The person's own configuration of git, which counts in every repository: `/etc/gitconfig`, `~/.config/git/config` and
//! `~/.gitconfig`, with what they include. What it names by a relative path lies in each repository.
//!
//! Where `GIT_CONFIG_GLOBAL` or `XDG_CONFIG_HOME` lead git elsewhere is not known here.

use std::path::{Path, PathBuf};

use super::config::ConfigEntry;
use super::config_files::{ConfigFiles, ConfigGap};

/// Files of the person's configuration.
#[derive(Debug, Default)]
pub(crate) struct Person(ConfigFiles);

impl Person {
    /// Reads what is there.
    pub(crate) fn read(home: Option<&Path>) -> Self {
        let own =
            home.into_iter().flat_map(|home| [home.join(".config/git/config"), home.join(".gitconfig")]);
        Self(ConfigFiles::read(std::iter::once(PathBuf::from("/etc/gitconfig")).chain(own), home))
    }

    /// Returns why entries may be missing, where git would read them all the same.
    pub(crate) fn gap(&self) -> Option<ConfigGap> {
        self.0.gap.filter(|gap| !matches!(gap, ConfigGap::Unreadable { .. }))
    }

    /// Returns its entries, each with the directory to which its paths are relative.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &ConfigEntry)> {
        self.0.entries()
    }
}

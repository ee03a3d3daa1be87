//! Names at which a killed run may have left a placeholder: one that is not mediated makes some, and is not there to take them away.
//!
//! Each is looked at, and nothing is searched for: what was left in a repository below the folder goes with the next run that makes
//! placeholders too.

use std::path::{Path, PathBuf};

use pinfold_policy::{Guards, KernelProtection};
use pinfold_sandbox::{StandIn, remove_left_behind};

/// Names of placeholders in the folder of a mediated run.
#[derive(Debug, Default)]
pub(crate) struct LeftBehind {
    absent: Vec<PathBuf>,
    stand_ins: Vec<StandIn>,
}

impl LeftBehind {
    /// Names that a run which is not mediated would hold.
    pub(crate) fn new(absent: Vec<PathBuf>, stand_ins: Vec<StandIn>) -> Self {
        Self { absent, stand_ins }
    }

    /// Adds the names at the top of folders.
    pub(crate) fn add_names(&mut self, guards: &Guards, folders: &[PathBuf]) {
        let protected = guards
            .write_list()
            .iter()
            .filter(|guard| guard.kernel_protection() == KernelProtection::EvenMissing);
        let names: Vec<&str> = protected.filter_map(|guard| guard.pattern().strip_prefix("**/")).collect();
        self.absent.extend(folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))));
    }

    /// Adds the name in git directories that only a run which is not mediated holds as a whole.
    pub(crate) fn add_git_dirs(&mut self, git_dirs: &[PathBuf]) {
        self.absent.extend(git_dirs.iter().map(|git_dir| git_dir.join("info")));
    }

    /// Adds further places in folders, and those on the way there: of what is missing the first directory is held.
    pub(crate) fn add_places(&mut self, places: impl Iterator<Item = PathBuf>, folders: &[PathBuf]) {
        let is_inside = |at: &&Path| folders.iter().any(|folder| *at != folder && at.starts_with(folder));
        for place in places {
            self.absent.extend(place.ancestors().take_while(is_inside).map(Path::to_owned));
        }
    }

    /// Takes away what was left there.
    pub(crate) fn clear(&self) {
        remove_left_behind(&self.absent, &self.stand_ins);
    }
}

//! The look at the folder after a run: harmless git configuration comes back, and changes that matter later are reported.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::boundary::Boundary;
use crate::git::operations::Operations;
use crate::git::{layout, protect};
use crate::lookup::Lookup;
use crate::mediation::{Changes, is_among_dependencies};
use crate::report::{AutorunChanges, RunReport};
use crate::scan::Coverage;
use crate::snapshot::Snapshot;

impl Boundary {
    /// Removes worktrees of repositories that were held all the time: programs that git runs there were never open to the run.
    fn strange(&self, mut repositories: Vec<PathBuf>) -> Vec<PathBuf> {
        repositories.retain(|found| !layout::is_plain_worktree(found, &self.findings.git.git_dirs));
        repositories
    }

    /// Brings harmless git configuration back and says what is left to look at. To be called once, when no process of the
    /// run lives any more. `changed` is what the [`DenialObserver`](crate::DenialObserver) of a mediated run saw; of another one the folder
    /// is looked at once more.
    pub fn settle(&self, changed: Option<&AutorunChanges>) -> RunReport {
        let mut report = match changed {
            Some(AutorunChanges { changes, locks }) => {
                locks.remove_left();
                self.noted(changes)
            }
            None => self.compared(),
        };
        report.git_config =
            self.findings.git.configs.iter().filter_map(protect::PrivateConfig::settle).collect();
        report.environment_removed.clone_from(&self.removed);
        report.notes.splice(0..0, self.findings.notes.iter().cloned());
        report
    }

    /// Reports the changes that were noted as they happened.
    fn noted(&self, changes: &Changes) -> RunReport {
        let mut seen = Snapshot::default();
        let mut notes = Vec::new();
        let mut files: BTreeSet<PathBuf> = changes.changed().cloned().collect();
        for directory in changes.directories().filter(|directory| Lookup::find(directory).may_be_directory())
        {
            if Snapshot::take(directory, &mut seen, &self.guards, self.home()) != Coverage::Everything {
                let place = directory.display();
                notes.push(format!("`{place}` was moved, and is listed as it was not searched everywhere"));
                files.insert(directory.clone());
            }
        }
        for link in changes.links().filter(|link| self.leads_out_of_dependencies(link)) {
            if Snapshot::take(link, &mut seen, &self.guards, self.home()) != Coverage::Everything {
                let place = link.display();
                notes.push(format!(
                    "`{place}` is a new link, and is listed as what it leads to was not searched everywhere"
                ));
                files.insert(link.clone());
            }
        }
        files.extend(seen.files().cloned());
        let is_repository = |at: &&PathBuf| layout::may_be_repository(at) && !layout::is_part_of_worktree(at);
        let mut repositories: BTreeSet<PathBuf> =
            changes.repositories().filter(is_repository).cloned().collect();
        repositories.extend(seen.repositories().cloned());
        // What lies in one of them is told of with it.
        files.retain(|file| !repositories.iter().any(|at| file != at && file.starts_with(at)));
        let more = changes.more();
        if more > 0 {
            notes.push(format!("{more} further changes of files that run later are not listed"));
        }
        RunReport {
            new_repositories: self.strange(repositories.into_iter().collect()),
            changed_autorun: files.into_iter().collect(),
            unfinished: changes.unfinished().cloned().collect(),
            notes,
            ..RunReport::default()
        }
    }

    /// Returns whether a link leads to a directory among dependencies or products, in which no change is noted, from elsewhere.
    fn leads_out_of_dependencies(&self, link: &Path) -> bool {
        let leads_among = || {
            let end = fs::canonicalize(link).ok().filter(|end| end.is_dir())?;
            Some(is_among_dependencies(self, &end.join("name")))
        };
        !is_among_dependencies(self, link) && leads_among().unwrap_or_default()
    }

    /// Reports the differences from the snapshot.
    fn compared(&self) -> RunReport {
        let mut after = Snapshot::default();
        if !matches!(self.profile.writes, pinfold_sandbox::Writes::Nowhere) {
            for folder in self.granted.iter().filter(|f| f.is_dir()) {
                Snapshot::take(folder, &mut after, &self.guards, self.home.as_deref());
            }
        }
        self.findings.missing.iter().for_each(|path| after.file(path));
        let before = &self.findings.before;
        let operations = Operations::look(&self.findings.git.git_dirs);
        RunReport {
            new_repositories: self.strange(before.new_repositories(&after)),
            changed_autorun: before.changed_files(&after),
            unfinished: self.operations.changed(&operations),
            ..RunReport::default()
        }
    }
}

//! The look at the folder after a run: harmless git configuration comes back, and changes that matter later are reported.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::boundary::Boundary;
use crate::git::operations::Operations;
use crate::git::{layout, protect};
use crate::guarded_links::{BuildLink, LinkedBuildFiles, runs_later};
use crate::lookup::Lookup;
use crate::mediation::{Changes, is_among_dependencies};
use crate::report::{AutorunChanges, RunReport, SHOWN};
use crate::scan::{Bounds, Coverage, Descend, scan};
use crate::snapshot::Snapshot;
use crate::still_written::still_written;

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
        let (mut report, linked) = match changed {
            Some(AutorunChanges { changes, linked_build_files, locks, turns_error }) => {
                locks.remove_left();
                let mut report = self.noted(changes, linked_build_files);
                let gap = turns_error.as_ref().filter(|_| !self.is_read_only());
                report.notes.extend(gap.map(ToString::to_string));
                (report, linked_build_files)
            }
            None => (self.compared(), &self.findings.linked_build_files),
        };
        report.notes.extend(self.notes_about(&report.changed_autorun, linked));
        report.git_config =
            self.findings.git.configs.iter().filter_map(protect::PrivateConfig::settle).collect();
        report.environment_removed.clone_from(&self.removed);
        report.notes.splice(0..0, self.findings.notes.iter().cloned());
        report
    }

    /// Says of changed files by which older links they have other names, and which of them another program still writes.
    fn notes_about(&self, changed: &[PathBuf], linked: &LinkedBuildFiles) -> Vec<String> {
        let links = changed.iter().filter_map(|file| linked.find(self, file)).map(BuildLink::describe);
        let links: BTreeSet<String> = links.collect();
        let incomplete = linked.is_incomplete.then(|| {
            "there are more links to files that run later than were followed: a change through one of the others is not listed".to_owned()
        });
        let written = still_written(changed).into_iter().map(|file| {
            format!(
                "another program still has `{}` open for writing: what it will hold is not known",
                file.display()
            )
        });
        let written: Vec<String> = written.collect();
        [(links.into_iter().collect(), "such links"), (written, "files are open for writing")]
            .into_iter()
            .flat_map(|(notes, what)| bounded(notes, what))
            .chain(incomplete)
            .collect()
    }

    fn runs_later(&self, file: &Path, linked: &LinkedBuildFiles) -> bool {
        runs_later(self, file) || linked.find(self, file).is_some()
    }

    /// Reports the changes that were noted as they happened.
    fn noted(&self, changes: &Changes, linked: &LinkedBuildFiles) -> RunReport {
        let mut seen = Snapshot::default();
        let mut notes = Vec::new();
        // What went elsewhere with its directory may matter there no more.
        let matters = |file: &&PathBuf| self.guard(file).is_some() || self.runs_later(file, linked);
        let mut files: BTreeSet<PathBuf> = changes.changed().filter(matters).cloned().collect();
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
        files.extend(seen.files().filter(|file| !changes.is_unchanged(file)).cloned());
        // What an older link leads to may stand behind a new one.
        let new_links = changes.links().filter(|link| link.is_symlink());
        let behind = new_links.flat_map(|link| linked.beneath(link).filter(move |place| *place != link));
        files.extend(behind.filter(|place| place.is_dir()).map(Path::to_owned));
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

    /// Takes what older links lead to into the comparison, where changes are found by one.
    pub(crate) fn compare_linked_build_files(&mut self) {
        if self.profile.mediated.is_some() {
            return;
        }
        let linked = LinkedBuildFiles::resolve(self, &self.findings.links);
        let mut before = std::mem::take(&mut self.findings.before);
        self.take_linked(&linked, &mut before);
        self.findings.before = before;
        self.findings.linked_build_files = linked;
    }

    /// Looks at what older links lead to.
    fn take_linked(&self, linked: &LinkedBuildFiles, into: &mut Snapshot) {
        for place in linked.places() {
            if !place.is_dir() {
                into.file(place);
                continue;
            }
            scan(place, Bounds::START, |entry| {
                if !entry.kind.is_dir() && linked.find(self, entry.path).is_some() {
                    into.file(entry.path);
                }
                Descend::Yes
            });
        }
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
        self.take_linked(&self.findings.linked_build_files, &mut after);
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

/// Cuts a list of notes to those that are shown one by one, and counts the rest in another one.
fn bounded(mut notes: Vec<String>, what: &str) -> Vec<String> {
    let more = notes.len().saturating_sub(SHOWN);
    notes.truncate(SHOWN);
    notes.extend((more > 0).then(|| format!("{more} more {what}")));
    notes
}

//! Places that are held inside a granted folder: repositories, autorun files, guarded names at any depth.
//!
//! Three classes, by [`KernelProtection`]:
//! - *even missing*: `.pinfold`, `.mcp.json`, `.vscode`, … at the top of the folder and of every repository found
//!   in it. Read-only; a missing one cannot be made.
//! - *when present*: shell start-up files, `.env`, credentials, … wherever the bounded look finds them.
//!   Read-only; one that is made later by a shell is reported at the end. The file tools ask.
//! - *asked*: build configuration. Writable for a shell, reported at the end. The file tools ask.
//!
//! A repository that is made during the run is writable, as `git init` and `git clone` need, and reported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pinfold_policy::{Guard, GuardKind, Guards, KernelProtection};

use crate::access_list::AccessList;
use crate::git::layout::{self, GitLayout};
use crate::git::protect::{self, hold};
use crate::guarded_links::{Linked, LinkedBuildFiles, MetLink, SearchGap};
use crate::left_behind::LeftBehind;
use crate::lookup::Lookup;
use crate::private::Private;
use crate::scan::{Bounds, Coverage, Descend, ScannedEntry, scan};
use crate::snapshot::{Snapshot, SnapshotKind};

/// Repositories inside one folder for which missing autorun names are held too; each name costs a mount.
const MAX_PROJECTS: usize = 16;

/// Circumstances under which a folder is held.
pub(crate) struct FolderSearch<'a> {
    pub(crate) guards: &'a Guards,
    pub(crate) home: Option<&'a Path>,
    pub(crate) folds_case: bool,
    /// Directory for copies that stand over a held file, if the kernel can do that.
    pub(crate) private: Option<&'a Private>,
    /// Everything the person granted.
    pub(crate) granted: &'a [PathBuf],
    /// Changes in the folder are judged when they are tried.
    pub(crate) mediated: bool,
    pub(crate) bounds: Bounds,
}

/// Findings of the look at folders.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) git: protect::ProtectedGitDir,
    pub(crate) before: Snapshot,
    /// Guarded places outside every folder that could be written and are not there: nothing can be mounted there.
    pub(crate) missing: BTreeSet<PathBuf>,
    /// Places that a deny rule hides, or settings do: no option opens them.
    pub(crate) denied: BTreeSet<PathBuf>,
    /// Targets of guarded names.
    pub(crate) linked: Vec<Linked>,
    /// Every link in the folders.
    pub(crate) links: Vec<MetLink>,
    /// Names in the folders that run later and lead elsewhere, where changes are found by comparison.
    pub(crate) linked_build_files: LinkedBuildFiles,
    /// Why the look for them at the start may have missed some.
    pub(crate) link_gap: Option<SearchGap>,
    /// Names at which a killed run may have left placeholders.
    pub(crate) left_behind: LeftBehind,
    pub(crate) notes: Vec<String>,
}

impl FolderSearch<'_> {
    /// Holds one folder.
    pub(crate) fn hold(&self, folder: &Path, places: &mut AccessList, findings: &mut Findings) {
        let mut projects = vec![folder.to_owned()];
        if let Some(bare) = layout::bare(folder) {
            self.repository(&bare, places, findings);
        }
        // Everything below a granted place that is itself guarded would be guarded: there the grant speaks.
        let guarded = self.guards.write(folder, self.home, self.folds_case).is_some();
        let mut bare = Vec::new();
        let mut before = std::mem::take(&mut findings.before);
        let reach = scan(folder, self.bounds, |entry| {
            if before.see(entry) == SnapshotKind::Repository {
                if entry.name == ".git" {
                    projects.extend(entry.path.parent().map(Path::to_owned));
                } else {
                    bare.extend(layout::bare(entry.path));
                }
                return Descend::No;
            }
            let Some(guard) = guard_of(self.guards, entry, self.home, self.folds_case).filter(|_| !guarded)
            else {
                return Descend::Yes;
            };
            before.file(entry.path);
            hold(entry.path, autorun_why(guard.kind()), places);
            Descend::No
        });
        findings.before = before;
        if reach == Coverage::Bounded {
            findings.notes.push(format!(
                "`{}` is large: only its upper part was searched for repositories and guarded files",
                folder.display()
            ));
        }
        for repository in &bare {
            protect::pin_between(folder, &repository.top, places);
            self.repository(repository, places, findings);
        }
        projects.dedup();
        for (count, project) in projects.iter().enumerate() {
            self.project(project, places, findings);
            if project != folder {
                protect::pin_between(folder, &project.join(".git"), places);
            }
            if count < MAX_PROJECTS {
                self.autorun(project, places);
            }
        }
        if projects.len() > MAX_PROJECTS {
            findings
                .notes
                .push(format!("only {MAX_PROJECTS} projects have their missing autorun files held"));
        }
    }

    /// Holds what stands at the top of a folder, where everything below is judged when it is named.
    pub(crate) fn hold_top(&self, folder: &Path, places: &mut AccessList, findings: &mut Findings) {
        if let Some(bare) = layout::bare(folder) {
            self.repository(&bare, places, findings);
        }
        self.project(folder, places, findings);
    }

    fn repository(&self, repository: &layout::Repository, places: &mut AccessList, findings: &mut Findings) {
        let inside = |path: &Path| self.granted.iter().any(|g| path.starts_with(g));
        let Self { private, mediated, .. } = *self;
        let known = protect::ProtectionContext { inside: &inside, private, mediated };
        protect::protect(repository, &known, places, &mut findings.git);
    }

    fn project(&self, top: &Path, places: &mut AccessList, findings: &mut Findings) {
        match layout::detect(top) {
            GitLayout::Nothing => {}
            GitLayout::Repository(repository) => self.repository(&repository, places, findings),
            GitLayout::Odd(dot_git) => hold(&dot_git, "git would follow it", places),
            // What cannot be looked up itself is held by nothing here, and changed by no mediated call.
            GitLayout::Unknown(dot_git) => {
                if !Lookup::find(&dot_git).is_unknown() {
                    hold(&dot_git, "git would follow it", places);
                }
            }
            GitLayout::Unproven { pointer, named } => {
                findings.notes.push(format!(
                    "`{}` names `{}`, which does not name it in turn: git cannot write there",
                    pointer.display(),
                    named.display()
                ));
                hold(&pointer, "git would follow it", places);
            }
        }
    }

    fn autorun(&self, project: &Path, places: &mut AccessList) {
        for guard in
            self.guards.write_list().iter().filter(|g| g.kernel_protection() == KernelProtection::EvenMissing)
        {
            if let Some(name) = guard.pattern().strip_prefix("**/") {
                hold(&project.join(name), autorun_why(guard.kind()), places);
            }
        }
    }
}

/// The guard of an entry that the kernel can hold by itself; what belongs to git is held as a whole.
pub(crate) fn guard_of<'g>(
    guards: &'g Guards,
    entry: &ScannedEntry<'_>,
    home: Option<&Path>,
    folds_case: bool,
) -> Option<&'g Guard> {
    let guard = guards.write(entry.path, home, folds_case)?;
    (guard.kernel_protection() != KernelProtection::Asked && guard.kind() != GuardKind::Git).then_some(guard)
}

/// One clause for each kind; the full sentence stands in the guard's own list.
fn autorun_why(kind: GuardKind) -> &'static str {
    match kind {
        GuardKind::Git => "git runs what stands there, or is told there what to run",
        GuardKind::Policy => "it is pinfold's own policy: an agent does not write its own limits",
        GuardKind::Autorun => "agents, editors and shells act on it by themselves when they open this folder",
        GuardKind::ShellStartup => "a shell or interpreter runs it whenever it starts",
        GuardKind::Secret => "it holds secrets and changes what programs started here do",
        GuardKind::Credential => "it decides who can log in and under which identity the user's tools act",
        GuardKind::Persistence => "the system or the desktop starts what stands there by itself",
        GuardKind::Place => "it is held for this session",
        GuardKind::Build => "the next build or installation runs programs that it names",
    }
}

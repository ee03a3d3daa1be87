//! A boundary while it is compiled: the places, findings and grants that are collected for it.

use std::fs;
use std::path::{Path, PathBuf};

use pinfold_policy::{Guards, KernelProtection};
use pinfold_sandbox::Tier;

use crate::access_list::{AccessList, Hold};
use crate::agents;
use crate::compile_error::resolve;
use crate::credentials;
use crate::folder::{Findings, FolderSearch};
use crate::git::person::Person;
use crate::guarded_links::{self, AllLinks};
use crate::request::{SandboxMode, SandboxRequest};
use crate::scan::Bounds;

const MOVED_LOGIN: &str = "it holds the tokens with which an agent acts for this user";

fn with_real_parent(path: PathBuf) -> PathBuf {
    let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
    parent.zip(path.file_name()).map(|(parent, name)| parent.join(name)).unwrap_or(path)
}

/// A boundary while it is drawn.
pub(crate) struct BoundaryBuilder {
    pub(crate) places: AccessList,
    pub(crate) findings: Findings,
    pub(crate) granted: Vec<PathBuf>,
    /// Guarded places and files that the person opened by name.
    pub(crate) opened: Vec<PathBuf>,
    /// Guarded places that may be read.
    pub(crate) readable: Vec<PathBuf>,
    /// Paths inside are judged when they are named: nothing is searched for.
    pub(crate) mediated: bool,
    /// Limits of looks at folders.
    pub(crate) bounds: Bounds,
}

impl BoundaryBuilder {
    pub(crate) fn granted(&self) -> Vec<PathBuf> {
        self.granted.clone()
    }

    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// A guarded place is opened as it is; any other directory is treated like the folder.
    pub(crate) fn allow_write(&mut self, path: PathBuf, guards: &Guards, home: Option<&Path>) {
        if guards.write(&path, home, false).is_some() || !path.is_dir() {
            self.opened.push(path);
        } else {
            self.granted.push(path);
        }
    }

    pub(crate) fn writable(
        &mut self,
        request: &SandboxRequest,
        guards: &Guards,
        home: Option<&Path>,
        tier: Tier,
    ) {
        let granted = self.granted.clone();
        for folder in &granted {
            self.places.add(folder.clone(), Hold::Writable, "it was granted");
        }
        if request.mode == SandboxMode::DefaultWrite {
            self.hold_everywhere(guards, home);
        }
        let private = (tier == Tier::Full).then_some(&request.private);
        let mediated = self.mediated;
        let search = FolderSearch {
            guards,
            home,
            folds_case: false,
            private,
            granted: &granted,
            mediated,
            bounds: self.bounds,
        };
        for folder in &granted {
            if mediated {
                search.hold_top(folder, &mut self.places, &mut self.findings);
            } else {
                search.hold(folder, &mut self.places, &mut self.findings);
            }
        }
        self.follow_guarded_names(guards, home);
        for path in &self.opened {
            self.places.open(path);
        }
    }

    /// Finds what guarded names lead to and configurations of git name, and protects it where the sandbox does. What the person opened by name is not held.
    fn follow_guarded_names(&mut self, guards: &Guards, home: Option<&Path>) {
        let person = Person::read(home);
        let mut look = guarded_links::LinkSearch::new(guards, home, self.bounds).with_repositories(&person);
        look.search_granted(&self.granted, &self.findings.git.git_dirs);
        let AllLinks { found, links, gap } = look.finish_with_links();
        self.findings.linked.extend(found);
        self.findings.links = links;
        let opened = &self.opened;
        self.findings.linked.retain(|linked| !opened.iter().any(|open| linked.place.starts_with(open)));
        if !self.mediated {
            guarded_links::protect(&self.findings.linked, &self.granted, &mut self.places);
        }
        self.findings.link_gap = gap;
    }

    /// Holds guarded places of the user and of the system where everything else can be written.
    fn hold_everywhere(&mut self, guards: &Guards, home: Option<&Path>) {
        for guard in guards.write_list().iter().filter(|g| g.kernel_protection() != KernelProtection::Asked) {
            let pattern = guard.pattern();
            let below = pattern.strip_prefix("**/").or_else(|| pattern.strip_prefix("~/"));
            let path = match (below, home) {
                (Some(below), Some(home)) => home.join(below),
                (Some(_), None) => continue,
                (None, _) => PathBuf::from(pattern),
            };
            self.findings.linked.extend(guarded_links::on_the_way(&path, guard));
            match fs::canonicalize(&path) {
                Ok(real) => self.places.add(real, Hold::ReadOnly, guard.why().to_owned()),
                Err(_) => drop(self.findings.missing.insert(with_real_parent(path))),
            }
        }
    }

    pub(crate) fn hide(
        &mut self,
        request: &SandboxRequest,
        guards: &Guards,
        home: Option<&Path>,
        cwd: &Path,
        readable: Vec<PathBuf>,
    ) {
        let mut open = readable;
        open.extend(self.granted.iter().cloned());
        let moved = agents::moved_logins(request, home).into_iter().map(|at| (at, MOVED_LOGIN.to_owned()));
        for (cover, why) in credentials::existing(guards, home).into_iter().chain(moved) {
            if self.granted.iter().any(|g| g != &cover && g.starts_with(&cover)) {
                self.findings.notes.push(format!(
                    "`{}` holds the granted folder; only its other parts are hidden",
                    cover.display()
                ));
            }
            // What lies in a granted folder is hidden like elsewhere; only what the person names is not.
            let open: Vec<PathBuf> = open
                .iter()
                .filter(|o| !cover.starts_with(o) || grant_names(o, &self.granted))
                .cloned()
                .collect();
            for part in credentials::coverable_parts(&cover, &open) {
                self.places.add(part, Hold::Hidden, why.clone());
            }
        }
        for path in &request.deny_read {
            match resolve(cwd, path) {
                Ok(real) if self.places.grants_beneath(&real) => {
                    for part in credentials::coverable_parts(&real, &self.granted) {
                        self.places.add(part, Hold::Hidden, "reading it was denied");
                    }
                }
                Ok(real) => self.places.add(real, Hold::Hidden, "reading it was denied"),
                Err(_) => self
                    .findings
                    .notes
                    .push(format!("`{}` is denied for reading but does not exist", path.display())),
            }
        }
    }
}

/// Returns whether `open` was named for reading and is not merely a granted folder.
fn grant_names(open: &Path, granted: &[PathBuf]) -> bool {
    !granted.iter().any(|g| g == open)
}

//! Links that were there before a run, by which files run or are acted on later under another name than their own: `Makefile` that
//! leads to `mk/all`, `.github` to `ci`, `app` to a directory of products. A change of such a file is a change of what has the name of the
//! link, and is reported as one.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use pinfold_policy::{Guard, GuardKind, KernelProtection};

use super::{Chain, MetLink, follow, names_through};
use crate::boundary::Boundary;
use crate::build_files::is_build_file;
use crate::mediation::{is_among_dependencies, is_user_git_config};
use crate::scan::{Bounds, Coverage, Descend, is_skipped, scan};
use crate::within::is_within;

/// Directories that are searched for further links because a link leads to them.
const MAX_ENTERED: usize = 1_000;

/// Limits of the search for further links in one of them: what a project has, but for directories of dependencies in there.
const TARGET_BOUNDS: Bounds = Bounds { directories: 16_384, ..Bounds::WHOLE };

/// A name in the folder, by way of a link, and the place that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildLink {
    /// The name: that of the link, or of something below the link of another one.
    name: PathBuf,
    /// The link itself.
    pub(crate) link: PathBuf,
    /// Target of the link, or a further link on the way there.
    pub(crate) place: PathBuf,
}

impl BuildLink {
    /// Returns a note for the user: where the link leads.
    pub(crate) fn describe(&self) -> String {
        format!("the link `{}` leads to `{}`", self.link.display(), self.place.display())
    }
}

/// The places that such links lead through and to.
#[derive(Debug, Default)]
pub(crate) struct LinkedBuildFiles {
    by_place: BTreeMap<PathBuf, Vec<BuildLink>>,
    /// Not every link was followed.
    pub(crate) is_incomplete: bool,
}

impl LinkedBuildFiles {
    /// Follows the links that were found in the granted folders, as far as one of them matters.
    pub(crate) fn resolve(boundary: &Boundary, links: &[MetLink]) -> Self {
        let mut resolver = Resolver { boundary, all: Self::default(), entered: HashSet::new() };
        let mut ahead: Vec<(PathBuf, PathBuf)> = links
            .iter()
            .filter(|link| resolver.may_matter(link))
            .map(|link| (link.path.clone(), link.path.clone()))
            .collect();
        while let Some((name, link)) = ahead.pop() {
            resolver.follow(&name, &link, &mut ahead);
        }
        resolver.all
    }

    /// Returns the link by which a place has a name that matters, or would have it.
    pub(crate) fn find(&self, boundary: &Boundary, place: &Path) -> Option<&BuildLink> {
        if self.by_place.is_empty() {
            return None;
        }
        let leading = place.ancestors().filter_map(|at| self.by_place.get(at)).flatten();
        leading.into_iter().find(|link| {
            let below = place.strip_prefix(&link.place).unwrap_or(Path::new(""));
            let name = if below.as_os_str().is_empty() { link.name.clone() } else { link.name.join(below) };
            runs_later(boundary, &name)
        })
    }

    /// Places below a directory, or the directory itself, that a link leads through or to.
    pub(crate) fn beneath<'s>(&'s self, directory: &'s Path) -> impl Iterator<Item = &'s Path> {
        let from = (Bound::Included(directory), Bound::Unbounded);
        let places = self.by_place.range::<Path, _>(from).map(|(place, _)| place.as_path());
        places.take_while(move |place| is_within(place, directory))
    }

    /// Every place that a link leads through or to.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.by_place.keys().map(PathBuf::as_path)
    }
}

struct Resolver<'b> {
    boundary: &'b Boundary,
    all: LinkedBuildFiles,
    /// Links whose targets were searched, each for names of one kind: those that run whatever they are called, and others.
    entered: HashSet<(PathBuf, bool)>,
}

impl Resolver<'_> {
    /// Tells most links apart by their names and texts, so that they need not be followed.
    fn may_matter(&self, MetLink { path: link, is_named }: &MetLink) -> bool {
        if is_among_dependencies(self.boundary, &link.join("name")) {
            return false;
        }
        *is_named
            || is_build_file(link)
            || fs::read_link(link).is_ok_and(|text| self.may_lead_among_dependencies(link, &text))
    }

    /// A link leads there by its own text, by that of another link, which is looked at itself, or by a way around outside.
    fn may_lead_among_dependencies(&self, link: &Path, text: &Path) -> bool {
        let climbs = text.components().filter(|part| part.as_os_str() == OsStr::new("..")).count();
        let depth = self.boundary.granted().iter().filter_map(|top| link.strip_prefix(top).ok());
        let depth = depth.map(|below| below.components().count()).min().unwrap_or_default();
        text.is_absolute() || climbs >= depth || text.components().any(|part| is_skipped(part.as_os_str()))
    }

    fn follow(&mut self, name: &Path, link: &Path, ahead: &mut Vec<(PathBuf, PathBuf)>) {
        let Chain { links, end, .. } = follow(link);
        let is_directory = fs::symlink_metadata(&end).is_ok_and(|found| found.is_dir());
        let by_name = runs_later(self.boundary, name)
            || names_through(self.boundary.guards_by_name(), name).next().is_some();
        // A plain file has the name of the link and no other; and a plain directory the same names as by its own path.
        let leads_among = || is_directory && is_among_dependencies(self.boundary, &end.join("name"));
        if !by_name && !leads_among() {
            return;
        }
        for place in links.iter().filter(|place| place.as_path() != link).chain([&end]) {
            self.add(name, link, place);
        }
        if is_directory && self.boundary.is_within_granted(&end) {
            self.search(name, &end, ahead);
        }
    }

    fn add(&mut self, name: &Path, link: &Path, place: &Path) {
        if !self.boundary.is_within_granted(place) {
            return;
        }
        let found = BuildLink { name: name.to_owned(), link: link.to_owned(), place: place.to_owned() };
        let known = self.all.by_place.entry(place.to_owned()).or_default();
        if !known.contains(&found) {
            known.push(found);
        }
    }

    /// Links in a directory that has another name by a link have another one too, and lead on.
    fn search(&mut self, name: &Path, directory: &Path, ahead: &mut Vec<(PathBuf, PathBuf)>) {
        let runs_whole = is_build_file(&name.join("name"));
        if self.entered.len() >= MAX_ENTERED {
            self.all.is_incomplete = true;
            return;
        }
        if !self.entered.insert((directory.to_owned(), runs_whole)) {
            return;
        }
        let reach = scan(directory, TARGET_BOUNDS, |entry| {
            if entry.kind.is_symlink()
                && let Ok(below) = entry.path.strip_prefix(directory)
            {
                ahead.push((name.join(below), entry.path.to_owned()));
            }
            Descend::Yes
        });
        self.all.is_incomplete |= reach == Coverage::Bounded;
    }
}

/// Returns whether what has a name runs or is acted on later. What is in a git directory is told of as a part of that.
pub(crate) fn runs_later(boundary: &Boundary, name: &Path) -> bool {
    let counts = |guard: &Guard| {
        guard.kind() != GuardKind::Git
            || guard.kernel_protection() == KernelProtection::Asked
            || is_user_git_config(guard)
    };
    !is_among_dependencies(boundary, name)
        && (is_build_file(name) || boundary.guard(name).is_some_and(counts))
}

#[cfg(test)]
mod tests {
    use pinfold_policy::Guards;
    use pinfold_sandbox::{Strength, Tier};
    use pinfold_testkit::TempTree;

    use super::*;
    use crate::request::SandboxRequest;

    /// The places that matter of those asked about, below a folder with these links (`NAME -> TEXT`), directories and files.
    fn matter<'n>(names: &[&str], asked: &[&'n str]) -> Vec<&'n str> {
        let tree = TempTree::new().with_names(names);
        let strength = Strength { tier: Tier::Landlock, mediated: true };
        let request = SandboxRequest::new(tree.top().to_owned());
        let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
        let linked = boundary.linked_build_files();
        let top = tree.top().canonicalize().unwrap();
        let led = asked.iter().filter(|name| linked.find(&boundary, &top.join(name)).is_some());
        led.copied().collect()
    }

    #[test]
    fn what_runs_by_the_name_of_a_link_is_found() {
        for (names, expected, others) in [
            (&["Makefile -> mk/all", "mk/all"][..], &["mk/all"][..], &["mk", "mk/b", "Makefile.am"][..]),
            (&["Makefile -> mk/all"], &["mk/all"], &["mk"]),
            (&["a/Makefile -> ../way", "way -> one"], &["way", "one"], &["a/way", "two"]),
            (&[".github -> ci", "ci/"], &["ci", "ci/x", "ci/deep/x"], &["cix", "c"]),
            // By a link of what a link leads to, further links, and back to where it began.
            (
                &[".github -> ci", "ci/w -> ../wf", "wf/more -> ../m", "m/", "wf/round -> ../ci"],
                &["wf/x", "m/x"],
                &["x"],
            ),
            (&["sub/.circleci -> ../ci", "ci/w -> ../wf", "wf/"], &["ci/x", "wf/x"], &["sub/x"]),
            // Names below a link that stands where they begin.
            (&[".cargo -> dots", "dots/"], &["dots/config.toml", "dots/config"], &["dots/registry"]),
            (&["gradle -> g", "g/"], &["g/wrapper/x"], &["g/x"]),
            (&[".yarnrc.yml -> y"], &["y"], &[]),
            // Directories of products, from elsewhere, by one link or two.
            (
                &["app -> build/n", "build/n/"],
                &["build/n/Makefile", "build/n/.vscode/x"],
                &["build/n/x", "build/Makefile"],
            ),
            (
                &["app -> way/n", "way -> build", "build/n/"],
                &["build/n/Makefile", "build/package.json"],
                &["build/x"],
            ),
            (
                &["app -> build/n", "build/n/m -> ../../dist/m", "dist/m/"],
                &["dist/m/Makefile"],
                &["dist/Makefile"],
            ),
            (&["node_modules/n -> ../build", "build/"], &[], &["build/Makefile"]),
            (&["build -> node_modules", "node_modules/"], &[], &["node_modules/Makefile"]),
            (&["c.json -> build/c.json", "build/c.json"], &[], &["build/c.json", "build/package.json"]),
            // Names of files that run by themselves, which need no link.
            (&["app -> src", "src/"], &[], &["src/Makefile", "src/x"]),
            // A repository is told of as a whole.
            (&[".git -> store", "store/"], &[], &["store/x", "store/config"]),
            (&["Makefile -> Makefile", "setup.py -> /etc/hostname"], &["Makefile"], &["x"]),
        ] {
            let asked: Vec<&str> = expected.iter().chain(others).copied().collect();
            assert_eq!(matter(names, &asked), expected, "{names:?}");
        }
    }
}

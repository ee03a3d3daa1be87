//! A compiled sandbox request: the limits for the kernel, and the same limits as answers for the file tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pinfold_policy::{DeniedPaths, Guard, Guards, KernelProtection, SourcedRule};
use pinfold_sandbox::{Profile, Strength, Tier};

use crate::access_list::{AccessList, PathAccess};
use crate::credentials;
use crate::egress::network;
use crate::folder::Findings;
use crate::git::layout;
use crate::git::operations::Operations;
use crate::guarded_links::{self, AllLinks, LinkedBuildFiles};
use crate::hosts::HostList;
use crate::private::Private;
use crate::request::SandboxRequest;
use crate::scan::Bounds;
use crate::secrets::SecretPlaceholders;
use crate::within::is_within;

const GIT_DATA: &str = "git keeps its own data there, which its commands change";

/// A compiled grant. One boundary drives the mounts, Landlock and the file tools.
///
/// # Invariants
/// - [`Boundary::profile`] and [`Boundary::access`] are read off one list of places.
/// - Whatever was granted was resolved once, at compile time.
#[derive(Debug)]
pub struct Boundary {
    pub(crate) profile: Profile,
    pub(crate) places: AccessList,
    pub(crate) guards: Guards,
    pub(crate) denied: DeniedPaths,
    pub(crate) home: Option<PathBuf>,
    pub(crate) granted: Vec<PathBuf>,
    pub(crate) read_only: bool,
    pub(crate) named: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    /// Places of the run's own, which no other program reads or writes.
    pub(crate) own: Vec<PathBuf>,
    /// Hosts that can be reached, where not all can and not none.
    pub(crate) hosts: Option<HostList>,
    pub(crate) asks_about_hosts: bool,
    pub(crate) network_is_off: bool,
    /// Placeholders that stand inside for secrets, and the places of these.
    pub(crate) secrets: Option<SecretPlaceholders>,
    pub(crate) findings: Findings,
    /// All links in what was granted, searched for when the first change has to be judged.
    pub(crate) all_links: OnceLock<AllLinks>,
    pub(crate) operations: Operations,
    pub(crate) removed: Vec<String>,
    /// The grant, where not all that is held in it was searched for.
    pub(crate) unsearched: Option<Box<(SandboxRequest, Tier)>>,
    /// Directory of the state of pinfold, with the locks by which supervisors take turns.
    pub(crate) state_home: Option<PathBuf>,
    /// The lock on the layers of this run: no other uses them while it is held.
    pub(crate) _caches: Option<fs::File>,
    /// Directory that is needed until the run is settled.
    pub(crate) _private: Private,
}

impl Boundary {
    /// The limits for the kernel.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the side of the boundary of a resolved path, for confined processes and file tools alike.
    ///
    /// Two places differ on purpose, to the strict side: a shell has a `/tmp` and caches of its own, which are not
    /// the ones that a file tool would reach; to it both lie outside.
    pub fn access(&self, real: &Path) -> PathAccess<'_> {
        self.places.access(real)
    }

    /// The guard that writing a resolved path meets, whether or not the sandbox protects it. None where the person opened
    /// the place by name.
    pub fn guard(&self, real: &Path) -> Option<&Guard> {
        self.guards.write(real, self.home.as_deref(), false).filter(|_| !self.is_open(real))
    }

    /// Returns the guard of a path, with the directory of the guarded name. File systems that take `.ENV` for `.env` are known by
    /// nothing but their behaviour, so that every one is taken for such.
    pub(crate) fn guard_in<'p>(&self, real: &'p Path) -> Option<(&Guard, &'p Path)> {
        self.guards.write_in(real, self.home.as_deref(), true).filter(|_| !self.is_open(real))
    }

    /// The guards that go by name.
    pub(crate) fn guards_by_name(&self) -> &Guards {
        &self.guards
    }

    /// Returns whether what a guarded name leads to is held here: not what the person opened by name, nor what is the run's own.
    pub(crate) fn minds_link_to(&self, place: &Path) -> bool {
        self.access(place) == PathAccess::Writable && !self.is_open(place) && !self.is_own(place)
    }

    /// Returns all links with guarded names, where the look at the start did not reach them: a look at everything takes some eight
    /// microseconds a directory, and is taken once.
    pub(crate) fn links_beyond_start(&self) -> Option<&AllLinks> {
        let search = || AllLinks::search(&self.granted, self.git_dirs(), &self.guards, self.home.as_deref());
        self.findings.link_gap.is_some().then(|| self.all_links.get_or_init(search))
    }

    /// Returns the older links by which files run later under other names, as they lead now: to be called before the first change.
    pub(crate) fn linked_build_files(&self) -> LinkedBuildFiles {
        let links = self.links_beyond_start().map_or(&self.findings.links, |all| &all.links);
        LinkedBuildFiles::resolve(self, links)
    }

    /// The directory in which supervisors meet.
    pub(crate) fn state_home(&self) -> Option<&Path> {
        self.state_home.as_deref()
    }

    /// The person's home directory.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns whether a place lies in what was granted, or in a git directory of it that lies elsewhere.
    pub(crate) fn is_within_granted(&self, real: &Path) -> bool {
        let within = |places: &[PathBuf]| places.iter().any(|place| is_within(real, place));
        within(&self.granted) || within(&self.findings.git.git_dirs)
    }

    /// Returns whether a place may lie in a repository in which the run can write.
    pub(crate) fn may_be_in_repository(&self, real: &Path) -> bool {
        self.is_within_granted(real) || self.places.is_writable_elsewhere() && !self.is_own(real)
    }

    /// Git directories that were found at the start.
    pub(crate) fn git_dirs(&self) -> &[PathBuf] {
        &self.findings.git.git_dirs
    }

    /// Returns whether a place is the run's own.
    pub(crate) fn is_own(&self, real: &Path) -> bool {
        self.own.iter().any(|own| is_within(real, own))
    }

    /// The rule that denies reading a resolved path.
    pub(crate) fn denies_reading(&self, real: &Path) -> Option<&SourcedRule> {
        self.denied.reading(real).map(Arc::as_ref)
    }

    /// The rule that denies changing a resolved path. What may not be read is not made, moved or given another name either.
    pub(crate) fn denies_changing(&self, real: &Path) -> Option<&SourcedRule> {
        let by_path = self.denied.writing(real).or_else(|| self.denied.reading(real));
        by_path.or_else(|| self.denied.writes_nowhere()).map(Arc::as_ref)
    }

    /// Returns whether a hidden place is hidden by a rule, or by settings.
    pub(crate) fn hides_by_rule(&self, place: &Path) -> bool {
        self.findings.denied.contains(place)
    }

    /// Returns whether something in a granted folder is hidden.
    pub(crate) fn hides_within_granted(&self) -> bool {
        self.places.hidden().any(|place| self.granted.iter().any(|granted| place.starts_with(granted)))
    }

    /// Returns whether a place was opened for reading by name.
    fn is_readable(&self, real: &Path) -> bool {
        self.readable.iter().any(|place| is_within(real, place))
    }

    /// Returns why a place may not be read by way of this name, which is a link or leads through one.
    pub(crate) fn unreadable_through(&self, name: &Path, place: &Path) -> Option<String> {
        if self.is_readable(place) { None } else { self.unreadable(name) }
    }

    /// Returns why a place may not be read, although nothing hid it at the start.
    pub(crate) fn unreadable(&self, real: &Path) -> Option<String> {
        if self.is_readable(real) {
            return None;
        }
        let guard = self
            .guards
            .read(real, self.home(), false)
            .filter(|guard| guard.kernel_protection() != KernelProtection::Asked)?;
        credentials::counts(real, guard).then(|| guard.why().to_owned())
    }

    /// Returns the places that cannot be read.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Path> {
        self.places.hidden()
    }

    /// Returns the paths that rules deny.
    pub(crate) fn denied_paths(&self) -> &DeniedPaths {
        &self.denied
    }

    /// Returns whether a person opened the place by name, or one above it: nothing is protected there.
    pub(crate) fn is_open(&self, real: &Path) -> bool {
        self.named.iter().any(|place| is_within(real, place))
    }

    /// The folder and the directories added to it, resolved; the folder is the first.
    pub fn granted(&self) -> &[PathBuf] {
        &self.granted
    }

    /// The secrets that are put in on the way out.
    pub(crate) fn secrets(&self) -> Option<&SecretPlaceholders> {
        self.secrets.as_ref()
    }

    /// Hosts that can be reached, where not all can; with none of them it is heard which ones are looked up, where that can
    /// be had. A [`Run`](crate::Run) opens the proxy that lets them through.
    pub fn hosts(&self) -> Option<&HostList> {
        self.hosts.as_ref()
    }

    /// Returns whether an approver is asked about hosts that the list does not name.
    pub fn asks_about_hosts(&self) -> bool {
        self.asks_about_hosts
    }

    /// Returns whether no host is reached whatever rules say.
    pub(crate) fn network_is_off(&self) -> bool {
        self.network_is_off
    }

    /// Returns whether any host can be reached, or can be after an answer.
    pub fn reaches_hosts(&self) -> bool {
        network::reaches_hosts(&self.profile.network, self.hosts.as_ref(), self.asks_about_hosts)
    }

    /// Returns whether nothing but private places can be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Places that were opened for writing by name, resolved.
    pub fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Takes away what a killed run left in the folder, where this one makes nothing there by itself.
    pub(crate) fn clear_left_behind(&self) {
        self.findings.left_behind.clear();
    }

    /// The guards for a session of file tools in the same grant: what is held or hidden here is guarded there, and
    /// what was opened by name is open there too. Where not all was searched these are the places that a look at the folder finds
    /// now, and the whole folder where no such look is possible.
    pub fn guards(&self) -> Guards {
        self.guards_within(Bounds::WHOLE)
    }

    fn guards_within(&self, bounds: Bounds) -> Guards {
        let Some((request, tier)) = self.unsearched.as_deref() else { return self.listed() };
        let strength = Strength { tier: *tier, mediated: false };
        let why = match Self::compile_within(request, &self.guards, strength, bounds) {
            Ok(searched) => match &searched.findings.link_gap {
                Some(gap) => gap.why(),
                None => return searched.listed(),
            },
            Err(error) => error.to_string(),
        };
        self.granted.iter().fold(self.listed(), |guards, place| guards.with_protected(place, &why))
    }

    fn listed(&self) -> Guards {
        let guards = self.places.guards(self.guards.clone());
        let guards = guarded_links::add_guards(&self.findings.linked, guards);
        // A bare one has no name that a guard would know it by.
        let is_named = |dir: &Path| guards.write(dir, self.home(), false).is_some();
        let bare: Vec<_> = self.git_dirs().iter().filter(|dir| !is_named(dir)).collect();
        let guards = bare.into_iter().fold(guards, |guards, dir| guards.with_protected(dir, GIT_DATA));
        let guards = self.named.iter().fold(guards, |guards, place| guards.with_open_write(place));
        self.readable.iter().fold(guards, |guards, place| guards.with_open_read(place))
    }

    /// Names of environment variables that are not passed on.
    pub fn environment_removed(&self) -> &[String] {
        &self.removed
    }

    /// Returns notes for the user about the boundary.
    pub fn notes(&self) -> &[String] {
        &self.findings.notes
    }

    /// Returns whether a guarded place would appear that was not there at the start and that the sandbox cannot protect.
    pub(crate) fn would_appear(&self, real: &Path) -> bool {
        self.findings.missing.contains(real)
    }

    /// Returns whether a held repository is about to have a linked worktree at this `.git` file.
    pub(crate) fn expects_worktree(&self, dot_git: &Path) -> bool {
        self.findings.git.git_dirs.iter().any(|common| layout::expects_worktree(common, dot_git))
    }
}

#[cfg(test)]
mod tests {
    use pinfold_testkit::TempTree;

    use super::*;

    #[test]
    fn file_tools_are_held_where_not_all_can_be_searched() {
        let tree = TempTree::new().with_dirs(["a/b"]);
        let folder = tree.top().canonicalize().unwrap();
        let request = SandboxRequest::new(folder.clone());
        let strength = Strength { tier: Tier::Landlock, mediated: true };
        let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
        let is_held =
            |bounds| boundary.guards_within(bounds).write(&folder.join("a/text"), None, false).is_some();
        assert!(!is_held(Bounds::WHOLE), "the control");
        assert!(is_held(Bounds { directories: 1, ..Bounds::START }));
    }
}

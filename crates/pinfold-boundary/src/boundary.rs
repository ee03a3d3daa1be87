//! A grant, compiled once: the limits for the kernel, and the same limits as answers for the file tools.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_policy::hosts::Hosts;
use pinfold_policy::{DeniedPaths, FolderChoice, Guard, Guards, Held, NoProject, SourcedRule};
use pinfold_sandbox::{
    self as sandbox, Entrances, MOST_CALLERS, Mediation, Profile, Strength, Temp, Tier, Turns,
};

use crate::agents;
use crate::caches::{self, Arrange, Caches};
use crate::credentials;
use crate::denied;
use crate::environment::{self, Filtered};
use crate::folder::{Findings, Holder};
use crate::git::layout;
use crate::git::person::Person;
use crate::git::protect;
use crate::grant::{CacheChoice, Grant, Network, SandboxMode};
use crate::guarded_links;
use crate::hosts::HostList;
use crate::lists;
use crate::mediation::{Changes, ReadNames};
use crate::place::{Hold, Places, Standing};
use crate::private::Private;
use crate::report::RunReport;
use crate::scan::Reach;
use crate::secrets::{self, Kept};
use crate::snapshot::Snapshot;
use crate::way_out;
use crate::witness::Changed;

/// Why a grant cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A place that was named cannot be resolved.
    #[error("`{}` cannot be granted: {error}", path.display())]
    Unresolved {
        /// The place as it was named.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The folder is a file.
    #[error("`{}` is not a directory", path.display())]
    NotADirectory {
        /// The place.
        path: PathBuf,
    },
    /// A place that is no folder of a person.
    #[error("`{}` is not a folder to work in: {why}", path.display())]
    NotAFolder {
        /// The place.
        path: PathBuf,
        /// Why, and what to do.
        why: NoProject,
    },
    /// A declared scope leaves nothing of the folder to work in.
    #[error("`{}` cannot be worked in: {why}", path.display())]
    OutOfScope {
        /// The folder.
        path: PathBuf,
        /// What the lists say, in one clause.
        why: String,
    },
    /// A cache profile that does not exist.
    #[error("there is no cache profile `{name}`; known are: {known}")]
    UnknownCache {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
}

/// A compiled grant. One boundary drives the mounts, Landlock and the file tools.
///
/// # Invariants
/// - [`Boundary::profile`] and [`Boundary::standing`] are read off one list of places.
/// - Whatever was granted was resolved once, at compile time.
#[derive(Debug)]
pub struct Boundary {
    profile: Profile,
    places: Places,
    guards: Guards,
    denied: DeniedPaths,
    home: Option<PathBuf>,
    granted: Vec<PathBuf>,
    read_only: bool,
    named: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    /// Places of the run's own, which nobody else reads or writes.
    own: Vec<PathBuf>,
    /// Hosts that can be reached, where not all can and not none.
    hosts: Option<HostList>,
    asks_about_hosts: bool,
    network_is_off: bool,
    /// What stands inside in the place of secrets, and where these are.
    secrets: Option<Kept>,
    findings: Findings,
    unfinished: Vec<PathBuf>,
    removed: Vec<String>,
    /// The grant of a mediated run, whose held places are known only when something happens to them.
    mediates: Option<Box<(Grant, Tier)>>,
    /// Where supervisors meet.
    state_home: Option<PathBuf>,
    /// Layers of this run are used by no other while this lives.
    _caches: Option<fs::File>,
    /// What is kept there is needed until the run is settled.
    _private: Private,
}

impl Boundary {
    /// Resolves and compiles a grant for a machine of this strength. Looks at the places that it speaks of and
    /// makes private directories, `grant.private` and below `grant.cache_home`; changes nothing else.
    ///
    /// # Errors
    /// When a place that is granted for writing does not exist or is not a folder to work in.
    pub fn compile(
        grant: &Grant,
        guards: &Guards,
        strength: impl Into<Strength>,
    ) -> Result<Self, CompileError> {
        if grant.denied.writes_nowhere().is_some() && grant.mode != SandboxMode::ReadOnly {
            let reads_only = Grant { mode: SandboxMode::ReadOnly, ..grant.clone() };
            return Self::compile(&reads_only, guards, strength);
        }
        let Strength { tier, mediated } = strength.into();
        let mediated = mediated && grant.openings.allow_mediation();
        known_caches(&grant.caches)?;
        let home = grant.home.as_deref().and_then(|h| fs::canonicalize(h).ok());
        let choice = grant.folder_choice.clone().with_home(home.as_deref());
        let folder = resolve_folder(&choice, &grant.cwd, &grant.folder)?;
        let same = grant.cwd.as_os_str().is_empty() || (grant.cwd.is_absolute() && grant.cwd == grant.folder);
        let cwd = if same { folder.clone() } else { resolve(&folder, &grant.cwd)? };
        let mut drawing = Drawing {
            places: Places::new(grant.mode == SandboxMode::DefaultWrite),
            findings: Findings::default(),
            granted: vec![folder.clone()],
            opened: Vec::new(),
            readable: Vec::new(),
            mediated,
        };
        for path in &grant.add {
            drawing.granted.push(resolve_folder(&choice, &cwd, path)?);
        }
        for path in &grant.allow_write {
            drawing.allow_write(resolve(&cwd, path)?, guards, home.as_deref());
        }
        let mut readable: Vec<PathBuf> =
            grant.allow_read.iter().map(|p| resolve(&cwd, p)).collect::<Result<_, _>>()?;
        readable.extend(agents::logins(grant, home.as_deref(), &drawing.granted));
        if grant.mode == SandboxMode::DefaultWrite {
            drawing.granted.extend(lists::folders(&grant.lists));
        }
        if grant.mode != SandboxMode::ReadOnly {
            drawing.writable(grant, guards, home.as_deref(), tier);
        }
        drawing.hide(grant, guards, home.as_deref(), &cwd, readable.clone());
        drawing.readable = readable;
        let mut visible: Vec<PathBuf> =
            grant.visible.iter().map(|p| resolve(&cwd, p)).collect::<Result<_, _>>()?;
        let sockets = drawing.sockets(grant, &cwd, tier);
        // `/run` is covered, where most of them lie.
        visible.extend(sockets.iter().cloned());
        visible.extend(drawing.granted.iter().chain([&cwd]).cloned());
        lists::apply(grant, home.as_deref(), &cwd, &mut visible, &mut drawing)?;
        denied::apply(grant, guards, home.as_deref(), &cwd, &mut drawing)?;
        Ok(drawing.finish(grant, guards.clone(), home, cwd, Seen { visible, sockets }, tier))
    }

    /// The limits for the kernel.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What a confined process can do at a resolved path, which is what a file tool may do there.
    ///
    /// Two places differ on purpose, to the strict side: a shell has a `/tmp` and caches of its own, which are not
    /// the ones that a file tool would reach; to it both lie outside.
    pub fn standing(&self, real: &Path) -> Standing<'_> {
        self.places.standing(real)
    }

    /// The guard that writing a resolved path meets, whether or not a wall stands there. None where the person opened
    /// the place by name.
    pub fn guard(&self, real: &Path) -> Option<&Guard> {
        self.guards.write(real, self.home.as_deref(), false).filter(|_| !self.is_open(real))
    }

    /// The same, with the directory in which the guarded name stands. File systems that take `.ENV` for `.env` are known by
    /// nothing but their behaviour, so that every one is taken for such.
    pub(crate) fn guard_in<'p>(&self, real: &'p Path) -> Option<(&Guard, &'p Path)> {
        self.guards.write_in(real, self.home.as_deref(), true).filter(|_| !self.is_open(real))
    }

    /// The guards that go by name.
    pub(crate) fn guards_by_name(&self) -> &Guards {
        &self.guards
    }

    /// Whether what a guarded name leads to is held here: not what the person opened by name, nor what is the run's own.
    pub(crate) fn minds_link_to(&self, place: &Path) -> bool {
        self.standing(place) == Standing::Writable && !self.is_open(place) && !self.is_own(place)
    }

    /// By what supervisors take turns, where they can meet.
    pub(crate) fn turns(&self) -> Option<Turns> {
        let place = self.state_home.as_ref()?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(place).ok()?;
        Turns::at(&place.join("turn")).ok()
    }

    /// The person's home directory.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether a place lies in what was granted, or in a git directory of it that lies elsewhere.
    pub(crate) fn is_within_granted(&self, real: &Path) -> bool {
        let within = |places: &[PathBuf]| places.iter().any(|place| real.starts_with(place));
        within(&self.granted) || within(&self.findings.git.git_dirs)
    }

    /// Git directories that were found at the start.
    pub(crate) fn git_dirs(&self) -> &[PathBuf] {
        &self.findings.git.git_dirs
    }

    /// Whether something is held at a place or beneath it.
    pub(crate) fn holds_beneath(&self, real: &Path) -> bool {
        self.places.holds_beneath(real)
    }

    /// Whether a place is the run's own.
    pub(crate) fn is_own(&self, real: &Path) -> bool {
        self.own.iter().any(|own| real.starts_with(own))
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

    /// Whether a rule denies any path.
    pub(crate) fn has_denied_paths(&self) -> bool {
        !self.denied.is_empty()
    }

    /// Whether something in a granted folder is hidden.
    pub(crate) fn hides_within_granted(&self) -> bool {
        self.places.hidden().any(|place| self.granted.iter().any(|granted| place.starts_with(granted)))
    }

    /// Why a place may not be read, although nothing hid it at the start.
    pub(crate) fn unreadable(&self, real: &Path) -> Option<String> {
        if self.readable.iter().any(|place| real.starts_with(place)) {
            return None;
        }
        let guard = self.guards.read(real, self.home(), false).filter(|guard| guard.held() != Held::Asked)?;
        credentials::counts(real, guard).then(|| guard.why().to_owned())
    }

    /// Names by which a path is looked at that is opened for reading.
    pub(crate) fn read_names(&self) -> ReadNames {
        ReadNames::new(&self.guards, self.places.hidden(), self.denied.read_patterns())
    }

    /// Whether a person opened the place by name, or one above it: nothing is protected there.
    pub(crate) fn is_open(&self, real: &Path) -> bool {
        self.named.iter().any(|place| real.starts_with(place))
    }

    /// The folder and the directories added to it, resolved; the folder is the first.
    pub fn granted(&self) -> &[PathBuf] {
        &self.granted
    }

    /// The secrets that are put in on the way out.
    pub(crate) fn secrets(&self) -> Option<&Kept> {
        self.secrets.as_ref()
    }

    /// Hosts that can be reached, where not all can; with none of them it is heard which ones are looked up, where that can
    /// be had. The supervisor has to open the way: [`WayOut`](crate::WayOut).
    pub fn hosts(&self) -> Option<&HostList> {
        self.hosts.as_ref()
    }

    /// Whether somebody is asked about hosts of which the list says nothing.
    pub fn asks_about_hosts(&self) -> bool {
        self.asks_about_hosts
    }

    /// Whether no host is reached whatever rules say.
    pub(crate) fn network_is_off(&self) -> bool {
        self.network_is_off
    }

    /// Whether any host can be reached, or can be after an answer.
    pub fn reaches_hosts(&self) -> bool {
        way_out::reaches_hosts(&self.profile.network)
    }

    /// Whether nothing but private places can be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Places that were opened for writing by name, resolved.
    pub fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// The guards for a session of file tools in the same grant: what is held or hidden here is guarded there, and
    /// what was opened by name is open there too. Of a mediated run these are the places that a look at the folder finds now,
    /// and the whole folder where no such look is possible.
    pub fn guards(&self) -> Guards {
        let Some((grant, tier)) = self.mediates.as_deref() else { return self.listed() };
        match Self::compile(grant, &self.guards, Strength { tier: *tier, mediated: false }) {
            Ok(searched) => searched.listed(),
            Err(error) => {
                let why = error.to_string();
                self.granted.iter().fold(self.listed(), |guards, place| guards.with_held(place, &why))
            }
        }
    }

    fn listed(&self) -> Guards {
        let guards = self.places.guards(self.guards.clone());
        let guards = guarded_links::with(&self.findings.linked, guards);
        let guards = self.named.iter().fold(guards, |guards, place| guards.with_open_write(place));
        self.readable.iter().fold(guards, |guards, place| guards.with_open_read(place))
    }

    /// Names of environment variables that are not passed on.
    pub fn environment_removed(&self) -> &[String] {
        &self.removed
    }

    /// What a person should know about how the boundary was drawn.
    pub fn notes(&self) -> &[String] {
        &self.findings.notes
    }

    /// Whether a guarded place would appear that was not there at the start and that no wall can hold.
    pub(crate) fn would_appear(&self, real: &Path) -> bool {
        self.findings.missing.contains(real)
    }

    /// Whether a held repository is about to have a linked worktree at this `.git` file.
    pub(crate) fn expects_worktree(&self, dot_git: &Path) -> bool {
        self.findings.git.git_dirs.iter().any(|common| layout::expects_worktree(common, dot_git))
    }

    /// Without worktrees of repositories that were held all the time: what git runs there was never open to the run.
    fn strange(&self, mut repositories: Vec<PathBuf>) -> Vec<PathBuf> {
        repositories.retain(|found| !layout::is_plain_worktree(found, &self.findings.git.git_dirs));
        repositories
    }

    /// Brings harmless git configuration back and says what is left to look at. To be called once, when no process of the
    /// run lives any more. `changed` is what the [`Witness`](crate::Witness) of a mediated run saw; of another one the folder
    /// is looked at once more.
    pub fn settle(&self, changed: Option<&Changed>) -> RunReport {
        let mut report = match changed {
            Some(Changed(noted)) => self.noted(noted),
            None => self.compared(),
        };
        report.git_config =
            self.findings.git.configs.iter().filter_map(protect::PrivateConfig::settle).collect();
        report.environment_removed.clone_from(&self.removed);
        report.notes.splice(0..0, self.findings.notes.iter().cloned());
        report
    }

    /// What was noted as it happened.
    fn noted(&self, changes: &Changes) -> RunReport {
        let mut seen = Snapshot::default();
        for directory in changes.directories().filter(|directory| directory.is_dir()) {
            Snapshot::of(directory, &mut seen, &self.guards, self.home());
        }
        let mut files: BTreeSet<PathBuf> = changes.changed().cloned().collect();
        files.extend(seen.files().cloned());
        let mut repositories: BTreeSet<PathBuf> =
            changes.repositories().filter(|at| layout::may_be_repository(at)).cloned().collect();
        repositories.extend(seen.repositories().cloned());
        // What lies in one of them is told of with it.
        files.retain(|file| !repositories.iter().any(|at| file != at && file.starts_with(at)));
        let more = changes.more();
        let note =
            (more > 0).then(|| format!("{more} further changes of files that run later are not listed"));
        RunReport {
            new_repositories: self.strange(repositories.into_iter().collect()),
            changed_autorun: files.into_iter().collect(),
            unfinished: changes.unfinished().cloned().collect(),
            notes: note.into_iter().collect(),
            ..RunReport::default()
        }
    }

    /// What differs from before.
    fn compared(&self) -> RunReport {
        let mut after = Snapshot::default();
        if !matches!(self.profile.writes, pinfold_sandbox::Writes::Nowhere) {
            for folder in self.granted.iter().filter(|f| f.is_dir()) {
                Snapshot::of(folder, &mut after, &self.guards, self.home.as_deref());
            }
        }
        self.findings.missing.iter().for_each(|path| after.file(path));
        let before = &self.findings.before;
        let unfinished = unfinished(&self.findings.git.git_dirs);
        RunReport {
            new_repositories: self.strange(before.new_repositories(&after)),
            changed_autorun: before.changed_files(&after),
            unfinished: unfinished.into_iter().filter(|u| !self.unfinished.contains(u)).collect(),
            ..RunReport::default()
        }
    }
}

const MOVED_LOGIN: &str = "it holds the tokens with which an agent speaks for this person";

fn with_real_parent(path: PathBuf) -> PathBuf {
    let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
    parent.zip(path.file_name()).map(|(parent, name)| parent.join(name)).unwrap_or(path)
}

/// What of this machine stays in sight.
struct Seen {
    visible: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

/// A boundary while it is drawn.
pub(crate) struct Drawing {
    pub(crate) places: Places,
    pub(crate) findings: Findings,
    granted: Vec<PathBuf>,
    /// Guarded places and files that the person opened by name.
    opened: Vec<PathBuf>,
    /// Guarded places that may be read.
    readable: Vec<PathBuf>,
    /// What lies inside is judged when it is named: nothing is searched for.
    pub(crate) mediated: bool,
}

impl Drawing {
    pub(crate) fn granted(&self) -> Vec<PathBuf> {
        self.granted.clone()
    }

    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// A guarded place is opened as it is; any other directory is treated like the folder.
    fn allow_write(&mut self, path: PathBuf, guards: &Guards, home: Option<&Path>) {
        if guards.write(&path, home, false).is_some() || !path.is_dir() {
            self.opened.push(path);
        } else {
            self.granted.push(path);
        }
    }

    fn writable(&mut self, grant: &Grant, guards: &Guards, home: Option<&Path>, tier: Tier) {
        let granted = self.granted.clone();
        for folder in &granted {
            self.places.add(folder.clone(), Hold::Writable, "it was granted");
        }
        if grant.mode == SandboxMode::DefaultWrite {
            self.hold_everywhere(guards, home);
        }
        let private = (tier == Tier::Full).then_some(&grant.private);
        let person = Person::read(home);
        let mediated = self.mediated;
        let holder =
            Holder { guards, home, folds_case: false, private, granted: &granted, person: &person, mediated };
        for folder in &granted {
            if mediated {
                holder.hold_top(folder, &mut self.places, &mut self.findings);
            } else {
                holder.hold(folder, &mut self.places, &mut self.findings);
            }
        }
        self.follow_guarded_names(guards, home);
        for path in &self.opened {
            self.places.open(path);
        }
    }

    /// Finds what guarded names lead to, and holds it where walls do. What the person opened by name is not held.
    fn follow_guarded_names(&mut self, guards: &Guards, home: Option<&Path>) {
        let mut look = guarded_links::Look::new(guards, home);
        // Below a folder that is itself guarded the grant speaks.
        let folders = self.granted.iter().filter(|folder| guards.write(folder, home, true).is_none());
        folders.for_each(|folder| look.around(folder));
        // Those of the folder that lie elsewhere too.
        self.findings.git.git_dirs.iter().for_each(|git_dir| look.git_directory(git_dir));
        let (found, reach) = look.finish();
        self.findings.linked.extend(found);
        let opened = &self.opened;
        self.findings.linked.retain(|linked| !opened.iter().any(|open| linked.place.starts_with(open)));
        if !self.mediated {
            guarded_links::wall(&self.findings.linked, &self.granted, &mut self.places);
        } else if reach == Reach::Bounded {
            let note = "the folder is large: what links with guarded names lead to is held as far as the upper part of the folder \
                        was searched, and beyond that for what lies beside or below them";
            self.findings.notes.push(note.to_owned());
        }
    }

    /// Where everything can be written, guarded places of the person and of the system are held.
    fn hold_everywhere(&mut self, guards: &Guards, home: Option<&Path>) {
        for guard in guards.write_list().iter().filter(|g| g.held() != Held::Asked) {
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

    fn hide(
        &mut self,
        grant: &Grant,
        guards: &Guards,
        home: Option<&Path>,
        cwd: &Path,
        readable: Vec<PathBuf>,
    ) {
        let mut open = readable;
        open.extend(self.granted.iter().cloned());
        let moved = agents::moved_logins(grant, home).into_iter().map(|at| (at, MOVED_LOGIN.to_owned()));
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
            for part in credentials::around(&cover, &open) {
                self.places.add(part, Hold::Hidden, why.clone());
            }
        }
        for path in &grant.deny_read {
            match resolve(cwd, path) {
                Ok(real) if self.places.grants_beneath(&real) => {
                    for part in credentials::around(&real, &self.granted) {
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

    fn finish(
        mut self,
        grant: &Grant,
        guards: Guards,
        home: Option<PathBuf>,
        cwd: PathBuf,
        seen: Seen,
        tier: Tier,
    ) -> Boundary {
        let caches = self.caches(grant, home.as_deref(), tier);
        // Caches of our own may just have been made.
        self.findings.missing.retain(|path| fs::symlink_metadata(path).is_err());
        let (network, hosts) = self.network(grant, tier);
        let mut profile = Profile {
            visible: seen.visible,
            sockets: seen.sockets,
            cwd,
            temp: self.temporary(grant, tier),
            layers: caches.layers.clone(),
            spare: grant.cache_home.as_ref().map(|home| home.join("spare")),
            network,
            openings: grant.openings,
            limits: grant.limits,
            negotiable: grant.negotiable,
            ..Profile::default()
        };
        // A guard on the whole of it would stand over the layer.
        for layer in &profile.layers {
            self.places.forget(&layer.shared);
        }
        for fixed in caches.fixed {
            self.places.add(fixed, Hold::ReadOnly, "it is run or read outside too");
        }
        for (link, to) in caches.links {
            self.places.add(link, Hold::Detour(to), "it is read and acted on outside too");
        }
        let mut own = self.findings.git.copies();
        own.extend(caches.writable.iter().cloned());
        own.extend(caches.layers.iter().map(|layer| layer.shared.clone()));
        for place in caches.writable {
            self.places.add(place, Hold::Writable, "it is a private cache");
        }
        let mut added = caches.variables;
        let variables = way_out::proxy_variables(&profile.network);
        added.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        if let (sandbox::Network::Relayed(_), Some(hosts)) = (&profile.network, &hosts) {
            self.hosts_file(grant, &Arc::clone(hosts.said()), &mut profile);
        }
        let secrets = self.secrets(grant, &mut profile, &mut added);
        if let (Temp::Directory(directory), Tier::Landlock) = (&profile.temp, tier) {
            added.push(("TMPDIR".into(), directory.into()));
        }
        self.findings.notes.extend(caches.notes);
        let top = self.granted.first().cloned().unwrap_or_default();
        let Filtered { kept, removed } =
            environment::filter(&secrets::without_sources(grant), added, &agents::wishes(grant, &top));
        profile.environment = kept;
        self.places.prune();
        self.places.enter(&mut profile);
        if self.mediated {
            // Held by judgement: nothing stands in their place.
            self.places.unpin();
            profile.pinned.clear();
            profile.absent.clear();
            profile.stand_ins.clear();
            profile.mediated = Some(Mediation { own: own.clone() });
            profile.watches_reading = true;
            guarded_links::judge(&self.findings.linked, &own, &mut self.places);
        }
        let unfinished = unfinished(&self.findings.git.git_dirs);
        Boundary {
            profile,
            places: self.places,
            guards,
            denied: grant.denied.clone(),
            home,
            granted: self.granted,
            read_only: grant.mode == SandboxMode::ReadOnly,
            named: self.opened,
            readable: self.readable,
            own,
            network_is_off: grant.network == Network::Off,
            asks_about_hosts: grant.asks_about_hosts && hosts.is_some() && grant.network != Network::Off,
            hosts,
            secrets,
            findings: self.findings,
            unfinished,
            removed,
            mediates: self.mediated.then(|| Box::new((for_asking(grant), tier))),
            state_home: grant.state_home.clone(),
            _caches: caches.lock,
            _private: grant.private.clone(),
        }
    }

    /// Where no network of its own can be had a proxy is all that is open. A socket of another kind, or one that is made
    /// unseen, would be a way around it.
    fn network(&mut self, grant: &Grant, tier: Tier) -> (sandbox::Network, Option<HostList>) {
        if grant.publishes && tier == Tier::Landlock {
            self.findings
                .notes
                .push("only the full tier has ports inside to be published; here none is".to_owned());
        }
        match (&grant.network, tier) {
            // A network that leads nowhere, in which it is heard what is looked up; perhaps with somebody outside who can call.
            (Network::Off, Tier::Full) => names_alone(grant, Hosts::default()),
            (Network::Off, _) => (sandbox::Network::Off, None),
            (Network::Host, _) => (sandbox::Network::Host, None),
            (Network::Hosts(hosts), Tier::Full) if grant.asks_about_hosts || !hosts.said().is_empty() => {
                let callers = if grant.publishes { MOST_CALLERS } else { 0 };
                let entrances =
                    Entrances { callers, ..way_out::entrances(hosts.said(), grant.asks_about_hosts) };
                (sandbox::Network::Relayed(entrances), Some(hosts.clone()))
            }
            (Network::Hosts(hosts), Tier::Full) => names_alone(grant, Hosts::clone(hosts.said())),
            (Network::Hosts(hosts), Tier::Landlock) if hosts.said().is_empty() && !grant.asks_about_hosts => {
                (sandbox::Network::Off, None)
            }
            (Network::Hosts(_), Tier::Landlock) if grant.openings.unix_sockets || grant.openings.io_uring => {
                let note = "no host is reached: with `--open unix-sockets` or `--open io-uring` only the full tier can hold a run \
                            to some hosts";
                self.findings.notes.push(note.to_owned());
                (sandbox::Network::Off, None)
            }
            (Network::Hosts(hosts), Tier::Landlock) => {
                let proxy = way_out::proxy_port(&hosts.said().reachable_ports());
                (sandbox::Network::Proxied(proxy), Some(hosts.clone()))
            }
        }
    }

    /// Nothing of the kernel holds a process to some sockets: the supervisor connects to them, which it can only where it
    /// sees what a process sees, and where no abstract name of this machine can be reached.
    fn sockets(&mut self, grant: &Grant, cwd: &Path, tier: Tier) -> Vec<PathBuf> {
        if grant.sockets.is_empty() {
            return Vec::new();
        }
        if tier == Tier::Landlock || grant.network == Network::Host {
            let note = "sockets of this machine can be reached only on the full tier, and without `--network host`; here none is";
            self.findings.notes.push(note.to_owned());
            return Vec::new();
        }
        let mut found = Vec::with_capacity(grant.sockets.len());
        for path in &grant.sockets {
            match resolve(cwd, path) {
                Ok(real) => found.push(real),
                Err(error) => self.findings.notes.push(format!("{error}; no socket there is reached")),
            }
        }
        found
    }

    /// Without mounts there is no private `/tmp`: the private directory, which has no other use then, takes its place.
    fn temporary(&mut self, grant: &Grant, tier: Tier) -> Temp {
        match (&grant.temp, tier) {
            (Temp::Private, Tier::Landlock) => match grant.private.path() {
                Ok(directory) => Temp::Directory(directory.to_owned()),
                Err(error) => {
                    self.findings.notes.push(format!("there is no place for temporary files: {error}"));
                    Temp::Private
                }
            },
            (temp, _) => temp.clone(),
        }
    }

    fn caches(&self, grant: &Grant, home: Option<&Path>, tier: Tier) -> Caches {
        let read_only = grant.mode == SandboxMode::ReadOnly;
        let choice = if read_only { &CacheChoice::None } else { &grant.caches };
        let (Some(home), Some(cache_home), Some(folder)) = (home, &grant.cache_home, self.granted.first())
        else {
            let agent = grant.agent.iter();
            let notes = agent.map(|agent| format!("{} cannot write its state here", agent.name)).collect();
            return Caches { notes, ..Caches::default() };
        };
        Arrange {
            choice,
            agent: grant.agent,
            home,
            cache_home,
            folder,
            environment: &grant.environment,
            layered: tier == Tier::Full,
        }
        .arrange()
    }
}

/// Whether `open` was named for reading and is not merely a granted folder.
fn grant_names(open: &Path, granted: &[PathBuf]) -> bool {
    !granted.iter().any(|g| g == open)
}

/// No host is reached, and refusals can say which ones were looked up: an address alone tells nobody what is needed. The list
/// stays as it is, since no port is there for what it may allow later.
fn names_alone(grant: &Grant, hosts: Hosts) -> (sandbox::Network, Option<HostList>) {
    let callers = if grant.publishes { MOST_CALLERS } else { 0 };
    let entrances = Entrances { callers, ..Entrances::default() };
    (sandbox::Network::Relayed(entrances), Some(hosts.into()))
}

fn unfinished(git_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let all = git_dirs.iter().flat_map(|d| layout::worktrees(d).chain([d.clone()]));
    let states = all.flat_map(|dir| layout::UNFINISHED.map(|name| dir.join(name)));
    states.filter(|state| fs::symlink_metadata(state).is_ok()).collect()
}

/// The same grant, with nothing made for it.
fn for_asking(grant: &Grant) -> Grant {
    Grant {
        private: Private::default(),
        cache_home: None,
        state_home: None,
        caches: CacheChoice::None,
        temp: Temp::Directory(grant.folder.clone()),
        secrets: pinfold_policy::settings::Secrets::default(),
        ..grant.clone()
    }
}

fn known_caches(choice: &CacheChoice) -> Result<(), CompileError> {
    let CacheChoice::Only(names) = choice else { return Ok(()) };
    match names.iter().find(|name| !caches::names().any(|known| known == *name)) {
        None => Ok(()),
        Some(name) => {
            let mut known: Vec<&str> = caches::names().collect();
            known.dedup();
            Err(CompileError::UnknownCache { name: name.clone(), known: known.join(", ") })
        }
    }
}

fn resolve(base: &Path, path: &Path) -> Result<PathBuf, CompileError> {
    let joined = base.join(path);
    fs::canonicalize(&joined).map_err(|error| CompileError::Unresolved { path: path.to_owned(), error })
}

fn resolve_folder(choice: &FolderChoice, base: &Path, path: &Path) -> Result<PathBuf, CompileError> {
    let real = resolve(base, path)?;
    if !real.is_dir() {
        return Err(CompileError::NotADirectory { path: real });
    }
    match choice.check(&real) {
        Ok(()) => Ok(real),
        Err(why) => Err(CompileError::NotAFolder { path: real, why }),
    }
}

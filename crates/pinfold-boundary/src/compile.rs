//! Compilation of a sandbox request into a boundary, and of its parts into the profile for the kernel.

use std::fs;
use std::mem::take;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pinfold_policy::{DeniedPattern, Guards};
use pinfold_sandbox::{self as sandbox, Mediation, Profile, Strength, Temp, Tier};

use crate::access_list::{AccessList, Hold};
use crate::agents;
use crate::boundary::Boundary;
use crate::builder::BoundaryBuilder;
use crate::caches;
use crate::compile_error::{CompileError, resolve, resolve_folder};
use crate::denied;
use crate::egress::network;
use crate::environment::{self, Filtered};
use crate::folder::Findings;
use crate::git::operations::Operations;
use crate::guarded_links;
use crate::left_behind::LeftBehind;
use crate::lists;
use crate::private::Private;
use crate::request::{CacheChoice, Network, SandboxMode, SandboxRequest};
use crate::scan::Bounds;
use crate::secrets;

impl Boundary {
    /// Resolves and compiles a grant for a machine of this strength. Looks at the places that it speaks of and
    /// makes private directories, `grant.private` and below `grant.cache_home`; changes nothing else.
    ///
    /// # Errors
    /// When a place that is granted for writing does not exist or is not a folder to work in.
    pub fn compile(
        request: &SandboxRequest,
        guards: &Guards,
        strength: impl Into<Strength>,
    ) -> Result<Self, CompileError> {
        Self::compile_within(request, guards, strength.into(), Bounds::START)
    }

    /// The same for file tools alone: no process is started in it, and everything that is held is searched for at once.
    ///
    /// # Errors
    /// As of [`Boundary::compile`].
    pub fn compile_for_file_tools(request: &SandboxRequest, guards: &Guards) -> Result<Self, CompileError> {
        let strength = Strength { tier: Tier::Landlock, mediated: false };
        Self::compile_within(request, guards, strength, Bounds::WHOLE)
    }

    /// The same, with limits for the look at the folder.
    pub(crate) fn compile_within(
        request: &SandboxRequest,
        guards: &Guards,
        strength: Strength,
        bounds: Bounds,
    ) -> Result<Self, CompileError> {
        if request.denied.writes_nowhere().is_some() && request.mode != SandboxMode::ReadOnly {
            let reads_only = SandboxRequest { mode: SandboxMode::ReadOnly, ..request.clone() };
            return Self::compile_within(&reads_only, guards, strength, bounds);
        }
        let Strength { tier, mediated } = strength;
        let mediated = mediated && request.openings.allow_mediation();
        known_caches(&request.caches)?;
        let home = request.home.as_deref().and_then(|h| fs::canonicalize(h).ok());
        let choice = request.folder_choice.clone().with_home(home.as_deref());
        let folder = resolve_folder(&choice, &request.cwd, &request.folder)?;
        let same = request.cwd.as_os_str().is_empty()
            || (request.cwd.is_absolute() && request.cwd == request.folder);
        let cwd = if same { folder.clone() } else { resolve(&folder, &request.cwd)? };
        let mut builder = BoundaryBuilder {
            places: AccessList::new(request.mode == SandboxMode::DefaultWrite),
            findings: Findings::default(),
            granted: vec![folder.clone()],
            opened: Vec::new(),
            readable: Vec::new(),
            mediated,
            bounds,
        };
        for path in &request.add {
            builder.granted.push(resolve_folder(&choice, &cwd, path)?);
        }
        for path in &request.allow_write {
            builder.allow_write(resolve(&cwd, path)?, guards, home.as_deref());
        }
        let mut readable: Vec<PathBuf> =
            request.allow_read.iter().map(|p| resolve(&cwd, p)).collect::<Result<_, _>>()?;
        readable.extend(agents::logins(request, home.as_deref(), &builder.granted));
        if request.mode == SandboxMode::DefaultWrite {
            builder.granted.extend(lists::folders(&request.lists));
        }
        if request.mode != SandboxMode::ReadOnly {
            builder.writable(request, guards, home.as_deref(), tier);
        }
        builder.hide(request, guards, home.as_deref(), &cwd, readable.clone());
        builder.readable = readable;
        let mut visible: Vec<PathBuf> =
            request.visible.iter().map(|p| resolve(&cwd, p)).collect::<Result<_, _>>()?;
        let sockets = builder.sockets(request, &cwd, tier);
        // `/run` is covered, where most of them lie.
        visible.extend(sockets.iter().cloned());
        visible.extend(builder.granted.iter().chain([&cwd]).cloned());
        lists::apply(request, home.as_deref(), &cwd, &mut visible, &mut builder)?;
        denied::apply(request, guards, home.as_deref(), &cwd, &mut builder)?;
        let seen = VisiblePlaces { visible, sockets };
        let mut boundary = builder.finish(request, guards.clone(), home, cwd, seen, tier);
        boundary.compare_linked_build_files();
        Ok(boundary)
    }
}

/// Parts of this machine that stay in sight.
struct VisiblePlaces {
    visible: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

impl BoundaryBuilder {
    fn finish(
        mut self,
        request: &SandboxRequest,
        guards: Guards,
        home: Option<PathBuf>,
        cwd: PathBuf,
        seen: VisiblePlaces,
        tier: Tier,
    ) -> Boundary {
        let caches = self.caches(request, home.as_deref(), tier);
        // Caches of our own may just have been made.
        self.findings.missing.retain(|path| fs::symlink_metadata(path).is_err());
        let (network_mode, hosts) = self.network(request, tier);
        let mut profile = Profile::new(cwd)
            .with_visible(seen.visible)
            .with_sockets(seen.sockets)
            .with_temp(self.temporary(request, tier))
            .with_layers(caches.layers.clone())
            .with_spare(request.cache_home.as_ref().map(|home| home.join("spare")))
            .with_network(network_mode)
            .with_openings(request.openings)
            .with_limits(request.limits)
            .with_negotiable(request.negotiable);
        // A guard on the whole of it would stand over the layer.
        for layer in &profile.layers {
            self.places.forget(&layer.shared);
        }
        for fixed in caches.fixed {
            self.places.add(fixed, Hold::ReadOnly, "it is run or read outside too");
        }
        for (link, to) in caches.links {
            self.places.add(link, Hold::CoveringLink(to), "it is read and acted on outside too");
        }
        let mut own = self.findings.git.copies();
        own.extend(caches.writable.iter().cloned());
        own.extend(caches.layers.iter().map(|layer| layer.shared.clone()));
        for place in caches.writable {
            self.places.add(place, Hold::Writable, "it is a private cache");
        }
        let mut added = caches.variables;
        let asks_about_hosts = request.asks_about_hosts && hosts.is_some() && request.network != Network::Off;
        let reaches_hosts = network::reaches_hosts(&profile.network, hosts.as_ref(), asks_about_hosts);
        let variables = network::proxy_variables(&profile.network, reaches_hosts);
        added.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        if let (sandbox::Network::Relayed(_), Some(hosts)) = (&profile.network, &hosts) {
            self.hosts_file(request, &Arc::clone(hosts.configured()), &mut profile);
        }
        let secrets = self.secrets(request, &mut profile, reaches_hosts, &mut added);
        if let (Temp::Directory(directory), Tier::Landlock) = (&profile.temp, tier) {
            added.push(("TMPDIR".into(), directory.into()));
        }
        self.findings.notes.extend(caches.notes);
        let top = self.granted.first().cloned().unwrap_or_default();
        let Filtered { kept, removed } = environment::filter(
            &secrets::without_sources(request),
            added,
            &agents::env_overrides(request, &top),
        );
        profile.environment = kept;
        self.places.prune();
        self.places.enter(&mut profile);
        if self.mediated {
            // Held by judgement: nothing stands in their place.
            self.places.unpin();
            profile.pinned.clear();
            let mut left = LeftBehind::new(take(&mut profile.absent), take(&mut profile.stand_ins));
            left.add_names(&guards, &self.granted);
            left.add_git_dirs(&self.findings.git.git_dirs);
            let linked = self.findings.linked.iter().map(|linked| linked.place.clone());
            let denied = request.denied.read_patterns().chain(request.denied.write_patterns());
            let denied = denied.filter(DeniedPattern::is_whole).map(|pattern| pattern.place());
            left.add_places(linked.chain(denied), &self.granted);
            self.findings.left_behind = left;
            profile.mediated = Some(Mediation { own: own.clone() });
            profile.watches_reading = true;
            guarded_links::judge(&self.findings.linked, &own, &mut self.places);
        }
        self.findings.notes.extend(watch_note(request, self.mediated));
        // A mediated run knows what it holds only when something happens to it.
        let unsearched = (self.mediated || self.findings.link_gap.is_some())
            .then(|| Box::new((for_asking(request), tier)));
        let operations = Operations::look(&self.findings.git.git_dirs);
        Boundary {
            profile,
            places: self.places,
            guards,
            denied: request.denied.clone(),
            home,
            granted: self.granted,
            read_only: request.mode == SandboxMode::ReadOnly,
            named: self.opened,
            readable: self.readable,
            own,
            network_is_off: request.network == Network::Off,
            asks_about_hosts,
            hosts,
            secrets,
            findings: self.findings,
            all_links: OnceLock::new(),
            operations,
            removed,
            unsearched,
            state_home: request.state_home.clone(),
            _caches: caches.lock,
            _private: request.private.clone(),
        }
    }
}

/// The note about a run whose supervisor only watches; nothing for a run within a run, whose calls the outer one carries out.
fn watch_note(request: &SandboxRequest, mediated: bool) -> Option<String> {
    let why = match (sandbox::can_mediate(), request.openings.allow_mediation()) {
        (true, true) => return None,
        (true, false) => "with the kernel features that are allowed",
        (false, _) => "on a kernel before Linux 5.19",
    };
    (!mediated).then(|| {
        format!(
            "{why} the supervisor only watches changes of files: a run can undo what protects names in the folder for the next \
             run, and put links into git directories; `pinfold doctor` and the threat model say what is not held"
        )
    })
}

/// Copies a request for a check without side effects: nothing is created for it.
fn for_asking(request: &SandboxRequest) -> SandboxRequest {
    SandboxRequest {
        private: Private::default(),
        cache_home: None,
        state_home: None,
        caches: CacheChoice::None,
        temp: Temp::Directory(request.folder.clone()),
        secrets: pinfold_policy::settings::Secrets::default(),
        ..request.clone()
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

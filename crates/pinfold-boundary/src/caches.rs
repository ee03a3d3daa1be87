//! Caches of package managers and compilers: read shared, written to a private layer of the project.
//!
//! Tools that keep a cache in the home directory work as they do outside, and what a run puts into its layer is
//! seen only by later runs in the same folder: a poisoned cache does not reach the person's own builds. Where
//! layers cannot be mounted, or where there is no cache yet, the tool is told to keep one in a private place.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::Layer;

use crate::agents::{AgentProfile, States};
use crate::request::CacheChoice;

/// One tool's cache.
struct CacheProfile {
    name: &'static str,
    /// The variable with which the person moves it, if there is one; also used to move it into a private place.
    variable: Option<&'static str>,
    /// The variable of earlier versions: it tells where the person keeps it, and is not set.
    earlier: Option<&'static str>,
    /// Below the home directory.
    usual: &'static str,
    /// Below the cache: read-only although the layer is writable, since it is run or read outside a build.
    fixed: &'static [&'static str],
    /// An empty private cache serves: false where the shared one holds content that cannot be fetched again.
    movable: bool,
}

const fn cache(name: &'static str, variable: Option<&'static str>, usual: &'static str) -> CacheProfile {
    CacheProfile { name, variable, earlier: None, usual, fixed: &[], movable: true }
}

/// A cache whose variable had another name before.
const fn renamed(
    name: &'static str,
    (variable, earlier): (&'static str, &'static str),
    usual: &'static str,
) -> CacheProfile {
    CacheProfile { earlier: Some(earlier), ..cache(name, Some(variable), usual) }
}

const PROFILES: [CacheProfile; 18] = [
    CacheProfile {
        name: "cargo",
        variable: Some("CARGO_HOME"),
        earlier: None,
        usual: ".cargo",
        fixed: &["bin", "config.toml", "config", "env"],
        movable: false,
    },
    cache("npm", Some("npm_config_cache"), ".npm"),
    // npm 11.2 warns of variables `npm_config_…` that are not its own (https://github.com/npm/cli/issues/8153).
    // node-gyp 11.4 reads this one (https://github.com/nodejs/node-gyp/pull/3196).
    renamed("node-gyp", ("npm_package_config_node_gyp_devdir", "npm_config_devdir"), ".cache/node-gyp"),
    // pnpm 11 reads no others.
    renamed("pnpm", ("pnpm_config_store_dir", "npm_config_store_dir"), ".local/share/pnpm/store"),
    cache("yarn", Some("YARN_CACHE_FOLDER"), ".cache/yarn"),
    cache("yarn", Some("YARN_GLOBAL_FOLDER"), ".yarn/berry"),
    cache("bun", Some("BUN_INSTALL_CACHE_DIR"), ".bun/install/cache"),
    cache("deno", Some("DENO_DIR"), ".cache/deno"),
    cache("pip", Some("PIP_CACHE_DIR"), ".cache/pip"),
    cache("uv", Some("UV_CACHE_DIR"), ".cache/uv"),
    cache("poetry", Some("POETRY_CACHE_DIR"), ".cache/pypoetry"),
    cache("go", Some("GOMODCACHE"), "go/pkg/mod"),
    cache("go", Some("GOCACHE"), ".cache/go-build"),
    CacheProfile {
        name: "gradle",
        variable: Some("GRADLE_USER_HOME"),
        earlier: None,
        usual: ".gradle",
        fixed: &["init.d", "init.gradle", "init.gradle.kts", "gradle.properties"],
        movable: true,
    },
    CacheProfile {
        name: "maven",
        variable: None,
        earlier: None,
        usual: ".m2",
        fixed: &["settings.xml", "settings-security.xml"],
        movable: false,
    },
    cache("composer", Some("COMPOSER_CACHE_DIR"), ".cache/composer"),
    cache("ccache", Some("CCACHE_DIR"), ".cache/ccache"),
    cache("sccache", Some("SCCACHE_DIR"), ".cache/sccache"),
];

/// Runs at one time that can share a folder's layers, one set each: two overlays cannot share an upper directory.
const SLOTS: usize = 8;

/// Caches of one run, arranged.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    pub(crate) layers: Vec<Layer>,
    pub(crate) fixed: Vec<PathBuf>,
    /// Links that stay as they are, and where they lead.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) notes: Vec<String>,
    /// Held for the run: no other one uses these layers.
    pub(crate) lock: Option<File>,
}

/// Circumstances under which caches are arranged.
pub(crate) struct Arrange<'a> {
    pub(crate) choice: &'a CacheChoice,
    /// Agent whose state is kept like a cache.
    pub(crate) agent: Option<&'a AgentProfile>,
    pub(crate) home: &'a Path,
    pub(crate) cache_home: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) environment: &'a [(OsString, OsString)],
    /// The kernel can mount layers.
    pub(crate) layered: bool,
}

/// The names of all profiles, for a message about one that does not exist.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|p| p.name)
}

impl Arrange<'_> {
    /// Finds the caches and makes the private places.
    pub(crate) fn arrange(&self) -> Caches {
        let mut caches = Caches::default();
        let wanted: Vec<&CacheProfile> = PROFILES.iter().filter(|p| self.wants(p.name)).collect();
        if wanted.is_empty() && self.agent.is_none() {
            return caches;
        }
        let Some((slot, lock)) = self.take_slot() else {
            caches.notes.push("no private place for caches: tools see theirs read-only".to_owned());
            return caches;
        };
        caches.lock = Some(lock);
        let moved = slot.join("moved");
        if !wanted.is_empty() && make(&moved).is_ok() {
            caches.writable.push(moved);
        }
        for profile in wanted {
            self.one(profile, &slot, &mut caches);
        }
        if let Some(agent) = self.agent {
            self.state(agent, &slot, &mut caches);
        }
        caches
    }

    /// Arranges the state of an agent like a cache.
    fn state(&self, agent: &AgentProfile, slot: &Path, caches: &mut Caches) {
        if !self.layered || !can_be_option(slot) {
            let note = format!(
                "{} cannot write its state: that takes a layer, which cannot be had here (--allow-write grants a place \
                 as it is)",
                agent.name
            );
            return caches.notes.push(note);
        }
        let mut states = States::default();
        let kept = |place: &Path| self.granted(place) || !can_be_option(place);
        states.arrange(agent, self.home, self.environment, slot, &kept);
        caches.layers.append(&mut states.layers);
        caches.fixed.append(&mut states.fixed);
        caches.links.append(&mut states.links);
        caches.variables.append(&mut states.variables);
        caches.notes.append(&mut states.notes);
    }

    fn wants(&self, name: &str) -> bool {
        match self.choice {
            CacheChoice::All => true,
            CacheChoice::None => false,
            CacheChoice::Only(names) => names.iter().any(|n| n == name),
        }
    }

    fn one(&self, profile: &CacheProfile, slot: &Path, caches: &mut Caches) {
        let mut variables = [profile.variable, profile.earlier].into_iter().flatten();
        let set = variables.find_map(|v| self.environment.iter().find(|(name, _)| name == v));
        let usual = set.map_or_else(|| self.home.join(profile.usual), |(_, value)| PathBuf::from(value));
        // Nearly all of them are missing, and resolving looks at every directory on the way.
        let shared = if usual.is_dir() { fs::canonicalize(&usual).ok() } else { None };
        match shared {
            Some(shared) if self.granted(&shared) => {}
            Some(shared) if self.layered && can_be_option(&shared) && can_be_option(slot) => {
                Self::layer(profile, shared, slot, caches);
            }
            Some(_) if !profile.movable => {}
            _ => Self::relocate(profile, caches),
        }
    }

    /// A cache within the folder needs no layer; one around it cannot have one.
    fn granted(&self, shared: &Path) -> bool {
        shared.starts_with(self.folder)
            || self.folder.starts_with(shared)
            || self.cache_home.starts_with(shared)
    }

    fn layer(profile: &CacheProfile, shared: PathBuf, slot: &Path, caches: &mut Caches) {
        let place = slot.join(slug(profile.usual));
        let layer = Layer { private: place.join("upper"), work: place.join("work"), shared };
        if make(&layer.private).is_err() || make(&layer.work).is_err() {
            caches.notes.push(format!("no layer for the {} cache: it is read-only", profile.name));
            return;
        }
        let fixed = profile.fixed.iter().map(|name| layer.shared.join(name));
        caches.fixed.extend(fixed.filter(|p| fs::symlink_metadata(p).is_ok_and(|m| !m.is_symlink())));
        caches.layers.push(layer);
    }

    /// The tool makes the directory itself when it needs it.
    fn relocate(profile: &CacheProfile, caches: &mut Caches) {
        if let (Some(variable), Some(moved)) = (profile.variable, caches.writable.first()) {
            caches.variables.push((variable.into(), moved.join(slug(profile.usual)).into()));
        }
    }

    /// A set of layers that no other run uses now.
    fn take_slot(&self) -> Option<(PathBuf, File)> {
        let project = self.cache_home.join(project_name(self.folder));
        (0..SLOTS).find_map(|n| {
            let slot = project.join(n.to_string());
            make(&slot).ok()?;
            let lock = File::create(slot.join("lock")).ok()?;
            lock.try_lock().ok()?;
            Some((fs::canonicalize(slot).ok()?, lock))
        })
    }
}

/// A comma cannot be escaped in the options of an overlay.
fn can_be_option(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b',')
}

fn make(directory: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn slug(usual: &str) -> String {
    usual.trim_start_matches('.').replace('/', "-")
}

/// The folder's name and a fingerprint of its whole path (FNV-1a; it tells folders apart, it protects nothing).
fn project_name(folder: &Path) -> OsString {
    let hash = folder.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut name = folder.file_name().unwrap_or(OsStr::new("root")).to_owned();
    name.push(format!("-{hash:016x}"));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bed() -> (tempfile::TempDir, PathBuf) {
        let bed = tempfile::tempdir().unwrap();
        let at = fs::canonicalize(bed.path()).unwrap();
        for directory in ["home/.cargo/bin", "home/.npm", "cache", "work"] {
            fs::create_dir_all(at.join(directory)).unwrap();
        }
        (bed, at)
    }

    fn arrange(at: &Path, choice: &CacheChoice, layered: bool) -> Caches {
        Arrange {
            choice,
            agent: None,
            home: &at.join("home"),
            cache_home: &at.join("cache"),
            folder: &at.join("work"),
            environment: &[],
            layered,
        }
        .arrange()
    }

    #[test]
    fn an_existing_cache_gets_a_layer_and_a_missing_one_a_private_place() {
        let (_bed, at) = bed();
        let caches = arrange(&at, &CacheChoice::All, true);
        let shared: Vec<_> = caches.layers.iter().map(|l| l.shared.clone()).collect();
        assert_eq!(shared, [at.join("home/.cargo"), at.join("home/.npm")]);
        assert_eq!(caches.fixed, [at.join("home/.cargo/bin")]);
        let moved: Vec<_> = caches.variables.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert!(moved.contains(&"PIP_CACHE_DIR") && !moved.contains(&"npm_config_cache"), "{moved:?}");
    }

    #[test]
    fn without_layers_a_cache_moves_unless_it_would_be_missed() {
        let (_bed, at) = bed();
        let caches = arrange(&at, &CacheChoice::All, false);
        assert!(caches.layers.is_empty());
        let moved: Vec<_> = caches.variables.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert!(moved.contains(&"npm_config_cache") && !moved.contains(&"CARGO_HOME"), "{moved:?}");
    }

    /// npm warns of each that it does not know, in every command.
    #[test]
    fn no_variable_is_one_that_npm_takes_for_its_own() {
        let (_bed, at) = bed();
        fs::remove_dir(at.join("home/.npm")).unwrap();
        let caches = arrange(&at, &CacheChoice::All, true);
        let of_npm: Vec<_> = caches
            .variables
            .iter()
            .map(|(name, _)| name.to_str().unwrap())
            .filter(|name| name.to_lowercase().starts_with("npm_config_"))
            .collect();
        assert_eq!(of_npm, ["npm_config_cache"]);
    }

    #[test]
    fn a_place_that_an_earlier_variable_names_is_the_cache() {
        let (_bed, at) = bed();
        let store = at.join("home/store");
        fs::create_dir(&store).unwrap();
        for variable in ["pnpm_config_store_dir", "npm_config_store_dir"] {
            let environment = [(variable.into(), store.clone().into())];
            let only = CacheChoice::Only(vec!["pnpm".into()]);
            let (home, cache_home, folder) = (at.join("home"), at.join("cache"), at.join("work"));
            let arrange = Arrange {
                choice: &only,
                agent: None,
                home: &home,
                cache_home: &cache_home,
                folder: &folder,
                environment: &environment,
                layered: true,
            };
            let caches = arrange.arrange();
            assert_eq!(
                caches.layers.first().map(|layer| layer.shared.clone()),
                Some(store.clone()),
                "{variable}"
            );
        }
    }

    #[test]
    fn two_runs_at_once_do_not_share_a_layer() {
        let (_bed, at) = bed();
        let only = CacheChoice::Only(vec!["npm".into()]);
        let (first, second) = (arrange(&at, &only, true), arrange(&at, &only, true));
        assert_ne!(first.layers, second.layers);
        let again = first.layers.clone();
        drop(first);
        assert_eq!(arrange(&at, &only, true).layers, again);
    }
}

//! Worlds: a folder to be granted, a home and a directory outside, made by scripts once and put back for each program.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::program::WorldName;
use super::restore::{copy, put_back, remove};
use super::roles::Roles;
use super::snapshot::Snapshot;
use super::world_path::{Root, Roots, WorldPath};
use crate::Who;
use crate::git_bed::{Section, sections};
use crate::ground::new_place;
use crate::output::describe;

const WORLDS: &str = include_str!("../../hostile/worlds.txt");

/// What stands in every world.
const COMMON: &str = include_str!("../../hostile/common.sh");

fn all() -> &'static [Section] {
    static ALL: OnceLock<Vec<Section>> = OnceLock::new();
    ALL.get_or_init(|| sections(WORLDS, &["kind", "folder", "named"]))
}

fn is_extra(section: &Section) -> bool {
    section.key("kind") == Some("extra")
}

/// A layout or an extra.
fn section(name: &str) -> &'static Section {
    all().iter().find(|s| s.name == name).unwrap_or_else(|| panic!("there is no world `{name}`"))
}

/// The names of all layouts.
pub(super) fn layouts() -> Vec<&'static str> {
    all().iter().filter(|s| !is_extra(s)).map(|s| s.name.as_str()).collect()
}

/// A place where worlds are put up, one at a time, always at the same paths: repositories name absolute ones.
#[derive(Debug)]
pub(super) struct Ground {
    who: Who,
    place: TempDir,
    layouts: HashMap<String, Layout>,
    worlds: HashMap<WorldName, Made>,
    /// The world that stands.
    standing: Option<WorldName>,
}

/// A layout as it was built, without extras.
#[derive(Debug)]
struct Layout {
    at: PathBuf,
    /// The configuration of the repository at the top of the folder.
    config: Option<String>,
}

/// A world that was made once.
#[derive(Debug)]
struct Made {
    world: World,
    roles: Rc<Roles>,
    /// A copy that no program reaches.
    original: PathBuf,
    /// Where it lies while another one stands.
    parked: PathBuf,
    /// What it looked like before anything ran in it.
    seen: Rc<Snapshot>,
}

/// What a program finds.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) world: World,
    pub(super) roles: Rc<Roles>,
    /// The look at everything before anything has run.
    pub(super) seen: Rc<Snapshot>,
}

/// One world that stands.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// Whose it is.
    pub(super) who: Who,
    /// Everything that belongs to it.
    pub(super) top: PathBuf,
    /// Where the roots are.
    pub(super) roots: Roots,
    /// A program whose start leaves a mark.
    pub(super) planted: PathBuf,
    /// Where the mark appears.
    pub(super) marks: PathBuf,
    /// Where the program lies for the actor.
    pub(super) program: PathBuf,
    /// A folder that no program reaches.
    pub(super) elsewhere: PathBuf,
    /// Temporary files of the supervisor.
    pub(super) temp: PathBuf,
    /// Places in the folder that git's configuration names.
    pub(super) named: Vec<PathBuf>,
}

impl Ground {
    /// Ground for this user.
    pub(super) fn new(who: Who) -> Self {
        let place = new_place("hostile.");
        let (layouts, worlds) = (HashMap::new(), HashMap::new());
        let ground = Self { who, place, layouts, worlds, standing: None };
        let at = ground.place.path();
        for name in
            ["elsewhere", "marks", "layouts", "originals", "parked", "template/hooks", "template/info"]
        {
            fs::create_dir_all(at.join(name)).expect("a directory");
        }
        fs::write(at.join("template/hooks/pre-commit.sample"), "#!/bin/sh\n").expect("a file");
        fs::write(at.join("template/info/exclude"), "*~\n").expect("a file");
        let mark = at.join("marks/ran").display().to_string();
        let program = format!("#!/bin/sh\ntr '\\0' ' ' < /proc/$PPID/cmdline >> {mark}\nexit 0\n");
        fs::write(at.join("planted"), program).expect("a program");
        fs::set_permissions(at.join("planted"), fs::Permissions::from_mode(0o755)).expect("a mode");
        who.give(at);
        ground.script(&ground.roots("w"), None, "mkdir remote; cd remote; git init -q --bare r; git init -q seed; cd seed; \
             echo f > f; git add f; git commit -qm first; git branch other; echo f2 >> f; git commit -qam second; \
             git push -q ../r main other; cd ..; rm -rf seed");
        ground
    }

    /// A path that stands in everything that the machine starts here, and nowhere else.
    pub(super) fn mark(&self) -> &Path {
        self.place.path()
    }

    fn roots(&self, folder: &str) -> Roots {
        let top = self.place.path().join("world");
        let (home, outside) = (top.join("home"), top.join("outside"));
        let folder = match folder.parse::<WorldPath>() {
            Ok(WorldPath { root: Root::Home, below }) if below.is_empty() => home.clone(),
            Ok(WorldPath { root: Root::Home, below }) => home.join(below),
            Ok(WorldPath { root: Root::Outside, below }) => outside.join(below),
            _ => top.join(folder),
        };
        Roots { folder, home, outside }
    }

    /// Puts a world up, as if nothing had happened there.
    ///
    /// # Panics
    /// When its name is not known, or its scripts fail.
    pub(super) fn put_up(&mut self, name: &WorldName) -> Standing {
        let top = self.top();
        if let Some(made) = self.standing.take().and_then(|standing| self.worlds.get(&standing)) {
            fs::rename(&top, &made.parked).expect("a world can be put aside");
        }
        if !self.worlds.contains_key(name) {
            let made = self.make(name);
            self.worlds.insert(name.clone(), made);
        }
        let made = self.worlds.get_mut(name).expect("it was made");
        made.stand(&top);
        self.standing = Some(name.clone());
        Standing { world: made.world.clone(), roles: Rc::clone(&made.roles), seen: Rc::clone(&made.seen) }
    }

    fn top(&self) -> PathBuf {
        self.place.path().join("world")
    }

    /// Makes a world, and leaves it parked.
    fn make(&mut self, name: &WorldName) -> Made {
        let layout = section(&name.layout);
        let extras: Vec<&Section> = name.extras.iter().map(|extra| section(extra)).collect();
        let roots = self.roots(layout.key("folder").unwrap_or("w"));
        let top = self.top();
        let built = self.layout(layout, &roots, &top);
        let (at, config) = (built.at.clone(), built.config.clone());
        copy(&at, &top);
        for extra in &extras {
            self.script(&roots, config.as_deref(), &extra.script);
        }
        let place = |name: &str| self.place.path().join(name).join(self.worlds.len().to_string());
        let (original, parked) = (place("originals"), place("parked"));
        copy(&top, &original);
        let world = self.world(roots, &extras);
        let seen = Snapshot::of(&top);
        let roles = Rc::new(Roles::of(&world, &seen));
        fs::rename(&top, &parked).expect("a world can be put aside");
        Made { world, roles, original, parked, seen: Rc::new(seen) }
    }

    fn world(&self, roots: Roots, extras: &[&Section]) -> World {
        let at = self.place.path();
        // Without a repository nothing names them.
        let is_repository =
            [".git", "HEAD"].iter().any(|part| fs::symlink_metadata(roots.folder.join(part)).is_ok());
        let named = extras.iter().filter_map(|e| e.key("named")).filter(|_| is_repository);
        World {
            who: self.who,
            named: named.map(|below| roots.folder.join(below)).collect(),
            planted: at.join("planted"),
            marks: at.join("marks/ran"),
            program: at.join("program"),
            elsewhere: at.join("elsewhere"),
            temp: self.top().join("tmp"),
            top: self.top(),
            roots,
        }
    }

    /// A layout, built when it is first needed.
    fn layout(&mut self, layout: &Section, roots: &Roots, top: &Path) -> &Layout {
        if !self.layouts.contains_key(&layout.name) {
            for at in [&roots.home, &roots.outside, &top.join("tmp")] {
                fs::create_dir_all(at).expect("a directory");
            }
            self.who.give(top);
            self.script(roots, None, COMMON);
            self.script(roots, None, &layout.script);
            let find = "git -C $F rev-parse --path-format=absolute --git-path config || true";
            let config = Some(self.script(roots, None, find).trim().to_owned());
            let at = self.place.path().join("layouts").join(&layout.name);
            // Objects of a clone are other names of those that it was made from; of a copy they are not.
            copy(top, &at);
            remove(top);
            let built = Layout { at, config: config.filter(|path| !path.is_empty()) };
            self.layouts.insert(layout.name.clone(), built);
        }
        self.layouts.get(&layout.name).expect("it was built")
    }

    fn script(&self, roots: &Roots, config: Option<&str>, script: &str) -> String {
        let at = self.place.path();
        let mut command = self.who.direct_command("sh", &roots.home);
        command.args(["-c", &format!("set -e; umask 022\n{script}")]).current_dir(at);
        command.env("F", &roots.folder).env("H", &roots.home).env("O", &roots.outside);
        command.env("R", at.join("remote/r")).env("G", config.unwrap_or_default());
        command.env("GIT_TEMPLATE_DIR", at.join("template"));
        // Until the home has a configuration of its own.
        let identity = [
            ("user.name", "Test"),
            ("user.email", "test@example.org"),
            ("protocol.file.allow", "always"),
            ("init.defaultBranch", "main"),
        ];
        command.env("GIT_CONFIG_COUNT", identity.len().to_string());
        for (number, (key, value)) in identity.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{number}"), key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        let done = command.output().expect("a shell can be started");
        assert!(done.status.success(), "{script}: {}", describe(&done));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Made {
    /// Puts it back as it was, from where it is parked.
    fn stand(&mut self, top: &Path) {
        fs::rename(&self.parked, top).expect("a world can be put up");
        if put_back(top, &self.seen, &self.original).is_ok() {
            let seen = self.seen.again(top);
            if self.seen.is_same(&seen) {
                self.seen = Rc::new(seen);
                return;
            }
        }
        remove(top);
        copy(&self.original, top);
        self.seen = Rc::new(Snapshot::of(top));
    }
}

impl Drop for Ground {
    /// What hides behind modes is no obstacle.
    fn drop(&mut self) {
        remove(self.place.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_and_extra_is_known_by_one_name() {
        let mut names: Vec<&str> = all().iter().map(|section| section.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(layouts().contains(&"plain") && !layouts().contains(&"packages"));
    }
}

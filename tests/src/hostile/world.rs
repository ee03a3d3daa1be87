//! Worlds: a folder to be granted, a home and a directory outside, made by scripts once and put back for each program.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::place::{Place, Root, Roots};
use super::program::WorldName;
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

/// The names of all layouts.
pub(super) fn layouts() -> Vec<&'static str> {
    all().iter().filter(|s| !is_extra(s)).map(|s| s.name.as_str()).collect()
}

/// A place where worlds are put up, one at a time, always at the same paths: repositories name absolute ones.
#[derive(Debug)]
pub(super) struct Ground {
    who: Who,
    place: TempDir,
    made: HashMap<WorldName, PathBuf>,
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
    /// Temporary files of the supervisor.
    pub(super) temp: PathBuf,
    /// Places in the folder that git's configuration names.
    pub(super) named: Vec<PathBuf>,
}

impl Ground {
    /// Ground for this user.
    pub(super) fn new(who: Who) -> Self {
        let place = new_place("hostile.");
        let ground = Self { who, place, made: HashMap::new() };
        let at = ground.place.path();
        for name in ["marks", "kept", "template/hooks", "template/info"] {
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
        let folder = match folder.parse::<Place>() {
            Ok(Place { root: Root::Home, below }) if below.is_empty() => home.clone(),
            Ok(Place { root: Root::Home, below }) => home.join(below),
            Ok(Place { root: Root::Outside, below }) => outside.join(below),
            _ => top.join(folder),
        };
        Roots { folder, home, outside }
    }

    /// Puts a world up, as if nothing had happened there.
    ///
    /// # Panics
    /// When its name is not known, or its scripts fail.
    pub(super) fn put_up(&mut self, name: &WorldName) -> World {
        let section = |name: &str| {
            let found = all().iter().find(|s| s.name == name);
            found.unwrap_or_else(|| panic!("there is no world `{name}`"))
        };
        let (layout, extras) =
            (section(&name.layout), name.extras.iter().map(|e| section(e)).collect::<Vec<_>>());
        let roots = self.roots(layout.key("folder").unwrap_or("w"));
        let top = self.place.path().join("world");
        remove(&top);
        if let Some(kept) = self.made.get(name) {
            copy(kept, &top);
        } else {
            self.build(layout, &extras, &roots, &top);
            let kept = self.place.path().join("kept").join(self.made.len().to_string());
            copy(&top, &kept);
            self.made.insert(name.clone(), kept);
        }
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
            temp: top.join("tmp"),
            top,
            roots,
        }
    }

    fn build(&self, layout: &Section, extras: &[&Section], roots: &Roots, top: &Path) {
        for at in [&roots.home, &roots.outside, &top.join("tmp")] {
            fs::create_dir_all(at).expect("a directory");
        }
        self.who.give(top);
        self.script(roots, None, COMMON);
        self.script(roots, None, &layout.script);
        let config =
            self.script(roots, None, "git -C $F rev-parse --path-format=absolute --git-path config || true");
        let config = Some(config.trim()).filter(|path| !path.is_empty());
        for extra in extras {
            self.script(roots, config, &extra.script);
        }
    }

    fn script(&self, roots: &Roots, config: Option<&str>, script: &str) -> String {
        let at = self.place.path();
        let mut command = self.who.command("sh", &roots.home);
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

impl Drop for Ground {
    /// What hides behind modes is no obstacle.
    fn drop(&mut self) {
        remove(&self.place.path().join("world"));
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} can be copied", from.display());
}

/// Takes a tree away, whatever its modes are.
fn remove(tree: &Path) {
    let Ok(meta) = fs::symlink_metadata(tree) else { return };
    if !meta.is_dir() {
        drop(fs::remove_file(tree));
        return;
    }
    if meta.permissions().mode() & 0o700 != 0o700 {
        drop(fs::set_permissions(tree, fs::Permissions::from_mode(0o700)));
    }
    for entry in fs::read_dir(tree).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        } else {
            drop(fs::remove_file(entry.path()));
        }
    }
    drop(fs::remove_dir(tree));
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

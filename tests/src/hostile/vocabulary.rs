//! The vocabulary of one world: the places in it that a hostile program is interested in, by their classes.

use std::path::Path;

use super::random::Random;
use super::roles::{Role, Roles};
use super::snapshot::Snapshot;
use super::world::World;
use super::world_path::WorldPath;

const NAMES: &str = include_str!("../../hostile/names.txt");

/// The lines of a section of `tests/hostile/names.txt`.
fn names(section: &str) -> Vec<&'static str> {
    let inside = NAMES.lines().skip_while(|line| line.trim() != format!("[{section}]")).skip(1);
    let lines = inside.take_while(|line| !line.starts_with('['));
    lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Where a name is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Held,
    Git,
    Thing,
    Kept,
    Out,
    OutDir,
    Guarded,
    Runs,
    Dir,
    File,
    New,
    Repo,
    Any,
}

/// The places of a world, by their classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    held: Vec<WorldPath>,
    gits: Vec<WorldPath>,
    out: Vec<WorldPath>,
    out_dirs: Vec<WorldPath>,
    dirs: Vec<WorldPath>,
    files: Vec<WorldPath>,
    repos: Vec<WorldPath>,
    guarded: Vec<String>,
}

/// Directories of the folder that names are made in, at most.
const MAX_DIRS: usize = 24;

impl Vocabulary {
    /// What is of interest in a world.
    pub(super) fn of(world: &World, roles: &Roles, seen: &Snapshot) -> Self {
        let place = |path: &Path| world.roots.place(path);
        let mut found = Self { guarded: Roles::guarded_names(), ..Self::default() };
        let granted: Vec<&Path> = roles.gits.granted().map(|git| git.at.as_path()).collect();
        found.gits = granted.iter().filter_map(|at| place(at)).collect();
        for (path, entry) in seen.below(&world.top) {
            let Some(at) = place(path) else { continue };
            let in_folder = path.starts_with(&world.roots.folder);
            match roles.role(path) {
                Role::Held(what) if !what.contains("git ") => found.held.push(at.clone()),
                Role::Outside if entry.is_dir() => found.out_dirs.push(at.clone()),
                Role::Outside => found.out.push(at.clone()),
                Role::Content if entry.is_dir() && found.dirs.len() < MAX_DIRS => {
                    found.dirs.push(at.clone());
                }
                Role::Content | Role::Reported if !entry.is_dir() => found.files.push(at.clone()),
                _ => {}
            }
            if in_folder && path.ends_with(".git") {
                found.repos.extend(at.parent());
            }
        }
        let kept = names("git holds");
        let of_git = found.gits.iter().flat_map(|git| kept.iter().map(|name| git.join(name)));
        found.held.extend(of_git.collect::<Vec<_>>());
        found
    }

    /// One of a world with a little of everything.
    #[cfg(test)]
    pub(super) fn example() -> Self {
        let places = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Self {
            held: places(&["F/.git/hooks/post-checkout", "F/packages/app/.vscode/tasks.json"]),
            gits: places(&["F/.git"]),
            out: places(&["O/file", "H/.bashrc"]),
            out_dirs: places(&["O/dir"]),
            dirs: places(&["F", "F/src"]),
            files: places(&["F/f"]),
            repos: places(&["F"]),
            guarded: Roles::guarded_names(),
        }
    }

    /// Draws a place, if the world has one of this class.
    pub(super) fn draw(
        &self,
        class: Class,
        git: Option<&WorldPath>,
        random: &mut Random,
    ) -> Option<WorldPath> {
        let below = |names: Vec<&str>, random: &mut Random| Some(git?.join(random.one(&names)?));
        match class {
            Class::Held => random.one(&self.held).cloned(),
            Class::Git => random.one(&self.gits).cloned(),
            Class::Thing => below(names("git writes"), random),
            Class::Kept => below(names("git holds"), random),
            Class::Out => random.one(&self.out).cloned(),
            Class::OutDir => random.one(&self.out_dirs).cloned(),
            Class::Dir => random.one(&self.dirs).cloned(),
            Class::File => random.one(&self.files).cloned(),
            Class::Repo => random.one(&self.repos).cloned(),
            Class::Guarded => {
                let (name, dir) = (random.one(&self.guarded)?, random.one(&self.dirs)?);
                Some(dir.join(name))
            }
            Class::Runs => Some(folder().join(random.one(&names("runs"))?)),
            Class::New => {
                let dir = if random.happens(1, 2) { folder() } else { random.one(&self.dirs)?.clone() };
                Some(dir.join(random.one(&names("new"))?))
            }
            Class::Any => {
                let (class, _) = random.weighed(&ANY, |(_, weight)| *weight)?;
                let git = self.draw(Class::Git, None, random);
                let drawn = self.draw(*class, git.as_ref(), random);
                // In the place of what the world does not have.
                drawn.or_else(|| Some(folder().join(random.one(&names("new"))?)))
            }
        }
    }
}

/// How often `{any}` is of a class.
const ANY: [(Class, usize); 11] = [
    (Class::Held, 6),
    (Class::Git, 2),
    (Class::Thing, 6),
    (Class::Kept, 3),
    (Class::Out, 4),
    (Class::OutDir, 2),
    (Class::Guarded, 3),
    (Class::Runs, 2),
    (Class::Dir, 4),
    (Class::File, 5),
    (Class::New, 8),
];

fn folder() -> WorldPath {
    WorldPath::new(super::world_path::Root::Folder, "")
}

/// The text that does harm at a place.
pub(super) fn bait(place: &str) -> &'static str {
    let rows = names("bait");
    let row = rows.iter().filter_map(|row| row.rsplit_once(' ')).find(|(end, _)| place.ends_with(end));
    row.map_or("hook", |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::contents;

    #[test]
    fn every_section_is_there_and_every_bait_has_a_text() {
        for section in ["git writes", "git holds", "new", "runs", "bait"] {
            assert!(names(section).len() > 4, "{section}");
        }
        for row in names("bait") {
            let text = row.rsplit_once(' ').unwrap().1;
            assert!(contents::names().any(|known| known == text), "{row}");
        }
        assert_eq!(
            (bait("F/.git/config"), bait("F/.git/hooks/x"), bait("H/.bashrc")),
            ("config", "hook", "rc")
        );
    }
}

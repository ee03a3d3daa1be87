//! Roles: what each place of a world is to the boundary, found out from what stood there before anything ran.
//!
//! The guarded places come from the library's own table. What they, and the parts of a git directory, mean to the oracle
//! stands here and nowhere else.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pinfold::policy::{GuardKind, Guards, KernelProtection};

use super::gits::{GitDir, GitDirs, Kind};
use super::snapshot::Snapshot;
use super::world::World;

/// What a place is to the boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The folder's own content: free.
    Content,
    /// Content that runs later, or names what does: free, and reported.
    Reported,
    /// Stays as it is; what is missing stays missing. The words say what it is.
    Held(&'static str),
    /// The configuration of a repository: stays as it is, but for keys that say which branch follows which.
    Config,
    /// A directory that stays in its place.
    Pinned,
    /// Data of a git directory, which git commands write: free, but leads nowhere else.
    GitData,
    /// Not granted: stays as it is.
    Outside,
    /// Where pinfold keeps what it needs.
    Own,
}

/// Where pinfold keeps what it needs, below a home.
const OWN: [&str; 3] = [".local/state/pinfold", ".cache/pinfold", ".config/pinfold"];

/// Files that run code when somebody builds, tests, installs or pushes. Those of the worlds; the product knows more.
const BUILD: [&str; 3] = ["package.json", "Makefile", "build.rs"];

/// Directories all of whose files run by themselves.
const BUILD_DIRECTORIES: [&str; 1] = [".github"];

/// Directories in which nobody looks for files that run later: they hold what others made.
const UNSEARCHED: [&str; 5] = ["node_modules", "target", "dist", "build", ".cache"];

/// What the directory of hooks is called.
pub(super) const HOOKS: &str = "git hooks";

/// The roles of the places of one world.
#[derive(Debug)]
pub(super) struct Roles {
    folder: PathBuf,
    home: PathBuf,
    temp: PathBuf,
    own: Vec<PathBuf>,
    named: Vec<PathBuf>,
    guards: Guards,
    /// The git directories that stood there before.
    pub(super) gits: GitDirs,
    /// `.git` files that stood there before.
    pointers: Vec<PathBuf>,
    /// Those that were found out: each place of a world is asked about in every look.
    known: RefCell<HashMap<PathBuf, Role>>,
}

/// Places whose roles are remembered, at most: programs make more and more names.
const MAX_KNOWN: usize = 50_000;

impl Roles {
    /// Finds out the roles from what stands in a world before anything ran.
    pub(super) fn of(world: &World, before: &Snapshot) -> Self {
        let roots = &world.roots;
        let is_pointer = |path: &Path| path.file_name().is_some_and(|n| n == ".git") && !before.has_dir(path);
        Self {
            folder: roots.folder.clone(),
            home: roots.home.clone(),
            temp: world.temp.clone(),
            own: OWN.iter().map(|below| roots.home.join(below)).collect(),
            named: world.named.clone(),
            guards: Guards::default(),
            gits: GitDirs::of(before, &roots.folder),
            pointers: before
                .below(&roots.folder)
                .map(|(path, _)| path)
                .filter(|path| is_pointer(path))
                .map(Path::to_owned)
                .collect(),
            known: RefCell::default(),
        }
    }

    /// The role of a place, whether or not something stands there.
    pub(super) fn role(&self, path: &Path) -> Role {
        let mut known = self.known.borrow_mut();
        if let Some(role) = known.get(path) {
            return role.clone();
        }
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let role = self.find(path);
        known.insert(path.to_owned(), role.clone());
        role
    }

    fn find(&self, path: &Path) -> Role {
        if path.starts_with(&self.temp) || self.own.iter().any(|own| path.starts_with(own)) {
            return Role::Own;
        }
        if let Some((git, below)) = self.gits.around(path) {
            return if git.granted { Self::in_git(git, below) } else { Role::Outside };
        }
        if !path.starts_with(&self.folder) {
            return Role::Outside;
        }
        if self.pointers.iter().any(|pointer| pointer == path) {
            return Role::Held("a pointer to a git directory");
        }
        if self.named.iter().any(|named| path.starts_with(named)) {
            return Role::Held("named by git's configuration");
        }
        self.guarded(path)
    }

    /// For a place with a guarded name: whether programs act on it by themselves when they open the project, and the directory in
    /// which the name stands.
    pub(super) fn guarded_in<'p>(&self, path: &'p Path) -> Option<(bool, &'p Path)> {
        let (guard, directory) = self.guards.write_in(path, Some(&self.home), false)?;
        Some((guard.kind() == GuardKind::Autorun, directory))
    }

    /// Whether a place is guarded for reading.
    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        self.guards.read(path, Some(&self.home), false).is_some()
    }

    fn guarded(&self, path: &Path) -> Role {
        let in_folder = path.strip_prefix(&self.folder).unwrap_or(path);
        let has =
            |names: &[&str]| in_folder.components().any(|c| names.iter().any(|name| c.as_os_str() == *name));
        let Some(guard) = self.guards.write(path, Some(&self.home), false) else {
            let is_build = path.file_name().is_some_and(|name| BUILD.iter().any(|known| name == *known));
            let reported = (is_build || has(&BUILD_DIRECTORIES)) && !has(&UNSEARCHED) && path != self.folder;
            return if reported { Role::Reported } else { Role::Content };
        };
        // What belongs to a repository is judged by what stands there; a new repository is another matter.
        let of_repository = guard.pattern() == "**/.git" || guard.pattern().starts_with("**/*.git/");
        match guard.kernel_protection() {
            _ if of_repository => Role::Content,
            // No tool acts on a guarded name there.
            _ if has(&UNSEARCHED) => Role::Content,
            KernelProtection::Asked => Role::Reported,
            KernelProtection::WhenPresent | KernelProtection::EvenMissing => Role::Held(kind(guard.kind())),
        }
    }

    fn in_git(git: &GitDir, below: &Path) -> Role {
        let mut parts = below.components().map(|c| c.as_os_str().to_string_lossy());
        let parts = [parts.next(), parts.next(), parts.next(), parts.next()];
        let parts: Vec<&str> = parts.iter().flatten().map(AsRef::as_ref).collect();
        let worktree = git.kind == Kind::Worktree;
        match parts[..] {
            [] if git.is_folder => Role::Content,
            [] | ["modules"] => Role::Pinned,
            // Of a linked worktree git reads those of the repository (gitrepository-layout(5)).
            ["objects" | "worktrees"] | ["objects", "info"] if !worktree => Role::Pinned,
            ["commondir"] => Role::Held("git commondir"),
            ["gitdir"] if worktree => Role::Held("git pointer of a worktree"),
            ["config.worktree"] if git.reads_worktree_config => Role::Held("git config.worktree"),
            ["HEAD" | "index"] if git.is_of_others => Role::Held("checkout of another working tree"),
            _ if worktree => Role::GitData,
            ["hooks", ..] => Role::Held(HOOKS),
            // `git gc` writes it, as `refs_XXXXXX` at first, and no git runs it.
            ["info", name] if name == "refs" || name.starts_with("refs_") => Role::GitData,
            ["info", ..] => Role::Held("git info"),
            ["config"] => Role::Config,
            ["objects", "info", "alternates"] => Role::Held("git alternates"),
            _ => Role::GitData,
        }
    }

    /// Names that are guarded and can be made by a program, as they would be called.
    pub(super) fn guarded_names() -> Vec<String> {
        let of_repository = |pattern: &str| pattern == "**/.git" || pattern.starts_with("**/*.git/");
        let guards = Guards::default();
        let names = guards
            .write_list()
            .iter()
            .filter(|g| g.kernel_protection() != KernelProtection::Asked && !of_repository(g.pattern()));
        names.filter_map(|g| Some(g.pattern().strip_prefix("**/")?.replace('*', "local"))).collect()
    }
}

fn kind(kind: GuardKind) -> &'static str {
    match kind {
        GuardKind::Git => "the person's git configuration",
        GuardKind::Policy => "pinfold's own policy",
        GuardKind::Autorun => "autorun",
        GuardKind::ShellStartup => "shell start-up",
        GuardKind::Secret => "environment file",
        GuardKind::Credential => "credentials",
        GuardKind::Persistence => "persistence",
        GuardKind::Build => "build",
        GuardKind::Place => "a place of this session",
    }
}

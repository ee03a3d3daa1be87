//! Git directories, as the layout of git says what is one, found in a look at a tree.

use std::path::{Path, PathBuf};

use super::snapshot::{Content, Snapshot};

/// What kind of git directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With objects and references of its own.
    Repository,
    /// That of a linked worktree.
    Worktree,
}

/// One git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct GitDir {
    pub(super) at: PathBuf,
    pub(super) kind: Kind,
    /// It lies in the folder, or a working tree in the folder belongs to it.
    pub(super) granted: bool,
    /// It is the folder itself.
    pub(super) is_folder: bool,
    /// git reads `config.worktree` there.
    pub(super) reads_worktree_config: bool,
    /// What is checked out there belongs to a working tree outside, while the folder is one of the others.
    pub(super) is_of_others: bool,
}

/// All of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct GitDirs(Vec<GitDir>);

impl GitDirs {
    /// Finds them.
    pub(super) fn of(seen: &Snapshot, folder: &Path) -> Self {
        let mut all = Vec::new();
        for (at, _) in seen.entries().filter(|(path, _)| is_repository(seen, path)) {
            let config = seen.get(&at.join("config")).and_then(super::snapshot::Entry::text);
            let reads = |at: &Path| {
                seen.has(&at.join("config.worktree"))
                    || config
                        .as_ref()
                        .is_some_and(|text| text.to_lowercase().contains("worktreeconfig = true"))
            };
            let git = |at: &Path, kind| GitDir {
                at: at.to_owned(),
                kind,
                granted: at.starts_with(folder),
                is_folder: at == folder,
                reads_worktree_config: reads(at),
                is_of_others: false,
            };
            all.push(git(at, Kind::Repository));
            let worktrees = at.join("worktrees");
            let linked = seen.below(&worktrees).filter(|(path, _)| path.parent() == Some(&worktrees));
            all.extend(linked.filter(|(_, e)| e.is_dir()).map(|(path, _)| git(path, Kind::Worktree)));
        }
        let mut gits = Self(all);
        let pointers = seen.below(folder).filter(|(path, _)| path.ends_with(".git"));
        for own in pointers.filter_map(|(path, _)| pointed(seen, path)).collect::<Vec<_>>() {
            gits.grant(&own);
        }
        gits
    }

    /// The git directory of a working tree in the folder is granted, with the one that it shares.
    fn grant(&mut self, own: &Path) {
        let common =
            own.ancestors().nth(2).filter(|_| own.parent().is_some_and(|p| p.ends_with("worktrees")));
        let family = common.unwrap_or(own).to_owned();
        let main_is_outside = self.0.iter().any(|git| git.at == family && !git.granted);
        for git in self.0.iter_mut().filter(|git| git.at.starts_with(&family)) {
            git.granted = true;
            git.is_of_others |= main_is_outside && common.is_some() && git.at != own;
        }
        for git in self.0.iter_mut().filter(|git| git.at == own) {
            git.is_of_others = false;
        }
    }

    /// The innermost one that holds a path, and where in it.
    pub(super) fn around<'a>(&'a self, path: &'a Path) -> Option<(&'a GitDir, &'a Path)> {
        let holding = self.0.iter().filter_map(|git| Some((git, path.strip_prefix(&git.at).ok()?)));
        holding.min_by_key(|(_, below)| below.components().count())
    }

    /// Those that programs may write.
    pub(super) fn granted(&self) -> impl Iterator<Item = &GitDir> {
        self.0.iter().filter(|git| git.granted)
    }

    /// Whether one stands exactly here.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|git| git.at == path)
    }
}

/// What git takes for a repository:
/// [gitrepository-layout(5)](https://git-scm.com/docs/gitrepository-layout).
pub(super) fn is_repository(seen: &Snapshot, at: &Path) -> bool {
    let head =
        seen.get(&at.join("HEAD")).is_some_and(|e| matches!(e.content, Content::File(_) | Content::Link(_)));
    let whole = seen.has_dir(&at.join("objects")) && seen.has_dir(&at.join("refs"));
    head && (whole || seen.has(&at.join("commondir")))
}

/// Where a `.git` file leads.
pub(super) fn pointed(seen: &Snapshot, dot_git: &Path) -> Option<PathBuf> {
    let text = seen.get(dot_git)?.text()?;
    let named = Path::new(text.strip_prefix("gitdir:")?.trim());
    Some(plain(&dot_git.parent()?.join(named)))
}

/// A path without `..`, in trees without links.
pub(super) fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

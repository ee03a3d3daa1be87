//! The line: which folders count as inside, and how paths are shown.
//!
//! Promise: a line is data; making it narrower needs only the line, making it wider needs an opened folder.
//! Trap: `/a/core-utils` is not inside `/a/core`: paths are compared by components, and held by descriptors.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::claim::PathClaim;
use crate::resolve::{LastLink, Resolution, resolve};
use crate::show::show;
use crate::sys::Strategy;
use crate::workspace::{Base, Workspace};

/// What inside and outside are measured against, for one caller. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Line {
    display: Workspace,
    home: Option<PathBuf>,
    roots: Vec<Root>,
    strategy: Strategy,
}

/// A folder where writing is inside, or a single name in it.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) workspace: Workspace,
    only: Option<OsString>,
}

impl Root {
    fn covers(&self, path: &Path) -> bool {
        let Some(below) = self.workspace.base.below(path) else { return false };
        self.only.as_ref().is_none_or(|only| below.iter().next() == Some(only))
    }
}

/// A folder was to become the line of a narrower scope, and does not lie inside the wider one.
#[derive(Debug, thiserror::Error)]
#[error("`{}` does not lie inside `{}`", .folder.display(), .line.display())]
pub struct NotInside {
    /// The folder that was named.
    pub folder: PathBuf,
    /// The display root of the wider line.
    pub line: PathBuf,
}

impl Line {
    /// A line around one folder: it is the only writable root, and paths are shown relative to it.
    /// `home` stands for `~`; `None` when there is none.
    #[must_use]
    pub fn new(display_root: Workspace, home: Option<PathBuf>) -> Self {
        let root = Root { workspace: display_root.clone(), only: None };
        Self { display: display_root, home, roots: vec![root], strategy: Strategy::probed() }
    }

    /// The same line with `root` as its only writable root: a subagent's scope. Paths are shown as before.
    ///
    /// # Errors
    /// [`NotInside`] when `root` does not lie inside the display root.
    pub fn scoped(mut self, root: Workspace) -> Result<Self, NotInside> {
        if !root.path().starts_with(self.display.path()) {
            return Err(NotInside { folder: root.path().into(), line: self.display.path().into() });
        }
        self.roots = vec![Root { workspace: root, only: None }];
        Ok(self)
    }

    /// The same line with one more folder to write in.
    #[must_use]
    pub fn with_root(mut self, root: Workspace) -> Self {
        self.roots.push(Root { workspace: root, only: None });
        self
    }

    /// The same line with one more single place to write at: `name` in `folder`, whether it exists or not, and what
    /// lies below it if it is a folder.
    #[must_use]
    pub fn with_name(mut self, folder: Workspace, name: &OsStr) -> Self {
        self.roots.push(Root { workspace: folder, only: Some(name.into()) });
        self
    }

    /// The same line without any place to write at.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.roots.clear();
        self
    }

    /// The same line, resolved in another way than the kernel's best. For tests.
    #[must_use]
    pub fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// A narrower line: `folder`, which must be an existing folder inside one of the roots, and nothing else.
    /// A relative `folder` starts at the display root.
    ///
    /// # Errors
    /// [`NotInside`] when the folder does not resolve to a folder inside.
    pub fn narrow(&self, folder: &Path) -> Result<Self, NotInside> {
        let not_inside = || NotInside { folder: folder.into(), line: self.display.path().into() };
        let claim = PathClaim::new(folder);
        let Resolution::Contained(place) = self.resolve(self.display.path(), &claim, LastLink::Follow) else {
            return Err(not_inside());
        };
        let root = place.to_workspace(&self.display).map_err(|_| not_inside())?;
        Ok(Self { roots: vec![Root { workspace: root, only: None }], ..self.clone() })
    }

    /// Looks where a claim leads. A relative claim starts at `cwd`, an absolute path that is looked at as sceptically
    /// as the claim itself: being the working directory makes nothing inside.
    #[must_use]
    pub fn resolve(&self, cwd: &Path, claim: &PathClaim, last: LastLink) -> Resolution {
        resolve(self, cwd, claim, last)
    }

    /// The folder that relative paths start at and that paths are shown relative to.
    #[must_use]
    pub fn display_root(&self) -> &Workspace {
        &self.display
    }

    /// What `~` stands for.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The writable places, by path: folders, and single names with what lies below them.
    pub fn roots(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.roots.iter().map(|root| match &root.only {
            None => root.workspace.path().into(),
            Some(name) => root.workspace.path().join(name),
        })
    }

    /// Shows a path to a person or a model: relative to the display root where it lies inside, every control,
    /// invisible or non-UTF-8 character as an escape (`\n`, `\u{202e}`, `\xff`), a backslash doubled.
    #[must_use]
    pub fn display(&self, path: &Path) -> String {
        match path.strip_prefix(self.display.path()) {
            Ok(below) if below.as_os_str().is_empty() => ".".into(),
            Ok(below) => show(below.as_os_str()),
            Err(_) => show(path.as_os_str()),
        }
    }

    /// The deepest root that a real path lies in: a mount that was granted by itself is not crossed.
    pub(crate) fn root_of(&self, real: &Path) -> Option<&Root> {
        let covering = self.roots.iter().filter(|root| root.covers(real));
        covering.max_by_key(|root| root.workspace.path().as_os_str().len())
    }

    /// Whether a path lies inside, as a reader would say: in the display root or in any root.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.display.base.below(path).is_some() || self.root_of(path).is_some()
    }

    /// The deepest open folder on the way to `path`: where looking can begin.
    pub(crate) fn nearest(&self, path: &Path) -> &Arc<Base> {
        let open = self.roots.iter().map(|root| &root.workspace.base).chain([&self.display.base]);
        let on_the_way = open.filter(|base| base.below(path).is_some());
        on_the_way.max_by_key(|base| base.path().as_os_str().len()).unwrap_or(&self.display.slash)
    }

    pub(crate) fn slash(&self) -> &Arc<Base> {
        &self.display.slash
    }

    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }
}

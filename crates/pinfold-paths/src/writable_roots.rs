//! The writable roots of a caller: which folders count as inside, and how paths are shown.
//!
//! Promise: the roots are data; making them narrower needs only these, making them wider needs an opened folder.
//! Trap: `/a/core-utils` is not inside `/a/core`: paths are compared by components, and held by descriptors.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::claim::PathClaim;
use crate::imagined::Imagined;
use crate::resolve::{LastLink, Resolution, resolve};
use crate::show::show;
use crate::sys::Strategy;
use crate::workspace::{BaseFolder, Workspace, relative_to};

/// The boundary between inside and outside, for one caller. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WritableRoots {
    display: Root,
    home: Option<PathBuf>,
    roots: Vec<Root>,
    strategy: Strategy,
    /// Folders that are not there count as if they were: see [`WritableRoots::imagined`].
    imagined: bool,
}

/// A place where writing is inside: a folder that is held, or one below it by name.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) workspace: Workspace,
    path: PathBuf,
}

impl Root {
    fn covers(&self, path: &Path) -> bool {
        relative_to(&self.path, path).is_some()
    }

    /// Returns `true` if both were opened as one.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.workspace.base, &other.workspace.base) && self.path == other.path
    }

    fn is_current(&self) -> bool {
        let missing = self.missing_names().iter().next();
        self.workspace.stands_at_its_name() && missing.is_none_or(|name| self.workspace.lacks(name))
    }

    /// The names between the folder that is held and the place.
    fn missing_names(&self) -> &Path {
        self.workspace.base.relative(&self.path).unwrap_or(Path::new(""))
    }
}

impl From<Workspace> for Root {
    fn from(workspace: Workspace) -> Self {
        let path = workspace.path().into();
        Self { workspace, path }
    }
}

impl From<Imagined> for Root {
    fn from(folder: Imagined) -> Self {
        Self { path: folder.path(), workspace: folder.standing }
    }
}

/// A folder that was to become the root of a narrower scope does not lie inside the wider one.
#[derive(Debug, thiserror::Error)]
#[error("`{}` does not lie inside `{}`", .folder.display(), .line.display())]
pub struct NotInside {
    /// The folder that was named.
    pub folder: PathBuf,
    /// The display root of the wider scope.
    pub line: PathBuf,
}

impl WritableRoots {
    /// Roots with one folder: it is the only writable root, and paths are shown relative to it.
    /// `home` stands for `~`; `None` when there is none.
    #[must_use]
    pub fn new(display_root: Workspace, home: Option<PathBuf>) -> Self {
        let root = Root::from(display_root);
        Self { display: root.clone(), home, roots: vec![root], strategy: Strategy::probed(), imagined: false }
    }

    /// A line for looking alone, around folders that may not be there. What would lie in them is not known: a claim
    /// that leads there is a name below what stands, and `..` in it is taken by name. Links in what stands are
    /// followed as ever.
    #[must_use]
    pub fn imagined(
        display_root: Imagined,
        home: Option<PathBuf>,
        roots: impl IntoIterator<Item = Imagined>,
    ) -> Self {
        let roots = roots.into_iter().map(Root::from).collect();
        Self { display: display_root.into(), home, roots, strategy: Strategy::probed(), imagined: true }
    }

    /// Returns a line with `root` as its only writable root: a subagent's scope. Paths are shown as before.
    ///
    /// # Errors
    /// [`NotInside`] when `root` does not lie inside the display root.
    pub fn scoped(mut self, root: Workspace) -> Result<Self, NotInside> {
        if !root.path().starts_with(&self.display.path) {
            return Err(NotInside { folder: root.path().into(), line: self.display.path.clone() });
        }
        self.roots = vec![root.into()];
        Ok(self)
    }

    /// Adds one more folder to write in.
    #[must_use]
    pub fn with_root(mut self, root: Workspace) -> Self {
        self.roots.push(root.into());
        self
    }

    /// Adds one more single place to write at: `name` in `folder`, whether it exists or not, and everything
    /// that lies below it if it is a folder.
    #[must_use]
    pub fn with_name(mut self, folder: Workspace, name: &OsStr) -> Self {
        self.roots.push(Root { path: folder.path().join(name), workspace: folder });
        self
    }

    /// Removes every place to write at.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.roots.clear();
        self
    }

    /// Resolves in another way than the kernel's best. For tests.
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
        let not_inside = || NotInside { folder: folder.into(), line: self.display.path.clone() };
        let claim = PathClaim::new(folder);
        let Resolution::Contained(place) = self.resolve(&self.display.path, &claim, LastLink::Follow) else {
            return Err(not_inside());
        };
        let root = place.to_workspace(&self.display.workspace).map_err(|_| not_inside())?;
        Ok(Self { roots: vec![root.into()], ..self.clone() })
    }

    /// Looks where a claim leads. A relative claim starts at `cwd`, an absolute path that is looked at as sceptically
    /// as the claim itself: being the working directory makes nothing inside.
    #[must_use]
    pub fn resolve(&self, cwd: &Path, claim: &PathClaim, last: LastLink) -> Resolution {
        resolve(self, cwd, claim, last)
    }

    /// The folder that relative paths start at and that paths are shown relative to; of an imagined line what stands
    /// of it.
    #[must_use]
    pub fn display_root(&self) -> &Workspace {
        &self.display.workspace
    }

    /// The path of that folder, whether it stands or not.
    #[must_use]
    pub fn display_path(&self) -> &Path {
        &self.display.path
    }

    /// Returns `true` if each folder of the line is still the one that was opened, and none that was missing has appeared.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let others = self.roots.iter().filter(|root| !root.is(&self.display));
        std::iter::once(&self.display).chain(others).all(Root::is_current)
    }

    /// The home directory that `~` stands for.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The writable places, by path: folders, and single names with what lies below them.
    pub fn roots(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.roots.iter().map(|root| root.path.clone())
    }

    /// Shows a path to a person or a model: relative to the display root where it lies inside, every control,
    /// invisible or non-UTF-8 character as an escape (`\n`, `\u{202e}`, `\xff`), a backslash doubled.
    #[must_use]
    pub fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.display.path) {
            Ok(below) if below.as_os_str().is_empty() => ".".into(),
            Ok(below) => show(below.as_os_str()),
            Err(_) => show(path.as_os_str()),
        }
    }

    /// The deepest root that a real path lies in: a mount that was granted by itself is not crossed.
    pub(crate) fn root_of(&self, real: &Path) -> Option<&Root> {
        let covering = self.roots.iter().filter(|root| root.covers(real));
        covering.max_by_key(|root| root.path.as_os_str().len())
    }

    /// Returns `true` if a path lies inside, as a reader would say: in the display root or in any root.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.display.covers(path) || self.root_of(path).is_some()
    }

    /// Returns `true` if a missing folder counts as a folder: it is on the way to a folder of an imagined line.
    pub(crate) fn imagines(&self, missing: &Path) -> bool {
        let on_the_way = |root: &Root| relative_to(missing, &root.path).is_some();
        self.imagined && (on_the_way(&self.display) || self.roots.iter().any(on_the_way))
    }

    /// Returns `true` if a working folder may be missing.
    pub(crate) fn is_imagined(&self) -> bool {
        self.imagined
    }

    /// The deepest open folder on the way to `path`: where looking can begin.
    pub(crate) fn nearest(&self, path: &Path) -> &Arc<BaseFolder> {
        let open = self.roots.iter().chain([&self.display]).map(|root| &root.workspace.base);
        let on_the_way = open.filter(|base| base.relative(path).is_some());
        on_the_way.max_by_key(|base| base.path().as_os_str().len()).unwrap_or_else(|| self.slash())
    }

    pub(crate) fn slash(&self) -> &Arc<BaseFolder> {
        &self.display.workspace.slash
    }

    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }
}

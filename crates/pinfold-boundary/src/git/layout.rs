//! Directories that belong to a repository.
//!
//! Nothing of the repository is run, and nothing in it is believed alone: a `.git` file is content of the
//! folder, so it may name any directory. It counts only when that directory names this place in turn, which
//! needs write access there.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_policy::git_dir::{COMMON, HEAD, UNFINISHED, completes, is_git_dir_marker};
use pinfold_sandbox::open_plain;

use super::config::Config;
use super::references::all_stay_in;
use crate::lookup::{Lookup, is_missing};

/// Pointer files hold one path; more than this is something else.
const MAX_POINTER: u64 = 4_096 + 16;

/// Connection of a working tree to its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryLink {
    /// `.git` is the git directory.
    Plain,
    /// A linked worktree: its git directory lies in the `worktrees` of another one.
    Worktree,
    /// `.git` is a file that names the git directory (submodules, `--separate-git-dir`).
    Separate,
    /// The directory itself is the git directory.
    Bare,
}

/// One repository as seen from one working tree (or from itself, when bare).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(crate) tie: RepositoryLink,
    /// The working tree, or the bare repository.
    pub(crate) top: PathBuf,
    /// The git directory of this working tree.
    pub(crate) git_dir: PathBuf,
    /// The git directory that is shared by all worktrees; the same as `git_dir` but for linked worktrees.
    pub(crate) common: PathBuf,
}

/// Git layout of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitLayout {
    Nothing,
    Repository(Repository),
    /// A `.git` file that names a place which does not point back. Held in place, otherwise not followed.
    Unproven {
        pointer: PathBuf,
        named: PathBuf,
    },
    /// A `.git` that is neither directory nor readable pointer.
    Odd(PathBuf),
    /// A `.git`, or what it names, cannot be looked up.
    Unknown(PathBuf),
}

/// Looks at `top/.git`.
pub(crate) fn detect(top: &Path) -> GitLayout {
    let dot_git = top.join(".git");
    let meta = match Lookup::find(&dot_git) {
        Lookup::Found(meta) => meta,
        Lookup::Missing => return GitLayout::Nothing,
        Lookup::Unknown => return GitLayout::Unknown(dot_git),
    };
    if meta.is_dir() {
        return GitLayout::Repository(Repository {
            tie: RepositoryLink::Plain,
            top: top.to_owned(),
            git_dir: dot_git.clone(),
            common: dot_git,
        });
    }
    let Some(named) = read_pointer(&dot_git, b"gitdir:") else { return GitLayout::Odd(dot_git) };
    let git_dir = match fs::canonicalize(top.join(&named)) {
        Ok(git_dir) => git_dir,
        Err(error) if is_missing(&error) => return GitLayout::Unproven { pointer: dot_git, named },
        Err(_) => return GitLayout::Unknown(dot_git),
    };
    match tied(top, &dot_git, &git_dir) {
        Some((tie, common)) => {
            GitLayout::Repository(Repository { tie, top: top.to_owned(), git_dir, common })
        }
        None => GitLayout::Unproven { pointer: dot_git, named: git_dir },
    }
}

/// Repository by which git acts in a working tree, whether or not anything is granted for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActingRepository {
    None,
    Found(Repository),
    /// The repository cannot be looked up.
    Unknown,
}

/// Looks at `top/.git` as git does: where that names a place which does not point back, git believes it all the same.
pub(crate) fn acting_repository(top: &Path) -> ActingRepository {
    match detect(top) {
        GitLayout::Repository(repository) => ActingRepository::Found(repository),
        GitLayout::Unproven { named, .. } if may_serve_as_git_dir(&named) => acting_at(top, named),
        GitLayout::Odd(dot_git) => match fs::canonicalize(&dot_git) {
            Ok(real) if may_serve_as_git_dir(&real) => acting_at(top, real),
            Err(error) if !is_missing(&error) && Lookup::find(&dot_git).is_unknown() => {
                ActingRepository::Unknown
            }
            _ => ActingRepository::None,
        },
        GitLayout::Unknown(_) => ActingRepository::Unknown,
        GitLayout::Nothing | GitLayout::Unproven { .. } => ActingRepository::None,
    }
}

fn acting_at(top: &Path, git_dir: PathBuf) -> ActingRepository {
    match common_dir(&git_dir) {
        Some(common) => ActingRepository::Found(Repository {
            tie: RepositoryLink::Separate,
            top: top.to_owned(),
            git_dir,
            common,
        }),
        None => ActingRepository::Unknown,
    }
}

/// The repository of a submodule with the working tree that its configuration names.
pub(crate) fn module(git_dir: &Path) -> Option<Repository> {
    let named = |file: &str| {
        let config = Config::read(&git_dir.join(file)).ok()?;
        fs::canonicalize(git_dir.join(config.last("core", None, "worktree")?)).ok()
    };
    let top = named("config").or_else(|| named("config.worktree"))?;
    Some(Repository {
        tie: RepositoryLink::Separate,
        top,
        git_dir: git_dir.to_owned(),
        common: git_dir.to_owned(),
    })
}

/// Returns whether a directory is laid out like a git directory, so that git would take it for a bare repository.
pub(crate) fn is_git_dir(directory: &Path) -> bool {
    let is = |name: &str| fs::symlink_metadata(directory.join(name)).ok();
    is("HEAD").is_some_and(|m| m.is_file() || m.is_symlink())
        && is("objects").is_some_and(|m| m.is_dir())
        && is("refs").is_some_and(|m| m.is_dir())
}

/// Returns whether git would take a directory for a git directory: it [is laid out like one](is_git_dir), or says where the rest of one
/// is, wherever that leads ([setup.c](https://github.com/git/git/blob/v2.47.0/setup.c), `is_git_directory`).
pub(crate) fn serves_as_git_dir(directory: &Path) -> bool {
    let there = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
    is_git_dir(directory) || there(HEAD) && there(COMMON)
}

/// Returns whether a directory [serves as a git directory](serves_as_git_dir), or cannot be looked into.
pub(crate) fn may_serve_as_git_dir(directory: &Path) -> bool {
    serves_as_git_dir(directory) || Lookup::find(&directory.join(HEAD)).is_unknown()
}

/// Returns whether git would take what is here for a repository: a directory or file `.git`, or a directory that serves as one.
pub(crate) fn is_repository(place: &Path) -> bool {
    let is_named = place.file_name().is_some_and(|name| name == ".git");
    if is_named { fs::symlink_metadata(place).is_ok() } else { serves_as_git_dir(place) }
}

/// Returns whether a directory may be a repository: one that cannot be read counts.
pub(crate) fn may_be_repository(place: &Path) -> bool {
    is_repository(place) || Lookup::find(&place.join(HEAD)).is_unknown()
}

/// Returns whether a directory is the git directory of a linked worktree, in the repository that it belongs to: of what is there a person is
/// told by the `.git` file of the worktree, and by the repository, where it is one.
pub(crate) fn is_part_of_worktree(directory: &Path) -> bool {
    let is_listed = directory.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees");
    is_listed
        && !is_git_dir(directory)
        && read_pointer(&directory.join(COMMON), b"").is_some_and(|common| common == Path::new("../.."))
        && is_git_dir(&directory.join("../.."))
}

/// The git directory that a git directory shares its configuration and references with: itself, but for linked worktrees.
/// `None`: it cannot be told.
pub(crate) fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let file = git_dir.join("commondir");
    match Lookup::find(&file) {
        Lookup::Found(_) => Some(git_dir.join(read_pointer(&file, b"")?)),
        Lookup::Missing => Some(git_dir.to_owned()),
        Lookup::Unknown => None,
    }
}

/// A bare repository at `directory`.
pub(crate) fn bare(directory: &Path) -> Option<Repository> {
    is_git_dir(directory).then(|| Repository {
        tie: RepositoryLink::Bare,
        top: directory.to_owned(),
        git_dir: directory.to_owned(),
        common: directory.to_owned(),
    })
}

/// The proof that `git_dir` knows this working tree, and where its shared part is.
fn tied(top: &Path, dot_git: &Path, git_dir: &Path) -> Option<(RepositoryLink, PathBuf)> {
    if fs::symlink_metadata(git_dir.join("commondir")).is_ok() {
        let common = fs::canonicalize(git_dir.join(read_pointer(&git_dir.join("commondir"), b"")?)).ok()?;
        let back = git_dir.join(read_pointer(&git_dir.join("gitdir"), b"")?);
        let listed = git_dir.parent() == Some(common.join("worktrees").as_path());
        let points_back = fs::canonicalize(back).ok()? == dot_git;
        return (listed && points_back && is_git_dir(&common)).then_some((RepositoryLink::Worktree, common));
    }
    let config = Config::read(&git_dir.join("config")).ok()?;
    let worktree = config.last("core", None, "worktree")?;
    let points_back = fs::canonicalize(git_dir.join(worktree)).ok()? == top;
    (points_back && is_git_dir(git_dir)).then(|| (RepositoryLink::Separate, git_dir.to_owned()))
}

/// The git directories of submodules below `modules`, names with slashes included.
pub(crate) fn modules(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect_modules(&git_dir.join("modules"), 0, &mut found);
    found
}

/// A submodule's name may hold slashes; deeper ones than this are not looked for.
const MAX_NAME_DEPTH: usize = 6;

/// More submodules than this would cost more to hold than a start may take.
const MAX_MODULES: usize = 256;

fn collect_modules(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in directories(directory) {
        if found.len() == MAX_MODULES || depth == MAX_NAME_DEPTH {
            return;
        }
        if is_git_dir(&path) {
            found.push(path.clone());
            collect_modules(&path.join("modules"), depth + 1, found);
        } else {
            collect_modules(&path, depth + 1, found);
        }
    }
}

/// The git directories of linked worktrees.
pub(crate) fn worktrees(common: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    directories(&common.join("worktrees"))
}

/// Most worktrees that are read while a process waits for the answer.
const MAX_ASKED: usize = 256;

/// Returns whether a repository registered a worktree with this `.git` file. git does so before it creates the file; so can
/// any process that may write in the repository: the content of the file is checked apart.
pub(crate) fn expects_worktree(common: &Path, dot_git: &Path) -> bool {
    let linked: Vec<PathBuf> = worktrees(common).take(MAX_ASKED).collect();
    is_expected_by(&linked, dot_git)
}

/// Returns whether one of these git directories of linked worktrees names this `.git` file.
pub(crate) fn is_expected_by(linked: &[PathBuf], dot_git: &Path) -> bool {
    linked.iter().any(|git_dir| linked_dot_git(git_dir).as_deref() == Some(dot_git))
}

/// The `.git` file that the git directory of a linked worktree names.
fn linked_dot_git(git_dir: &Path) -> Option<PathBuf> {
    let back = git_dir.join(read_pointer(&git_dir.join("gitdir"), b"")?);
    Some(fs::canonicalize(back.parent()?).ok()?.join(back.file_name()?))
}

/// The working tree that the git directory of a linked worktree names.
pub(crate) fn worktree_top(git_dir: &Path) -> Option<PathBuf> {
    linked_dot_git(git_dir)?.parent().map(Path::to_owned)
}

/// Returns whether a directory that is none yet would serve as a git directory with this name in it, or get its configuration.
pub(crate) fn completes_a_bare_repository(name: &OsStr, parent: &Path) -> bool {
    let inside_git = || parent.components().any(|component| component.as_os_str() == ".git");
    let there = |part: &str| !Lookup::find(&parent.join(part)).is_missing();
    is_git_dir_marker(name) && !inside_git() && completes(name, there)
}

/// Returns whether a `.git` file makes its directory a working tree of one of these repositories and of nothing else: the proof
/// of [`detect`], and nothing in what is the worktree's own that git would run or that leads it out.
pub(crate) fn is_plain_worktree(dot_git: &Path, repositories: &[PathBuf]) -> bool {
    let parent = dot_git.parent().filter(|_| dot_git.file_name().is_some_and(|name| name == ".git"));
    let Some(GitLayout::Repository(found)) = parent.map(detect) else { return false };
    found.tie == RepositoryLink::Worktree
        && repositories.contains(&found.common)
        && UNFINISHED
            .iter()
            .chain(&["config.worktree", "modules"])
            .all(|name| Lookup::find(&found.git_dir.join(name)).is_missing())
        && all_stay_in(&found.git_dir)
}

fn directories(parent: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path())
}

/// The path in a pointer file, after `prefix`; trailing line ends and leading blanks are not part of it.
fn read_pointer(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let file =
        open_plain(file).ok().filter(|file| file.metadata().is_ok_and(|found| found.len() <= MAX_POINTER))?;
    let mut text = Vec::new();
    file.take(MAX_POINTER).read_to_end(&mut text).ok()?;
    let rest = text.strip_prefix(prefix)?.trim_ascii_start();
    let end = rest.iter().rposition(|b| !matches!(b, b'\n' | b'\r'))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(rest.get(..=end)?)))
}

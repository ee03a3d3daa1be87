//! Git directories by their parts: the names that git looks for, and those that say what it runs.
//!
//! [gitrepository-layout(5)](https://git-scm.com/docs/gitrepository-layout), and the test of git itself
//! ([setup.c](https://github.com/git/git/blob/v2.47.0/setup.c), `is_git_directory`). A directory needs no telling name for it: a
//! folder with these parts is a repository to each git command that is started there.
//!
//! Trap: an empty directory is a part too, and so is a link that leads nowhere.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use pinfold_commands::PathText;

use crate::call::ToolCall;
use crate::foreign::ForeignCall;
use crate::guard::{fold, is_same_name};
use crate::patch::FileChange;

/// File that names the branch of a repository.
pub const HEAD: &str = "HEAD";

/// File that names the directory in which the rest of a repository is.
pub const COMMON: &str = "commondir";

/// Directories with which git remembers an operation that is not finished, commands to run included.
pub const UNFINISHED: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];

/// Prefix of the names with which git remembers a bisection that is not finished.
pub const BISECT: &str = "BISECT_";

const OBJECTS: &str = "objects";
const CONFIG: &str = "config";

/// Parts by which git takes a directory for a repository, either of these. Each has [`HEAD`].
const LAYOUTS: [&[&str]; 2] = [&[HEAD, OBJECTS, "refs"], &[HEAD, COMMON]];

/// Parts that name programs to run, other configurations or stores, or where git fetches from and writes.
const LEADING: [&str; 12] = [
    CONFIG,
    "config.worktree",
    COMMON,
    "gitdir",
    "hooks",
    "info",
    "modules",
    "worktrees",
    "remotes",
    "branches",
    "index",
    "MERGE_RR",
];

/// Names by which git tells a git directory.
pub fn told_by() -> impl Iterator<Item = &'static str> {
    LAYOUTS.iter().flat_map(|parts| parts.iter().copied())
}

/// Returns whether a name is a part of a git directory that is looked for, or its configuration.
pub fn is_git_dir_marker(name: &OsStr) -> bool {
    name == CONFIG || told_by().any(|part| name == part)
}

/// Returns whether a directory serves as a git directory with this name in it, or gets its configuration. `there`: a name stands
/// in it.
pub fn completes(name: &OsStr, there: impl Fn(&str) -> bool) -> bool {
    let completes = |parts: &&[&str]| {
        (name == CONFIG || parts.iter().any(|part| name == *part))
            && parts.iter().filter(|part| name != **part).all(|part| there(part))
    };
    LAYOUTS.iter().any(completes)
}

/// Returns whether a file with this content is a [`HEAD`] to git: a symbolic reference, or the name of an object (`refs.c`,
/// `validate_headref`).
pub fn is_head(content: &str) -> bool {
    let digits = |text: &str| text.len() >= 40 && text.bytes().take(40).all(|byte| byte.is_ascii_hexdigit());
    match content.strip_prefix("ref:") {
        Some(reference) => reference.trim_start().starts_with("refs/"),
        None => digits(content),
    }
}

/// Parts of git directories that the changes of a call make, by where they are.
#[derive(Clone, Debug, Default)]
pub struct PartsMade {
    exact: HashSet<PathBuf>,
    /// The same, as a file system reads them that folds case.
    folded: HashSet<Vec<u8>>,
}

impl PartsMade {
    /// The parts that changes of these places make: the place itself, and each directory above it.
    pub fn from_places<'a>(places: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut own = Self::default();
        for place in places {
            for at in place.ancestors() {
                let Some(name) = at.file_name() else { continue };
                let is = |part: &str| is_same_name(name.as_bytes(), part.as_bytes(), true);
                // What has something below it is a directory, and no file of that name.
                let makes = is(HEAD) && at == place || told_by().any(|part| part != HEAD && is(part));
                if makes && own.exact.insert(at.to_owned()) {
                    own.folded.insert(folded(at));
                }
            }
        }
        own
    }

    fn has(&self, path: &Path, folds_case: bool) -> bool {
        if folds_case {
            !self.folded.is_empty() && self.folded.contains(&folded(path))
        } else {
            self.exact.contains(path)
        }
    }
}

fn folded(path: &Path) -> Vec<u8> {
    fold(path.as_os_str().as_bytes()).to_ascii_lowercase()
}

/// The change that a call makes at one place, as far as it decides what git sees there.
#[derive(Clone, Copy, Debug)]
pub struct GitDirChange<'a> {
    /// The place, resolved.
    pub real: &'a Path,
    /// Parts of git directories that the same call makes, at this place included.
    pub along: &'a PartsMade,
    /// A process makes it, git perhaps, which writes references and objects all the time.
    pub by_process: bool,
    /// The file system takes `head` for `HEAD`.
    pub folds_case: bool,
}

impl GitDirChange<'_> {
    /// Returns whether the place is, or lies in, a part of a git directory that says what git runs and where it writes, or one by which a
    /// directory comes nearer to being a git directory: any part beside [`HEAD`], and that beside another part. In each order of making
    /// the parts one of them is such a step. `stands`: something is at a path that git takes for a part, which a directory `HEAD` is not.
    pub fn is_of_git_dir(self, stands: impl Fn(&Path) -> bool) -> bool {
        self.real.ancestors().any(|at| match (at.file_name(), at.parent()) {
            (Some(name), Some(directory)) => self.is_part(at, name, directory, &stands),
            (None, _) | (_, None) => false,
        })
    }

    /// Returns whether the place is a file [`HEAD`].
    pub fn is_head(self) -> bool {
        self.real.file_name().is_some_and(|name| self.is_same(name, HEAD))
    }

    /// Returns whether the place is, or lies in, something that has the name of a part, whatever stands beside it.
    pub fn has_name_of_part(self) -> bool {
        self.real.ancestors().any(|at| {
            at.file_name().is_some_and(|name| {
                self.is_leading(at, name) || told_by().any(|part| self.is_same(name, part))
            })
        })
    }

    fn is_part(self, at: &Path, name: &OsStr, directory: &Path, stands: &impl Fn(&Path) -> bool) -> bool {
        let there = |part: &str| {
            let path = directory.join(part);
            stands(&path) || self.along.has(&path, self.folds_case)
        };
        if self.is_leading(at, name) {
            return there(HEAD);
        }
        // What has something below it is a directory, and no file of that name.
        if self.is_same(name, HEAD) && at != self.real {
            return false;
        }
        let joins = LAYOUTS.iter().any(|parts| {
            let partner = |part: &str| if self.is_same(name, HEAD) { part != HEAD } else { part == HEAD };
            parts.iter().any(|part| self.is_same(name, part))
                && parts.iter().any(|part| partner(part) && there(part))
        });
        joins && !(self.by_process && stands(at))
    }

    /// Returns whether the place is, or lies in, a part that says what git runs and where it writes.
    fn is_leading(self, at: &Path, name: &OsStr) -> bool {
        if self.is_same(name, OBJECTS) {
            // `alternates` names other object stores.
            let next = self.real.strip_prefix(at).ok().and_then(|below| below.iter().next());
            return next.is_some_and(|next| self.is_same(next, "info"));
        }
        // A reference may be symbolic, and lead git to a file elsewhere.
        let is_reference = !self.by_process && self.is_end(name, "_HEAD");
        let starts = name.as_bytes().get(..BISECT.len()).map(OsStr::from_bytes);
        let is_bisection = starts.is_some_and(|start| self.is_same(start, BISECT));
        is_reference || is_bisection || LEADING.iter().chain(&UNFINISHED).any(|part| self.is_same(name, part))
    }

    fn is_end(self, name: &OsStr, end: &str) -> bool {
        let from = name.len().checked_sub(end.len());
        let last = from.and_then(|from| name.as_bytes().get(from..)).map(OsStr::from_bytes);
        last.is_some_and(|last| self.is_same(last, end))
    }

    fn is_same(self, name: &OsStr, part: &str) -> bool {
        is_same_name(name.as_bytes(), part.as_bytes(), self.folds_case)
    }
}

impl ToolCall {
    /// Returns whether the call may put a file at this path that is a [`HEAD`] to git. `was`: the text of a file that is there and is
    /// none, empty where there is no file; `None`: it could not be read.
    pub fn may_put_head(&self, path: &PathText, was: Option<&str>) -> bool {
        match self {
            Self::Write(input) => input.path == *path && is_head(&input.content),
            Self::Edit(input) => {
                let step = (input.old.as_str(), input.new.as_str(), input.replace_all.unwrap_or(false));
                input.path == *path && (is_head(&input.new) || may_become_head(was, [step]))
            }
            Self::MultiEdit(input) => {
                let steps = input
                    .edits
                    .iter()
                    .map(|edit| (edit.old.as_str(), edit.new.as_str(), edit.replace_all.unwrap_or(false)));
                input.path == *path && may_become_head(was, steps)
            }
            Self::ApplyPatch(changes) => changes.files().iter().any(|change| match change {
                FileChange::Add { path: added, content } => added == path && is_head(content),
                FileChange::Update { path: was_at, move_to, .. } => {
                    move_to.as_ref().unwrap_or(was_at) == path
                }
                FileChange::Delete { .. } => false,
            }),
            Self::MoveFile(input) => input.destination == *path,
            Self::CopyFile(input) => input.destination == *path,
            Self::Foreign(ForeignCall::File { path: Some(written), operation, .. }) => {
                operation.writes() && written == path
            }
            // What a tool of a server writes is not known.
            Self::Mcp(_) => true,
            _ => false,
        }
    }
}

/// Returns whether a text may be that of a [`HEAD`] behind replacements, each of which works on what the one before leaves. Where not
/// exactly one place is meant, a tool of an agent may replace any.
fn may_become_head<'a>(was: Option<&str>, steps: impl IntoIterator<Item = (&'a str, &'a str, bool)>) -> bool {
    let Some(mut text) = was.map(str::to_owned) else { return true };
    for (old, new, all) in steps {
        let is_clear = if old.is_empty() { text.is_empty() } else { all || text.matches(old).count() == 1 };
        if !is_clear {
            return true;
        }
        text = text.replace(old, new);
    }
    is_head(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_told_as_git_tells_it() {
        for (content, expected) in [
            ("ref: refs/heads/main\n", true),
            ("ref:refs/x", true),
            ("ref: \t refs/x", true),
            ("0123456789012345678901234567890123456789\n", true),
            ("0123456789abcdefABCDEF678901234567890123456789012345678901234567", true),
            ("ref: heads/main", false),
            (" ref: refs/heads/main", false),
            ("HTTP HEAD\n", false),
            ("012345678901234567890123456789012345678\u{e9}", false),
            ("", false),
        ] {
            assert_eq!(is_head(content), expected, "{content:?}");
        }
    }

    #[test]
    fn each_step_to_a_git_directory_is_seen_and_ordinary_folders_are_not() {
        for (real, there, along, expected) in [
            // Steps to one, by what is there and by what comes with it.
            ("HEAD", "objects", "", true),
            ("HEAD", "refs", "", true),
            ("HEAD", "commondir", "", true),
            ("objects/ab/c", "HEAD", "", true),
            ("refs/heads/x", "HEAD", "", true),
            ("refs", "HEAD", "", true),
            ("commondir", "HEAD", "", true),
            ("config", "HEAD", "", true),
            ("hooks/pre-commit", "HEAD", "", true),
            ("HEAD", "", "refs/heads/x", true),
            ("refs/heads/x", "", "HEAD", true),
            ("config", "", "HEAD", true),
            // What is one says what git runs.
            ("config", "HEAD config objects refs", "", true),
            ("config.worktree", "HEAD objects refs", "", true),
            ("hooks/a/b", "HEAD objects refs", "", true),
            ("info/attributes", "HEAD objects refs", "", true),
            ("objects/info/alternates", "HEAD objects refs", "", true),
            ("modules/a/config", "HEAD objects refs", "", true),
            ("rebase-merge/git-rebase-todo", "HEAD objects refs", "", true),
            ("BISECT_TERMS", "HEAD objects refs", "", true),
            ("FETCH_HEAD", "HEAD objects refs", "", true),
            ("objects/ab/c", "HEAD objects refs", "", true),
            ("refs/heads/x", "HEAD objects refs", "", true),
            ("HEAD", "HEAD objects refs", "", true),
            // What is none of git's.
            ("main/src/a.rs", "HEAD objects refs", "", false),
            // An ordinary folder.
            ("HEAD", "", "", false),
            ("HEAD", "config hooks", "", false),
            ("HEAD/a", "config refs", "", false),
            ("objects/a", "refs hooks config", "", false),
            ("refs/a", "objects hooks config", "", false),
            ("hooks/useThing.ts", "config refs objects", "config", false),
            ("config", "objects refs", "", false),
            ("config", "", "HEAD/a", false),
            ("config/a", "", "sub/HEAD", false),
        ] {
            let directory = Path::new("/w/x");
            let stands = |path: &Path| {
                path.strip_prefix(directory)
                    .is_ok_and(|path| there.split(' ').any(|name| path == Path::new(name)))
            };
            let (real, along) = (directory.join(real), directory.join(along));
            let along = PartsMade::from_places([real.as_path(), along.as_path()]);
            let change = GitDirChange { real: &real, along: &along, by_process: false, folds_case: false };
            assert_eq!(change.is_of_git_dir(stands), expected, "{real:?} beside {there} with {along:?}");
        }
    }

    #[test]
    fn a_process_writes_what_every_git_command_writes() {
        for (real, there, expected) in [
            ("HEAD", "HEAD objects refs", false),
            ("refs/heads/x", "HEAD objects refs", false),
            ("objects/ab/c", "HEAD objects refs", false),
            ("ORIG_HEAD", "HEAD objects refs", false),
            ("objects/info/alternates", "HEAD objects refs", true),
            ("hooks/update", "HEAD objects refs", true),
            ("refs", "HEAD objects", true),
            ("HEAD", "objects refs", true),
        ] {
            let real = Path::new("/w/x").join(real);
            let stands = |path: &Path| there.split(' ').any(|name| path == Path::new("/w/x").join(name));
            let change = GitDirChange {
                real: &real,
                along: &PartsMade::default(),
                by_process: true,
                folds_case: false,
            };
            assert_eq!(change.is_of_git_dir(stands), expected, "{real:?} beside {there}");
        }
    }

    #[test]
    fn names_are_compared_without_case_where_the_file_system_does() {
        let change = |real, along: &[&Path], folds_case| {
            let along = &PartsMade::from_places(along.iter().copied());
            GitDirChange { real: Path::new(real), along, by_process: false, folds_case }
                .is_of_git_dir(|path| path == Path::new("/w/x/HEAD"))
        };
        for real in ["/w/x/Hooks/a", "/w/x/hoo\u{212a}\u{17f}/a", "/w/x/con\u{200b}fig", "/w/x/bisect_terms"]
        {
            assert_eq!((change(real, &[], true), change(real, &[], false)), (true, false), "{real}");
        }
        let along = [Path::new("/W/y/head")];
        assert!(change("/w/y/Config", &along, true));
        assert!(!change("/w/y/config", &along, false));
    }
}

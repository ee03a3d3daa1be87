//! Configuration files of git with those that they include.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use pinfold_paths::expand_account_home;
use pinfold_sandbox::open_plain_through_links;

use super::config::{Config, ConfigEntry, MAX_SIZE};
use crate::lookup::{is_closed_by_user, is_missing};

/// Most files that are read. git gives up on a chain of ten.
const MAX_FILES: usize = 64;

/// Most includes that are looked at: of files that include each other, most lead to one that was read.
const MAX_INCLUDES: usize = 1_024;

/// Blanks at the beginning of a large file that are looked behind.
const MAX_BLANKS: u64 = 4_096;

/// Why entries may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigGap {
    /// There is more than is read.
    Bounded,
    /// A file cannot be read now, and git may read it later.
    Unreadable {
        /// The user could open it again.
        by_user: bool,
    },
    /// A path begins in a way that only git can expand.
    Unexpanded,
}

/// Files that were read, each with its directory.
#[derive(Debug, Default)]
pub(crate) struct ConfigFiles {
    files: Vec<(PathBuf, Config)>,
    pub(crate) gap: Option<ConfigGap>,
}

impl ConfigFiles {
    /// Reads what is there. Conditions of includes are taken for met: what is held too much is not written.
    pub(crate) fn read(files: impl IntoIterator<Item = PathBuf>, home: Option<&Path>) -> Self {
        let mut all = Self::default();
        let mut ahead: VecDeque<PathBuf> = files.into_iter().collect();
        let (mut seen, mut looked_at) = (HashSet::new(), 0);
        while let Some(file) = ahead.pop_front() {
            if looked_at == MAX_INCLUDES {
                all.gap = Some(ConfigGap::Bounded);
                break;
            }
            looked_at += 1;
            // Files may include each other in a circle, by ever longer names.
            if !seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                continue;
            }
            let Ok(config) = Config::read(&file).or_else(|_| Config::read_roughly(&file)) else {
                all.gap = all.gap.or_else(|| gap_at(&file));
                continue;
            };
            if all.files.len() == MAX_FILES {
                all.gap = Some(ConfigGap::Bounded);
                break;
            }
            let directory = file.parent().unwrap_or(&file).to_owned();
            for included in config.entries().iter().filter_map(included).take(MAX_INCLUDES) {
                match expanded(&directory, &included, home) {
                    Some(path) => ahead.push_back(path),
                    None => all.gap = all.gap.or(Some(ConfigGap::Unexpanded)),
                }
            }
            all.files.push((directory, config));
        }
        all
    }

    /// Returns the entries, each with the directory to which its paths are relative.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &ConfigEntry)> {
        self.files
            .iter()
            .flat_map(|(at, config)| config.entries().iter().map(move |entry| (at.as_path(), entry)))
    }
}

/// A missing file, and one that does not parse, git does not act by.
fn gap_at(file: &Path) -> Option<ConfigGap> {
    let unreadable = || ConfigGap::Unreadable { by_user: is_closed_by_user(file) };
    match open_plain_through_links(file) {
        Ok(opened) if opened.metadata().is_ok_and(|found| found.len() <= MAX_SIZE) => None,
        Ok(opened) => begins_as_config(opened).then_some(ConfigGap::Bounded),
        Err(error) if is_missing(&error) => None,
        // What comes out of a pipe is for its other end to say.
        Err(_) => match fs::metadata(file) {
            Ok(found) if !found.is_file() && !found.file_type().is_fifo() => None,
            Ok(_) | Err(_) => Some(unreadable()),
        },
    }
}

/// Returns whether git would read on behind the beginning of a file: a section, a name or a comment stands there, behind blanks
/// and the mark of UTF-8. Anything else ends git with an error
/// ([git-config(1)](https://git-scm.com/docs/git-config#_syntax)).
fn begins_as_config(file: fs::File) -> bool {
    let mut start = Vec::new();
    let read = file.take(MAX_BLANKS).read_to_end(&mut start);
    let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    read.is_err() || first.is_none_or(|first| first.is_ascii_alphabetic() || b"[#;".contains(first))
}

fn included(entry: &ConfigEntry) -> Option<Cow<'_, OsStr>> {
    let includes = matches!(entry.section.as_str(), "include" | "includeif") && entry.key == "path";
    let value = entry.value.as_deref().filter(|value| includes && !value.is_empty());
    value.map(|value| entry.written(value))
}

/// A path as git expands it: `~/` is the person's home, `~ana/` that of another one. `None`: git itself would have to be asked.
/// [git-config(1)](https://git-scm.com/docs/git-config#_values), `pathname`
pub(crate) fn expanded(base: &Path, text: &OsStr, home: Option<&Path>) -> Option<PathBuf> {
    let text = text.as_bytes();
    let text = text.strip_prefix(b":(optional)").unwrap_or(text);
    if text.starts_with(b"%(prefix)/") {
        return None;
    }
    let path = Path::new(OsStr::from_bytes(text));
    if !text.starts_with(b"~") {
        return Some(base.join(path));
    }
    expand_account_home(path).or_else(|| home_by_name(path, home?))
}

/// The person's own home, where a path begins with `~` or with `~` and its name: a directory service may know that account alone.
fn home_by_name(path: &Path, home: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    let named = parts.next()?.as_os_str().as_bytes().strip_prefix(b"~")?;
    let is_theirs = named.is_empty() || home.file_name().is_some_and(|name| name.as_bytes() == named);
    is_theirs.then(|| home.join(parts))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pinfold_testkit::TempTree;

    use super::*;

    fn include(path: &str) -> String {
        format!("[include]\n\tpath = {path}\n")
    }

    #[test]
    fn files_that_include_each_other_are_read_once() {
        let tree = TempTree::new();
        tree.write("d/a", include("../d/b"));
        tree.write("d/b", include("../d/a") + "[x]\n\tk = v\n");
        let read = ConfigFiles::read([tree.path("d/a")], None);
        assert_eq!((read.files.len(), read.gap), (2, None));
        assert!(read.entries().any(|(at, entry)| entry.name() == "x.k" && at == tree.path("d/../d")));
    }

    #[test]
    fn what_is_not_read_is_said_to_be_missing() {
        let tree = TempTree::new();
        for n in 0..=MAX_FILES {
            tree.write(format!("{n}"), include(&format!("{}", n + 1)));
        }
        assert_eq!(ConfigFiles::read([tree.path("1")], None).gap, None, "the last one is not there");
        assert_eq!(ConfigFiles::read([tree.path("0")], None).gap, Some(ConfigGap::Bounded));
        tree.write("many", include("many").repeat(MAX_INCLUDES + 1));
        assert_eq!(ConfigFiles::read([tree.path("many")], None).gap, Some(ConfigGap::Bounded));
        tree.write("large", "#".repeat(usize::try_from(MAX_SIZE).unwrap() + 1));
        assert_eq!(ConfigFiles::read([tree.path("large")], None).gap, Some(ConfigGap::Bounded));
        tree.write("zeros", "\0".repeat(usize::try_from(MAX_SIZE).unwrap() + 1));
        assert_eq!(ConfigFiles::read([tree.path("zeros")], None).gap, None, "git ends with an error");
        tree.write("bad", "[");
        tree.make_dir("directory");
        assert_eq!(ConfigFiles::read(["bad", "directory", "none"].map(|at| tree.path(at)), None).gap, None);
        tree.make_pipe("pipe");
        tree.link("link-to-pipe", "pipe");
        for name in ["pipe", "link-to-pipe"] {
            let gap = ConfigFiles::read([tree.path(name)], None).gap;
            assert_eq!(gap, Some(ConfigGap::Unreadable { by_user: true }), "{name}");
        }
        assert_eq!(ConfigFiles::read(["/dev/null".into()], None).gap, None, "nothing comes out of it");
        tree.write("closed", "");
        fs::set_permissions(tree.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        let is_closed = fs::File::open(tree.path("closed")).is_err();
        let gap = ConfigFiles::read([tree.path("closed")], None).gap;
        assert_eq!(gap, is_closed.then_some(ConfigGap::Unreadable { by_user: true }));
    }
}

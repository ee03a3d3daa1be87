//! Files that a repository may hold: they came with the repository, whatever their names say.
//!
//! Promise: `false` only when that is certain; whatever cannot be read or understood counts as tracked, and so does all
//! that lies in a repository of another kind than git's. The index is read as bytes; no git is started.
//! [gitformat-index(5)](https://git-scm.com/docs/index-format)

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// By what repositories are known whose lists of files are not read here: Mercurial, Subversion, Jujutsu, Sapling,
/// Bazaar, Darcs, Pijul, Fossil, CVS, Perforce, Plastic, Team Foundation, Got, Monotone, `repo`.
const OTHER_REPOSITORIES: [&str; 20] = [
    ".hg",
    ".svn",
    "_svn",
    ".jj",
    ".sl",
    ".bzr",
    "_darcs",
    ".pijul",
    ".fslckout",
    "_FOSSIL_",
    ".fos",
    "CVS",
    ".p4config",
    ".p4root",
    ".plastic",
    "$tf",
    ".tf",
    ".got",
    "_MTN",
    ".repo",
];

/// Returns true if a repository may hold `path`, which is canonical.
pub(super) fn is_tracked(path: &Path) -> bool {
    is_in_another_repository(path) || is_tracked_by_git(path)
}

/// A repository may hold one of another kind, so that all folders above are looked at.
fn is_in_another_repository(path: &Path) -> bool {
    let holds = |folder: &Path| {
        OTHER_REPOSITORIES.iter().any(|name| {
            // What cannot be looked at may be there.
            folder.join(name).symlink_metadata().map_or_else(|e| e.kind() != ErrorKind::NotFound, |_| true)
        })
    };
    path.ancestors().skip(1).any(holds)
}

fn is_tracked_by_git(path: &Path) -> bool {
    let Some(top) = path.ancestors().skip(1).find(|folder| folder.join(".git").symlink_metadata().is_ok())
    else {
        return false;
    };
    let (Some(git), Ok(below)) = (git_directory(top), path.strip_prefix(top)) else { return true };
    index_holds(&git, below.as_os_str().as_encoded_bytes()).unwrap_or(true)
}

/// The directory that `.git` is or points to.
fn git_directory(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if fs::metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let mut pointer = String::new();
    regular(&git)?.take(MAX_NAME_LEN as u64).read_to_string(&mut pointer).ok()?;
    Some(top.join(pointer.strip_prefix("gitdir: ")?.trim_end_matches('\n')))
}

/// Returns true if the index names a path; `None` when that cannot be told.
fn index_holds(git: &Path, name: &[u8]) -> Option<bool> {
    for entry in fs::read_dir(git).ok()? {
        // The rest of a split index stands in another file.
        if entry.ok()?.file_name().as_encoded_bytes().starts_with(b"sharedindex.") {
            return None;
        }
    }
    let index = git.join("index");
    if index.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return Some(false);
    }
    // Which hash a repository uses stands elsewhere; entries of the other length do not add up.
    [SHA1, SHA256].into_iter().find_map(|hash| names(BufReader::new(regular(&index)?), hash, name))
}

fn regular(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

/// Bytes of a hash.
const SHA1: usize = 20;
const SHA256: usize = 32;
/// Bytes of an entry before its hash: times, device, inode, mode, owner, length.
const STAT: usize = 40;
/// Longer than any path that the kernel takes.
const MAX_NAME_LEN: usize = 1 << 16;

/// Reads entries until `wanted` was found or passed, as they are sorted. Of a folder that stands in the index as
/// one entry (a sparse one), everything below is tracked.
fn names(mut index: impl BufRead, hash: usize, wanted: &[u8]) -> Option<bool> {
    if take::<4>(&mut index)? != *b"DIRC" {
        return None;
    }
    let version = u32::from_be_bytes(take(&mut index)?);
    let count = u32::from_be_bytes(take(&mut index)?);
    let mut name = Vec::new();
    for _ in 0..count {
        skip(&mut index, STAT + hash)?;
        let flags = u16::from_be_bytes(take(&mut index)?);
        let extended = version >= 3 && flags & 0x4000 != 0;
        if extended {
            skip(&mut index, 2)?;
        }
        let before = name.clone();
        match version {
            2 | 3 => {
                name.clear();
                let length = read_name(&mut index, &mut name)?;
                let fixed = STAT + hash + 2 + if extended { 2 } else { 0 };
                // At least one NUL stands behind a name, and as many as fill up eight bytes.
                skip(&mut index, 7 - (fixed + length) % 8)?;
            }
            4 => {
                let keep = name.len().checked_sub(varint(&mut index)?)?;
                name.truncate(keep);
                read_name(&mut index, &mut name)?;
            }
            _ => return None,
        }
        let length = usize::from(flags & 0xFFF);
        if length != name.len().min(0xFFF) || name < before {
            return None;
        }
        let folder = name.ends_with(b"/") && wanted.starts_with(&name);
        if folder || name.eq_ignore_ascii_case(wanted) {
            return Some(true);
        }
        if name.as_slice() > wanted {
            return Some(false);
        }
    }
    Some(false)
}

fn take<const N: usize>(from: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn skip(from: &mut impl Read, bytes: usize) -> Option<()> {
    let mut buffer = [0; STAT + SHA256];
    from.read_exact(buffer.get_mut(..bytes)?).ok()
}

/// Appends up to the next NUL, which is taken too, and says how many bytes there were.
fn read_name(from: &mut impl BufRead, name: &mut Vec<u8>) -> Option<usize> {
    let read = from.take(MAX_NAME_LEN as u64).read_until(0, name).ok()?;
    (name.pop()? == 0).then_some(read - 1)
}

/// A number of seven bits a byte, the highest first, each further byte counting from one.
fn varint(from: &mut impl Read) -> Option<usize> {
    let [mut byte] = take(from)?;
    let mut value = usize::from(byte & 0x7F);
    while byte & 0x80 != 0 {
        [byte] = take(from)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7F))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs git in `folder` with no configuration of the machine.
    fn git(folder: &Path, args: &[&str]) {
        let done = Command::new("git")
            .args(args)
            .current_dir(folder)
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .envs([
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@b"),
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@b"),
            ])
            .output()
            .expect("git runs");
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Names around the wanted one, and enough of them that prefixes are shared.
    fn fill(folder: &Path) {
        for name in [
            "a/b",
            ".pinfold/settings.json",
            ".pinfold/settings.local.json",
            ".pinfold/settings.local.jsonx",
            "z",
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
    }

    const WANTED: &str = ".pinfold/settings.local.json";

    #[test]
    fn it_tells_what_git_tracks_in_every_format_of_the_index() {
        for (init, version) in [("sha1", "2"), ("sha1", "3"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")]
        {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            git(&top, &["init", "-q", &format!("--object-format={init}")]);
            assert!(!is_tracked(&top.join(WANTED)), "no index yet");
            fill(&top);
            git(&top, &["add", "a", "z", ".pinfold/settings.json", ".pinfold/settings.local.jsonx"]);
            git(&top, &["update-index", "--index-version", version]);
            assert!(
                !is_tracked(&top.join(WANTED)),
                "{init} {version}: its neighbours are tracked, it is not"
            );
            git(&top, &["add", "-f", WANTED]);
            assert!(is_tracked(&top.join(WANTED)), "{init} {version}");
            git(&top, &["add", "-N", "."]);
            assert!(is_tracked(&top.join(WANTED)), "{init} {version}: with extended entries");
        }
    }

    #[test]
    fn it_tells_what_a_worktree_tracks() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("main");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "-q"]);
        fill(&top);
        git(&top, &["add", "-f", "."]);
        git(&top, &["commit", "-qm", "all"]);
        git(&top, &["worktree", "add", "-q", "../other"]);
        let other = top.parent().unwrap().join("other");
        assert!(is_tracked(&other.join(WANTED)));
        git(&other, &["rm", "-q", "--cached", WANTED]);
        assert!(!is_tracked(&other.join(WANTED)));
        assert!(is_tracked(&top.join(WANTED)));
    }

    #[test]
    fn what_lies_in_a_repository_of_another_kind_counts_as_tracked() {
        for name in OTHER_REPOSITORIES {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            fill(&top.join("below"));
            let file = top.join("below").join(WANTED);
            assert!(!is_tracked(&file), "the control");
            fs::create_dir(top.join(name)).unwrap();
            assert!(is_tracked(&file), "{name}");
            git(&top.join("below"), &["init", "-q"]);
            assert!(is_tracked(&file), "{name}: a repository of git within");
        }
    }

    #[test]
    fn what_is_not_understood_counts_as_tracked() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        assert!(!is_tracked(&top.join(WANTED)), "no repository: the control");
        git(&top, &["init", "-q"]);
        fill(&top);
        git(&top, &["add", "a"]);
        assert!(!is_tracked(&top.join(WANTED)), "the control");
        git(&top, &["update-index", "--split-index"]);
        assert!(is_tracked(&top.join(WANTED)), "a split index");
        for index in [&b"DIRC"[..], b"DIRC\0\0\0\x09\0\0\0\x01", b"", b"DIRC\0\0\0\x02\0\0\0\x01\0"] {
            fs::write(top.join(".git/index"), index).unwrap();
            assert!(is_tracked(&top.join(WANTED)), "{index:?}");
        }
    }
}

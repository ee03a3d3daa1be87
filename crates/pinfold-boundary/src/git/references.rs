//! References of git in files of their own: where a symbolic one leads.
//!
//! git follows `ref: ../../x` in a branch out of its directory: the next commit makes that file
//! ([refs/files-backend.c](https://github.com/git/git/blob/v2.47.0/refs/files-backend.c), tried with 2.47), and appends to a log
//! beside it.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pinfold_sandbox::open_plain;

/// Bytes of a reference.
pub(crate) const MAX_SIZE: u64 = 1 << 16;

/// Returns whether a path in a git directory is that of a reference, which git changes by renaming a lock over it. `FETCH_HEAD` and
/// `MERGE_HEAD` are lists, which git writes in their place and follows nowhere
/// ([gitglossary(7)](https://git-scm.com/docs/gitglossary), "pseudoref").
pub(crate) fn is_reference(inner: &Path) -> bool {
    const OTHERS: [&[u8]; 5] = [
        b"AUTO_MERGE",
        b"BISECT_EXPECTED_REV",
        b"MERGE_AUTOSTASH",
        b"NOTES_MERGE_PARTIAL",
        b"NOTES_MERGE_REF",
    ];
    let mut names = inner.iter();
    let (first, second) = (names.next().unwrap_or_default().as_bytes(), names.next());
    if second.is_some() {
        return first == b"refs";
    }
    let is_head = first.ends_with(b"HEAD") && first != b"FETCH_HEAD" && first != b"MERGE_HEAD";
    is_head || OTHERS.contains(&first)
}

/// Returns whether the content of a reference leads nowhere but to another one.
pub(crate) fn stays_in(content: &[u8]) -> bool {
    let Some(target) = content.strip_prefix(b"ref:") else { return true };
    let mut names = target.trim_ascii().split(|byte| *byte == b'/');
    let is_plain =
        |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.iter().any(u8::is_ascii_control);
    names.next() == Some(b"refs") && names.clone().next().is_some() && names.all(is_plain)
}

/// Returns whether all references at the top of a git directory and in its `refs` stay in. What cannot be looked at does not.
pub(crate) fn all_stay_in(git_dir: &Path) -> bool {
    stays_in_beneath(git_dir, Path::new(""), 0)
}

fn stays_in_beneath(git_dir: &Path, below: &Path, depth: usize) -> bool {
    const DEEPEST: usize = 16;
    let Ok(entries) = fs::read_dir(git_dir.join(below)) else { return false };
    entries.map_while(Result::ok).all(|entry| {
        let inner = below.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && (depth > 0 || inner == Path::new("refs")) => {
                depth < DEEPEST && stays_in_beneath(git_dir, &inner, depth + 1)
            }
            Ok(kind) if kind.is_file() && is_reference(&inner) => file_stays_in(&entry.path()),
            Ok(kind) => kind.is_dir() || !is_reference(&inner),
            Err(_) => false,
        }
    })
}

fn file_stays_in(file: &Path) -> bool {
    let mut content = Vec::new();
    let read = open_plain(file).and_then(|file| file.take(MAX_SIZE).read_to_end(&mut content));
    read.is_ok() && stays_in(&content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbolic_reference_leads_to_a_reference() {
        for (content, expected) in [
            ("0123456789012345678901234567890123456789\n", true),
            ("ref: refs/heads/main\n", true),
            ("ref:refs/heads/a/b", true),
            ("ref: refs/heads/.invalid\n", true),
            ("", true),
            ("ref: ../../out\n", false),
            ("ref: refs/heads/../../../out\n", false),
            ("ref: /home/ana/out\n", false),
            ("ref: refs//heads/x\n", false),
            ("ref: refs/./x\n", false),
            ("ref: config\n", false),
            ("ref: refs\n", false),
            ("ref: refs/heads/x\nref: y\n", false),
            ("ref:\n", false),
        ] {
            assert_eq!(stays_in(content.as_bytes()), expected, "{content:?}");
        }
    }

    #[test]
    fn a_reference_is_told_by_its_name() {
        for (inner, expected) in [
            ("HEAD", true),
            ("ORIG_HEAD", true),
            ("AUTO_MERGE", true),
            ("refs/heads/main", true),
            ("refs/x", true),
            ("FETCH_HEAD", false),
            ("MERGE_HEAD", false),
            ("logs/HEAD", false),
            ("refs", false),
            ("COMMIT_EDITMSG", false),
        ] {
            assert_eq!(is_reference(Path::new(inner)), expected, "{inner}");
        }
    }

    #[test]
    fn each_reference_of_a_directory_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let at = folder.path().join(name);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
        };
        write("HEAD", "ref: refs/heads/main\n");
        write("refs/bisect/bad", "0123\n");
        write("logs/HEAD", "ref: ../../x");
        assert!(all_stay_in(folder.path()));
        for name in ["refs/worktree/a", "ORIG_HEAD"] {
            write(name, "ref: ../../x\n");
            assert!(!all_stay_in(folder.path()), "{name}");
            write(name, "0123\n");
        }
        assert!(all_stay_in(folder.path()) && !all_stay_in(&folder.path().join("missing")));
    }
}

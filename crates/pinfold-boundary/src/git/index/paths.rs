//! Paths that git would check out, and no others: the rules of git's `verify_path`
//! ([read-cache.c](https://github.com/git/git/blob/v2.47.0/read-cache.c)), with those for file systems of other machines.

use super::entries::Mode;

/// More than the kernel takes for a path.
const PATH_MAX: usize = 4_096;

/// Returns whether a path of an index leads to a place in the working tree, and to no git directory.
pub(super) fn is_safe(path: &[u8], mode: Mode) -> bool {
    let path = match (mode, path.strip_suffix(b"/")) {
        (Mode::Directory, Some(path)) => path,
        (Mode::Directory, None) => return false,
        _ => path,
    };
    path.len() <= PATH_MAX && path.split(|byte| *byte == b'/').all(|name| is_safe_name(name, mode))
}

fn is_safe_name(name: &[u8], mode: Mode) -> bool {
    let leads_on = matches!(name, b"" | b"." | b"..");
    // Elsewhere a backslash ends a name.
    let is_git = name.split(|byte| *byte == b'\\').any(is_git_dir);
    let redirects = mode == Mode::Link && name.eq_ignore_ascii_case(b".gitmodules");
    !leads_on && !is_git && !redirects
}

/// Returns whether any file system takes a name for `.git`.
fn is_git_dir(name: &[u8]) -> bool {
    is_git_dir_on_ntfs(name) || is_git_dir_on_hfs(name)
}

/// Returns whether a name is `.git` for NTFS: in any case, by its short name, with trailing dots and blanks, or as a stream.
fn is_git_dir_on_ntfs(name: &[u8]) -> bool {
    let file = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let end = file.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    let file = file.get(..end).unwrap_or_default();
    file.eq_ignore_ascii_case(b".git") || file.eq_ignore_ascii_case(b"git~1")
}

/// Returns whether a name is `.git` for HFS+, which ignores invisible characters.
fn is_git_dir_on_hfs(name: &[u8]) -> bool {
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let text = String::from_utf8_lossy(name);
    let seen = text.chars().filter(|c| !is_ignored(c)).map(|c| c.to_ascii_lowercase());
    seen.eq(".git".chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_in_the_working_tree_and_out_of_git_directories() {
        for path in [
            "a",
            "a/b",
            "...",
            "..a",
            "a..",
            ".gitignore",
            ".gitmodules",
            "git",
            "git~2",
            ".git2",
            "a/.github/x",
            "caf\u{e9}",
            "a b",
            "a\\b",
            "-x",
            ".gitx/y",
            "a:b",
            "git~10",
            "~",
        ] {
            assert!(is_safe(path.as_bytes(), Mode::File), "{path}");
        }
        assert!(is_safe(b"\xff\xfe", Mode::File), "names need not be text");
        for path in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/..",
            "a/../../x",
            "./a",
            "a//b",
            "a/",
            ".git",
            ".git/config",
            "a/.git/hooks/x",
            ".GIT/x",
            ".Git",
            "git~1",
            "GIT~1/config",
            ".git /x",
            ".git./x",
            ".git...",
            ".git::$INDEX_ALLOCATION/x",
            ".git:x",
            "a\\.git\\x",
            ".g\u{200c}it/x",
            "\u{feff}.git",
            ".git\u{200d}",
        ] {
            assert!(!is_safe(path.as_bytes(), Mode::File), "{path}");
        }
        assert!(!is_safe(b".gitmodules", Mode::Link), "git would read another file");
        assert!(is_safe(b"a/", Mode::Directory) && !is_safe(b"a", Mode::Directory));
        assert!(!is_safe(b"../", Mode::Directory) && !is_safe(b"a//", Mode::Directory));
        assert!(!is_safe(&[b'a'; PATH_MAX + 1], Mode::File));
    }
}

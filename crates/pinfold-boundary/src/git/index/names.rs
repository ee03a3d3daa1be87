//! Which names git would check out: its own rules, with what it does for the file systems of other machines.

use super::entry::Kind;

/// Whether an entry stays in the working tree and out of git directories.
pub(super) fn stays_in(path: &[u8], kind: Kind, sparse: bool) -> bool {
    let path = match (kind, path.strip_suffix(b"/")) {
        (Kind::Directory, Some(path)) if sparse => path,
        (Kind::Directory, _) | (_, Some(_)) => return false,
        (_, None) => path,
    };
    path.split(|byte| *byte == b'/').all(|name| is_plain(name) && !(kind == Kind::Link && is_modules(name)))
}

fn is_plain(name: &[u8]) -> bool {
    let special = matches!(name, b"" | b"." | b"..");
    !special && !is_dot_git_with_blind_characters(name) && !name.split(|byte| *byte == b'\\').any(is_dot_git)
}

/// Whether Windows would take a name for `.git`: what follows a colon is another stream of the file, and dots and blanks at
/// the end mean nothing.
fn is_dot_git(name: &[u8]) -> bool {
    let file = name.split(|byte| *byte == b':').next().unwrap_or(name);
    let end = file.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    let file = file.get(..end).unwrap_or(file);
    [&b".git"[..], b"git~1"].iter().any(|git| file.eq_ignore_ascii_case(git))
}

/// Whether macOS would take a name for `.git`: it passes over characters that are not seen.
fn is_dot_git_with_blind_characters(name: &[u8]) -> bool {
    let text = match std::str::from_utf8(name) {
        Ok(text) => text,
        // git stops at what is no text.
        Err(error) => name
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    let seen: String = text.chars().filter(|c| !is_blind(*c)).collect();
    seen.eq_ignore_ascii_case(".git")
}

fn is_blind(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

/// `.gitmodules` as a link would have git read it from anywhere.
fn is_modules(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".gitmodules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_told_from_others() {
        for (path, expected) in [
            ("a", true),
            ("a/b.c/d", true),
            (".gitignore", true),
            (".github/x", true),
            ("a/.gitattributes", true),
            ("git/config", true),
            ("...", true),
            ("a\\b", true),
            ("git~10", true),
            ("x.git/config", true),
            ("", false),
            ("/a", false),
            ("a//b", false),
            ("a/", false),
            (".", false),
            ("a/./b", false),
            ("..", false),
            ("../x", false),
            ("a/../../x", false),
            (".git", false),
            (".git/hooks/x", false),
            ("a/.GiT/config", false),
            (".git. . /x", false),
            (".git:stream/x", false),
            (".git ::$INDEX_ALLOCATION/x", false),
            ("GIT~1/x", false),
            ("a\\.git\\x", false),
            (".g\u{200c}it/x", false),
            ("\u{feff}.Git/x", false),
        ] {
            assert_eq!(stays_in(path.as_bytes(), Kind::File, true), expected, "{path}");
        }
        assert!(!stays_in(b".git\xff", Kind::File, false));
        assert!(stays_in(b"caf\xe9", Kind::File, false));
        assert!(stays_in(b".gitmodules", Kind::File, false) && !stays_in(b".gitmodules", Kind::Link, false));
    }

    #[test]
    fn a_directory_stands_in_a_sparse_index_alone() {
        assert!(stays_in(b"a/b/", Kind::Directory, true));
        for (path, sparse) in [("a/b/", false), ("a/b", true), ("a//", true), ("../", true), (".git/", true)]
        {
            assert!(!stays_in(path.as_bytes(), Kind::Directory, sparse), "{path} {sparse}");
        }
    }
}

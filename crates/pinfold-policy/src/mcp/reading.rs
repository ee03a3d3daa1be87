//! Further readings of a text as a path: servers differ in how they expand, decode and normalise.
//!
//! A path is first of all what the kernel takes it for. A server may also take `..` as text before the kernel sees it
//! (Node's `path.resolve`, Python's `normpath`), leave `~` as it stands or put a home for it, cut off blanks, or take
//! a URL apart. A text is only let through where all of these may be.

use pinfold_host::{percent_decoded, split_scheme};

/// The longest path that any system call takes (`PATH_MAX`), and the longest name in it (`NAME_MAX`).
const MAX_PATH_LEN: usize = 4096;
const MAX_NAME_LEN: usize = 255;

/// Schemes of URLs that lead to other machines, where a host stands behind them.
const REMOTE: &[&str] = &[
    "ftp",
    "ftps",
    "git",
    "gs",
    "http",
    "https",
    "postgres",
    "postgresql",
    "redis",
    "s3",
    "sftp",
    "ssh",
    "ws",
    "wss",
];

/// Returns `true` if a text begins as only a path does.
pub(super) fn begins_as_path(text: &str) -> bool {
    let text = text.trim_start();
    let is_home = || {
        // `~`, `~/x`, `~name/x`
        let name = text.strip_prefix('~')?.split('/').next()?;
        let is_user = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        Some(is_user && (name.is_empty() || text.contains('/')))
    };
    text.starts_with('/')
        || text == ".."
        || text.starts_with("../")
        || text.starts_with("./")
        || expanded(text).is_some()
        || is_home().unwrap_or(false)
}

/// Returns `true` if a system call could take the text for a path at all.
pub(super) fn can_be_path(text: &str) -> bool {
    let fits = text.len() < MAX_PATH_LEN && text.split('/').all(|name| name.len() <= MAX_NAME_LEN);
    fits && !text.is_empty() && !text.contains('\0')
}

/// Returns `true` if a text is a URL that leads to another machine: a scheme that is known, and a host.
pub(super) fn is_remote_url(text: &str) -> bool {
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let is_host = |host: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:@[]%".contains(c);
        host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') && host.chars().all(plain)
    };
    REMOTE.iter().any(|known| known.eq_ignore_ascii_case(scheme)) && host.is_some_and(is_host)
}

/// More readings than any text has that was not made to have them.
const MAX_READINGS: usize = 64;

/// The longest text, in bytes, that every reading is made of. Of a longer one, as it stands, only what is left of it after
/// normalising counts: a thousand times `/.` behind a path.
const MAX_READ: usize = 64 * 1024;

/// Returns every other path that a server could make of the text, each once and without the text itself: by one step or
/// by several, such as a scheme that is cut off in front of a `~`.
///
/// With each path the set has what is left of it after [normalising](normalized): no way to write a place hides it.
pub(super) fn readings(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    let mut at = 0;
    while let Some(reading) = all.get(at).cloned() {
        for next in steps(&reading) {
            if !next.is_empty() && !all.contains(&next) && all.len() <= MAX_READINGS {
                all.push(next);
            }
        }
        at += 1;
    }
    // Of those too for which there was no room.
    for reading in all.clone() {
        let next = normalized(&reading);
        if !all.contains(&next) {
            all.push(next);
        }
    }
    all.remove(0);
    all.retain(|reading| can_be_path(reading));
    all
}

/// Returns the texts that a server can make of a text by one step.
fn steps(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let plain = normalized(text);
    // An address that stays one is none of a machine's own places by a slash less.
    let is_address = is_remote_url(text)
        && split_scheme(text).is_some_and(|(scheme, _)| plain.starts_with(&format!("{scheme}:/")));
    if !is_address {
        found.push(plain);
    }
    if text.len() > MAX_READ {
        return found;
    }
    let trimmed = text.trim();
    found.push(trimmed.to_owned());
    if trimmed.starts_with('~') {
        // A name like any other.
        found.push(format!("./{trimmed}"));
    }
    if trimmed.starts_with('/') {
        // Below a folder of the server's own that it takes for the root.
        let below = trimmed.trim_start_matches('/');
        found.push(if below.starts_with('~') { below.to_owned() } else { format!("./{below}") });
    }
    found.extend(expanded(trimmed));
    found.extend(unwritten(trimmed));
    if let Some((_, rest)) = split_scheme(trimmed).filter(|_| !is_remote_url(trimmed)) {
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let behind = rest.strip_prefix("//").unwrap_or(rest);
        let path = behind.find('/').and_then(|at| behind.get(at..));
        let parts = [Some(behind), path].into_iter().flatten();
        found.extend(parts.flat_map(|part| [part.to_owned(), percent_decoded(part)]));
    }
    found
}

/// Returns the text without marks that only say how it is written: escapes, the `@` by which agents name
/// files, quotation marks, the separators of Windows.
fn unwritten(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.contains('%') {
        found.push(percent_decoded(text));
    }
    if text.contains('\\') {
        found.push(text.replace('\\', "/"));
    }
    found.extend(text.strip_prefix('@').map(str::to_owned));
    let quoted = |mark| text.strip_prefix(mark)?.strip_suffix(mark);
    found.extend(['"', '\'', '`'].into_iter().filter_map(quoted).map(str::to_owned));
    found
}

/// `$HOME/x` → `~/x`, `${PWD}/x` → `./x`.
fn expanded(text: &str) -> Option<String> {
    const VARIABLES: [(&str, &str); 4] = [("$HOME", "~"), ("${HOME}", "~"), ("$PWD", "."), ("${PWD}", ".")];
    VARIABLES.iter().find_map(|(variable, stands_for)| {
        let rest = text.strip_prefix(variable)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{stands_for}{rest}"))
    })
}

/// Returns the path without `.`, empty names, a separator at its end, and `..` with the name in front of it, as programs make it
/// that never ask the file system: the kernel opens no file by `file/`, they do.
fn normalized(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match (name, names.last()) {
            ("..", Some(last)) if *last != ".." => _ = names.pop(),
            ("..", _) if is_absolute => {}
            _ => names.push(name),
        }
    }
    let joined = names.join("/");
    // What was a name like any other is none of a home, and what began at a folder begins there.
    let is_below = path.starts_with("./") && names.first() != Some(&"..");
    let is_name = joined.starts_with('~') && !path.starts_with('~');
    match joined.is_empty() {
        _ if is_absolute => format!("/{joined}"),
        true => ".".to_owned(),
        false if is_below || is_name => format!("./{joined}"),
        false => joined,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_every_path_that_a_server_could_make_of_it() {
        for (text, others) in [
            ("a/b", &[][..]),
            ("/a/b", &["./a/b"]),
            ("a/../b", &["b"]),
            ("/a/../../b", &["/b"]),
            ("a/", &["a"]),
            ("a/.", &["a"]),
            ("a//", &["a"]),
            ("a/b/..", &["a"]),
            ("./a/./", &["./a"]),
            ("a//b", &["a/b"]),
            ("/a/", &["/a", "./a"]),
            ("//", &["/", "."]),
            ("./", &["."]),
            ("~/", &["~", "./~"]),
            ("./~/", &["./~"]),
            ("a /", &["a"]),
            ("a%2f.", &["a"]),
            (r"a\b\", &["a/b"]),
            ("'a/'", &["a"]),
            ("'a'/", &["a"]),
            ("ab://../a/", &["../a", "a"]),
            ("a/%2e%2e/../%62", &["a/b", "../b"]),
            ("../a", &[]),
            ("a/../../b", &["../b"]),
            ("~/a", &["./~/a"]),
            ("~/../a", &["./~/../a", "a"]),
            ("~ana/a", &["./~ana/a"]),
            (" a ", &["a"]),
            ("$HOME/a", &["~/a"]),
            ("${PWD}/a", &["./a"]),
            ("ab://../a", &["../a", "/a", "a"]),
            ("x:../a", &["../a", "/a"]),
            ("fs:///a/%62", &["/a/%62", "/a/b"]),
            ("notes://a/b?c#d", &["a/b", "/b"]),
            ("file:/../a", &["/../a", "a", "/a"]),
            ("https://example.org/a", &["https:/example.org/a"]),
            ("https://example.org/../../a /", &["a"]),
            ("https://example.org/../../a", &["a"]),
            ("https:///../../a", &["/../../a", "../a", "/a"]),
            ("a:b", &["b"]),
            ("a%2fb", &["a/b"]),
            ("%2e%2e/a", &["../a"]),
            ("%7e/a", &["~/a"]),
            ("100%", &[]),
            ("@a/b", &["a/b"]),
            ("@/a", &["/a"]),
            (r"a\b", &["a/b"]),
            (r"..\a", &["../a"]),
            ("'a/b'", &["a/b"]),
            ("\"a\"", &["a"]),
            ("'a\"", &[]),
            ("'@a%2fb'", &["a/b"]),
        ] {
            let found = readings(text);
            let missing: Vec<_> =
                others.iter().filter(|other| !found.iter().any(|found| found == *other)).collect();
            assert!(
                missing.is_empty() && found.is_empty() == others.is_empty(),
                "{text}: {found:?} without {missing:?}"
            );
        }
    }

    #[test]
    fn only_known_schemes_with_a_host_lead_elsewhere() {
        for text in ["https://example.org/a", "HTTP://[::1]:80/", "s3://bucket/a", "git://x.org/a.git"] {
            assert!(is_remote_url(text), "{text}");
        }
        for text in [
            "ab://../a",
            "a+b://x/a",
            "1a://x",
            "..://../a",
            "https:///a",
            "https://../a",
            "https://./a",
            "https:/a",
            "https:a",
            "file:///a",
            "https:// /a",
            "://a",
            "https://-/a",
            "https://\u{0}/a",
        ] {
            assert!(!is_remote_url(text), "{text}");
        }
    }

    proptest! {
        /// Whatever is put in front of a path as a scheme, the path that a lexical server opens is among the readings.
        #[test]
        fn no_scheme_hides_a_path(scheme in "[A-Za-z0-9+.-]{1,8}", slashes in "/{1,4}", up in "(\\.\\./){0,4}", name in "[a-z]{1,8}/[a-z]{1,8}") {
            let text = format!("{scheme}:{slashes}{up}{name}");
            let opened = normalized(&text);
            prop_assert!(opened == text || readings(&text).contains(&opened), "{text}: {opened}");
        }

        /// However a place is written, what a lexical server makes of each reading is a reading.
        #[test]
        fn readings_are_closed_under_normalising(text in r"[a./~ %'@:\\]{1,24}", end in "(/\\.?){0,3}") {
            let text = format!("{text}{end}");
            let found = readings(&text);
            for reading in found.iter().chain([&text]) {
                let next = normalized(reading);
                prop_assert!(next == text || found.contains(&next), "{text}: {reading} without {next}");
            }
        }

        #[test]
        fn what_is_normal_stays(path in r"[a./~]{1,16}") {
            let once = normalized(&path);
            prop_assert_eq!(normalized(&once), once);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = (readings(&text), begins_as_path(&text), is_remote_url(&text), pinfold_host::file_url(&text));
        }
    }
}

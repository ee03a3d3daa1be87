//! A word of git → the files of a repository that it may mean: `REV:path`, a path with its magic, a path alone.
//!
//! The repository alone knows whether a word is a revision or a path, so that every reading of it counts.
//! [gitrevisions(7)](https://git-scm.com/docs/gitrevisions), pathspecs in [gitglossary(7)](https://git-scm.com/docs/gitglossary)

/// Files that a word of git may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracked<'a> {
    /// This path, from the folder that git works in.
    FromFolder(&'a str),
    /// This path, from the root of the repository.
    FromRoot(&'a str),
    /// Files in a folder, at any depth, whose names end with `ends`.
    Matching { folder: &'a str, ends: &'a str, from_root: bool },
    /// Any file of the repository.
    Any,
}

/// Names that git gives to commits by itself.
const OWN_REVISIONS: &[&str] = &["HEAD", "@", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"];

/// More parts than a word has that names one file. The rest of a longer one may be any.
const MAX_PARTS: usize = 16;

/// The files that a word may mean.
pub(super) fn read(text: &str) -> Vec<Tracked<'_>> {
    let front = text.split(':').next().unwrap_or_default();
    let mut all = Vec::new();
    if !front.is_empty() && !is_own_revision(front) {
        all.push(path(text, false));
    }
    if let Some(rest) = text.strip_prefix(':') {
        all.extend(with_magic(rest));
    }
    let mut behind = text.match_indices(':').filter_map(|(at, _)| text.get(at + 1..)).flat_map(ends_of_range);
    all.extend(behind.by_ref().take(MAX_PARTS).filter_map(object));
    if behind.next().is_some() {
        all.push(Tracked::Any);
    }
    all
}

/// Returns whether a word says for sure nothing of which files are read: a revision alone, or a path that is left out.
pub(super) fn names_no_path(text: &str) -> bool {
    match text.strip_prefix(':') {
        Some(rest) => with_magic(rest).is_none(),
        None => !text.contains(':') && (is_own_revision(text) || text.contains("^{") || text.contains("@{")),
    }
}

/// Effect of a word of `git grep` on which files are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// None: a revision, whose files are all searched, or a word that leaves some out.
    No,
    /// One where such a file is there; otherwise it is a revision.
    Perhaps,
    /// One: a path, or a path in a revision.
    Yes,
}

/// The effect that a word has. Where it is not told by [its form](https://git-scm.com/docs/git-check-ref-format), git looks for a revision
/// first, and stops where there is a file of that name too.
pub(super) fn limit(text: &str) -> Limit {
    // `:/text` is the commit with this message, `main:` the root of a tree.
    let is_message = text.strip_prefix(":/").is_some_and(|message| !message.is_empty());
    let is_tree = text.ends_with(':') && !text.starts_with(':');
    let is_path = text.contains([':', '*', '?', '[', '\\'])
        || text.contains("..")
        || text.starts_with(['.', '/'])
        || text.ends_with(['/', '.'])
        || ["/.", "//"].iter().any(|no_name| text.contains(no_name));
    match () {
        () if is_message || is_tree || names_no_path(text) => Limit::No,
        () if is_path => Limit::Yes,
        () => Limit::Perhaps,
    }
}

/// `path` and what it is where another revision follows: `a` of `REV:a..REV:b`.
fn ends_of_range(path: &str) -> impl Iterator<Item = &str> {
    let is_name = |at: usize| {
        let (before, after) = (path.get(..at).unwrap_or_default(), path.get(at + 2..).unwrap_or_default());
        (before.is_empty() || before.ends_with('/')) && (after.is_empty() || after.starts_with('/'))
    };
    let dots = path.match_indices("..").map(|(at, _)| at).filter(move |at| !is_name(*at));
    std::iter::once(path).chain(dots.filter_map(|at| path.get(..at)))
}

/// `path` of `REV:path`: from the root, unless it begins as only a path from the folder does.
fn object(path: &str) -> Option<Tracked<'_>> {
    let from_folder = ["./", "../"].iter().any(|start| path.starts_with(start)) || matches!(path, "." | "..");
    let path = path.trim_start_matches('/');
    let tracked = if from_folder { Tracked::FromFolder(path) } else { Tracked::FromRoot(path) };
    (!path.is_empty()).then_some(tracked)
}

/// `:(top,glob)path`, `:/path`, without the first colon. What is left out by magic is not read.
fn with_magic(rest: &str) -> Option<Tracked<'_>> {
    if let Some((words, rest)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        let has = |word: &str| words.split(',').any(|own| own.trim() == word);
        return match () {
            () if has("exclude") => None,
            () if has("icase") => Some(Tracked::Any),
            // `prefix:0` takes away the folder that git works in.
            () => Some(path(rest, has("top") || words.contains("prefix:"))),
        };
    }
    let end = rest.find(|letter| !matches!(letter, '/' | '!' | '^')).unwrap_or(rest.len());
    let (signs, rest) = rest.split_at(end);
    let is_left_out = signs.contains(['!', '^']);
    (!is_left_out).then(|| path(rest.strip_prefix(':').unwrap_or(rest), signs.contains('/')))
}

/// A path whose wildcards are git's: `*` goes through folders as well.
fn path(text: &str, from_root: bool) -> Tracked<'_> {
    let Some(first) = text.find(WILD) else {
        return match text {
            "" if from_root => Tracked::FromRoot("."),
            "" => Tracked::FromFolder("."),
            _ if from_root => Tracked::FromRoot(text),
            _ => Tracked::FromFolder(text),
        };
    };
    let front = text.get(..first).unwrap_or_default();
    let folder =
        front.rsplit_once('/').map_or("", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    let ends = text.rsplit(WILD).next().unwrap_or_default();
    let ends = ends.rsplit_once('/').map_or(ends, |(_, name)| name);
    Tracked::Matching { folder, ends, from_root }
}

/// Characters of wildcards, and the one that takes that from the next.
const WILD: &[char] = &['*', '?', '[', ']', '\\'];

/// `HEAD`, `HEAD~3`, `@^2`.
fn is_own_revision(text: &str) -> bool {
    let end = text.find(['~', '^']).unwrap_or(text.len());
    let (name, steps) = text.split_at(end);
    let is_step = |byte: u8| matches!(byte, b'~' | b'^') || byte.is_ascii_digit();
    OWN_REVISIONS.contains(&name) && steps.bytes().all(is_step)
}

#[cfg(test)]
mod tests {
    use super::Tracked::{Any, FromFolder, FromRoot, Matching};
    use super::*;

    #[test]
    fn each_reading_of_a_word_counts() {
        let matching = |folder, ends| Matching { folder, ends, from_root: false };
        let table: &[(&str, &[Tracked<'_>])] = &[
            ("HEAD", &[]),
            ("HEAD~2", &[]),
            ("@^2", &[]),
            ("main", &[FromFolder("main")]),
            ("HEADS", &[FromFolder("HEADS")]),
            ("HEAD:a/b", &[FromRoot("a/b")]),
            ("HEAD:/a/b", &[FromRoot("a/b")]),
            ("HEAD:./b", &[FromFolder("./b")]),
            ("HEAD:../b", &[FromFolder("../b")]),
            ("HEAD:", &[]),
            ("main:a", &[FromFolder("main:a"), FromRoot("a")]),
            (":a", &[FromFolder("a"), FromRoot("a")]),
            (":0:a", &[FromFolder("0:a"), FromRoot("0:a"), FromRoot("a")]),
            (":/a", &[FromRoot("a"), FromRoot("a")]),
            (":/", &[FromRoot(".")]),
            (":(top)", &[FromRoot("."), FromRoot("(top)")]),
            (":(top)a", &[FromRoot("a"), FromRoot("(top)a")]),
            (":(icase)A", &[Any, FromRoot("(icase)A")]),
            (":!a", &[FromRoot("!a")]),
            (":(exclude)a", &[FromRoot("(exclude)a")]),
            ("HEAD^{/x: y}:a", &[FromFolder("HEAD^{/x: y}:a"), FromRoot(" y}:a"), FromRoot("a")]),
            ("HEAD:a..HEAD:b", &[FromRoot("a..HEAD:b"), FromRoot("a"), FromRoot("b")]),
            ("HEAD:a/..HEAD:b", &[FromRoot("a/..HEAD:b"), FromRoot("a/"), FromRoot("b")]),
            ("HEAD:a/../b", &[FromRoot("a/../b")]),
            (":(prefix:0)a", &[FromRoot("a"), FromRoot("(prefix:0)a"), FromRoot("0)a")]),
            ("*.rs", &[matching("", ".rs")]),
            ("src/*", &[matching("src", "")]),
            ("src/**/x.rs", &[matching("src", "x.rs")]),
            ("/*x", &[matching("/", "x")]),
            ("s?crets/key", &[matching("", "key")]),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), *expected, "{text}");
        }
        assert_eq!(read(&"a:".repeat(40)).last(), Some(&Any));
    }

    #[test]
    fn a_word_limits_a_search_where_it_can_be_no_revision() {
        for (text, expected) in [
            ("HEAD", Limit::No),
            ("main^{tree}", Limit::No),
            ("main:", Limit::No),
            ("HEAD:", Limit::No),
            (":/fix", Limit::No),
            (":!a", Limit::No),
            ("main", Limit::Perhaps),
            ("main~2", Limit::Perhaps),
            ("topic/a.b", Limit::Perhaps),
            ("v1.2", Limit::Perhaps),
            ("0123abc", Limit::Perhaps),
            ("HEAD:a", Limit::Yes),
            (":a", Limit::Yes),
            (":/", Limit::Yes),
            ("src/", Limit::Yes),
            ("./src", Limit::Yes),
            ("../src", Limit::Yes),
            ("/srv/a", Limit::Yes),
            (".github", Limit::Yes),
            ("a/.b", Limit::Yes),
            ("*.rs", Limit::Yes),
        ] {
            assert_eq!(limit(text), expected, "{text}");
        }
    }

    #[test]
    fn a_revision_and_what_is_left_out_name_no_path() {
        for (text, expected) in [
            ("HEAD", true),
            ("HEAD~2", true),
            ("main^{tree}", true),
            ("main@{1}", true),
            (":!a", true),
            (":^a", true),
            (":(exclude)a", true),
            (":(top,exclude)a", true),
            ("main", false),
            ("HEAD:a", false),
            ("main^{/a}:a", false),
            (":a", false),
            (":/", false),
        ] {
            assert_eq!(names_no_path(text), expected, "{text}");
        }
    }
}

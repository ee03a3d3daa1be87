//! Meanings of the names of arguments: paths, addresses or text.

use super::shape::ArgumentKind;
use super::split_words;

/// The end of an operation that a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// `path`, `file`: what the operation is about.
    Plain,
    /// `source`, `from`: where it comes from.
    Source,
    /// `destination`, `output`: where it goes.
    Destination,
    /// `target`, `to`: where it goes, or what it is about.
    Target,
}

/// The meaning of the name of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentName {
    /// A path; `strict`: nothing but a path has this name.
    Path(Role, bool),
    /// A name that says nothing, within an object whose name says that it is a path.
    Within(Role),
    /// A URL, which may be a local one.
    Address,
    /// Text for a file or about one.
    Content,
    /// Text for a file or about one, within an object whose name says that it is a path.
    ContentWithin(Role),
    /// Anything else.
    Other,
    /// A person said that it is no path.
    NoPath,
}

/// Last words of names that are paths and nothing else.
const PATHS: &[&str] = &[
    "cwd",
    "dir",
    "directories",
    "directory",
    "dirname",
    "dirs",
    "file",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "files",
    "fname",
    "folder",
    "folders",
    "fpath",
    "path",
    "pathname",
    "paths",
    "workdir",
];
/// Words that stand behind that of a path and change nothing about it: `path_to_read`, `pathValue`, `dir_in`.
const TRAILING: &[&str] = &[
    "arg", "argument", "from", "here", "in", "input", "list", "name", "names", "open", "or", "out", "param",
    "read", "save", "str", "string", "to", "use", "value", "write",
];
/// Words of which a path remains one whatever else of [`TRAILING`] stands behind it; a `file` does not (`file_string`).
const SURE: &[&str] = &["dir", "directory", "filename", "filepath", "folder", "path", "pathname", "paths"];
/// Whole names that are often paths.
const ROLES: &[(&str, Role)] = &[
    ("source", Role::Source),
    ("sources", Role::Source),
    ("src", Role::Source),
    ("from", Role::Source),
    ("destination", Role::Destination),
    ("destinations", Role::Destination),
    ("dest", Role::Destination),
    ("dst", Role::Destination),
    ("output", Role::Destination),
    ("out", Role::Destination),
    ("outfile", Role::Destination),
    ("target", Role::Target),
    ("targets", Role::Target),
    ("to", Role::Target),
    ("root", Role::Plain),
    ("roots", Role::Plain),
    ("location", Role::Plain),
    ("repo", Role::Plain),
    ("repository", Role::Plain),
    ("workspace", Role::Plain),
];
/// Words in front of a path's name that say which end it is.
const ENDS: &[(&str, Role)] = &[
    ("source", Role::Source),
    ("src", Role::Source),
    ("from", Role::Source),
    ("old", Role::Source),
    ("input", Role::Source),
    ("destination", Role::Destination),
    ("dest", Role::Destination),
    ("dst", Role::Destination),
    ("new", Role::Destination),
    ("output", Role::Destination),
    ("out", Role::Destination),
    ("save", Role::Destination),
    ("target", Role::Target),
    ("to", Role::Target),
];
/// Last words of names that hold text.
const CONTENTS: &[&str] = &[
    "body",
    "code",
    "command",
    "content",
    "contents",
    "data",
    "description",
    "message",
    "pattern",
    "patterns",
    "prompt",
    "query",
    "regex",
    "replacement",
    "string",
    "text",
    "title",
    "value",
];
/// Last words of names that hold URLs.
const ADDRESSES: &[&str] = &["href", "uri", "uris", "url", "urls"];

impl ArgumentName {
    pub(super) fn classify(name: &str) -> Self {
        let words: Vec<String> = split_words(name).iter().filter_map(|word| without_number(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = without_trailing(&words);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return Self::Other };
        if PATHS.contains(last) {
            let end = if words.len() > 1 { ENDS.iter().find(|(word, _)| word == first) } else { None };
            return Self::Path(end.map_or(Role::Plain, |(_, role)| *role), true);
        }
        if let ([_], Some((_, role))) = (words, ROLES.iter().find(|(word, _)| word == last)) {
            return Self::Path(*role, false);
        }
        match *last {
            word if ADDRESSES.contains(&word) => Self::Address,
            word if CONTENTS.contains(&word) => Self::Content,
            _ => Self::Other,
        }
    }

    /// Returns the meaning once more is known than the name.
    pub(super) fn known_as(self, kind: Option<ArgumentKind>) -> Self {
        match (kind, self) {
            (None, key) | (Some(ArgumentKind::Path), key @ Self::Path(..)) => key,
            (Some(ArgumentKind::Path), _) => Self::Path(Role::Plain, false),
            (Some(ArgumentKind::Text), _) => Self::NoPath,
        }
    }

    /// Returns the meaning within an object of this name: `{"file": {"id": …}}`.
    pub(super) fn inherit(self, above: Self) -> Self {
        match (above, self) {
            (Self::Path(role, _) | Self::Within(role) | Self::ContentWithin(role), Self::Content) => {
                Self::ContentWithin(role)
            }
            (
                Self::Path(role, _) | Self::Within(role) | Self::ContentWithin(role),
                Self::Other | Self::Address,
            ) => Self::Within(role),
            (_, own) => own,
        }
    }

    /// Returns `true` if it is the path of the object that it stands in, so that its other fields are something else.
    pub(super) fn names_its_object(self, name: &str) -> bool {
        matches!(self, Self::Path(..)) || name.eq_ignore_ascii_case("name")
    }
}

/// `path1` → `path`; `None`: it is nothing else.
fn without_number(word: &str) -> Option<String> {
    let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// Leaves out what stands behind the word of a path and changes nothing about it.
fn without_trailing<'a, 'w>(words: &'a [&'w str]) -> &'a [&'w str] {
    let Some(at) = words.iter().rposition(|word| PATHS.contains(word)) else { return words };
    let (path, behind) = words.split_at(at + 1);
    let is_sure = path.last().is_some_and(|word| SURE.contains(word));
    let says_nothing = |word: &&str| {
        let is_name = matches!(*word, "name" | "names");
        TRAILING.contains(word) && (is_sure || is_name)
    };
    if behind.iter().all(says_nothing) { path } else { words }
}

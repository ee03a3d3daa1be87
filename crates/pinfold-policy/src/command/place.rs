//! A word as the name of a file, and the folder that a relative name starts from.
//!
//! Pure: `~` stays `~`, `..` stays `..`. Whoever resolves the text follows links and knows the home directory.

use pinfold_shell::{Part, Word};

/// Where a relative path starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    /// The folder of the call.
    Start,
    /// This folder, from the folder of the call if it is relative.
    At(String),
    /// Known only by running.
    Unknown,
}

/// A word as the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// This path, from the folder of the call if it is relative.
    Path(String),
    /// No file: a standard stream, `/dev/null`, a descriptor, the pipe of a process substitution.
    NoFile,
    /// Known only by running.
    Unknown,
}

/// Devices that hold nothing and change nothing when they are read or written.
const NO_FILES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];

impl Base {
    /// The folder that a `cd` to `word` leads to.
    pub(super) fn moved(&self, word: &Word) -> Self {
        match self.name(word) {
            Named::Path(path) => Self::At(path),
            Named::NoFile | Named::Unknown => Self::Unknown,
        }
    }

    /// The file that `word` names from here.
    ///
    /// A glob is kept as it is written while it stands in the last component: what matches lies in the folder in
    /// front of it, and names that start with a dot do not match unless the dot is written. Anywhere else the
    /// matches may be links to other folders, so that the file is unknown.
    pub(super) fn name(&self, word: &Word) -> Named {
        if matches!(word.parts.as_slice(), [Part::Process]) {
            return Named::NoFile;
        }
        let Some(written) = Written::of(word) else { return Named::Unknown };
        if written.text.is_empty() {
            return Named::Unknown;
        }
        if is_no_file(&written.text) {
            return Named::NoFile;
        }
        self.join(&written)
    }

    fn join(&self, written: &Written) -> Named {
        match self {
            _ if written.from == From::Fixed => Named::Path(written.text.clone()),
            Self::Start if written.text.starts_with('~') => Named::Path(format!("./{}", written.text)),
            Self::Start => Named::Path(written.text.clone()),
            Self::At(folder) => Named::Path(join(folder, &written.text)),
            Self::Unknown => Named::Unknown,
        }
    }

    /// The folder in words; `None` for the folder of the call.
    pub(super) fn folder(&self) -> Option<&str> {
        match self {
            Self::At(path) => Some(path),
            Self::Start | Self::Unknown => None,
        }
    }
}

/// A path below a folder, in words.
pub(super) fn join(folder: &str, path: &str) -> String {
    let separator = if folder.ends_with('/') { "" } else { "/" };
    format!("{folder}{separator}{path}")
}

fn is_no_file(text: &str) -> bool {
    let descriptor = || {
        let number = text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/self/fd/"))?;
        Some(!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    text.starts_with("/dev/") && NO_FILES.contains(&text) || descriptor().unwrap_or(false)
}

/// Where a written path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// At the root or at home.
    Fixed,
    /// Wherever the program stands.
    Here,
}

impl From {
    fn of_text(text: &str) -> Self {
        if text.starts_with('/') { Self::Fixed } else { Self::Here }
    }
}

/// A path as far as the words tell it.
struct Written {
    text: String,
    from: From,
}

impl Written {
    fn of(word: &Word) -> Option<Self> {
        if let Some(text) = word.as_static() {
            return Some(Self { text: text.to_owned(), from: From::of_text(text) });
        }
        let (first, rest) = word.parts.split_first()?;
        let (mut text, from) = start(first)?;
        if !text.is_empty() && matches!(first, Part::Tilde(_) | Part::Parameter { .. }) {
            // `$HOMEwork` is one name to the parser; `${HOME}work` lies beside the home directory.
            let next = rest.first();
            if !matches!(next, None | Some(Part::Literal(_))) || !starts_component(next) {
                return None;
            }
        }
        let mut glob = matches!(first, Part::Glob(_));
        for part in rest {
            match part {
                Part::Literal(more) if glob && more.contains('/') => return None,
                Part::Literal(more) => text.push_str(more),
                Part::Glob(pattern) if pattern.contains('/') => return None,
                Part::Glob(pattern) => {
                    glob = true;
                    text.push_str(pattern);
                }
                _ => return None,
            }
        }
        if glob && hides(&text) {
            return None;
        }
        Some(Self { text, from: from.unwrap_or_else(|| From::of_text(word.literal_prefix())) })
    }
}

/// What a path starts with, and where that is when the text does not say it.
fn start(part: &Part) -> Option<(String, Option<From>)> {
    match part {
        Part::Literal(text) | Part::Glob(text) => Some((text.clone(), None)),
        Part::Tilde(user) if user == "+" => Some((".".to_owned(), Some(From::Here))),
        Part::Tilde(user) if user == "-" => None,
        Part::Tilde(user) => Some((format!("~{user}"), Some(From::Fixed))),
        Part::Parameter { name, plain: true, .. } if name == "HOME" => {
            Some(("~".to_owned(), Some(From::Fixed)))
        }
        Part::Parameter { name, plain: true, .. } if name == "PWD" => {
            Some((".".to_owned(), Some(From::Here)))
        }
        _ => None,
    }
}

/// Whether what follows `~` or `$HOME` is a path below it.
fn starts_component(next: Option<&Part>) -> bool {
    match next {
        None => true,
        Some(Part::Literal(text)) => text.starts_with('/'),
        Some(_) => false,
    }
}

/// Whether a glob in the last component may match a name that starts with a dot: many of those are guarded.
fn hides(text: &str) -> bool {
    let last = text.rsplit('/').next().unwrap_or(text);
    last.starts_with(['.', '@', '+', '!']) || last.starts_with("?(") || last.starts_with("*(")
}

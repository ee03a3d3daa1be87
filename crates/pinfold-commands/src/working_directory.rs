//! A word as the name of a file, and the folder that a relative name starts from.
//!
//! Pure: `~` stays `~`, `..` stays `..`. The resolver of the text follows links and knows the home directory.

use std::sync::Arc;

use pinfold_shell::{Part, Word};

/// The directory that relative paths start from, as far as a command line tells which one it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseDirectory {
    /// The folder of the call.
    Call,
    /// This one: from the folder of the call if it is relative, `~` is the home directory.
    At(String),
    /// The one that this word names, in which a variable has its value from outside the command line. Known only at run time
    /// unless that value is known, and the path begins at the root.
    Named(Arc<Word>),
    /// Known only at run time.
    Unknown,
}

/// A word as the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileWord {
    /// This path, from the folder of the call if it is relative.
    Path(String),
    /// Every path that matches this one, in which every wildcard is one.
    Matching(String),
    /// No file: a standard stream, `/dev/null`, a descriptor, the pipe of a process substitution.
    NoFile,
    /// Known only at run time.
    Unknown,
}

/// The longest path of a folder that is followed: what the kernel takes in one call.
const PATH_MAX: usize = 4096;

/// Devices that hold nothing and change nothing when they are read or written.
pub const EMPTY_DEVICES: &[&str] = &[
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

/// The working directory of a shell, and the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDirectory {
    pub(super) now: BaseDirectory,
    /// Meaning of `$OLDPWD`, `~-` and `cd -`.
    pub(super) before: BaseDirectory,
}

impl BaseDirectory {
    fn join(&self, text: &str) -> Option<String> {
        match self {
            Self::Call if text.starts_with('~') => Some(format!("./{text}")),
            Self::Call => Some(text.to_owned()),
            Self::At(folder) => Some(join(folder, text)),
            Self::Named(_) | Self::Unknown => None,
        }
    }

    /// Returns whether the line does not say which folder it is.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::Named(_) | Self::Unknown => true,
            Self::Call | Self::At(_) => false,
        }
    }

    /// The folder in words; `None` for the folder of the call.
    pub(super) fn folder(&self) -> Option<&str> {
        match self {
            Self::At(path) => Some(path),
            Self::Call | Self::Named(_) | Self::Unknown => None,
        }
    }
}

impl WorkingDirectory {
    /// The directory that it is now.
    pub fn now(&self) -> &BaseDirectory {
        &self.now
    }

    /// A shell that was started in a folder: where it came from is not known.
    pub(super) fn new(now: BaseDirectory) -> Self {
        Self { now, before: BaseDirectory::Unknown }
    }

    /// Returns where a `cd` to `word` leads. With `..` the shell goes back by the words, and a program by the links, which may
    /// be two places.
    pub(super) fn change_to(&self, word: &Word) -> Vec<Self> {
        let to = |now: BaseDirectory| Self { now, before: self.now.clone() };
        match self.name(word) {
            FileWord::Path(path) if path.len() > PATH_MAX => vec![to(BaseDirectory::Unknown)],
            FileWord::Path(path) => {
                let by_words = by_words(&path).filter(|other| *other != path);
                let all = std::iter::once(path).chain(by_words);
                all.map(|path| {
                    to(if path.is_empty() { BaseDirectory::Call } else { BaseDirectory::At(path) })
                })
                .collect()
            }
            FileWord::Matching(_) | FileWord::NoFile | FileWord::Unknown => vec![to(BaseDirectory::Unknown)],
        }
    }

    /// Returns where `cd -` leads.
    pub(super) fn change_back(&self) -> Self {
        Self { now: self.before.clone(), before: self.now.clone() }
    }

    /// Returns where a `cd` to a word leads of which the line does not say what it is.
    pub(super) fn named(&self, word: &Arc<Word>) -> Self {
        Self { now: BaseDirectory::Named(Arc::clone(word)), before: self.now.clone() }
    }

    /// Makes the directory before it one that is known only at run time.
    pub(super) fn forget_before(&mut self) {
        self.before = BaseDirectory::Unknown;
    }

    /// Somewhere that is known only at run time. The shell may also have stayed where it was (`pushd -n`).
    pub(super) fn unknown() -> Self {
        Self { now: BaseDirectory::Unknown, before: BaseDirectory::Unknown }
    }

    /// The file that `word` names from here.
    ///
    /// Wildcards are kept as they are written, wherever they stand: what matches lies where they say, unless it is a
    /// link. Only names that start with a dot do not match unless the dot is written, and then the match may be `..`.
    pub(super) fn name(&self, word: &Word) -> FileWord {
        if matches!(word.parts.as_slice(), [Part::Process]) {
            return FileWord::NoFile;
        }
        let Some(written) = WrittenPath::from_word(word) else { return FileWord::Unknown };
        if written.text.is_empty() {
            return FileWord::Unknown;
        }
        if is_no_file(&written.text) {
            return FileWord::NoFile;
        }
        let path = match written.from {
            PathStart::Fixed => Some(written.text),
            PathStart::Here => self.now.join(&written.text),
            PathStart::Before => self.before.join(&written.text),
        };
        match path {
            Some(path) if written.wild => FileWord::Matching(path),
            Some(path) => FileWord::Path(path),
            None => FileWord::Unknown,
        }
    }

    /// The file that a part of a word names from here, as programs read it that expand `~` by themselves. `wild`: some of
    /// it is a wildcard.
    pub(super) fn name_text(&self, text: &str, wild: bool) -> FileWord {
        if text.is_empty() || is_no_file(text) {
            return FileWord::NoFile;
        }
        let path = if text.starts_with(['/', '~']) { Some(text.to_owned()) } else { self.now.join(text) };
        match path {
            Some(path) if wild => FileWord::Matching(path),
            Some(path) => FileWord::Path(path),
            None => FileWord::Unknown,
        }
    }
}

/// A path in which each `..` takes back the name in front of it; `None` where there is no such `..`.
fn by_words(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut taken = false;
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match names.last() {
            Some(last) if name == ".." && *last != ".." && !last.starts_with('~') => {
                names.pop();
                taken = true;
            }
            _ => names.push(name),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    taken.then(|| format!("{root}{}", names.join("/")))
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
    text.starts_with("/dev/") && EMPTY_DEVICES.contains(&text) || descriptor().unwrap_or(false)
}

/// The start of a written path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathStart {
    /// At the root or at home.
    Fixed,
    /// Wherever the program stands.
    Here,
    /// Wherever its shell stood before.
    Before,
}

impl PathStart {
    fn from_text(text: &str) -> Self {
        if text.starts_with('/') { Self::Fixed } else { Self::Here }
    }
}

/// A path as far as the words tell it.
struct WrittenPath {
    text: String,
    from: PathStart,
    /// Some of it is a wildcard.
    wild: bool,
}

impl WrittenPath {
    fn from_word(word: &Word) -> Option<Self> {
        if let Some(text) = word.as_static() {
            return Some(Self { text: text.to_owned(), from: PathStart::from_text(text), wild: false });
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
        for part in rest {
            match part {
                Part::Literal(more) | Part::Glob(more) => text.push_str(more),
                _ => return None,
            }
        }
        let wild = word.parts.iter().any(|part| matches!(part, Part::Glob(_)));
        if wild && !is_plainly_wild(word, &text) {
            return None;
        }
        Some(Self { text, from: from.unwrap_or_else(|| PathStart::from_text(word.literal_prefix())), wild })
    }
}

/// Returns the text that a path starts with, and where that is when the text does not say it.
fn start(part: &Part) -> Option<(String, Option<PathStart>)> {
    match part {
        Part::Literal(text) | Part::Glob(text) => Some((text.clone(), None)),
        Part::Tilde(user) if user == "+" => Some((".".to_owned(), Some(PathStart::Here))),
        Part::Tilde(user) if user == "-" => Some((".".to_owned(), Some(PathStart::Before))),
        // `~1`, `~-2`: a place of the stack of folders.
        Part::Tilde(user)
            if user.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit()) =>
        {
            None
        }
        Part::Tilde(user) => Some((format!("~{user}"), Some(PathStart::Fixed))),
        Part::Parameter { name, plain: true, .. } => match name.as_str() {
            "HOME" => Some(("~".to_owned(), Some(PathStart::Fixed))),
            "PWD" => Some((".".to_owned(), Some(PathStart::Here))),
            "OLDPWD" => Some((".".to_owned(), Some(PathStart::Before))),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether what follows `~` or `$HOME` is a path below it.
fn starts_component(next: Option<&Part>) -> bool {
    match next {
        None => true,
        Some(Part::Literal(text)) => text.starts_with('/'),
        Some(_) => false,
    }
}

/// Returns whether the wildcards of a word stay within their components and match ordinary names alone: none that starts with a
/// dot (`..` is one of them, and many are guarded), no extended pattern, no character that is quoted and would be a
/// wildcard otherwise, no `..` that would climb out of a match.
fn is_plainly_wild(word: &Word, text: &str) -> bool {
    let quoted = |part: &Part| matches!(part, Part::Literal(text) if text.contains(WILD));
    let crosses = |part: &Part| matches!(part, Part::Glob(text) if text.contains('/'));
    let mut wild = false;
    let plain = text.split('/').all(|name| {
        let here = name.contains(WILD);
        let climbs = wild && name == "..";
        wild |= here;
        !(climbs || here && hides(name))
    });
    plain && !word.parts.iter().any(|part| quoted(part) || crosses(part))
}

/// Characters that only a wildcard has.
const WILD: &[char] = &['*', '?', '[', ']'];

/// Returns whether a component with wildcards may match a name that starts with a dot.
fn hides(name: &str) -> bool {
    name.starts_with(['.', '@', '+', '!']) || name.starts_with("?(") || name.starts_with("*(")
}

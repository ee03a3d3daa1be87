//! A text → the parts of it that can be a path: the whole, the value behind `=`, what is glued to an option,
//! the parts of a list.

use std::borrow::Cow;

use pinfold_host::file_url;

/// Stands for what is not known at all; no name holds it.
pub const UNKNOWN: &str = "\u{1}";

/// A text that a word can become.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct PossibleText {
    /// The text; from `open` on a pattern.
    pub text: String,
    /// Offset of the first part that is filled in by the shell.
    pub open: Option<usize>,
}

impl PossibleText {
    /// A text without a part that the shell fills in.
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), open: None }
    }

    /// This text with `text` behind it.
    #[must_use]
    pub fn with_suffix(&self, text: &str) -> Self {
        Self { text: format!("{}{text}", self.text), open: self.open }
    }

    /// This text with a pattern behind it, which the shell fills in.
    #[must_use]
    pub fn with_open(&self, pattern: &str) -> Self {
        Self { open: self.open.or(Some(self.text.len())), ..self.with_suffix(pattern) }
    }

    /// This text with another behind it.
    #[must_use]
    pub fn with_all(&self, other: &Self) -> Self {
        let open = self.open.or_else(|| other.open.map(|at| at + self.text.len()));
        Self { open, ..self.with_suffix(&other.text) }
    }
}

/// A part of a text that can be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The part.
    pub text: Cow<'a, str>,
    /// The index from which the shell fills in names.
    open: Option<usize>,
    /// Certainty that it is a path.
    pub sure: PathCertainty,
}

/// Certainty that a piece is a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathCertainty {
    /// Begins as only a path does, or climbs.
    Yes,
    /// May also be a plain word.
    Perhaps,
}

impl<'a> Piece<'a> {
    /// The text as one piece.
    pub fn whole(spelled: &'a PossibleText, sure: PathCertainty) -> Self {
        Self { text: Cow::Borrowed(&spelled.text), open: spelled.open, sure }
    }

    /// The part as a text of its own.
    pub fn into_spelled(self) -> PossibleText {
        PossibleText { text: self.text.into_owned(), open: self.open }
    }

    /// Returns whether the shell fills in a part of it.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The path in front of the name that the shell begins to fill in, and the pattern of what follows.
    pub fn split(&self) -> (&str, Option<String>) {
        let Some(open) = self.open else { return (&self.text, None) };
        let front = self.text.get(..open).unwrap_or_default();
        let start = front.rfind('/').map_or(0, |slash| slash + 1);
        let folder = self.text.get(..start).unwrap_or_default();
        let pattern = self.text.get(start..).unwrap_or_default();
        // Of what is not known only the place in front of it can be seen.
        let pattern = (!pattern.contains(UNKNOWN)).then(|| pattern.to_owned());
        (if folder.is_empty() { "." } else { folder }, pattern)
    }
}

/// Every part of an argument that can be a path.
pub fn of_word(spelled: &PossibleText) -> Vec<Piece<'_>> {
    let text = spelled.text.as_str();
    let mut pieces = Vec::new();
    let mut add = |start: usize, end: usize, sure: Option<PathCertainty>| {
        let Some(part) = text.get(start..end).filter(|part| !part.is_empty()) else { return };
        let open = spelled.open.filter(|open| *open < end).map(|open| open.saturating_sub(start));
        let anything = open == Some(0) && part.starts_with(UNKNOWN);
        // Nothing of it can be seen, and that is said elsewhere.
        if !anything {
            let sure = sure.unwrap_or_else(|| sureness(part));
            pieces.push(Piece { text: Cow::Borrowed(part), open, sure });
        }
    };
    // Most words are neither an address nor a list.
    let is_list = text.contains(CUTS);
    if is_list && let Some(file) = file_url(text) {
        pieces.push(Piece { text: Cow::Owned(file), open: None, sure: PathCertainty::Yes });
        return pieces;
    }
    if is_list && is_url(text) {
        return pieces;
    }
    if text.starts_with('-') {
        if let Some((at, sure)) = glued(text) {
            add(at, text.len(), Some(sure));
        }
        if !text.starts_with("--") {
            add(2, text.len(), None);
        }
    } else {
        add(0, text.len(), None);
    }
    if is_list {
        values(text, &mut add);
    }
    pieces
}

/// Characters in front of the parts of a list, and behind the scheme of an address.
const CUTS: [char; 4] = ['=', ':', ',', '@'];

/// Adds the values behind `=`, `:`, `,` and `@`.
fn values(text: &str, add: &mut impl FnMut(usize, usize, Option<PathCertainty>)) {
    // A part behind a blank belongs to a sentence rather than to a list: `block dd if=/dev/zero`.
    let blank = text.find(char::is_whitespace).unwrap_or(text.len());
    let part_of_prose = |start: usize| (start > blank).then_some(PathCertainty::Perhaps);
    let value = text.find('=').map(|at| at + 1);
    if let Some(start) = value {
        let rest = text.get(start..).unwrap_or_default();
        if is_url(rest) {
            return;
        }
        add(start, text.len(), part_of_prose(start));
    }
    let cuts = text.char_indices().filter(|(_, c)| CUTS.contains(c));
    let mut cuts = cuts.chain([(text.len(), '\0')]);
    let Some((mut before, _)) = cuts.next() else { return };
    // The first part of a list that is a word by itself is part of the whole word only: `a:b` is claimed as such,
    // and here as `a`.
    if before < text.len() && !text.starts_with('-') {
        add(0, before, None);
    }
    let mut remote = false;
    for (at, cut) in cuts {
        let start = before + 1;
        let behind = text.as_bytes().get(before);
        // `user@host:/path` lies on another machine.
        let elsewhere = remote && behind == Some(&b':');
        remote = behind == Some(&b'@') && before > 0 && cut == ':';
        if !elsewhere && start <= at {
            add(start, at, part_of_prose(start));
        }
        before = at;
    }
}

/// A path behind the letters of an option: `-o/etc/x`, `-I../x`, `-xf/etc/x`.
fn glued(text: &str) -> Option<(usize, PathCertainty)> {
    let end = text.find('=').unwrap_or(text.len());
    let option = text.get(..end)?;
    let mut starts = option.char_indices().skip(1).map(|(at, _)| at);
    let at = starts.find(|at| option.get(*at..).is_some_and(is_anchored))?;
    let letters = option.get(1..at)?;
    // `-Isrc/include`: these take their value at once, so a slash further on is part of it.
    let takes_value = at > 2 && letters.starts_with(['I', 'L', 'D', 'B', 'F', 'W', 'U']);
    let cluster = letters.len() <= 4 && letters.chars().all(|c| c.is_ascii_alphabetic());
    Some((at, if cluster && !takes_value { PathCertainty::Yes } else { PathCertainty::Perhaps }))
}

fn sureness(part: &str) -> PathCertainty {
    if is_anchored(part) || climbs(part) { PathCertainty::Yes } else { PathCertainty::Perhaps }
}

/// Returns whether one of the names of a path is `..`.
pub(crate) fn climbs(path: &str) -> bool {
    path.contains("..") && path.split('/').any(|name| name == "..")
}

/// Begins as only a path does.
fn is_anchored(part: &str) -> bool {
    part.starts_with(['/', '~'])
        || part.starts_with("./")
        || part.starts_with("../")
        || matches!(part, "." | "..")
}

/// `scheme://…` of another kind than `file`: whether the host may be reached is another question.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    if !rest.starts_with("//") {
        return false;
    }
    let mut letters = scheme.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && !scheme.eq_ignore_ascii_case("file")
}

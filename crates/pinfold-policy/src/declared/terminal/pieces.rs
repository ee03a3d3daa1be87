//! A text → the parts of it that can be a path: the whole, the value behind `=`, what is glued to an option,
//! the parts of a list.

use std::borrow::Cow;
use std::path::Path;

use super::UNKNOWN;
use super::spelled::Spelled;
use crate::declared::expand::tidy;
use crate::mcp::file_url;

/// A part of a text that can be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Where the shell begins to fill in names.
    open: Option<usize>,
    pub(crate) sure: Sure,
}

/// Whether it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sure {
    Yes,
    Perhaps,
}

impl<'a> Piece<'a> {
    pub(super) fn whole(spelled: &'a Spelled, sure: Sure) -> Self {
        Self { text: Cow::Borrowed(&spelled.text), open: spelled.open, sure }
    }

    /// Whether the shell fills in a part of it.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The path in front of the name that the shell begins to fill in, and the pattern of what follows.
    pub(super) fn split(&self) -> (&str, Option<String>) {
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
pub(crate) fn of_word(spelled: &Spelled) -> Vec<Piece<'_>> {
    let text = spelled.text.as_str();
    let mut pieces = Vec::new();
    let mut add = |start: usize, end: usize, sure: Option<Sure>| {
        let Some(part) = text.get(start..end).filter(|part| !part.is_empty()) else { return };
        let open = spelled.open.filter(|open| *open < end).map(|open| open.saturating_sub(start));
        let anything = open == Some(0) && part.starts_with(UNKNOWN);
        // Nothing of it can be seen, and that is said elsewhere.
        if !anything {
            let sure = sure.unwrap_or_else(|| sureness(part));
            pieces.push(Piece { text: Cow::Borrowed(part), open, sure });
        }
    };
    if let Some(file) = file_url(text) {
        pieces.push(Piece { text: Cow::Owned(file), open: None, sure: Sure::Yes });
        return pieces;
    }
    if is_url(text) {
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
    values(text, &mut add);
    pieces
}

/// What stands behind `=`, `:`, `,` and `@`.
fn values(text: &str, add: &mut impl FnMut(usize, usize, Option<Sure>)) {
    // A part behind a blank belongs to a sentence rather than to a list: `block dd if=/dev/zero`.
    let blank = text.find(char::is_whitespace).unwrap_or(text.len());
    let part_of_prose = |start: usize| (start > blank).then_some(Sure::Perhaps);
    let value = text.find('=').map(|at| at + 1);
    if let Some(start) = value {
        let rest = text.get(start..).unwrap_or_default();
        if is_url(rest) {
            return;
        }
        add(start, text.len(), part_of_prose(start));
    }
    let cuts = text.char_indices().filter(|(_, c)| matches!(c, '=' | ':' | ',' | '@'));
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
fn glued(text: &str) -> Option<(usize, Sure)> {
    let end = text.find('=').unwrap_or(text.len());
    let option = text.get(..end)?;
    let mut starts = option.char_indices().skip(1).map(|(at, _)| at);
    let at = starts.find(|at| option.get(*at..).is_some_and(is_anchored))?;
    let letters = option.get(1..at)?;
    // `-Isrc/include`: these take their value at once, so a slash further on is part of it.
    let takes_value = at > 2 && letters.starts_with(['I', 'L', 'D', 'B', 'F', 'W', 'U']);
    let cluster = letters.len() <= 4 && letters.chars().all(|c| c.is_ascii_alphabetic());
    Some((at, if cluster && !takes_value { Sure::Yes } else { Sure::Perhaps }))
}

fn sureness(part: &str) -> Sure {
    if is_anchored(part) || part.split('/').any(|name| name == "..") { Sure::Yes } else { Sure::Perhaps }
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
    let Some((scheme, _)) = text.split_once("://") else { return false };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && !scheme.eq_ignore_ascii_case("file")
}

/// Folders of programs that belong to the system. A program there is not a place that the agent reads.
const PROGRAMS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
];

/// Whether the text is a program of the system, spelled out.
pub(super) fn is_system_program(spelled: &Spelled) -> bool {
    let path = Path::new(&spelled.text);
    let folder = path.parent().and_then(Path::to_str);
    spelled.open.is_none() && tidy(path) == path && folder.is_some_and(|folder| PROGRAMS.contains(&folder))
}

/// Whether a place is a standard stream or a device that holds nothing.
pub(super) fn is_stream(place: &str) -> bool {
    const STREAMS: &[&str] = &[
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd/0",
        "/dev/fd/1",
        "/dev/fd/2",
    ];
    STREAMS.contains(&place)
}

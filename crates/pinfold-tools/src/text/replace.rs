//! One text in place of another, exactly and uniquely. Nothing is guessed.

use std::borrow::Cow;

use super::{FileText, ends_in_crlf};

/// Number of line numbers that an error names; enough to find one's way, short enough for a model.
const NAMED_LINES: usize = 8;

/// Reason why a replacement cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoReplacement {
    /// Old and new text are the same.
    Same,
    /// There is no old text to look for.
    Empty,
    /// The old text does not occur. A line where it would but for blanks, counted from 1.
    Missing { near: Option<usize> },
    /// The old text occurs so often; the first lines it occurs in, counted from 1.
    Ambiguous { count: usize, lines: Vec<usize> },
}

impl NoReplacement {
    pub(crate) fn describe(&self) -> (String, &'static str) {
        match self {
            Self::Same => ("old and new text are the same".into(), "give the text as it should become"),
            Self::Empty => {
                ("the old text is empty".into(), "give the text to replace, or use Write for a whole file")
            }
            Self::Missing { near: None } => (
                "the old text does not occur in it".into(),
                "read the file and copy the text exactly, with its blanks",
            ),
            Self::Missing { near: Some(line) } => (
                format!("the old text does not occur in it; line {line} differs from it only in blanks"),
                "copy the text exactly as it stands there, with its blanks",
            ),
            Self::Ambiguous { count, lines } => {
                let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
                let more = if *count > lines.len() { ", …" } else { "" };
                (
                    format!("the old text occurs {count} times (lines {}{more})", lines.join(", ")),
                    "add lines around it until it is unique, or set replace_all",
                )
            }
        }
    }
}

/// The content after the replacement, and how many were made.
pub(crate) fn replace(
    content: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<(String, usize), NoReplacement> {
    if old.is_empty() {
        return Err(NoReplacement::Empty);
    }
    if old == new {
        return Err(NoReplacement::Same);
    }
    let (old, new) = match_line_breaks(content, old, new);
    let places: Vec<usize> = content.match_indices(&*old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => Err(NoReplacement::Missing { near: find_similar_line(content, &old) }),
        [_] => Ok((content.replacen(&*old, &new, 1), 1)),
        more if all => Ok((content.replace(&*old, &new), more.len())),
        more => {
            let lines = more.iter().take(NAMED_LINES).map(|at| line_of(content, *at)).collect();
            Err(NoReplacement::Ambiguous { count: more.len(), lines })
        }
    }
}

/// Models say `\n` for every line break. In a file of `\r\n` that is what they mean, unless their own text
/// shows that they know better or the file really holds the bare `\n` they name.
fn match_line_breaks<'a>(content: &str, old: &'a str, new: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    let bare = |text: &str| text.contains('\n') && !text.contains("\r\n");
    if !ends_in_crlf(content) || old.contains("\r\n") || new.contains("\r\n") {
        return (old.into(), new.into());
    }
    let old =
        if bare(old) && !content.contains(old) { old.replace('\n', "\r\n").into() } else { Cow::from(old) };
    let new = if bare(new) { new.replace('\n', "\r\n").into() } else { Cow::from(new) };
    (old, new)
}

fn line_of(content: &str, at: usize) -> usize {
    1 + content.get(..at).unwrap_or_default().matches('\n').count()
}

/// The first line where the old text would stand if blanks did not count.
fn find_similar_line(content: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<&str> = content.lines().map(str::trim).collect();
    let found = lines.windows(wanted.len().max(1)).position(|window| window == wanted.as_slice());
    found.map(|index| index + 1)
}

/// Applies replacements in order; the index of the one that cannot be made comes with its reason.
pub(crate) fn replace_each<'a>(
    text: &FileText,
    steps: impl Iterator<Item = (&'a str, &'a str, bool)>,
) -> Result<(String, usize), (usize, NoReplacement)> {
    let mut content = Cow::Borrowed(text.content.as_str());
    let mut total = 0;
    for (index, (old, new, all)) in steps.enumerate() {
        let (next, count) = replace(&content, old, new, all).map_err(|no| (index, no))?;
        total += count;
        content = Cow::Owned(next);
    }
    Ok((content.into_owned(), total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_exact_and_unique() {
        assert_eq!(replace("a b a", "b", "c", false), Ok(("a c a".into(), 1)));
        assert_eq!(replace("a b a", "a", "c", true), Ok(("c b c".into(), 2)));
        assert_eq!(
            replace("a\nb\na\n", "a", "c", false),
            Err(NoReplacement::Ambiguous { count: 2, lines: vec![1, 3] })
        );
        assert_eq!(replace("a", "a", "a", false), Err(NoReplacement::Same));
        assert_eq!(replace("a", "", "x", false), Err(NoReplacement::Empty));
        assert_eq!(replace("a", "x", "y", false), Err(NoReplacement::Missing { near: None }));
    }

    #[test]
    fn a_near_miss_names_its_line() {
        let content = "fn f() {\n\treturn 1;\n}\n";
        assert_eq!(
            replace(content, "    return 1;", "x", false),
            Err(NoReplacement::Missing { near: Some(2) })
        );
    }

    #[test]
    fn a_line_break_means_the_files_own() {
        assert_eq!(replace("a\r\nb\r\n", "a\nb", "c\nd", false), Ok(("c\r\nd\r\n".into(), 1)));
        assert_eq!(replace("a\r\nb\r\n", "b", "c\nd", false), Ok(("a\r\nc\r\nd\r\n".into(), 1)));
        assert_eq!(replace("a\r\nb\r\n", "a\r\nb", "c\r\nd", false), Ok(("c\r\nd\r\n".into(), 1)));
        assert_eq!(replace("a\nb\n", "a\nb", "c\nd", false), Ok(("c\nd\n".into(), 1)));
    }
}

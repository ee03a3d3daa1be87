//! Names of temporary files: which file a program writes when it makes one beside it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const NAMES: &str = include_str!("temporary.txt");

/// A name with what may vary in it.
#[derive(Debug)]
struct Pattern {
    /// Only where the file is there: else the name may be that of any file.
    of_what_is_there: bool,
    before: Vec<NamePart>,
    /// None where it says nothing of the file.
    behind: Option<Vec<NamePart>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamePart {
    Is(char),
    /// One or more characters.
    Anything,
    /// One or more digits.
    Digits,
    /// A character of a random word.
    Random,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with("# ");
    NAMES.lines().filter(is_line).filter_map(Pattern::new).collect()
});

/// The file that is written by way of one that is made at `made`. `named`: the files that the program's command names.
pub(super) fn file_of(made: &Path, named: &[PathBuf]) -> Option<PathBuf> {
    let (folder, name) = (made.parent()?, made.file_name()?.to_str()?);
    let beside = || {
        let mut here =
            named.iter().filter(|file| file.parent() == Some(folder) && *file != made && file.is_file());
        here.next().filter(|_| here.next().is_none()).cloned()
    };
    let candidate = |pattern: &Pattern| match pattern.file(name) {
        NameMeaning::Name(file) => {
            Some(folder.join(file)).filter(|file| !pattern.of_what_is_there || file.is_file())
        }
        NameMeaning::Unnamed => beside(),
        NameMeaning::Nothing => None,
    };
    // A name may say several: the one that is there is meant.
    let mut candidates = PATTERNS.iter().filter_map(candidate);
    let first = candidates.next()?;
    if first.is_file() { Some(first) } else { candidates.find(|file| file.is_file()).or(Some(first)) }
}

/// Returns whether a place is that of a temporary file beside another.
pub(super) fn is_of(made: &Path, file: &Path) -> bool {
    made.parent() == file.parent()
        && made != file
        && file_of(made, &[file.to_owned()]).as_deref() == Some(file)
}

/// Meaning of a name.
enum NameMeaning {
    /// The file is called so.
    Name(String),
    /// Name of a temporary file that does not tell its final name.
    Unnamed,
    /// Any other name.
    Nothing,
}

impl Pattern {
    fn new(line: &str) -> Option<Self> {
        let (of_what_is_there, line) = line.strip_prefix("= ").map_or((false, line), |line| (true, line));
        let text = line.split_whitespace().next()?;
        let parts = |text: &str| {
            let part = |c| match c {
                '*' => NamePart::Anything,
                '?' => NamePart::Random,
                c => NamePart::Is(c),
            };
            text.chars().map(part).collect::<Vec<_>>()
        };
        let digits = |part| if part == NamePart::Is('#') { NamePart::Digits } else { part };
        let (before, behind) = match text.split_once("{}") {
            // A sign at the end of what emacs writes is itself; behind a dot it stands for digits.
            Some((before, "#")) => (parts(before), Some(vec![NamePart::Is('#')])),
            Some((before, behind)) => (parts(before), Some(parts(behind).into_iter().map(digits).collect())),
            None => (parts(text), None),
        };
        Some(Self { of_what_is_there, before, behind })
    }

    fn file(&self, name: &str) -> NameMeaning {
        let chars: Vec<char> = name.chars().collect();
        let Some(behind) = &self.behind else {
            return if matches(&self.before, &chars) { NameMeaning::Unnamed } else { NameMeaning::Nothing };
        };
        // What stands before the name has one length; as much as can be behind that is the file's.
        let begin = self.before.len();
        let file = (begin + 1..=chars.len()).rev().find_map(|end| {
            let (before, file, after) = (chars.get(..begin)?, chars.get(begin..end)?, chars.get(end..)?);
            let fits = matches(&self.before, before) && matches(behind, after);
            let file: String = file.iter().collect();
            (fits && file != "." && file != "..").then_some(file)
        });
        file.map_or(NameMeaning::Nothing, NameMeaning::Name)
    }
}

/// Returns whether characters fit a pattern, and its random word looks like one.
fn matches(pattern: &[NamePart], chars: &[char]) -> bool {
    let is_random = |c: &&char| c.is_ascii_digit() || c.is_ascii_uppercase();
    let random = pattern.iter().filter(|part| **part == NamePart::Random).count();
    // A word of small letters is one that a person chose: `notes.backup` is no copy of `notes` for that alone.
    let looks_random = random < 4 || chars.iter().rev().take(random).any(|c| is_random(&c));
    looks_random && fits(pattern, chars)
}

fn fits(pattern: &[NamePart], chars: &[char]) -> bool {
    let Some((part, rest)) = pattern.split_first() else { return chars.is_empty() };
    let Some((first, others)) = chars.split_first() else { return false };
    match part {
        NamePart::Is(c) => c == first && fits(rest, others),
        NamePart::Random => (first.is_ascii_alphanumeric() || *first == '_') && fits(rest, others),
        NamePart::Anything => fits(rest, others) || fits(pattern, others),
        NamePart::Digits => first.is_ascii_digit() && (fits(rest, others) || fits(pattern, others)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &str = include_str!("temporary/cases.txt");

    /// `NAME -> FILE`; `=> FILE` where that has to be there.
    #[test]
    fn names_of_temporary_files_say_which_file_is_written() {
        let mut cases = 0;
        for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
            let folder = tempfile::tempdir().unwrap();
            let (made, there, file) = match line.split_once(" => ") {
                Some((made, file)) => (made, true, file),
                None => line.split_once(" -> ").map(|(made, file)| (made, false, file)).unwrap(),
            };
            let at = |name: &str| folder.path().join(name.trim());
            let (made, expected) = (at(made), (file != "none").then(|| at(file)));
            if let (Some(file), true) = (&expected, there) {
                assert_ne!(file_of(&made, &[]).as_ref(), Some(file), "{line}");
            } else {
                assert_eq!(file_of(&made, &[]), expected, "{line}");
            }
            if let Some(file) = expected {
                std::fs::write(&file, "").unwrap();
                assert_eq!(file_of(&made, &[]).as_ref(), Some(&file), "{line}");
                assert!(is_of(&made, &file), "{line}");
                assert!(!is_of(&made, &at("other")) && !is_of(&made, &folder.path().join("sub").join("w")));
            }
            cases += 1;
        }
        assert!(cases > 30);
    }

    #[test]
    fn a_name_that_says_nothing_is_of_the_one_file_that_the_command_names() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        std::fs::write(&one, "").unwrap();
        std::fs::write(&two, "").unwrap();
        let made = folder.path().join("sedAb12Cd");
        assert_eq!(file_of(&made, std::slice::from_ref(&one)), Some(one.clone()));
        assert_eq!(file_of(&made, &[one, two]), None, "either");
        assert_eq!(file_of(&made, &[folder.path().join("missing")]), None);
        assert_eq!(file_of(&folder.path().join("sediment"), &[]), None);
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_read(name in "[^/\0]{1,40}") {
            file_of(&Path::new("/d").join(&name), &[]);
        }

        #[test]
        fn a_temporary_file_lies_beside_its_file(name in "[a-zA-Z.~#]{1,12}", of in "[a-zA-Z.~#]{1,12}") {
            let (made, file) = (Path::new("/d").join(&name), Path::new("/d").join(&of));
            let is_of = is_of(&made, &file);
            proptest::prop_assert!(!is_of || made != file && name.contains(&of));
        }
    }
}
